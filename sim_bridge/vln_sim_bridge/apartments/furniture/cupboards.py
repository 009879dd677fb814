# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Things that hold other things.

Every maker returns parts in the piece's own frame: x along its width with 0 in the middle, y = 0
at its back and growing to its front, z up from the floor, metres.
"""

from __future__ import annotations

import numpy as np

from vln_sim_bridge.apartments.furniture.palette import (
    BLACK,
    CARDBOARD,
    CREAM,
    DARK,
    FABRICS,
    STEEL,
    WHITE,
    fabric,
    legs,
    wood,
)
from vln_sim_bridge.apartments.materials import Material
from vln_sim_bridge.apartments.shape import Part, ball, box, cylinder


def kitchen_counter(rng: np.random.Generator, w: float = 1.2) -> list[Part]:
    """Base cabinets under a worktop."""
    m, top = wood(rng), Material('plain', (92, 90, 92))
    parts = [
        box((-w / 2, 0, 0.08), (w / 2, 0.56, 0.86), m),
        box((-w / 2, 0, 0.86), (w / 2, 0.6, 0.9), top),
        box((-w / 2, 0, 0), (w / 2, 0.5, 0.08), BLACK),
    ]
    for k in range(2):
        x = -w / 2 + (k + 0.5) * w / 2
        parts += [
            box((x - w / 4 + 0.02, 0.56, 0.12), (x + w / 4 - 0.02, 0.58, 0.82), m),
            box((x - 0.06, 0.58, 0.74), (x + 0.06, 0.6, 0.76), STEEL),
        ]
    return parts


def bookshelf(rng: np.random.Generator) -> list[Part]:
    """Open shelves full of coloured books."""
    m, w, h = wood(rng), 0.9, 1.9
    parts = [
        box((-w / 2, 0, 0), (w / 2, 0.02, h), m),
        box((-w / 2, 0.02, 0), (-w / 2 + 0.03, 0.3, h), m),
        box((w / 2 - 0.03, 0.02, 0), (w / 2, 0.3, h), m),
    ]
    for k in range(6):
        z = k * (h - 0.03) / 5
        parts.append(box((-w / 2 + 0.03, 0.02, z), (w / 2 - 0.03, 0.3, z + 0.03), m))
        x = -w / 2 + 0.05
        while k < 5 and x < w / 2 - 0.12:
            thick, tall = rng.uniform(0.04, 0.09), rng.uniform(0.2, 0.3)
            parts.append(
                box(
                    (x, 0.06, z + 0.03),
                    (x + thick, 0.26, z + 0.03 + tall),
                    Material('plain', FABRICS[int(rng.integers(len(FABRICS)))]),
                )
            )
            x += thick + 0.005 + (0.1 if rng.random() < 0.15 else 0.0)
    return parts


def wardrobe(rng: np.random.Generator) -> list[Part]:
    """Tall cupboard with two doors and knobs."""
    m = wood(rng)
    return [
        box((-0.6, 0, 0), (0.6, 0.55, 2.0), m),
        box((-0.58, 0.55, 0.08), (-0.01, 0.57, 1.95), m),
        box((0.01, 0.55, 0.08), (0.58, 0.57, 1.95), m),
        box((-0.07, 0.57, 0.95), (-0.04, 0.6, 1.15), STEEL),
        box((0.04, 0.57, 0.95), (0.07, 0.6, 1.15), STEEL),
        box((-0.62, 0, 2.0), (0.62, 0.59, 2.04), m),
    ]


def dresser(rng: np.random.Generator) -> list[Part]:
    """Chest with two columns of drawers."""
    m = wood(rng)
    parts = [
        box((-0.55, 0, 0.05), (0.55, 0.44, 0.8), m),
        box((-0.57, 0, 0.8), (0.57, 0.48, 0.83), m),
    ]
    for x in (-0.53, 0.02):
        for z in (0.1, 0.34, 0.58):
            parts += [
                box((x, 0.44, z), (x + 0.51, 0.46, z + 0.2), m),
                box((x + 0.2, 0.46, z + 0.09), (x + 0.31, 0.48, z + 0.11), STEEL),
            ]
    return parts + legs(1.1, 0.44, 0.05, BLACK)


def cabinet(rng: np.random.Generator) -> list[Part]:
    """Sideboard with three doors."""
    m = wood(rng)
    parts = [
        box((-0.6, 0, 0.1), (0.6, 0.4, 0.9), m),
        box((-0.62, 0, 0.9), (0.62, 0.43, 0.94), m),
        *legs(1.2, 0.4, 0.1, BLACK),
    ]
    for k in range(3):
        x = -0.6 + 0.4 * k
        parts += [
            box((x + 0.015, 0.4, 0.14), (x + 0.385, 0.42, 0.86), CREAM),
            box((x + 0.3, 0.42, 0.45), (x + 0.33, 0.44, 0.58), DARK),
        ]
    return parts


def shoe_rack(rng: np.random.Generator) -> list[Part]:
    """Three open boards with pairs of shoes."""
    m = wood(rng)
    parts = [box((-0.4, 0, 0), (-0.37, 0.3, 0.62), m), box((0.37, 0, 0), (0.4, 0.3, 0.62), m)]
    for z in (0.06, 0.32, 0.58):
        parts.append(box((-0.37, 0, z), (0.37, 0.3, z + 0.03), m))
        for k in range(3):
            colour = Material('plain', FABRICS[int(rng.integers(len(FABRICS)))])
            x = -0.33 + 0.23 * k
            parts += [
                box((x, 0.04, z + 0.03), (x + 0.07, 0.27, z + 0.09), colour),
                box((x + 0.09, 0.04, z + 0.03), (x + 0.16, 0.27, z + 0.09), colour),
            ]
    return parts


def coat_rack(rng: np.random.Generator) -> list[Part]:
    """Pole with arms and a hanging coat."""
    m = wood(rng)
    return [
        cylinder((0, 0.24, 0), 0.2, 0.04, m),
        cylinder((0, 0.24, 0.04), 0.025, 1.7, m, sides=8),
        box((-0.2, 0.225, 1.6), (0.2, 0.255, 1.63), m),
        box((-0.015, 0.04, 1.6), (0.015, 0.44, 1.63), m),
        box((-0.2, 0.16, 0.8), (-0.04, 0.34, 1.58), fabric(rng)),
        cylinder((0.15, 0.24, 1.62), 0.11, 0.1, BLACK, top=0.07),
    ]


def trash_can(rng: np.random.Generator) -> list[Part]:
    """Round pedal bin with a dark lid."""
    return [
        cylinder((0, 0.17, 0), 0.14, 0.46, STEEL, top=0.16),
        cylinder((0, 0.17, 0.46), 0.165, 0.05, BLACK, top=0.1),
        box((-0.05, 0.31, 0.01), (0.05, 0.36, 0.03), BLACK),
    ]


def laundry_basket(rng: np.random.Generator) -> list[Part]:
    """Woven basket with clothes on top."""
    m = Material('checker', (196, 160, 104), 0.12)
    return [
        cylinder((0, 0.22, 0), 0.18, 0.52, m, top=0.22),
        ball((0, 0.22, 0.52), 0.17, fabric(rng), flat=0.5),
        ball((0.06, 0.18, 0.56), 0.1, WHITE, flat=0.6),
    ]


def cardboard_box(rng: np.random.Generator) -> list[Part]:
    """Two stacked boxes with tape."""
    tape = Material('plain', (222, 206, 160))
    return [
        box((-0.3, 0, 0), (0.3, 0.45, 0.4), CARDBOARD),
        box((-0.04, 0.0, 0.4), (0.04, 0.45, 0.403), tape),
        box((-0.2, 0.05, 0.403), (0.22, 0.4, 0.7), CARDBOARD),
        box((-0.03, 0.05, 0.7), (0.05, 0.4, 0.703), tape),
    ]
