# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Refused motion goals as markers: what was pointed at, in a colour and namespace per reason."""

from __future__ import annotations

from typing import Any

from visualization_msgs.msg import Marker, MarkerArray

from vln_core.control.pixel_goal import pixel_point
from vln_core.observation import Panorama
from vln_core.outcome import MotionOutcome
from vln_nodes import conversions
from vln_nodes.markers import color_of

# Refused pixels without a depth lie on a sphere about the camera, metres.
_FAR = 3.0


class RefusalMarkers:
    """The refusals of one panorama; the next one begins anew."""

    def __init__(self, frame_id: str) -> None:
        """Take the odometry frame of the headers."""
        self._frame_id = frame_id
        self._panorama = -1
        self._markers: list[Marker] = []

    def add(
        self,
        panorama: Panorama,
        view: int,
        pixel_uv: tuple[float, float],
        outcome: MotionOutcome,
    ) -> MarkerArray:
        """Return all refusals of the panorama, this one included.

        Args:
            panorama: That the pixel was chosen in.
            view: Index of the view; one that does not exist is marked at the robot.
            pixel_uv: Column and row, px.
            outcome: A refusal.
        """
        if panorama.id != self._panorama:
            self._panorama, self._markers = panorama.id, []
        point = None
        if 0 <= view < len(panorama.views):
            point = pixel_point(panorama.views[view], pixel_uv, _FAR)
        if point is None:  # no such picture or pixel: the place is that of the robot
            point = panorama.odom_tform_base[:3, 3]
        name, number = outcome.code.name, len(self._markers)
        ball = self._marker(name, number, Marker.SPHERE, point, panorama.stamp)
        ball.scale.x = ball.scale.y = ball.scale.z = 0.15
        text = self._marker(name, number + 1, Marker.TEXT_VIEW_FACING, point, panorama.stamp)
        text.pose.position.z += 0.2
        text.scale.z = 0.12
        text.text = f'{name}: {outcome.message}'
        self._markers += [ball, text]
        clear = Marker(action=Marker.DELETEALL)
        clear.header = ball.header
        return MarkerArray(markers=[clear, *self._markers])

    def _marker(self, name: str, number: int, kind: int, point: Any, stamp: int) -> Marker:
        marker = Marker(ns=name, id=number, type=kind, action=Marker.ADD)
        marker.header.frame_id = self._frame_id
        marker.header.stamp = conversions.stamp_msg(stamp)
        marker.pose.position = conversions.point_msg(tuple(float(value) for value in point))
        marker.pose.orientation.w = 1.0
        marker.color.r, marker.color.g, marker.color.b = color_of(name)
        marker.color.a = 0.9
        return marker
