# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Entry point of the monitor: the node that shows, and the node that commands."""

from __future__ import annotations

from vln_monitor.command_node import CommandNode
from vln_monitor.monitor_node import MonitorNode
from vln_nodes import runtime
from vln_nodes.ros_logging import forward_logging


def main() -> None:
    """Run the nodes."""
    made: list[CommandNode] = []

    def commands() -> CommandNode:
        made.append(CommandNode())
        forward_logging(made[0].get_logger(), 'vln_monitor')
        return made[0]

    runtime.keep_memory()
    runtime.main(commands, lambda: MonitorNode(made[0]))  # type: ignore[arg-type]


if __name__ == '__main__':
    main()
