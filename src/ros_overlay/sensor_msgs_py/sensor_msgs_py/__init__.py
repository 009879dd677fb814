# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Reading and writing point clouds, under the upstream names."""
