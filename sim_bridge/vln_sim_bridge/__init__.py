# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Simulators behind one protocol, the generator of scenes, and the bridge to ROS 2."""
