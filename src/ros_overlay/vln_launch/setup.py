# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Installs the launch runner."""

from setuptools import setup

PACKAGE = 'vln_launch'

setup(
    name=PACKAGE,
    version='0.1.0',
    packages=[PACKAGE],
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + PACKAGE]),
        ('share/' + PACKAGE, ['package.xml']),
    ],
    install_requires=['setuptools', 'pyyaml'],
    extras_require={'test': ['pytest', 'psutil']},
    maintainer='The VLN stack authors',
    maintainer_email='maintainers@example.org',
    description='Runs ROS 2 XML launch files on machines without a ROS 2 distribution.',
    license='Apache-2.0',
    entry_points={'console_scripts': ['vln_launch = vln_launch.__main__:main']},
)
