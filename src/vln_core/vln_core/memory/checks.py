# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What may enter the memory: every check refuses with the reason before anything is changed."""

from __future__ import annotations

import math
import unicodedata

import numpy as np

from vln_core.context import ActionNote
from vln_core.errors import UpdateRefused
from vln_core.observation import Detection, Panorama, View
from vln_core.system2.record import DecisionRecord

_MAX_COORDINATE = 1e5
_MAX_DETECTIONS = 2000
_MAX_CAPTION = 1000


def check_text(name: str, text: object, limit: int, *, allow_empty: bool = True) -> None:
    """Raise UpdateRefused unless the text is a short string without control characters."""
    if not isinstance(text, str):
        raise UpdateRefused(f'{name} must be text, not {type(text).__name__}')
    if not allow_empty and not text.strip():
        raise UpdateRefused(f'{name} is empty')
    if len(text) > limit:
        raise UpdateRefused(f'{name} has {len(text)} characters; at most {limit} are kept')
    for position, char in enumerate(text):
        if char < ' ' or char >= '\x7f':
            if char not in '\n\t' and unicodedata.category(char) in ('Cc', 'Cs', 'Co', 'Cn'):
                raise UpdateRefused(
                    f'{name} holds the control character U+{ord(char):04X} at position {position}'
                )


def check_tform(name: str, tform: object) -> None:
    """Raise UpdateRefused unless a (4, 4) transform is finite and rigid."""
    if not isinstance(tform, np.ndarray) or tform.shape != (4, 4):
        raise UpdateRefused(f'{name} must be a (4, 4) array')
    if not np.isfinite(tform).all():
        raise UpdateRefused(f'{name} is not finite; the robot does not know where it is')
    rotation = tform[:3, :3]
    # Not allclose: it costs more than all else here, and every view has a pose.
    skew = np.abs(rotation @ rotation.T - np.eye(3)).max()
    if skew > 1e-3 or np.linalg.det(rotation) < 0:
        raise UpdateRefused(f'{name} is not rigid')
    if np.abs(tform[3] - (0, 0, 0, 1)).max() > 1e-6:
        raise UpdateRefused(f'{name} has the last row {tform[3].tolist()} instead of 0 0 0 1')
    if np.abs(tform[:3, 3]).max() > _MAX_COORDINATE:
        raise UpdateRefused(f'{name} lies {np.abs(tform[:3, 3]).max():.0f} m away')


def check_panorama(panorama: Panorama) -> None:
    """Raise UpdateRefused unless every view and detection of a panorama is usable."""
    check_tform('pose of the panorama', panorama.odom_tform_base)
    if not _is_int(panorama.id, 0) or not _is_int(panorama.stamp, 0):
        raise UpdateRefused(
            f'panorama id {panorama.id!r} and stamp {panorama.stamp!r} must be >= 0'
        )
    if not panorama.views:
        raise UpdateRefused(f'panorama {panorama.id} has no views')
    if len(panorama.detections) > _MAX_DETECTIONS:
        raise UpdateRefused(
            f'panorama {panorama.id} has {len(panorama.detections)} detections; '
            f'at most {_MAX_DETECTIONS} are believable'
        )
    indices = [view.index for view in panorama.views]
    if indices != sorted(set(indices)) or not all(_is_int(i, 0) for i in indices):
        raise UpdateRefused(
            f'panorama {panorama.id} has view indices {indices}; they must rise from 0'
        )
    for view in panorama.views:
        _check_view(view)
    if len(panorama.captions) not in (0, len(indices)):
        raise UpdateRefused(
            f'panorama {panorama.id} has {len(panorama.captions)} captions for {len(indices)} '
            'views'
        )
    for k, caption in enumerate(panorama.captions):
        check_text(f'caption {k}', caption, _MAX_CAPTION)
    for k, detection in enumerate(panorama.detections):
        _check_detection(f'detection {k}', detection, set(indices))


def _check_view(view: View) -> None:
    name = f'view {view.index}'
    check_tform(f'camera pose of {name}', view.odom_tform_camera)
    height, width = view.camera.height, view.camera.width
    if not isinstance(view.rgb, np.ndarray) or view.rgb.shape != (height, width, 3):
        raise UpdateRefused(f'{name} has no ({height}, {width}, 3) picture')
    if view.rgb.dtype != np.uint8:
        raise UpdateRefused(f'{name} has a picture of {view.rgb.dtype} instead of uint8')
    if not isinstance(view.depth, np.ndarray) or view.depth.shape != (height, width):
        raise UpdateRefused(f'{name} has no ({height}, {width}) depth')
    if view.depth.dtype.kind != 'f':
        raise UpdateRefused(
            f'{name} has depth of {view.depth.dtype}; metres as float32 are expected'
        )


def _check_detection(name: str, detection: Detection, views: set[int]) -> None:
    if detection.view not in views:
        raise UpdateRefused(
            f'{name} is of view {detection.view}, which the panorama does not have'
        )
    check_text(f'label of {name}', detection.label, 200, allow_empty=False)
    check_text(f'category of {name}', detection.category, 200, allow_empty=False)
    if not _is_number(detection.score) or not 0.0 <= detection.score <= 1.0:
        raise UpdateRefused(f'{name} has score {detection.score!r} outside 0..1')
    if len(detection.box_xyxy) != 4 or not all(_is_number(v) for v in detection.box_xyxy):
        raise UpdateRefused(f'{name} has the box {detection.box_xyxy!r}')
    if not _is_number(detection.bearing):
        raise UpdateRefused(f'{name} has the bearing {detection.bearing!r}')
    if detection.position_odom is None:
        return
    _check_array(f'position of {name}', detection.position_odom, (3,))
    if np.abs(detection.position_odom).max() > _MAX_COORDINATE:
        raise UpdateRefused(f'position of {name} lies beyond {_MAX_COORDINATE:.0f} m')
    if detection.extent is not None:
        _check_array(f'extent of {name}', detection.extent, (3,))
        if np.min(detection.extent) < 0 or np.max(detection.extent) > 100.0:
            raise UpdateRefused(f'extent of {name} is {np.asarray(detection.extent).tolist()} m')
    if detection.covariance is not None:
        _check_array(f'covariance of {name}', detection.covariance, (3, 3))
        matrix = np.asarray(detection.covariance, float)
        if (
            np.abs(matrix - matrix.T).max() > 1e-6 + 1e-5 * np.abs(matrix).max()
            or np.linalg.eigvalsh(matrix).min() < -1e-9
        ):
            raise UpdateRefused(f'covariance of {name} is not symmetric and positive')


def _check_array(name: str, value: object, shape: tuple[int, ...]) -> None:
    array = np.asarray(value)
    if array.shape != shape or array.dtype.kind not in 'fiu':
        raise UpdateRefused(f'{name} must have shape {shape}, not {array.shape} {array.dtype}')
    if not np.isfinite(array).all():
        raise UpdateRefused(f'{name} is not finite')


def check_record(record: DecisionRecord, limit: int, num_views: int) -> None:
    """Raise UpdateRefused unless all texts of a record are clean and its view exists."""
    if not isinstance(record, DecisionRecord):
        raise UpdateRefused(f'a decision record was expected, not {type(record).__name__}')
    notes = record.notes
    texts = {
        'analysis': record.analysis,
        'rationale': record.rationale,
        'place name': notes.place_name,
        'room type': notes.room_type,
        'place description': notes.place_description,
        'failure': notes.failure,
        'target': getattr(record.action, 'target', ''),
    }
    for k, note in enumerate(notes.objects):
        texts[f'category of object note {k}'] = note.category
        texts[f'description of object note {k}'] = note.description
        for i, attribute in enumerate(note.attributes):
            texts[f'attribute {i} of object note {k}'] = attribute
    for k, update in enumerate(notes.progress):
        texts[f'reason of progress update {k}'] = update.reason
        if not _is_int(update.index, 0):
            raise UpdateRefused(f'progress update {k} has the index {update.index!r}')
        if update.status not in ('active', 'done', 'skipped', 'failed'):
            raise UpdateRefused(f'progress update {k} has the status {update.status!r}')
    for name, text in texts.items():
        check_text(name, text, limit)
    view = getattr(record.action, 'view', None)
    if view is not None and not (_is_int(view, 0) and view < num_views):
        raise UpdateRefused(
            f'view {view!r} does not exist; the panorama has views 0..{num_views - 1}'
        )
    for name in ('u', 'v'):
        value = getattr(record.action, name, 0.0)
        if not _is_number(value) or not 0.0 <= value <= 1.0:
            raise UpdateRefused(f'{name} = {value!r} lies outside 0..1')


def check_action_note(note: ActionNote, num_waypoints: int, limit: int) -> None:
    """Raise UpdateRefused unless the note is clean and of a waypoint that exists."""
    if not _is_int(note.step, 0) or note.step >= num_waypoints:
        raise UpdateRefused(
            f'action note of step {note.step!r}; there are {num_waypoints} waypoints'
        )
    if not _is_int(note.code, 0) or note.code > 65535:
        raise UpdateRefused(f'action note with the code {note.code!r}')
    for name in ('action', 'rationale', 'outcome'):
        check_text(f'{name} of the note', getattr(note, name), limit)


def _is_int(value: object, lowest: int) -> bool:
    return (
        isinstance(value, (int, np.integer))
        and not isinstance(value, bool)
        and int(value) >= lowest
    )


def _is_number(value: object) -> bool:
    return (
        isinstance(value, (int, float, np.number))
        and not isinstance(value, bool)
        and math.isfinite(value)
    )
