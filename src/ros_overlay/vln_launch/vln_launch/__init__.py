# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Runs ROS 2 XML launch files: the part of upstream's launch and launch_ros that the stack uses.

A launch file is read, checked and resolved to command lines before the first process starts, so
that a mistake anywhere in it is one line of text and not half a robot. The command lines are the
ones that upstream's ros2 launch builds from the same file.
"""
