# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Materials and parts that many pieces share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vln_sim_bridge.apartments.materials import Material
from vln_sim_bridge.apartments.shape import Part, box

Maker = Callable[[np.random.Generator], list[Part]]

WHITE = Material('plain', (238, 238, 236))
CREAM = Material('plain', (228, 220, 200))
BLACK = Material('plain', (34, 34, 38))
DARK = Material('plain', (70, 72, 78))
STEEL = Material('plain', (172, 178, 184))
SCREEN = Material('picture', (40, 66, 120))
GLASS = Material('plain', (150, 190, 210))
LEAVES = Material('leaves', (58, 128, 52), 0.3)
CLAY = Material('plain', (176, 92, 58))
CARDBOARD = Material('stripes', (186, 146, 96), 1.2)
WOODS = ((150, 98, 54), (186, 138, 84), (104, 66, 40), (204, 170, 120))
FABRICS = (
    (58, 88, 156),
    (150, 56, 52),
    (84, 122, 82),
    (120, 110, 104),
    (170, 130, 60),
    (96, 66, 120),
)


def wood(rng: np.random.Generator) -> Material:
    """Draw a furniture wood."""
    return Material('wood', WOODS[int(rng.integers(len(WOODS)))], 0.8)


def fabric(rng: np.random.Generator, kind: str = 'fabric') -> Material:
    """Draw a furniture fabric."""
    return Material(kind, FABRICS[int(rng.integers(len(FABRICS)))], 0.4)


def legs(
    w: float, d: float, h: float, m: Material, t: float = 0.05, y0: float = 0.0
) -> list[Part]:
    """Return four square legs of thickness t under a w x d plate of height h."""
    return [box((x, y, 0), (x + t, y + t, h), m)
            for x in (-w / 2, w / 2 - t) for y in (y0, y0 + d - t)]  # fmt: skip


def table_top(w: float, d: float, h: float, m: Material) -> list[Part]:
    """Return a plate on four legs."""
    return [box((-w / 2, 0, h - 0.04), (w / 2, d, h), m), *legs(w, d, h - 0.04, m, 0.06)]
