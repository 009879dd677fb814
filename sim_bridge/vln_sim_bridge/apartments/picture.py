# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Draw a scene folder from above: rooms, doorways, objects, and reference paths."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from vln_sim_bridge.episodes import FILE_NAME, load_episodes
from vln_sim_bridge.scene import Scene, load_scene

_ROOM_COLOURS = (
    '#f3e9d8',
    '#dfeaf2',
    '#e6f0dc',
    '#f4dfe0',
    '#e9e2f3',
    '#fbf3cf',
    '#dff1ee',
    '#eee6de',
)
_PATH_COLOURS = ('#d02020', '#1060d0', '#108030', '#b06000', '#8020a0')
_MARGIN_PX = 24


def draw_plan(folder: Path, path: Path, *, num_paths: int = 3, scale: int = 90) -> None:
    """Write a PNG of the scene in a folder.

    Args:
        folder: Scene folder.
        path: PNG file to write.
        num_paths: How many episodes to draw and to print below the plan.
        scale: Pixels a metre.

    Raises:
        SceneError: The folder holds no scene.
    """
    scene = load_scene(folder)
    has_episodes = (scene.folder / FILE_NAME).is_file()
    episodes = load_episodes(scene.folder)[:num_paths] if has_episodes else []
    (x0, y0), (x1, y1) = scene.bounds
    width, height = ((np.array([x1 - x0, y1 - y0]) * scale) + 2 * _MARGIN_PX).astype(int)
    image = Image.new('RGB', (max(width, 900), height + 20 * len(episodes)), 'white')
    draw = ImageDraw.Draw(image)

    def px(x: float, y: float) -> tuple[float, float]:
        return _MARGIN_PX + (x - x0) * scale, _MARGIN_PX + (y1 - y) * scale

    _draw_rooms(draw, scene, px, scale)
    font = ImageFont.load_default(11)
    for item in sorted(scene.objects, key=lambda o: o.maximum[2]):
        if item.category == 'doorway':
            continue
        corners = [*px(item.minimum[0], item.maximum[1]), *px(item.maximum[0], item.minimum[1])]
        high = item.minimum[2] > 1.0
        draw.rectangle(corners, outline='#444444', fill=None if high else '#c9b79c')
        centre = px(
            (item.minimum[0] + item.maximum[0]) / 2, (item.minimum[1] + item.maximum[1]) / 2
        )
        draw.text(centre, item.name, fill='#102060', font=font, anchor='mm')
    for k, episode in enumerate(episodes):
        colour = _PATH_COLOURS[k % len(_PATH_COLOURS)]
        draw.line([px(*p) for p in episode.reference_path_xy], fill=colour, width=3)
        _draw_arrow(draw, px, episode.start, colour)
        gx, gy = px(*episode.goal)
        draw.ellipse((gx - 7, gy - 7, gx + 7, gy + 7), outline=colour, width=3)
        tags = f'  [{", ".join(episode.tags)}]' if episode.tags else ''
        draw.text((_MARGIN_PX, height + 20 * k), f'{episode.id}. {episode.instruction}{tags}',
                  fill=colour, font=ImageFont.load_default(13))  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def _draw_rooms(draw: ImageDraw.ImageDraw, scene: Scene, px, scale: int) -> None:
    (x0, y0), (x1, y1) = scene.bounds
    draw.rectangle([*px(x0, y1), *px(x1, y0)], fill='#505050')
    font = ImageFont.load_default(18)
    for room in scene.rooms:
        colour = _ROOM_COLOURS[room.id % len(_ROOM_COLOURS)]
        draw.polygon([px(*p) for p in room.polygon], fill=colour)
    for door in scene.doorways:
        (x, y), half, deep = door.position, door.width / 2, 0.1
        ax, ay = (half, deep) if abs(math.sin(door.yaw)) > 0.5 else (deep, half)
        draw.rectangle([*px(x - ax, y + ay), *px(x + ax, y - ay)], fill='#f0a030')
    for room in scene.rooms:
        x, y = np.mean(room.polygon[:4], axis=0)
        draw.text(px(x, y), f'{room.type} {room.id}', fill='#903030', font=font, anchor='mm')


def _draw_arrow(draw: ImageDraw.ImageDraw, px, pose, colour: str) -> None:
    x, y, yaw = pose
    tip = px(x + 0.35 * math.cos(yaw), y + 0.35 * math.sin(yaw))
    sides = [px(x + 0.15 * math.cos(yaw + s), y + 0.15 * math.sin(yaw + s)) for s in (2.4, -2.4)]
    draw.polygon([tip, *sides], fill=colour)
