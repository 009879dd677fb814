# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Pixel goals, traversability, path planning, path following and the safety gate."""
