# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Where the executables begin: a signal while modules are imported ends the process quietly.

Importing takes seconds on a small machine. Python would answer an interrupt in that time with a
traceback from the middle of some library; nothing has been started yet, so the system's own way
to end a process is right. From :func:`vln_nodes.runtime.run` on a node ends in order.
"""

from __future__ import annotations

import importlib
import signal
from functools import partial


def start(module: str) -> None:
    """Import a module and run its ``main``; called from the main thread of a new process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    importlib.import_module(module).main()


perception = partial(start, 'vln_nodes.perception_node')
memory = partial(start, 'vln_nodes.memory_node')
system1 = partial(start, 'vln_nodes.system1_node')
system2 = partial(start, 'vln_nodes.system2_node')
controller = partial(start, 'vln_nodes.controller_node')
safety = partial(start, 'vln_nodes.safety_node')
light_nodes = partial(start, 'vln_nodes.light_nodes')
lifecycle_manager = partial(start, 'vln_nodes.lifecycle_manager')
record = partial(start, 'vln_nodes.record_node')
camera_mount = partial(start, 'vln_nodes.camera_mount')
