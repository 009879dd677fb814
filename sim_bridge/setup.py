# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Build of the simulation package."""

from setuptools import find_packages, setup

setup(
    name='vln_sim_bridge',
    version='0.1.0',
    packages=find_packages(exclude=['test']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/vln_sim_bridge']),
        ('share/vln_sim_bridge', ['package.xml']),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    # Habitat's server is started as a script by its path.
    zip_safe=False,
    maintainer='The VLN stack authors',
    maintainer_email='maintainers@example.org',
    description='Simulators behind one protocol, the generator of scenes, the bridge to ROS 2.',
    license='Apache-2.0',
    entry_points={'console_scripts': ['sim_bridge = vln_sim_bridge.start:main']},
)
