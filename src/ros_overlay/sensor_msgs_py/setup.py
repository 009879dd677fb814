# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Installs the module sensor_msgs_py."""

from setuptools import setup

PACKAGE = 'sensor_msgs_py'

setup(
    name=PACKAGE,
    version='5.5.1',
    packages=[PACKAGE],
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + PACKAGE]),
        ('share/' + PACKAGE, ['package.xml']),
    ],
    install_requires=['setuptools', 'numpy'],
    extras_require={'test': ['pytest', 'hypothesis']},
    maintainer='The VLN stack authors',
    maintainer_email='maintainers@example.org',
    description='The Python module sensor_msgs_py, for machines without a ROS 2 distribution.',
    license='Apache-2.0',
)
