# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Publishes where the camera is mounted, for robots whose own description does not say it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from geometry_msgs.msg import TransformStamped
from tf2_ros import StaticTransformBroadcaster

from vln_core.errors import ConfigError
from vln_core.geometry.transforms import camera_mount_tform
from vln_nodes import conversions, parameters, runtime
from vln_nodes.base import StackNode
from vln_nodes.parameters import parameter


@dataclass(frozen=True)
class CameraMountParameters:
    """Parameters of the camera mount: as one measures it with a rule and a level."""

    base_frame: str = parameter('base_link', 'Body frame of the robot, z = 0 on the floor.')
    camera_frame: str = parameter(
        'camera_color_optical_frame', 'Optical frame that the pictures carry in their headers.'
    )
    x: float = parameter(0.0, 'Lens before (+) or behind the centre of rotation, m.')
    y: float = parameter(0.0, 'Lens left (+) or right of the middle, m.')
    height: float = parameter(0.0, 'Lens above the floor, m; must be set.', minimum=0.0)
    tilt: float = parameter(
        0.0, 'How far the camera looks down, rad.', minimum=-1.571, maximum=1.571
    )
    pan: float = parameter(
        0.0,
        'How far it looks to the left of straight ahead, rad.',
        minimum=-3.1416,
        maximum=3.1416,
    )


class CameraMount(StackNode):
    """One static transform."""

    def __init__(self) -> None:
        super().__init__('camera_mount')
        config = parameters.load(self, CameraMountParameters())
        if config.height <= 0.0:
            raise ConfigError(
                'camera_mount: measure the height of the lens above the floor and set height, m'
            )
        tform = camera_mount_tform(
            config.x, config.y, config.height, pitch=config.tilt, yaw=config.pan
        )
        pose = conversions.pose_msg(tform)
        message = TransformStamped(child_frame_id=config.camera_frame)
        message.header.frame_id = config.base_frame
        message.header.stamp = self.get_clock().now().to_msg()
        offset = message.transform.translation
        offset.x, offset.y, offset.z = pose.position.x, pose.position.y, pose.position.z
        message.transform.rotation = pose.orientation
        self._broadcaster = StaticTransformBroadcaster(self)
        self._broadcaster.sendTransform(message)
        self.report(height=f'{config.height:.2f} m', tilt=f'{math.degrees(config.tilt):.1f} deg')


def main() -> None:
    """Run the node."""
    runtime.main(CameraMount)


if __name__ == '__main__':
    main()
