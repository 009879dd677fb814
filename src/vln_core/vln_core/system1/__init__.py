# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Grounding of a target description to a pixel."""
