# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From the demo's recorded messages to the pictures and texts of its report."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_cli.demo_client import Recording, positions
from vln_core.evaluation.report import DecisionReport, EpisodeReport
from vln_core.outcome import EpisodeCode, GroundingCode, MotionCode
from vln_interfaces.msg import DecisionRecord, Panorama, ProgressRecord
from vln_nodes.memory_conversions import graph_of
from vln_sim_bridge.plan_picture import PlanPicture


def episode_report(
    folder: Path,
    goal: tuple[float, float] | None,
    row: dict[str, object],
    recording: Recording,
    map_png: bytes,
) -> EpisodeReport:
    """Return the report of one instruction.

    Args:
        folder: Scene folder, for the plan.
        goal: (x, y) m in the world, or None.
        row: The instruction's row of the result table.
        recording: What the stack said.
        map_png: The map image that a model sees.
    """
    plan = PlanPicture(folder)
    if recording.graph is not None:
        plan.draw_memory(graph_of(recording.graph))
    plan.draw_path(positions(recording))
    if goal is not None:
        plan.draw_goal(goal)
    distance = row['distance_m']
    return EpisodeReport(
        instruction=str(row['instruction']),
        success=bool(row['success']),
        is_verified=bool(recording.result and recording.result.is_verified),
        distance=float(distance) if isinstance(distance, float) else None,
        collisions=recording.num_collisions,
        seconds=recording.seconds,
        reason=str(row['reason']),
        decisions=[
            _decision(message, recording.panoramas.get(message.panorama_id), progress)
            for message, progress in zip(recording.decisions, recording.progress, strict=True)
        ],
        plan=plan.image(),
        map_image=_decode(map_png),
    )


def code_name(code: int) -> str:
    """Return the name of an outcome code for people."""
    for codes in (MotionCode, GroundingCode, EpisodeCode):
        if code in {int(member) for member in codes}:
            return codes(code).name.lower().replace('_', ' ')
    return f'code {code}'


def _decision(
    message: DecisionRecord, panorama: Panorama | None, progress: ProgressRecord | None
) -> DecisionReport:
    record = json.loads(message.record_json) if message.record_json else {}
    box = tuple(float(edge) for edge in message.box_xyxy_px)
    views = [_decode(bytes(view.color.data)) for view in panorama.views] if panorama else []
    labels = [
        (int(d.view), tuple(float(edge) for edge in d.box_xyxy_px), d.category)
        for d in (panorama.detections if panorama else [])
    ]
    return DecisionReport(
        step=message.step,
        action=message.action_text,
        analysis=str(record.get('analysis', '')),
        rationale=message.rationale,
        outcome=message.outcome,
        code=code_name(message.outcome_code),
        is_good=message.outcome_code == 0,
        views=views,
        view=message.view if message.view >= 0 else None,
        box_xyxy=box if any(box) else None,  # type: ignore[arg-type]
        pixel_uv=(message.u_px, message.v_px) if message.u_px >= 0 else None,
        labels=labels,  # type: ignore[arg-type]
        refusals=list(message.refusals),
        progress=[(item.text, item.status) for item in progress.items] if progress else [],
    )


def _decode(data: bytes) -> NDArray[np.uint8]:
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        raise ValueError(f'{len(data)} bytes are not a picture')
    return np.ascontiguousarray(image[..., ::-1])
