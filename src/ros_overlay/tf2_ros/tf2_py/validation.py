# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a transform must be like to be taken into a buffer."""

import math

from tf2_py.rotation import Quaternion, Vector

QUATERNION_TOLERANCE = 10e-3


def problems(
    parent: str, child: str, translation: Vector, rotation: Quaternion, authority: str
) -> list[str]:
    """Say what is wrong with a transform, in upstream's words; empty when nothing is."""
    found = []
    if child == parent:
        found.append(
            f'TF_SELF_TRANSFORM: Ignoring transform from authority "{authority}" with '
            f'frame_id and  child_frame_id "{child}" because they are the same'
        )
    if not child:
        found.append(
            f'TF_NO_CHILD_FRAME_ID: Ignoring transform from authority "{authority}" because '
            'child_frame_id not set '
        )
    if not parent:
        found.append(
            f'TF_NO_FRAME_ID: Ignoring transform with child_frame_id "{child}"  from '
            f'authority "{authority}" because frame_id not set'
        )
    values = ' '.join(f'{v:f}' for v in translation), ' '.join(f'{v:f}' for v in rotation)
    if any(math.isnan(v) for v in (*translation, *rotation)):
        found.append(
            f'TF_NAN_INPUT: Ignoring transform for child_frame_id "{child}" from authority '
            f'"{authority}" because of a nan value in the transform '
            f'({values[0]}) ({values[1]})'
        )
    if not abs(sum(v * v for v in rotation) - 1.0) < QUATERNION_TOLERANCE:
        found.append(
            f'TF_DENORMALIZED_QUATERNION: Ignoring transform for child_frame_id "{child}" '
            f'from authority "{authority}" because of an invalid quaternion in the transform '
            f'({values[1]})'
        )
    return found
