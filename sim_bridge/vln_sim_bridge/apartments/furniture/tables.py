# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Tables, and what stands on them.

Every maker returns parts in the piece's own frame: x along its width with 0 in the middle, y = 0
at its back and growing to its front, z up from the floor, metres.
"""

from __future__ import annotations

import numpy as np

from vln_sim_bridge.apartments.furniture.palette import (
    BLACK,
    CREAM,
    DARK,
    LEAVES,
    SCREEN,
    STEEL,
    WHITE,
    legs,
    table_top,
    wood,
)
from vln_sim_bridge.apartments.materials import Material
from vln_sim_bridge.apartments.shape import Part, ball, box, cylinder


def dining_table(rng: np.random.Generator) -> list[Part]:
    """Large table with four legs."""
    return table_top(1.5, 0.9, 0.75, wood(rng))


def table(rng: np.random.Generator) -> list[Part]:
    """Small square table."""
    return table_top(0.6, 0.6, 0.6, wood(rng))


def coffee_table(rng: np.random.Generator) -> list[Part]:
    """Low table with a shelf."""
    m = wood(rng)
    return [*table_top(1.0, 0.55, 0.42, m), box((-0.46, 0.04, 0.14), (0.46, 0.51, 0.16), m)]


def desk(rng: np.random.Generator) -> list[Part]:
    """Work surface on a drawer unit and two legs."""
    m = wood(rng)
    return [
        box((-0.65, 0, 0.7), (0.65, 0.62, 0.74), m),
        box((0.23, 0.04, 0.05), (0.63, 0.58, 0.7), m),
        *[box((0.25, 0.58, z), (0.61, 0.6, z + 0.18), CREAM) for z in (0.08, 0.29, 0.5)],
        box((-0.65, 0, 0), (-0.6, 0.06, 0.7), m),
        box((-0.65, 0.56, 0), (-0.6, 0.62, 0.7), m),
    ]


def nightstand(rng: np.random.Generator) -> list[Part]:
    """Small drawer unit."""
    m = wood(rng)
    return [
        box((-0.22, 0, 0.06), (0.22, 0.36, 0.5), m),
        *legs(0.44, 0.36, 0.06, m),
        *[box((-0.2, 0.36, z), (0.2, 0.38, z + 0.17), m) for z in (0.1, 0.3)],
        *[box((-0.04, 0.38, z), (0.04, 0.4, z + 0.03), STEEL) for z in (0.17, 0.37)],
    ]


def television(rng: np.random.Generator) -> list[Part]:
    """Screen on a low stand with drawers."""
    m = wood(rng)
    return [
        box((-0.7, 0, 0), (0.7, 0.4, 0.42), m),
        box((-0.66, 0.4, 0.06), (-0.02, 0.42, 0.38), m),
        box((0.02, 0.4, 0.06), (0.66, 0.42, 0.38), m),
        box((-0.15, 0.1, 0.42), (0.15, 0.3, 0.44), BLACK),
        box((-0.04, 0.17, 0.44), (0.04, 0.21, 0.52), BLACK),
        box((-0.55, 0.16, 0.5), (0.55, 0.215, 1.15), BLACK),
        box((-0.52, 0.215, 0.53), (0.52, 0.222, 1.12), SCREEN),
    ]


def microwave(rng: np.random.Generator) -> list[Part]:
    """Small oven for a counter."""
    return [
        box((-0.24, 0, 0), (0.24, 0.34, 0.28), STEEL),
        box((-0.22, 0.34, 0.03), (0.1, 0.35, 0.25), BLACK),
        box((0.13, 0.34, 0.03), (0.22, 0.35, 0.25), DARK),
        box((0.1, 0.34, 0.04), (0.12, 0.38, 0.24), WHITE),
    ]


def computer(rng: np.random.Generator) -> list[Part]:
    """Monitor on a foot with a keyboard, for a desk."""
    return [
        box((-0.12, 0.05, 0), (0.12, 0.2, 0.02), DARK),
        box((-0.02, 0.1, 0.02), (0.02, 0.13, 0.15), DARK),
        box((-0.28, 0.1, 0.12), (0.28, 0.14, 0.46), BLACK),
        box((-0.26, 0.14, 0.14), (0.26, 0.145, 0.44), SCREEN),
        box((-0.2, 0.3, 0), (0.2, 0.43, 0.02), CREAM),
    ]


def vase(rng: np.random.Generator) -> list[Part]:
    """Vase with flowers for a table top."""
    m = Material('plain', (60, 96, 168))
    parts = [
        cylinder((0, 0.09, 0), 0.045, 0.12, m, top=0.08),
        cylinder((0, 0.09, 0.12), 0.08, 0.1, m, top=0.04),
    ]
    for dx, dy in ((-0.05, 0.0), (0.05, 0.02), (0.0, -0.04)):
        parts += [
            cylinder((dx, 0.09 + dy, 0.22), 0.008, 0.1, LEAVES, sides=5),
            ball((dx, 0.09 + dy, 0.34), 0.045, Material('plain', (214, 60, 84)), sides=6),
        ]
    return parts
