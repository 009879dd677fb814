# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Where the executable of the bridge begins; imports of the simulators come later."""

from __future__ import annotations

from vln_nodes.entry import start


def main() -> None:
    """Run the bridge."""
    start('vln_sim_bridge.bridge_node')
