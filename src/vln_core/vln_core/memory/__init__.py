# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""World graph, progress record, retrieval, map image, recall and journal."""
