# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Build of the monitor package."""

from setuptools import setup

setup(
    name='vln_monitor',
    version='0.1.0',
    packages=['vln_monitor'],
    package_data={'vln_monitor': ['static/*']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/vln_monitor']),
        ('share/vln_monitor', ['package.xml']),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    zip_safe=False,
    maintainer='The VLN stack authors',
    maintainer_email='maintainers@example.org',
    description='Web page to watch, instruct and stop the robot.',
    license='Apache-2.0',
    entry_points={'console_scripts': ['monitor_node = vln_monitor.main:main']},
)
