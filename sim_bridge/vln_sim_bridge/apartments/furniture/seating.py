# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Things to sit and lie on.

Every maker returns parts in the piece's own frame: x along its width with 0 in the middle, y = 0
at its back and growing to its front, z up from the floor, metres.
"""

from __future__ import annotations

import numpy as np

from vln_sim_bridge.apartments.furniture.palette import (
    BLACK,
    CREAM,
    STEEL,
    WHITE,
    fabric,
    legs,
    wood,
)
from vln_sim_bridge.apartments.materials import Material
from vln_sim_bridge.apartments.shape import Part, ball, box, cylinder


def chair(rng: np.random.Generator) -> list[Part]:
    """Wooden chair: legs, seat, cushion, back."""
    m = wood(rng)
    return [
        *legs(0.42, 0.42, 0.44, m, 0.04),
        box((-0.21, 0, 0.42), (0.21, 0.42, 0.46), m),
        box((-0.18, 0.05, 0.46), (0.18, 0.4, 0.49), fabric(rng)),
        box((-0.21, 0, 0.46), (-0.17, 0.04, 0.95), m),
        box((0.17, 0, 0.46), (0.21, 0.04, 0.95), m),
        box((-0.17, 0, 0.62), (0.17, 0.03, 0.93), m),
    ]


def _seat(w: float, d: float, m: Material, cushion: Material, places: int) -> list[Part]:
    parts = [
        box((-w / 2, 0, 0.08), (w / 2, 0.24, 0.86), m),
        box((-w / 2, 0.24, 0.08), (-w / 2 + 0.2, d, 0.62), m),
        box((w / 2 - 0.2, 0.24, 0.08), (w / 2, d, 0.62), m),
        box((-w / 2 + 0.2, 0.24, 0.08), (w / 2 - 0.2, d, 0.3), m),
    ]
    each = (w - 0.4) / places
    for k in range(places):
        x = -w / 2 + 0.2 + k * each
        parts += [
            box((x + 0.01, 0.26, 0.3), (x + each - 0.01, d + 0.02, 0.45), cushion),
            box((x + 0.03, 0.24, 0.46), (x + each - 0.03, 0.38, 0.82), cushion),
        ]
    return parts + legs(w, d, 0.08, BLACK, 0.06)


def sofa(rng: np.random.Generator) -> list[Part]:
    """Two or three seats with arms and a back."""
    m = fabric(rng)
    light = Material('fabric', tuple(min(255, int(c * 1.25) + 12) for c in m.rgb), 0.4)
    places = int(rng.integers(2, 4))
    return _seat(0.4 + 0.62 * places, 0.9, m, light, places)


def armchair(rng: np.random.Generator) -> list[Part]:
    """A single wide seat with arms."""
    m = fabric(rng, 'checker')
    return _seat(0.9, 0.82, m, CREAM, 1)


def bed(rng: np.random.Generator) -> list[Part]:
    """Frame, headboard, mattress, pillows and a blanket."""
    m, w, d = wood(rng), float(rng.choice([1.0, 1.5])), 2.0
    blanket = fabric(rng, 'checker')
    parts = [
        box((-w / 2, 0, 0), (w / 2, 0.06, 1.0), m),
        box((-w / 2, 0.06, 0.12), (w / 2, d, 0.32), m),
        box((-w / 2 + 0.03, 0.06, 0.32), (w / 2 - 0.03, d - 0.03, 0.5), WHITE),
        box((-w / 2 + 0.01, 0.62, 0.3), (w / 2 - 0.01, d - 0.01, 0.54), blanket),
        *legs(w, d - 0.06, 0.12, m, 0.08, 0.06),
    ]
    places = 2 if w > 1.2 else 1
    for k in range(places):
        x = (k - (places - 1) / 2) * 0.7
        parts.append(box((x - 0.3, 0.12, 0.5), (x + 0.3, 0.5, 0.62), CREAM))
    return parts


def office_chair(rng: np.random.Generator) -> list[Part]:
    """Swivel chair: star base, column, seat, back, arm rests."""
    m = Material('fabric', (44, 46, 54), 0.2)
    return [
        box((-0.26, 0.23, 0.03), (0.26, 0.29, 0.08), BLACK),
        box((-0.03, 0.0, 0.03), (0.03, 0.52, 0.08), BLACK),
        *[
            ball((x, y, 0.03), 0.03, BLACK, sides=6)
            for x, y in ((-0.24, 0.26), (0.24, 0.26), (0, 0.03), (0, 0.49))
        ],
        cylinder((0, 0.26, 0.08), 0.03, 0.36, STEEL, sides=8),
        box((-0.24, 0.04, 0.44), (0.24, 0.5, 0.52), m),
        box((-0.22, 0, 0.58), (0.22, 0.06, 1.05), m),
        box((-0.03, 0.0, 0.5), (0.03, 0.05, 0.6), BLACK),
        box((-0.28, 0.12, 0.64), (-0.24, 0.4, 0.67), BLACK),
        box((0.24, 0.12, 0.64), (0.28, 0.4, 0.67), BLACK),
    ]


def bench(rng: np.random.Generator) -> list[Part]:
    """Narrow bench with a cushion."""
    m = wood(rng)
    return [
        box((-0.5, 0, 0.4), (0.5, 0.36, 0.44), m),
        *legs(1.0, 0.36, 0.4, m, 0.06),
        box((-0.48, 0.02, 0.44), (0.48, 0.34, 0.5), fabric(rng, 'stripes')),
    ]
