# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""habitat_sim imports this name and uses nothing of it."""
