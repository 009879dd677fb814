# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Instruction-following navigation without ROS: the library behind the nodes.

The loop is :mod:`vln_core.navigator`; the parts it talks to are the ports in
:mod:`vln_core.ports`. Nothing in this package imports ROS.
"""

__version__ = '0.1.0'
