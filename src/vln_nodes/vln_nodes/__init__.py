# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Thin rclpy nodes around :mod:`vln_core`: parameters, topics, conversions, nothing else."""
