# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Furniture composed of simple parts."""

from __future__ import annotations

from vln_sim_bridge.apartments.furniture.appliances import (
    air_conditioner,
    bathtub,
    fireplace,
    kitchen_sink,
    refrigerator,
    shower,
    sink,
    stove,
    toilet,
    treadmill,
    washing_machine,
)
from vln_sim_bridge.apartments.furniture.cupboards import (
    bookshelf,
    cabinet,
    cardboard_box,
    coat_rack,
    dresser,
    kitchen_counter,
    laundry_basket,
    shoe_rack,
    trash_can,
    wardrobe,
)
from vln_sim_bridge.apartments.furniture.decoration import (
    bicycle,
    clock,
    curtain,
    dumbbell,
    football,
    lamp,
    mirror,
    painting,
    piano,
    plant,
    rug,
    window,
)
from vln_sim_bridge.apartments.furniture.palette import Maker
from vln_sim_bridge.apartments.furniture.seating import (
    armchair,
    bed,
    bench,
    chair,
    office_chair,
    sofa,
)
from vln_sim_bridge.apartments.furniture.tables import (
    coffee_table,
    computer,
    desk,
    dining_table,
    microwave,
    nightstand,
    table,
    television,
    vase,
)

__all__ = ['MAKERS', 'kitchen_sink']

# category -> maker; 'sink' has a second form for kitchens
MAKERS: dict[str, Maker] = {
    'refrigerator': refrigerator,
    'stove': stove,
    'kitchen counter': kitchen_counter,
    'sink': sink,
    'microwave': microwave,
    'dining table': dining_table,
    'table': table,
    'coffee table': coffee_table,
    'chair': chair,
    'sofa': sofa,
    'armchair': armchair,
    'television': television,
    'bookshelf': bookshelf,
    'bed': bed,
    'nightstand': nightstand,
    'wardrobe': wardrobe,
    'dresser': dresser,
    'toilet': toilet,
    'bathtub': bathtub,
    'shower': shower,
    'mirror': mirror,
    'desk': desk,
    'office chair': office_chair,
    'computer': computer,
    'washing machine': washing_machine,
    'laundry basket': laundry_basket,
    'plant': plant,
    'lamp': lamp,
    'piano': piano,
    'fireplace': fireplace,
    'bench': bench,
    'shoe rack': shoe_rack,
    'coat rack': coat_rack,
    'cabinet': cabinet,
    'trash can': trash_can,
    'rug': rug,
    'painting': painting,
    'clock': clock,
    'curtain': curtain,
    'window': window,
    'treadmill': treadmill,
    'dumbbell': dumbbell,
    'ball': football,
    'vase': vase,
    'box': cardboard_box,
    'bicycle': bicycle,
    'air conditioner': air_conditioner,
}
