# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller publishes: commands for safety, path and grid for people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid, Path
from visualization_msgs.msg import MarkerArray

from vln_core.control.traversability import TraversabilityGrid
from vln_core.observation import Panorama
from vln_core.outcome import MotionOutcome
from vln_interfaces.msg import VelocityCommand
from vln_nodes import conversions, qos
from vln_nodes.base import StackNode
from vln_nodes.motion_markers import RefusalMarkers


class ControllerTopics:
    """Publishers of ``velocity_command``, ``plan``, ``traversability`` and refusals."""

    def __init__(
        self, node: StackNode, odom_frame: str, base_frame: str, *, is_lockstep: bool
    ) -> None:
        """Create the publishers; frames are those of the headers."""
        self._odom_frame = odom_frame
        self._base_frame = base_frame
        command = qos.COMMAND_LOCKSTEP if is_lockstep else qos.COMMAND
        self._commands = node.create_publisher(VelocityCommand, 'velocity_command', command)
        self._grids = node.create_publisher(OccupancyGrid, 'traversability', qos.VISUAL)
        self._paths = node.create_publisher(Path, 'plan', qos.LATCHED)
        self._refusals = node.create_publisher(MarkerArray, 'refusals/markers', qos.LATCHED)
        self._markers = RefusalMarkers(odom_frame)
        self._command = VelocityCommand(is_hold=True)

    def send(self, stamp: int, v: float, w: float, *, is_hold: bool) -> None:
        """Publish a command (m/s, rad/s) for the tick of ``stamp`` (ns)."""
        message = VelocityCommand(is_hold=is_hold)
        message.header.frame_id = self._base_frame
        message.header.stamp = conversions.stamp_msg(stamp)
        message.twist.linear.x, message.twist.angular.z = float(v), float(w)
        self._command = message
        self._commands.publish(message)

    def send_again(self) -> None:
        """Publish the last command once more: it was lost."""
        self._commands.publish(self._command)

    def show_path(self, stamp: int, path_xy: Sequence[tuple[float, float]]) -> None:
        """Publish the path (odometry frame, m) that is driven."""
        message = Path()
        message.header.frame_id = self._odom_frame
        message.header.stamp = conversions.stamp_msg(stamp)
        for x, y in path_xy:
            pose = PoseStamped(header=message.header)
            pose.pose.position = conversions.point_msg((x, y, 0.0))
            pose.pose.orientation.w = 1.0
            message.poses.append(pose)
        self._paths.publish(message)

    def show_refusal(
        self,
        panorama: Panorama,
        view: int,
        pixel_uv: tuple[float, float],
        outcome: MotionOutcome,
    ) -> None:
        """Publish the refusals of a panorama, among them this one."""
        self._refusals.publish(self._markers.add(panorama, view, pixel_uv, outcome))

    def show_grid(self, grid: TraversabilityGrid) -> None:
        """Publish the traversability grid if anybody looks at it."""
        if not self._grids.get_subscription_count():
            return
        message = OccupancyGrid()
        message.header.frame_id = self._odom_frame
        message.header.stamp = conversions.stamp_msg(grid.stamp)
        cells = grid.as_occupancy()
        message.info.resolution = float(grid.config.cell)
        message.info.height, message.info.width = cells.shape
        message.info.origin.position = conversions.point_msg((*grid.origin, 0.0))
        message.info.origin.orientation.w = 1.0
        message.data = conversions.int8_array(np.ascontiguousarray(cells))
        self._grids.publish(message)
