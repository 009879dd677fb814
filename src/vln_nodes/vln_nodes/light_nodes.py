# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Perception, memory, System 1 and System 2 in one process, each with an executor of its own."""

from __future__ import annotations

from vln_nodes import runtime
from vln_nodes.memory_node import MemoryNode
from vln_nodes.perception_node import PerceptionNode
from vln_nodes.system1_node import System1Node
from vln_nodes.system2_node import System2Node


def main() -> None:
    """Run the nodes."""
    runtime.main(PerceptionNode, MemoryNode, System1Node, System2Node)


if __name__ == '__main__':
    main()
