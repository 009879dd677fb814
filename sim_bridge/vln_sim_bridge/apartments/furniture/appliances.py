# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Water, heat and machines.

Every maker returns parts in the piece's own frame: x along its width with 0 in the middle, y = 0
at its back and growing to its front, z up from the floor, metres.
"""

from __future__ import annotations

import numpy as np

from vln_sim_bridge.apartments.furniture.palette import (
    BLACK,
    CREAM,
    DARK,
    GLASS,
    SCREEN,
    STEEL,
    WHITE,
    wood,
)
from vln_sim_bridge.apartments.materials import Material
from vln_sim_bridge.apartments.shape import Part, ball, box, cylinder


def refrigerator(rng: np.random.Generator) -> list[Part]:
    """Tall cabinet with a freezer door above, a larger door below, and two handles."""
    m = (WHITE, STEEL)[int(rng.integers(2))]
    return [
        box((-0.35, 0, 0.03), (0.35, 0.6, 1.8), m),
        box((-0.33, 0.03, 0), (0.33, 0.55, 0.03), BLACK),
        box((-0.345, 0.605, 1.25), (0.345, 0.65, 1.79), m),
        box((-0.345, 0.605, 0.06), (0.345, 0.65, 1.23), m),
        box((0.24, 0.65, 1.32), (0.28, 0.7, 1.62), DARK),
        box((0.24, 0.65, 0.7), (0.28, 0.7, 1.15), DARK),
    ]


def stove(rng: np.random.Generator) -> list[Part]:
    """Oven with a window, knobs, four burners and a back panel."""
    parts = [
        box((-0.3, 0, 0), (0.3, 0.6, 0.88), WHITE),
        box((-0.3, 0, 0.88), (0.3, 0.6, 0.9), BLACK),
        box((-0.3, 0, 0.9), (0.3, 0.04, 1.05), STEEL),
        box((-0.22, 0.6, 0.22), (0.22, 0.61, 0.56), BLACK),
        box((-0.24, 0.6, 0.62), (0.24, 0.64, 0.65), STEEL),
    ]
    parts += [
        cylinder((x, y, 0.9), 0.085, 0.02, DARK) for x in (-0.14, 0.14) for y in (0.18, 0.44)
    ]
    parts += [
        cylinder((x, 0.6, 0.77), 0.025, 0.03, DARK, axis=1, sides=8)
        for x in (-0.2, -0.07, 0.07, 0.2)
    ]
    return parts


def kitchen_sink(rng: np.random.Generator) -> list[Part]:
    """Base cabinet with a hollow steel basin and a tap."""
    m = wood(rng)
    return [
        box((-0.4, 0, 0.08), (0.4, 0.56, 0.7), m),
        box((-0.4, 0, 0), (0.4, 0.5, 0.08), BLACK),
        box((-0.4, 0, 0.7), (-0.28, 0.6, 0.9), STEEL),
        box((0.28, 0, 0.7), (0.4, 0.6, 0.9), STEEL),
        box((-0.28, 0, 0.7), (0.28, 0.12, 0.9), STEEL),
        box((-0.28, 0.5, 0.7), (0.28, 0.6, 0.9), STEEL),
        box((-0.28, 0.12, 0.7), (0.28, 0.5, 0.72), DARK),
        cylinder((0, 0.07, 0.9), 0.02, 0.25, STEEL, sides=8),
        box((-0.02, 0.07, 1.13), (0.02, 0.25, 1.16), STEEL),
    ]


def sink(rng: np.random.Generator) -> list[Part]:
    """Wash basin on a pedestal with a tap."""
    return [
        cylinder((0, 0.2, 0), 0.09, 0.7, WHITE),
        box((-0.28, 0, 0.68), (0.28, 0.1, 0.85), WHITE),
        box((-0.28, 0.4, 0.68), (0.28, 0.45, 0.85), WHITE),
        box((-0.28, 0.1, 0.68), (-0.22, 0.4, 0.85), WHITE),
        box((0.22, 0.1, 0.68), (0.28, 0.4, 0.85), WHITE),
        box((-0.22, 0.1, 0.68), (0.22, 0.4, 0.71), GLASS),
        box((-0.015, 0.05, 0.85), (0.015, 0.08, 1.0), STEEL),
        box((-0.015, 0.05, 0.98), (0.015, 0.2, 1.0), STEEL),
    ]


def toilet(rng: np.random.Generator) -> list[Part]:
    """Tank, bowl and a raised lid."""
    return [
        box((-0.19, 0, 0.38), (0.19, 0.17, 0.8), WHITE),
        box((-0.2, 0, 0.8), (0.2, 0.18, 0.83), WHITE),
        box((-0.1, 0.1, 0), (0.1, 0.5, 0.2), WHITE),
        cylinder((0, 0.42, 0.0), 0.13, 0.38, WHITE, top=0.2),
        cylinder((0, 0.42, 0.38), 0.21, 0.03, CREAM),
        cylinder((0, 0.42, 0.411), 0.13, 0.003, GLASS),
        box((-0.04, 0.17, 0.7), (0.04, 0.185, 0.74), STEEL),
        box((-0.14, 0.1, 0.2), (0.14, 0.3, 0.38), WHITE),
    ]


def bathtub(rng: np.random.Generator) -> list[Part]:
    """Hollow tub with water and a tap."""
    w, d, h = 1.6, 0.75, 0.56
    return [
        box((-w / 2, 0, 0), (w / 2, 0.08, h), WHITE),
        box((-w / 2, d - 0.08, 0), (w / 2, d, h), WHITE),
        box((-w / 2, 0.08, 0), (-w / 2 + 0.1, d - 0.08, h), WHITE),
        box((w / 2 - 0.1, 0.08, 0), (w / 2, d - 0.08, h), WHITE),
        box((-w / 2 + 0.1, 0.08, 0), (w / 2 - 0.1, d - 0.08, 0.3), GLASS),
        cylinder((w / 2 - 0.05, d / 2, h), 0.02, 0.2, STEEL, sides=8),
        box((w / 2 - 0.2, d / 2 - 0.02, h + 0.17), (w / 2 - 0.05, d / 2 + 0.02, h + 0.2), STEEL),
    ]


def shower(rng: np.random.Generator) -> list[Part]:
    """Tray, tiled back, half a glass side, pole and head."""
    tile = Material('tiles', (120, 170, 190), 0.3)
    return [
        box((-0.42, 0, 0), (0.42, 0.84, 0.12), WHITE),
        box((-0.42, 0, 0.12), (0.42, 0.03, 2.1), tile),
        box((-0.42, 0.03, 0.12), (-0.39, 0.84, 2.0), GLASS),
        cylinder((0.1, 0.07, 0.9), 0.015, 1.15, STEEL, sides=8),
        box((0.085, 0.07, 2.02), (0.115, 0.3, 2.05), STEEL),
        cylinder((0.1, 0.3, 1.98), 0.1, 0.05, STEEL),
        box((0.39, 0.03, 0.12), (0.42, 0.06, 2.0), STEEL),
        box((0.39, 0.81, 0.12), (0.42, 0.84, 2.0), STEEL),
    ]


def washing_machine(rng: np.random.Generator) -> list[Part]:
    """White cube with a round glass door and a control panel."""
    return [
        box((-0.3, 0, 0), (0.3, 0.58, 0.86), WHITE),
        box((-0.29, 0.58, 0.72), (0.29, 0.59, 0.84), STEEL),
        cylinder((0, 0.58, 0.4), 0.2, 0.03, STEEL, axis=1, sides=18),
        cylinder((0, 0.61, 0.4), 0.15, 0.02, Material('plain', (50, 66, 90)), axis=1, sides=18),
        cylinder((0.2, 0.59, 0.78), 0.035, 0.03, DARK, axis=1, sides=8),
        box((-0.26, 0.59, 0.75), (-0.08, 0.6, 0.81), CREAM),
    ]


def fireplace(rng: np.random.Generator) -> list[Part]:
    """Brick chimney breast with an opening, fire and mantel."""
    m = Material('brick', (150, 72, 56), 0.5)
    return [
        box((-0.65, 0, 0), (-0.35, 0.4, 1.1), m),
        box((0.35, 0, 0), (0.65, 0.4, 1.1), m),
        box((-0.35, 0, 0.7), (0.35, 0.4, 1.1), m),
        box((-0.35, 0, 0), (0.35, 0.04, 0.7), BLACK),
        box((-0.72, 0, 1.1), (0.72, 0.46, 1.17), wood(rng)),
        box((-0.4, 0, 1.17), (0.4, 0.25, 2.55), m),
        cylinder(
            (-0.2, 0.25, 0.06), 0.05, 0.4, Material('wood', (96, 60, 36), 0.2), axis=0, sides=8
        ),
        ball((0, 0.22, 0.2), 0.14, Material('leaves', (250, 140, 40), 0.2), flat=1.4),
    ]


def treadmill(rng: np.random.Generator) -> list[Part]:
    """Belt, posts and console."""
    return [
        box((-0.35, 0.1, 0.02), (0.35, 1.5, 0.16), DARK),
        box((-0.25, 0.2, 0.16), (0.25, 1.48, 0.175), BLACK),
        box((-0.35, 0.1, 0.16), (-0.29, 0.2, 1.2), STEEL),
        box((0.29, 0.1, 0.16), (0.35, 0.2, 1.2), STEEL),
        box((-0.35, 0.08, 1.15), (0.35, 0.24, 1.32), BLACK),
        box((-0.18, 0.24, 1.18), (0.18, 0.245, 1.3), SCREEN),
        box((-0.35, 0.2, 0.9), (-0.3, 0.7, 0.94), STEEL),
        box((0.3, 0.2, 0.9), (0.35, 0.7, 0.94), STEEL),
    ]


def air_conditioner(rng: np.random.Generator) -> list[Part]:
    """Wall unit with a louvre."""
    return [
        box((-0.45, 0, 0), (0.45, 0.2, 0.28), WHITE),
        box((-0.4, 0.2, 0.03), (0.4, 0.21, 0.08), DARK),
    ]
