# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Every QoS profile of the stack, and the table of it for the README."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _profile(depth: int, *, reliable: bool, latched: bool = False) -> QoSProfile:
    return QoSProfile(
        depth=depth,
        history=HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def sensor(*, is_lockstep: bool) -> QoSProfile:
    """Return the profile of images, CameraInfo and odometry, for both ends.

    Best effort and latest wins on a running robot; in lock-step no sample may be lost, because
    simulated time waits for it.
    """
    return _profile(10, reliable=True) if is_lockstep else _profile(2, reliable=False)


# Commands: the newest counts, and it must arrive.
COMMAND = _profile(1, reliable=True)
# In lock-step, and for recordings: every command once.
COMMAND_LOCKSTEP = _profile(10, reliable=True)
# Shown to people and to RViz, whose displays ask for reliable by default.
VISUAL = _profile(2, reliable=True)
# State that late joiners need: the last one.
LATCHED = _profile(1, reliable=True, latched=True)
# Planner, grounder, memory and controller speak about panoramas by id: keep the last few.
PANORAMA = _profile(5, reliable=True, latched=True)
# A log of events; nothing is dropped.
EVENTS = _profile(50, reliable=True)
HEARTBEAT = _profile(10, reliable=True)
TF = _profile(100, reliable=True)


@dataclass(frozen=True)
class Topic:
    """One row of the topic table: relative name, type, who publishes it, and how."""

    name: str
    type: str
    publisher: str
    profile: QoSProfile
    note: str = ''


_SENSOR_NOTE = 'reliable, depth 10 in lock-step'
TOPICS: tuple[Topic, ...] = (
    Topic('camera/color/image_raw', 'sensor_msgs/Image', 'robot, sim_bridge',
          sensor(is_lockstep=False), _SENSOR_NOTE),
    Topic('camera/color/camera_info', 'sensor_msgs/CameraInfo', 'robot, sim_bridge',
          sensor(is_lockstep=False), _SENSOR_NOTE),
    Topic('camera/depth/image_raw', 'sensor_msgs/Image', 'robot, sim_bridge',
          sensor(is_lockstep=False), _SENSOR_NOTE),
    Topic('camera/depth/camera_info', 'sensor_msgs/CameraInfo', 'robot, sim_bridge',
          sensor(is_lockstep=False), _SENSOR_NOTE),
    Topic('odom', 'nav_msgs/Odometry', 'robot, sim_bridge',
          sensor(is_lockstep=False), _SENSOR_NOTE),
    Topic('sim/semantic', 'sensor_msgs/Image', 'sim_bridge',
          sensor(is_lockstep=False), _SENSOR_NOTE),
    Topic('sim/labels', 'vln_interfaces/LabelTable', 'sim_bridge', LATCHED),
    Topic('sim/ground_truth', 'vln_interfaces/GroundTruth', 'sim_bridge', VISUAL),
    Topic('velocity_command', 'vln_interfaces/VelocityCommand', 'controller', COMMAND,
          'depth 10 in lock-step'),
    Topic('teleop/velocity_command', 'vln_interfaces/VelocityCommand', 'teleop, monitor', COMMAND),
    Topic('emergency_stop', 'std_msgs/Bool', 'monitor', COMMAND,
          'true latches the stop, as the service does'),
    Topic('cmd_vel', 'geometry_msgs/TwistStamped', 'safety', COMMAND,
          'Twist with enable_stamped_cmd_vel:=false'),
    Topic('safety_status', 'vln_interfaces/SafetyStatus', 'safety', LATCHED),
    Topic('heartbeat', 'vln_interfaces/Heartbeat', 'every node', HEARTBEAT),
    Topic('panorama', 'vln_interfaces/Panorama', 'perception', PANORAMA),
    Topic('detections/image', 'sensor_msgs/Image', 'perception', VISUAL),
    Topic('detections/markers', 'visualization_msgs/MarkerArray', 'perception', LATCHED),
    Topic('detections/boxes_2d', 'vision_msgs/Detection2DArray', 'perception', EVENTS,
          'one a view; where vision_msgs is installed'),
    Topic('detections/boxes', 'vision_msgs/Detection3DArray', 'perception', VISUAL,
          'where vision_msgs is installed'),
    Topic('panorama/points', 'sensor_msgs/PointCloud2', 'perception', VISUAL,
          'made for subscribers only'),
    Topic('way_frame', 'sensor_msgs/CompressedImage', 'perception', EVENTS,
          'JPEG once a second, for the working window of the memory'),
    Topic('world_graph', 'vln_interfaces/WorldGraph', 'memory', LATCHED),
    Topic('progress', 'vln_interfaces/ProgressRecord', 'memory', LATCHED),
    Topic('map_image', 'sensor_msgs/Image', 'memory', LATCHED),
    Topic('map', 'nav_msgs/OccupancyGrid', 'memory', LATCHED),
    Topic('memory/markers', 'visualization_msgs/MarkerArray', 'memory', LATCHED),
    Topic('traversability', 'nav_msgs/OccupancyGrid', 'controller', VISUAL),
    Topic('plan', 'nav_msgs/Path', 'controller', LATCHED),
    Topic('refusals/markers', 'visualization_msgs/MarkerArray', 'controller', LATCHED,
          'refused goals of the last panorama, a namespace per reason'),
    Topic('decisions', 'vln_interfaces/DecisionRecord', 'system2', EVENTS),
    Topic('operator_words', 'std_msgs/String', 'speech recogniser, page', EVENTS,
          'a stop word ends the instruction at once'),
    Topic('model_calls', 'std_msgs/String', 'system2', EVENTS,
          'JSON: what a model was asked and answered; for records'),
    Topic('diagnostics', 'diagnostic_msgs/DiagnosticArray', 'every node', EVENTS),
)  # fmt: skip


def markdown_table() -> str:
    """Return the topic and QoS table of the README."""
    lines = ['| topic | type | published by | reliability | durability | depth | note |',
             '|---|---|---|---|---|---|---|']  # fmt: skip
    for topic in TOPICS:
        profile = topic.profile
        reliable = profile.reliability == ReliabilityPolicy.RELIABLE
        latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        lines.append(
            f'| `{topic.name}` | {topic.type} | {topic.publisher} '
            f'| {"reliable" if reliable else "best effort"} '
            f'| {"transient local" if latched else "volatile"} '
            f'| {profile.depth} | {topic.note} |'
        )
    return '\n'.join(lines) + '\n'
