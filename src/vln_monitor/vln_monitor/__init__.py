# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Web page to watch, instruct and stop the robot."""
