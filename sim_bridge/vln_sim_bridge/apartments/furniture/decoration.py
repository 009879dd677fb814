# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Plants, lamps, what hangs on walls, and what is left over.

Every maker returns parts in the piece's own frame: x along its width with 0 in the middle, y = 0
at its back and growing to its front, z up from the floor, metres.
"""

from __future__ import annotations

import numpy as np

from vln_sim_bridge.apartments.furniture.palette import (
    BLACK,
    CLAY,
    CREAM,
    DARK,
    FABRICS,
    LEAVES,
    STEEL,
    WHITE,
    fabric,
    legs,
    wood,
)
from vln_sim_bridge.apartments.materials import Material
from vln_sim_bridge.apartments.shape import Part, ball, box, cylinder


def plant(rng: np.random.Generator) -> list[Part]:
    """Pot, stem and balls of leaves."""
    top = float(rng.uniform(1.0, 1.35))
    parts = [
        cylinder((0, 0.2, 0), 0.13, 0.32, CLAY, top=0.19),
        cylinder((0, 0.2, 0.32), 0.025, top - 0.5, Material('plain', (96, 70, 44)), sides=6),
    ]
    for dx, dy, z, r in (
        (0, 0, top - 0.1, 0.2),
        (-0.08, 0.05, top - 0.35, 0.16),
        (0.09, -0.04, top - 0.3, 0.15),
        (0.02, 0.07, top - 0.55, 0.14),
    ):
        parts.append(ball((dx, 0.2 + dy, z), r, LEAVES, sides=8))
    return parts


def lamp(rng: np.random.Generator) -> list[Part]:
    """Floor lamp: foot, pole, bright shade."""
    return [
        cylinder((0, 0.2, 0), 0.15, 0.04, DARK),
        cylinder((0, 0.2, 0.04), 0.018, 1.4, DARK, sides=8),
        cylinder((0, 0.2, 1.38), 0.2, 0.3, Material('plain', (250, 226, 140)), top=0.12),
    ]


def piano(rng: np.random.Generator) -> list[Part]:
    """Upright piano with keys."""
    m = Material('plain', (52, 30, 22))
    keys = Material('stripes', (240, 240, 236), 0.2)
    return [
        box((-0.72, 0, 0), (0.72, 0.36, 1.2), m),
        box((-0.72, 0.36, 0.6), (0.72, 0.6, 0.7), m),
        box((-0.64, 0.38, 0.7), (0.64, 0.58, 0.725), keys),
        *legs(1.44, 0.6, 0.6, m, 0.08),
        box((-0.25, 0.36, 0.85), (0.25, 0.38, 1.1), CREAM),
    ]


def mirror(rng: np.random.Generator) -> list[Part]:
    """Framed glass for a wall; its own z starts at the lower edge."""
    m = wood(rng)
    return [
        box((-0.32, 0, 0), (0.32, 0.03, 0.85), m),
        box((-0.27, 0.03, 0.05), (0.27, 0.035, 0.8), Material('plain', (196, 222, 232))),
    ]


def rug(rng: np.random.Generator) -> list[Part]:
    """Flat carpet with a border."""
    m, border = fabric(rng, 'stripes'), fabric(rng)
    return [
        box((-0.85, 0, 0.001), (0.85, 1.2, 0.01), border, ('-z',)),
        box((-0.72, 0.13, 0.01), (0.72, 1.07, 0.014), m, ('-z',)),
    ]


def painting(rng: np.random.Generator) -> list[Part]:
    """Framed landscape for a wall."""
    w, h = float(rng.uniform(0.6, 1.0)), float(rng.uniform(0.5, 0.7))
    sky = tuple(int(v) for v in rng.integers((90, 120, 150), (230, 220, 250)))
    return [
        box((-w / 2, 0, 0), (w / 2, 0.03, h), wood(rng)),
        box(
            (-w / 2 + 0.05, 0.03, 0.05), (w / 2 - 0.05, 0.035, h - 0.05), Material('picture', sky)
        ),
    ]


def clock(rng: np.random.Generator) -> list[Part]:
    """Round wall clock with hands."""
    return [
        cylinder((0, 0, 0.18), 0.18, 0.035, BLACK, axis=1, sides=20),
        cylinder((0, 0.035, 0.18), 0.155, 0.005, WHITE, axis=1, sides=20),
        box((-0.012, 0.04, 0.18), (0.012, 0.045, 0.3), BLACK),
        box((0, 0.04, 0.168), (0.09, 0.045, 0.192), BLACK),
    ]


def curtain(rng: np.random.Generator) -> list[Part]:
    """Rod with two cloths that frame a window."""
    m = fabric(rng, 'stripes')
    return [
        cylinder((-0.95, 0.05, 2.3), 0.015, 1.9, DARK, axis=0, sides=6),
        box((-0.9, 0.02, 0.25), (-0.6, 0.08, 2.28), m),
        box((0.6, 0.02, 0.25), (0.9, 0.08, 2.28), m),
    ]


def window(rng: np.random.Generator) -> list[Part]:
    """Frame with a bright pane and a cross bar."""
    pane = Material('picture', (188, 222, 250))
    return [
        box((-0.6, 0, 0), (0.6, 0.03, 1.15), WHITE),
        box((-0.55, 0.03, 0.05), (0.55, 0.035, 1.1), pane),
        box((-0.02, 0.035, 0.05), (0.02, 0.045, 1.1), WHITE),
        box((-0.65, 0, -0.04), (0.65, 0.07, 0), WHITE),
    ]


def dumbbell(rng: np.random.Generator) -> list[Part]:
    """Rack with a row of dumbbells."""
    parts = [
        box((-0.5, 0, 0), (-0.45, 0.36, 0.6), DARK),
        box((0.45, 0, 0), (0.5, 0.36, 0.6), DARK),
    ]
    for z in (0.2, 0.52):
        parts.append(box((-0.45, 0.02, z), (0.45, 0.34, z + 0.04), STEEL))
        for k in range(4):
            x = -0.33 + 0.22 * k
            parts += [
                cylinder((x, 0.05, z + 0.11), 0.07, 0.08, BLACK, axis=1, sides=8),
                cylinder((x, 0.13, z + 0.11), 0.02, 0.1, STEEL, axis=1, sides=6),
                cylinder((x, 0.23, z + 0.11), 0.07, 0.08, BLACK, axis=1, sides=8),
            ]
    return parts


def football(rng: np.random.Generator) -> list[Part]:
    """Checked ball."""
    return [ball((0, 0.15, 0.15), 0.15, Material('checker', (240, 240, 240), 0.12), sides=14)]


def bicycle(rng: np.random.Generator) -> list[Part]:
    """Two wheels, frame, saddle and handlebar, leaning along a wall."""
    m = Material('plain', FABRICS[int(rng.integers(2))])
    parts = []
    for x in (-0.52, 0.52):
        parts += [
            cylinder((x, 0.18, 0.33), 0.33, 0.04, BLACK, axis=1, sides=18),
            cylinder((x, 0.175, 0.33), 0.27, 0.05, STEEL, axis=1, sides=18),
        ]
    return parts + [
        box((-0.5, 0.18, 0.52), (0.42, 0.22, 0.57), m),
        box((-0.3, 0.18, 0.3), (-0.25, 0.22, 0.85), m),
        box((0.4, 0.18, 0.33), (0.45, 0.22, 0.95), m),
        box((-0.52, 0.18, 0.31), (0.1, 0.22, 0.36), m),
        box((0.06, 0.18, 0.33), (0.11, 0.22, 0.55), m),
        box((-0.4, 0.13, 0.85), (-0.15, 0.27, 0.9), BLACK),
        box((0.4, 0.0, 0.93), (0.44, 0.4, 0.97), BLACK),
    ]
