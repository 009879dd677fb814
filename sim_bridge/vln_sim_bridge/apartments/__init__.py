# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Seeded generator of furnished apartments with instructions."""

from vln_sim_bridge.apartments.generator import generate

__all__ = ['generate']
