# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Instruction understanding, decision record and planners."""
