# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The subcommands of the entry script `./vln`."""
