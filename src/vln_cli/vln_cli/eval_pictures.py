# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Paths of generated episodes over the plan of their apartment, for reports."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any


def path_picture(row: Mapping[str, Any]) -> str:
    """Return the plan with the driven path as a data URL; '' where the row has no such scene."""
    if not str(row.get('id', '')).startswith('apartment:') or not row.get('positions'):
        return ''
    import cv2
    import numpy as np

    from vln_sim_bridge.benchmark import scene_folder
    from vln_sim_bridge.plan_picture import PlanPicture

    picture = PlanPicture(scene_folder(str(row['id'])), size_px=640)
    picture.draw_path(np.array(row['positions'], float))
    if row.get('goal'):
        picture.draw_goal(row['goal'])
    done, data = cv2.imencode('.png', np.ascontiguousarray(picture.image()[..., ::-1]))
    if not done:
        return ''
    return f'data:image/png;base64,{base64.b64encode(data.tobytes()).decode()}'
