# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Build of the node package."""

from setuptools import find_packages, setup

NODES = ('perception', 'memory', 'system1', 'system2', 'controller', 'safety', 'record')

setup(
    name='vln_nodes',
    version='0.1.0',
    packages=find_packages(exclude=['test']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/vln_nodes']),
        ('share/vln_nodes', ['package.xml']),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    zip_safe=True,
    maintainer='The VLN stack authors',
    maintainer_email='maintainers@example.org',
    description='Thin ROS 2 nodes around vln_core.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            *(f'{name}_node = vln_nodes.entry:{name}' for name in NODES),
            'light_nodes = vln_nodes.entry:light_nodes',
            'lifecycle_manager = vln_nodes.entry:lifecycle_manager',
            'camera_mount = vln_nodes.entry:camera_mount',
        ]
    },
)
