# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Episodes in the R2R-CE format: instruction, start, goal and reference path.

Files hold Habitat coordinates (x, y up, z) and the quaternion of an agent that looks along -z;
everything these functions return is ROS world: (x, y) = (x, -z) and yaw about z, 0 along +x.
"""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import EpisodeError

FILE_NAME = 'episodes.json.gz'


@dataclass(frozen=True, eq=False)
class Episode:
    """One instruction in one scene.

    Attributes:
        id: Number in the file.
        instruction: What the person says.
        start: (x, y, yaw): metres, rad.
        goal: (x, y) where success is measured, metres.
        goal_object: Name of the object the instruction ends at, or None where the file has none.
        goal_category: Its canonical category, or None.
        reference_path_xy: (N, 2) float64 way a person would take, metres.
        geodesic_distance: Length of the shortest walk from start to goal, metres.
        radius: Success radius about the goal, metres.
        tags: Kinds of difficulty, such as 'search', 'lookalike', 'dead_end'.
        num_clauses: Clauses of the instruction, 0 where the file does not say.
    """

    id: int
    instruction: str
    start: tuple[float, float, float]
    goal: tuple[float, float]
    goal_object: str | None
    goal_category: str | None
    reference_path_xy: NDArray[np.float64]
    geodesic_distance: float
    radius: float = 3.0
    tags: tuple[str, ...] = ()
    num_clauses: int = 0


def to_habitat(x: float, y: float, z: float = 0.0) -> list[float]:
    """Return a ROS world point in Habitat coordinates, metres."""
    return [round(float(x), 4), round(float(z), 4), round(-float(y), 4)]


def from_habitat(position: Any) -> tuple[float, float]:
    """Return the floor position (x, y) in the ROS world of a Habitat point, metres."""
    return float(position[0]), -float(position[2])


def yaw_to_rotation(yaw: float) -> list[float]:
    """Return Habitat's quaternion (x, y, z, w) of an agent that looks along a ROS yaw, rad."""
    # looking along -z at rest is ROS yaw 90 degrees, because habitat z = -y
    half = (yaw - math.pi / 2) / 2
    return [0.0, round(math.sin(half), 9), 0.0, round(math.cos(half), 9)]


def rotation_to_yaw(rotation: Any) -> float:
    """Return the ROS yaw in (-pi, pi] of Habitat's quaternion (x, y, z, w).

    Raises:
        EpisodeError: It is not a rotation.
    """
    x, y, z, w = (float(v) for v in rotation)
    norm = x * x + y * y + z * z + w * w
    if not math.isfinite(norm) or norm < 1e-12:
        raise EpisodeError(f'start_rotation {rotation!r} is not a quaternion')
    # forward = R (0, 0, -1)
    forward_x = -2 * (x * z + y * w) / norm
    forward_z = -(1 - 2 * (x * x + y * y) / norm)
    return math.atan2(-forward_z, forward_x)


def episode_start_pose(episode: dict[str, Any]) -> tuple[float, float, float]:
    """Return (x, y, yaw) in the ROS world of an R2R-CE episode: metres, rad."""
    x, y = from_habitat(episode['start_position'])
    return x, y, rotation_to_yaw(episode['start_rotation'])


def episode_goal(episode: dict[str, Any]) -> tuple[float, float]:
    """Return the goal (x, y) in the ROS world of an R2R-CE episode, metres."""
    return from_habitat(episode['goals'][0]['position'])


def load_episodes(source: str | Path) -> list[Episode]:
    """Read the episodes of a scene folder, or of one R2R-CE file (.json or .json.gz).

    Raises:
        EpisodeError: The file is missing or malformed; the message names file and episode.
    """
    path = Path(source)
    if path.is_dir():
        path = path / FILE_NAME
    if not path.is_file():
        raise EpisodeError(
            f'no episodes at {path}: generate the scene again, or name an R2R-CE file'
        )
    try:
        data = path.read_bytes()
        raw = json.loads(gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data)
        entries = raw['episodes']
    except (OSError, ValueError, EOFError, KeyError, TypeError) as error:
        raise EpisodeError(f'{path} is not an R2R-CE episode file: {error!r}') from error
    episodes = []
    for index, entry in enumerate(entries):
        try:
            episodes.append(_parse(entry))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise EpisodeError(f'{path}: episode {index} is malformed: {error!r}') from error
    return episodes


def _parse(entry: dict[str, Any]) -> Episode:
    info = entry.get('info', {})
    start = episode_start_pose(entry)
    goal = entry['goals'][0]
    path = entry.get('reference_path') or [entry['start_position'], goal['position']]
    points = np.array([from_habitat(p) for p in path], float)
    if not (
        np.isfinite(points).all() and np.isfinite([*start, *from_habitat(goal['position'])]).all()
    ):
        raise ValueError('a coordinate is not finite')
    return Episode(
        id=int(entry['episode_id']),
        instruction=' '.join(entry['instruction']['instruction_text'].split()),
        start=start,
        goal=from_habitat(goal['position']),
        goal_object=info.get('goal_object'),
        goal_category=info.get('goal_category'),
        reference_path_xy=points,
        geodesic_distance=float(info.get('geodesic_distance', math.nan)),
        radius=float(goal.get('radius', 3.0)),
        tags=tuple(info.get('tags', ())),
        num_clauses=int(info.get('num_clauses', 0)),
    )


def write_episodes(entries: list[dict[str, Any]], path: str | Path) -> None:
    """Write R2R-CE episodes; equal content gives equal bytes."""
    text = json.dumps({'episodes': entries}, ensure_ascii=False, separators=(',', ':'))
    # without a fixed time in the header no two files would be equal
    Path(path).write_bytes(gzip.compress(text.encode(), mtime=0))
