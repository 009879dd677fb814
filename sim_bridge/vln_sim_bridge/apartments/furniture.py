# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Furniture composed of simple parts.

Every maker returns parts in the piece's own frame: x along its width with 0 in the middle, y = 0 at
its back and growing to its front, z up from the floor, metres.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vln_sim_bridge.apartments.materials import Material
from vln_sim_bridge.apartments.shape import Part, ball, box, cylinder

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
_WOODS = ((150, 98, 54), (186, 138, 84), (104, 66, 40), (204, 170, 120))
_FABRICS = ((58, 88, 156), (150, 56, 52), (84, 122, 82), (120, 110, 104), (170, 130, 60), (96, 66, 120))


def wood(rng: np.random.Generator) -> Material:
    """Draw a furniture wood."""
    return Material('wood', _WOODS[int(rng.integers(len(_WOODS)))], 0.8)


def fabric(rng: np.random.Generator, kind: str = 'fabric') -> Material:
    """Draw a furniture fabric."""
    return Material(kind, _FABRICS[int(rng.integers(len(_FABRICS)))], 0.4)


def _legs(w: float, d: float, h: float, m: Material, t: float = 0.05, y0: float = 0.0) -> list[Part]:
    return [box((x, y, 0), (x + t, y + t, h), m)
            for x in (-w / 2, w / 2 - t) for y in (y0, y0 + d - t)]  # fmt: skip


def _table(w: float, d: float, h: float, m: Material) -> list[Part]:
    return [box((-w / 2, 0, h - 0.04), (w / 2, d, h), m), *_legs(w, d, h - 0.04, m, 0.06)]


def refrigerator(rng: np.random.Generator) -> list[Part]:
    """Tall cabinet with a freezer door above, a larger door below, and two handles."""
    m = (WHITE, STEEL)[int(rng.integers(2))]
    return [box((-0.35, 0, 0.03), (0.35, 0.6, 1.8), m), box((-0.33, 0.03, 0), (0.33, 0.55, 0.03), BLACK),
            box((-0.345, 0.605, 1.25), (0.345, 0.65, 1.79), m), box((-0.345, 0.605, 0.06), (0.345, 0.65, 1.23), m),
            box((0.24, 0.65, 1.32), (0.28, 0.7, 1.62), DARK), box((0.24, 0.65, 0.7), (0.28, 0.7, 1.15), DARK)]


def stove(rng: np.random.Generator) -> list[Part]:
    """Oven with a window, knobs, four burners and a back panel."""
    parts = [box((-0.3, 0, 0), (0.3, 0.6, 0.88), WHITE), box((-0.3, 0, 0.88), (0.3, 0.6, 0.9), BLACK),
             box((-0.3, 0, 0.9), (0.3, 0.04, 1.05), STEEL), box((-0.22, 0.6, 0.22), (0.22, 0.61, 0.56), BLACK),
             box((-0.24, 0.6, 0.62), (0.24, 0.64, 0.65), STEEL)]
    parts += [cylinder((x, y, 0.9), 0.085, 0.02, DARK) for x in (-0.14, 0.14) for y in (0.18, 0.44)]
    parts += [cylinder((x, 0.6, 0.77), 0.025, 0.03, DARK, axis=1, sides=8) for x in (-0.2, -0.07, 0.07, 0.2)]
    return parts


def kitchen_counter(rng: np.random.Generator, w: float = 1.2) -> list[Part]:
    """Base cabinets under a worktop."""
    m, top = wood(rng), Material('plain', (92, 90, 92))
    parts = [box((-w / 2, 0, 0.08), (w / 2, 0.56, 0.86), m), box((-w / 2, 0, 0.86), (w / 2, 0.6, 0.9), top),
             box((-w / 2, 0, 0), (w / 2, 0.5, 0.08), BLACK)]
    for k in range(2):
        x = -w / 2 + (k + 0.5) * w / 2
        parts += [box((x - w / 4 + 0.02, 0.56, 0.12), (x + w / 4 - 0.02, 0.58, 0.82), m),
                  box((x - 0.06, 0.58, 0.74), (x + 0.06, 0.6, 0.76), STEEL)]
    return parts


def kitchen_sink(rng: np.random.Generator) -> list[Part]:
    """Base cabinet with a hollow steel basin and a tap."""
    m = wood(rng)
    return [box((-0.4, 0, 0.08), (0.4, 0.56, 0.7), m), box((-0.4, 0, 0), (0.4, 0.5, 0.08), BLACK),
            box((-0.4, 0, 0.7), (-0.28, 0.6, 0.9), STEEL), box((0.28, 0, 0.7), (0.4, 0.6, 0.9), STEEL),
            box((-0.28, 0, 0.7), (0.28, 0.12, 0.9), STEEL), box((-0.28, 0.5, 0.7), (0.28, 0.6, 0.9), STEEL),
            box((-0.28, 0.12, 0.7), (0.28, 0.5, 0.72), DARK), cylinder((0, 0.07, 0.9), 0.02, 0.25, STEEL, sides=8),
            box((-0.02, 0.07, 1.13), (0.02, 0.25, 1.16), STEEL)]


def sink(rng: np.random.Generator) -> list[Part]:
    """Wash basin on a pedestal with a tap."""
    return [cylinder((0, 0.2, 0), 0.09, 0.7, WHITE), box((-0.28, 0, 0.68), (0.28, 0.1, 0.85), WHITE),
            box((-0.28, 0.4, 0.68), (0.28, 0.45, 0.85), WHITE), box((-0.28, 0.1, 0.68), (-0.22, 0.4, 0.85), WHITE),
            box((0.22, 0.1, 0.68), (0.28, 0.4, 0.85), WHITE), box((-0.22, 0.1, 0.68), (0.22, 0.4, 0.71), GLASS),
            box((-0.015, 0.05, 0.85), (0.015, 0.08, 1.0), STEEL), box((-0.015, 0.05, 0.98), (0.015, 0.2, 1.0), STEEL)]


def microwave(rng: np.random.Generator) -> list[Part]:
    """Small oven for a counter."""
    return [box((-0.24, 0, 0), (0.24, 0.34, 0.28), STEEL), box((-0.22, 0.34, 0.03), (0.1, 0.35, 0.25), BLACK),
            box((0.13, 0.34, 0.03), (0.22, 0.35, 0.25), DARK), box((0.1, 0.34, 0.04), (0.12, 0.38, 0.24), WHITE)]


def dining_table(rng: np.random.Generator) -> list[Part]:
    """Large table with four legs."""
    return _table(1.5, 0.9, 0.75, wood(rng))


def table(rng: np.random.Generator) -> list[Part]:
    """Small square table."""
    return _table(0.6, 0.6, 0.6, wood(rng))


def coffee_table(rng: np.random.Generator) -> list[Part]:
    """Low table with a shelf."""
    m = wood(rng)
    return [*_table(1.0, 0.55, 0.42, m), box((-0.46, 0.04, 0.14), (0.46, 0.51, 0.16), m)]


def chair(rng: np.random.Generator) -> list[Part]:
    """Wooden chair: legs, seat, cushion, back."""
    m = wood(rng)
    return [*_legs(0.42, 0.42, 0.44, m, 0.04), box((-0.21, 0, 0.42), (0.21, 0.42, 0.46), m),
            box((-0.18, 0.05, 0.46), (0.18, 0.4, 0.49), fabric(rng)), box((-0.21, 0, 0.46), (-0.17, 0.04, 0.95), m),
            box((0.17, 0, 0.46), (0.21, 0.04, 0.95), m), box((-0.17, 0, 0.62), (0.17, 0.03, 0.93), m)]


def _seat(w: float, d: float, m: Material, cushion: Material, places: int) -> list[Part]:
    parts = [box((-w / 2, 0, 0.08), (w / 2, 0.24, 0.86), m), box((-w / 2, 0.24, 0.08), (-w / 2 + 0.2, d, 0.62), m),
             box((w / 2 - 0.2, 0.24, 0.08), (w / 2, d, 0.62), m), box((-w / 2 + 0.2, 0.24, 0.08), (w / 2 - 0.2, d, 0.3), m)]
    each = (w - 0.4) / places
    for k in range(places):
        x = -w / 2 + 0.2 + k * each
        parts += [box((x + 0.01, 0.26, 0.3), (x + each - 0.01, d + 0.02, 0.45), cushion),
                  box((x + 0.03, 0.24, 0.46), (x + each - 0.03, 0.38, 0.82), cushion)]
    return parts + _legs(w, d, 0.08, BLACK, 0.06)


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


def television(rng: np.random.Generator) -> list[Part]:
    """Screen on a low stand with drawers."""
    m = wood(rng)
    return [box((-0.7, 0, 0), (0.7, 0.4, 0.42), m), box((-0.66, 0.4, 0.06), (-0.02, 0.42, 0.38), m),
            box((0.02, 0.4, 0.06), (0.66, 0.42, 0.38), m), box((-0.15, 0.1, 0.42), (0.15, 0.3, 0.44), BLACK),
            box((-0.04, 0.17, 0.44), (0.04, 0.21, 0.52), BLACK), box((-0.55, 0.16, 0.5), (0.55, 0.215, 1.15), BLACK),
            box((-0.52, 0.215, 0.53), (0.52, 0.222, 1.12), SCREEN)]


def bookshelf(rng: np.random.Generator) -> list[Part]:
    """Open shelves full of coloured books."""
    m, w, h = wood(rng), 0.9, 1.9
    parts = [box((-w / 2, 0, 0), (w / 2, 0.02, h), m), box((-w / 2, 0.02, 0), (-w / 2 + 0.03, 0.3, h), m),
             box((w / 2 - 0.03, 0.02, 0), (w / 2, 0.3, h), m)]
    for k in range(6):
        z = k * (h - 0.03) / 5
        parts.append(box((-w / 2 + 0.03, 0.02, z), (w / 2 - 0.03, 0.3, z + 0.03), m))
        x = -w / 2 + 0.05
        while k < 5 and x < w / 2 - 0.12:
            thick, tall = rng.uniform(0.04, 0.09), rng.uniform(0.2, 0.3)
            parts.append(box((x, 0.06, z + 0.03), (x + thick, 0.26, z + 0.03 + tall),
                             Material('plain', _FABRICS[int(rng.integers(len(_FABRICS)))])))
            x += thick + 0.005 + (0.1 if rng.random() < 0.15 else 0.0)
    return parts


def bed(rng: np.random.Generator) -> list[Part]:
    """Frame, headboard, mattress, pillows and a blanket."""
    m, w, d = wood(rng), float(rng.choice([1.0, 1.5])), 2.0
    blanket = fabric(rng, 'checker')
    parts = [box((-w / 2, 0, 0), (w / 2, 0.06, 1.0), m), box((-w / 2, 0.06, 0.12), (w / 2, d, 0.32), m),
             box((-w / 2 + 0.03, 0.06, 0.32), (w / 2 - 0.03, d - 0.03, 0.5), WHITE),
             box((-w / 2 + 0.01, 0.62, 0.3), (w / 2 - 0.01, d - 0.01, 0.54), blanket), *_legs(w, d - 0.06, 0.12, m, 0.08, 0.06)]
    places = 2 if w > 1.2 else 1
    for k in range(places):
        x = (k - (places - 1) / 2) * 0.7
        parts.append(box((x - 0.3, 0.12, 0.5), (x + 0.3, 0.5, 0.62), CREAM))
    return parts


def nightstand(rng: np.random.Generator) -> list[Part]:
    """Small drawer unit."""
    m = wood(rng)
    return [box((-0.22, 0, 0.06), (0.22, 0.36, 0.5), m), *_legs(0.44, 0.36, 0.06, m),
            *[box((-0.2, 0.36, z), (0.2, 0.38, z + 0.17), m) for z in (0.1, 0.3)],
            *[box((-0.04, 0.38, z), (0.04, 0.4, z + 0.03), STEEL) for z in (0.17, 0.37)]]


def wardrobe(rng: np.random.Generator) -> list[Part]:
    """Tall cupboard with two doors and knobs."""
    m = wood(rng)
    return [box((-0.6, 0, 0), (0.6, 0.55, 2.0), m), box((-0.58, 0.55, 0.08), (-0.01, 0.57, 1.95), m),
            box((0.01, 0.55, 0.08), (0.58, 0.57, 1.95), m), box((-0.07, 0.57, 0.95), (-0.04, 0.6, 1.15), STEEL),
            box((0.04, 0.57, 0.95), (0.07, 0.6, 1.15), STEEL), box((-0.62, 0, 2.0), (0.62, 0.59, 2.04), m)]


def dresser(rng: np.random.Generator) -> list[Part]:
    """Chest with two columns of drawers."""
    m = wood(rng)
    parts = [box((-0.55, 0, 0.05), (0.55, 0.44, 0.8), m), box((-0.57, 0, 0.8), (0.57, 0.48, 0.83), m)]
    for x in (-0.53, 0.02):
        for z in (0.1, 0.34, 0.58):
            parts += [box((x, 0.44, z), (x + 0.51, 0.46, z + 0.2), m),
                      box((x + 0.2, 0.46, z + 0.09), (x + 0.31, 0.48, z + 0.11), STEEL)]
    return parts + _legs(1.1, 0.44, 0.05, BLACK)


def toilet(rng: np.random.Generator) -> list[Part]:
    """Tank, bowl and a raised lid."""
    return [box((-0.19, 0, 0.38), (0.19, 0.17, 0.8), WHITE), box((-0.2, 0, 0.8), (0.2, 0.18, 0.83), WHITE),
            box((-0.1, 0.1, 0), (0.1, 0.5, 0.2), WHITE), cylinder((0, 0.42, 0.0), 0.13, 0.38, WHITE, top=0.2),
            cylinder((0, 0.42, 0.38), 0.21, 0.03, CREAM), cylinder((0, 0.42, 0.411), 0.13, 0.003, GLASS),
            box((-0.04, 0.17, 0.7), (0.04, 0.185, 0.74), STEEL), box((-0.14, 0.1, 0.2), (0.14, 0.3, 0.38), WHITE)]


def bathtub(rng: np.random.Generator) -> list[Part]:
    """Hollow tub with water and a tap."""
    w, d, h = 1.6, 0.75, 0.56
    return [box((-w / 2, 0, 0), (w / 2, 0.08, h), WHITE), box((-w / 2, d - 0.08, 0), (w / 2, d, h), WHITE),
            box((-w / 2, 0.08, 0), (-w / 2 + 0.1, d - 0.08, h), WHITE), box((w / 2 - 0.1, 0.08, 0), (w / 2, d - 0.08, h), WHITE),
            box((-w / 2 + 0.1, 0.08, 0), (w / 2 - 0.1, d - 0.08, 0.3), GLASS),
            cylinder((w / 2 - 0.05, d / 2, h), 0.02, 0.2, STEEL, sides=8), box((w / 2 - 0.2, d / 2 - 0.02, h + 0.17), (w / 2 - 0.05, d / 2 + 0.02, h + 0.2), STEEL)]


def shower(rng: np.random.Generator) -> list[Part]:
    """Tray, tiled back, half a glass side, pole and head."""
    tile = Material('tiles', (120, 170, 190), 0.3)
    return [box((-0.42, 0, 0), (0.42, 0.84, 0.12), WHITE), box((-0.42, 0, 0.12), (0.42, 0.03, 2.1), tile),
            box((-0.42, 0.03, 0.12), (-0.39, 0.84, 2.0), GLASS), cylinder((0.1, 0.07, 0.9), 0.015, 1.15, STEEL, sides=8),
            box((0.085, 0.07, 2.02), (0.115, 0.3, 2.05), STEEL), cylinder((0.1, 0.3, 1.98), 0.1, 0.05, STEEL),
            box((0.39, 0.03, 0.12), (0.42, 0.06, 2.0), STEEL), box((0.39, 0.81, 0.12), (0.42, 0.84, 2.0), STEEL)]


def mirror(rng: np.random.Generator) -> list[Part]:
    """Framed glass for a wall; its own z starts at the lower edge."""
    m = wood(rng)
    return [box((-0.32, 0, 0), (0.32, 0.03, 0.85), m), box((-0.27, 0.03, 0.05), (0.27, 0.035, 0.8), Material('plain', (196, 222, 232)))]


def desk(rng: np.random.Generator) -> list[Part]:
    """Work surface on a drawer unit and two legs."""
    m = wood(rng)
    return [box((-0.65, 0, 0.7), (0.65, 0.62, 0.74), m), box((0.23, 0.04, 0.05), (0.63, 0.58, 0.7), m),
            *[box((0.25, 0.58, z), (0.61, 0.6, z + 0.18), CREAM) for z in (0.08, 0.29, 0.5)],
            box((-0.65, 0, 0), (-0.6, 0.06, 0.7), m), box((-0.65, 0.56, 0), (-0.6, 0.62, 0.7), m)]


def office_chair(rng: np.random.Generator) -> list[Part]:
    """Swivel chair: star base, column, seat, back, arm rests."""
    m = Material('fabric', (44, 46, 54), 0.2)
    return [box((-0.26, 0.23, 0.03), (0.26, 0.29, 0.08), BLACK), box((-0.03, 0.0, 0.03), (0.03, 0.52, 0.08), BLACK),
            *[ball((x, y, 0.03), 0.03, BLACK, sides=6) for x, y in ((-0.24, 0.26), (0.24, 0.26), (0, 0.03), (0, 0.49))],
            cylinder((0, 0.26, 0.08), 0.03, 0.36, STEEL, sides=8), box((-0.24, 0.04, 0.44), (0.24, 0.5, 0.52), m),
            box((-0.22, 0, 0.58), (0.22, 0.06, 1.05), m), box((-0.03, 0.0, 0.5), (0.03, 0.05, 0.6), BLACK),
            box((-0.28, 0.12, 0.64), (-0.24, 0.4, 0.67), BLACK), box((0.24, 0.12, 0.64), (0.28, 0.4, 0.67), BLACK)]


def computer(rng: np.random.Generator) -> list[Part]:
    """Monitor on a foot with a keyboard, for a desk."""
    return [box((-0.12, 0.05, 0), (0.12, 0.2, 0.02), DARK), box((-0.02, 0.1, 0.02), (0.02, 0.13, 0.15), DARK),
            box((-0.28, 0.1, 0.12), (0.28, 0.14, 0.46), BLACK), box((-0.26, 0.14, 0.14), (0.26, 0.145, 0.44), SCREEN),
            box((-0.2, 0.3, 0), (0.2, 0.43, 0.02), CREAM)]


def washing_machine(rng: np.random.Generator) -> list[Part]:
    """White cube with a round glass door and a control panel."""
    return [box((-0.3, 0, 0), (0.3, 0.58, 0.86), WHITE), box((-0.29, 0.58, 0.72), (0.29, 0.59, 0.84), STEEL),
            cylinder((0, 0.58, 0.4), 0.2, 0.03, STEEL, axis=1, sides=18), cylinder((0, 0.61, 0.4), 0.15, 0.02, Material('plain', (50, 66, 90)), axis=1, sides=18),
            cylinder((0.2, 0.59, 0.78), 0.035, 0.03, DARK, axis=1, sides=8), box((-0.26, 0.59, 0.75), (-0.08, 0.6, 0.81), CREAM)]


def laundry_basket(rng: np.random.Generator) -> list[Part]:
    """Woven basket with clothes on top."""
    m = Material('checker', (196, 160, 104), 0.12)
    return [cylinder((0, 0.22, 0), 0.18, 0.52, m, top=0.22), ball((0, 0.22, 0.52), 0.17, fabric(rng), flat=0.5),
            ball((0.06, 0.18, 0.56), 0.1, WHITE, flat=0.6)]


def plant(rng: np.random.Generator) -> list[Part]:
    """Pot, stem and balls of leaves."""
    top = float(rng.uniform(1.0, 1.35))
    parts = [cylinder((0, 0.2, 0), 0.13, 0.32, CLAY, top=0.19), cylinder((0, 0.2, 0.32), 0.025, top - 0.5, Material('plain', (96, 70, 44)), sides=6)]
    for dx, dy, z, r in ((0, 0, top - 0.1, 0.2), (-0.08, 0.05, top - 0.35, 0.16), (0.09, -0.04, top - 0.3, 0.15), (0.02, 0.07, top - 0.55, 0.14)):
        parts.append(ball((dx, 0.2 + dy, z), r, LEAVES, sides=8))
    return parts


def lamp(rng: np.random.Generator) -> list[Part]:
    """Floor lamp: foot, pole, bright shade."""
    return [cylinder((0, 0.2, 0), 0.15, 0.04, DARK), cylinder((0, 0.2, 0.04), 0.018, 1.4, DARK, sides=8),
            cylinder((0, 0.2, 1.38), 0.2, 0.3, Material('plain', (250, 226, 140)), top=0.12)]


def piano(rng: np.random.Generator) -> list[Part]:
    """Upright piano with keys."""
    m = Material('plain', (52, 30, 22))
    keys = Material('stripes', (240, 240, 236), 0.2)
    return [box((-0.72, 0, 0), (0.72, 0.36, 1.2), m), box((-0.72, 0.36, 0.6), (0.72, 0.6, 0.7), m),
            box((-0.64, 0.38, 0.7), (0.64, 0.58, 0.725), keys), *_legs(1.44, 0.6, 0.6, m, 0.08), box((-0.25, 0.36, 0.85), (0.25, 0.38, 1.1), CREAM)]


def fireplace(rng: np.random.Generator) -> list[Part]:
    """Brick chimney breast with an opening, fire and mantel."""
    m = Material('brick', (150, 72, 56), 0.5)
    return [box((-0.65, 0, 0), (-0.35, 0.4, 1.1), m), box((0.35, 0, 0), (0.65, 0.4, 1.1), m), box((-0.35, 0, 0.7), (0.35, 0.4, 1.1), m),
            box((-0.35, 0, 0), (0.35, 0.04, 0.7), BLACK), box((-0.72, 0, 1.1), (0.72, 0.46, 1.17), wood(rng)), box((-0.4, 0, 1.17), (0.4, 0.25, 2.55), m),
            cylinder((-0.2, 0.25, 0.06), 0.05, 0.4, Material('wood', (96, 60, 36), 0.2), axis=0, sides=8), ball((0, 0.22, 0.2), 0.14, Material('leaves', (250, 140, 40), 0.2), flat=1.4)]


def bench(rng: np.random.Generator) -> list[Part]:
    """Narrow bench with a cushion."""
    m = wood(rng)
    return [box((-0.5, 0, 0.4), (0.5, 0.36, 0.44), m), *_legs(1.0, 0.36, 0.4, m, 0.06), box((-0.48, 0.02, 0.44), (0.48, 0.34, 0.5), fabric(rng, 'stripes'))]


def shoe_rack(rng: np.random.Generator) -> list[Part]:
    """Three open boards with pairs of shoes."""
    m = wood(rng)
    parts = [box((-0.4, 0, 0), (-0.37, 0.3, 0.62), m), box((0.37, 0, 0), (0.4, 0.3, 0.62), m)]
    for z in (0.06, 0.32, 0.58):
        parts.append(box((-0.37, 0, z), (0.37, 0.3, z + 0.03), m))
        for k in range(3):
            colour = Material('plain', _FABRICS[int(rng.integers(len(_FABRICS)))])
            x = -0.33 + 0.23 * k
            parts += [box((x, 0.04, z + 0.03), (x + 0.07, 0.27, z + 0.09), colour), box((x + 0.09, 0.04, z + 0.03), (x + 0.16, 0.27, z + 0.09), colour)]
    return parts


def coat_rack(rng: np.random.Generator) -> list[Part]:
    """Pole with arms and a hanging coat."""
    m = wood(rng)
    return [cylinder((0, 0.24, 0), 0.2, 0.04, m), cylinder((0, 0.24, 0.04), 0.025, 1.7, m, sides=8),
            box((-0.2, 0.225, 1.6), (0.2, 0.255, 1.63), m), box((-0.015, 0.04, 1.6), (0.015, 0.44, 1.63), m),
            box((-0.2, 0.16, 0.8), (-0.04, 0.34, 1.58), fabric(rng)), cylinder((0.15, 0.24, 1.62), 0.11, 0.1, BLACK, top=0.07)]


def cabinet(rng: np.random.Generator) -> list[Part]:
    """Sideboard with three doors."""
    m = wood(rng)
    parts = [box((-0.6, 0, 0.1), (0.6, 0.4, 0.9), m), box((-0.62, 0, 0.9), (0.62, 0.43, 0.94), m), *_legs(1.2, 0.4, 0.1, BLACK)]
    for k in range(3):
        x = -0.6 + 0.4 * k
        parts += [box((x + 0.015, 0.4, 0.14), (x + 0.385, 0.42, 0.86), CREAM), box((x + 0.3, 0.42, 0.45), (x + 0.33, 0.44, 0.58), DARK)]
    return parts


def trash_can(rng: np.random.Generator) -> list[Part]:
    """Round pedal bin with a dark lid."""
    return [cylinder((0, 0.17, 0), 0.14, 0.46, STEEL, top=0.16), cylinder((0, 0.17, 0.46), 0.165, 0.05, BLACK, top=0.1), box((-0.05, 0.31, 0.01), (0.05, 0.36, 0.03), BLACK)]


def rug(rng: np.random.Generator) -> list[Part]:
    """Flat carpet with a border."""
    m, border = fabric(rng, 'stripes'), fabric(rng)
    return [box((-0.85, 0, 0.001), (0.85, 1.2, 0.01), border, ('-z',)), box((-0.72, 0.13, 0.01), (0.72, 1.07, 0.014), m, ('-z',))]


def painting(rng: np.random.Generator) -> list[Part]:
    """Framed landscape for a wall."""
    w, h = float(rng.uniform(0.6, 1.0)), float(rng.uniform(0.5, 0.7))
    sky = tuple(int(v) for v in rng.integers((90, 120, 150), (230, 220, 250)))
    return [box((-w / 2, 0, 0), (w / 2, 0.03, h), wood(rng)), box((-w / 2 + 0.05, 0.03, 0.05), (w / 2 - 0.05, 0.035, h - 0.05), Material('picture', sky))]


def clock(rng: np.random.Generator) -> list[Part]:
    """Round wall clock with hands."""
    return [cylinder((0, 0, 0.18), 0.18, 0.035, BLACK, axis=1, sides=20), cylinder((0, 0.035, 0.18), 0.155, 0.005, WHITE, axis=1, sides=20),
            box((-0.012, 0.04, 0.18), (0.012, 0.045, 0.3), BLACK), box((0, 0.04, 0.168), (0.09, 0.045, 0.192), BLACK)]


def curtain(rng: np.random.Generator) -> list[Part]:
    """Rod with two cloths that frame a window."""
    m = fabric(rng, 'stripes')
    return [cylinder((-0.95, 0.05, 2.3), 0.015, 1.9, DARK, axis=0, sides=6), box((-0.9, 0.02, 0.25), (-0.6, 0.08, 2.28), m), box((0.6, 0.02, 0.25), (0.9, 0.08, 2.28), m)]


def window(rng: np.random.Generator) -> list[Part]:
    """Frame with a bright pane and a cross bar."""
    pane = Material('picture', (188, 222, 250))
    return [box((-0.6, 0, 0), (0.6, 0.03, 1.15), WHITE), box((-0.55, 0.03, 0.05), (0.55, 0.035, 1.1), pane), box((-0.02, 0.035, 0.05), (0.02, 0.045, 1.1), WHITE),
            box((-0.65, 0, -0.04), (0.65, 0.07, 0), WHITE)]


def treadmill(rng: np.random.Generator) -> list[Part]:
    """Belt, posts and console."""
    return [box((-0.35, 0.1, 0.02), (0.35, 1.5, 0.16), DARK), box((-0.25, 0.2, 0.16), (0.25, 1.48, 0.175), BLACK),
            box((-0.35, 0.1, 0.16), (-0.29, 0.2, 1.2), STEEL), box((0.29, 0.1, 0.16), (0.35, 0.2, 1.2), STEEL), box((-0.35, 0.08, 1.15), (0.35, 0.24, 1.32), BLACK),
            box((-0.18, 0.24, 1.18), (0.18, 0.245, 1.3), SCREEN), box((-0.35, 0.2, 0.9), (-0.3, 0.7, 0.94), STEEL), box((0.3, 0.2, 0.9), (0.35, 0.7, 0.94), STEEL)]


def dumbbell(rng: np.random.Generator) -> list[Part]:
    """Rack with a row of dumbbells."""
    parts = [box((-0.5, 0, 0), (-0.45, 0.36, 0.6), DARK), box((0.45, 0, 0), (0.5, 0.36, 0.6), DARK)]
    for z in (0.2, 0.52):
        parts.append(box((-0.45, 0.02, z), (0.45, 0.34, z + 0.04), STEEL))
        for k in range(4):
            x = -0.33 + 0.22 * k
            parts += [cylinder((x, 0.05, z + 0.11), 0.07, 0.08, BLACK, axis=1, sides=8), cylinder((x, 0.13, z + 0.11), 0.02, 0.1, STEEL, axis=1, sides=6),
                      cylinder((x, 0.23, z + 0.11), 0.07, 0.08, BLACK, axis=1, sides=8)]
    return parts


def football(rng: np.random.Generator) -> list[Part]:
    """Checked ball."""
    return [ball((0, 0.15, 0.15), 0.15, Material('checker', (240, 240, 240), 0.12), sides=14)]


def vase(rng: np.random.Generator) -> list[Part]:
    """Vase with flowers for a table top."""
    m = Material('plain', (60, 96, 168))
    parts = [cylinder((0, 0.09, 0), 0.045, 0.12, m, top=0.08), cylinder((0, 0.09, 0.12), 0.08, 0.1, m, top=0.04)]
    for dx, dy in ((-0.05, 0.0), (0.05, 0.02), (0.0, -0.04)):
        parts += [cylinder((dx, 0.09 + dy, 0.22), 0.008, 0.1, LEAVES, sides=5), ball((dx, 0.09 + dy, 0.34), 0.045, Material('plain', (214, 60, 84)), sides=6)]
    return parts


def cardboard_box(rng: np.random.Generator) -> list[Part]:
    """Two stacked boxes with tape."""
    tape = Material('plain', (222, 206, 160))
    return [box((-0.3, 0, 0), (0.3, 0.45, 0.4), CARDBOARD), box((-0.04, 0.0, 0.4), (0.04, 0.45, 0.403), tape),
            box((-0.2, 0.05, 0.403), (0.22, 0.4, 0.7), CARDBOARD), box((-0.03, 0.05, 0.7), (0.05, 0.4, 0.703), tape)]


def bicycle(rng: np.random.Generator) -> list[Part]:
    """Two wheels, frame, saddle and handlebar, leaning along a wall."""
    m = Material('plain', _FABRICS[int(rng.integers(2))])
    parts = []
    for x in (-0.52, 0.52):
        parts += [cylinder((x, 0.18, 0.33), 0.33, 0.04, BLACK, axis=1, sides=18), cylinder((x, 0.175, 0.33), 0.27, 0.05, STEEL, axis=1, sides=18)]
    return parts + [box((-0.5, 0.18, 0.52), (0.42, 0.22, 0.57), m), box((-0.3, 0.18, 0.3), (-0.25, 0.22, 0.85), m), box((0.4, 0.18, 0.33), (0.45, 0.22, 0.95), m),
                    box((-0.52, 0.18, 0.31), (0.1, 0.22, 0.36), m), box((0.06, 0.18, 0.33), (0.11, 0.22, 0.55), m),
                    box((-0.4, 0.13, 0.85), (-0.15, 0.27, 0.9), BLACK), box((0.4, 0.0, 0.93), (0.44, 0.4, 0.97), BLACK)]


def air_conditioner(rng: np.random.Generator) -> list[Part]:
    """Wall unit with a louvre."""
    return [box((-0.45, 0, 0), (0.45, 0.2, 0.28), WHITE), box((-0.4, 0.2, 0.03), (0.4, 0.21, 0.08), DARK)]


# category -> maker; 'sink' has a second form for kitchens
MAKERS: dict[str, Maker] = {
    'refrigerator': refrigerator, 'stove': stove, 'kitchen counter': kitchen_counter, 'sink': sink,
    'microwave': microwave, 'dining table': dining_table, 'table': table, 'coffee table': coffee_table,
    'chair': chair, 'sofa': sofa, 'armchair': armchair, 'television': television, 'bookshelf': bookshelf,
    'bed': bed, 'nightstand': nightstand, 'wardrobe': wardrobe, 'dresser': dresser, 'toilet': toilet,
    'bathtub': bathtub, 'shower': shower, 'mirror': mirror, 'desk': desk, 'office chair': office_chair,
    'computer': computer, 'washing machine': washing_machine, 'laundry basket': laundry_basket,
    'plant': plant, 'lamp': lamp, 'piano': piano, 'fireplace': fireplace, 'bench': bench,
    'shoe rack': shoe_rack, 'coat rack': coat_rack, 'cabinet': cabinet, 'trash can': trash_can,
    'rug': rug, 'painting': painting, 'clock': clock, 'curtain': curtain, 'window': window,
    'treadmill': treadmill, 'dumbbell': dumbbell, 'ball': football, 'vase': vase, 'box': cardboard_box,
    'bicycle': bicycle, 'air conditioner': air_conditioner,
}  # fmt: skip
