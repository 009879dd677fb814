# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Installs the package vln_core."""

from setuptools import find_packages, setup

PACKAGE = 'vln_core'

setup(
    name=PACKAGE,
    version='0.1.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={
        PACKAGE: ['py.typed', '**/*.txt', '**/*.gz', '**/*.json', '**/*.yaml', '**/*.j2']
    },
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + PACKAGE]),
        ('share/' + PACKAGE, ['package.xml']),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest', 'hypothesis']},
    zip_safe=False,
    maintainer='The VLN stack authors',
    maintainer_email='maintainers@example.org',
    description='The navigator and its parts, without ROS.',
    license='Apache-2.0',
)
