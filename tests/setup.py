# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Registers the package vln_system_tests; it installs no module."""

from setuptools import setup

PACKAGE = 'vln_system_tests'

setup(
    name=PACKAGE,
    version='0.1.0',
    packages=[],
    py_modules=[],
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + PACKAGE]),
        ('share/' + PACKAGE, ['package.xml']),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    maintainer='The VLN stack authors',
    maintainer_email='maintainers@example.org',
    description='Tests of the stack as a whole.',
    license='Apache-2.0',
)
