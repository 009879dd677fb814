# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Installs the modules tf2_ros and tf2_py."""

from setuptools import setup

PACKAGE = 'tf2_ros'

setup(
    name=PACKAGE,
    version='0.41.0',
    packages=['tf2_py', 'tf2_ros'],
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + PACKAGE]),
        ('share/' + PACKAGE, ['package.xml']),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest', 'hypothesis']},
    maintainer='The VLN stack authors',
    maintainer_email='maintainers@example.org',
    description='The Python modules tf2_ros and tf2_py.',
    license='Apache-2.0',
)
