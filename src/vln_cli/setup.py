# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Installs the package vln_cli."""

from setuptools import find_packages, setup

PACKAGE = 'vln_cli'

setup(
    name=PACKAGE,
    version='0.1.0',
    packages=find_packages(exclude=['test']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + PACKAGE]),
        ('share/' + PACKAGE, ['package.xml']),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    maintainer='The VLN stack authors',
    maintainer_email='maintainers@example.org',
    description='The subcommands of the entry script.',
    license='Apache-2.0',
    entry_points={'console_scripts': ['vln_cli = vln_cli.__main__:main']},
)
