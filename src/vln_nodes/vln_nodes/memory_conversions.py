# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of memory and planner to core types and back. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from geometry_msgs.msg import Vector3

from vln_core.context import (
    ActionNote,
    ClauseKind,
    Evidence,
    FailureNote,
    ItemStatus,
    ObjectState,
    PlaceEdge,
    PlaceState,
    PlanningContext,
    ProgressItem,
    ProgressRecord,
    ViewpointState,
    WaypointState,
    WorldGraph,
)
from vln_core.navigator import DecisionTrace
from vln_core.observation import Panorama
from vln_core.system2.record import DecisionRecord, describe_action
from vln_interfaces import msg
from vln_interfaces.srv import GetContext
from vln_nodes import conversions as conv


def progress_item_msg(item: ProgressItem) -> msg.ProgressItem:
    """Return a progress item as message."""
    evidence = item.evidence
    return msg.ProgressItem(
        index=item.index,
        text=item.text,
        kind=item.kind.value,
        landmarks=list(item.landmarks),
        rooms=list(item.rooms),
        direction=item.direction,
        ordinal=item.ordinal,
        side=item.side,
        distance=conv.distance_msg(item.distance),
        status=item.status.value,
        evidence_waypoint=-1 if evidence is None else evidence.waypoint,
        evidence_reason='' if evidence is None else evidence.reason,
    )


def progress_item_of(message: msg.ProgressItem) -> ProgressItem:
    """Return a progress item from its message; an unknown kind or status is a ValueError."""
    has_evidence = message.evidence_waypoint >= 0 or bool(message.evidence_reason)
    return ProgressItem(
        index=message.index,
        text=message.text,
        kind=ClauseKind(message.kind),
        landmarks=tuple(message.landmarks),
        rooms=tuple(message.rooms),
        direction=message.direction,
        ordinal=message.ordinal,
        side=message.side,
        distance=conv.distance_of(message.distance),
        status=ItemStatus(message.status),
        evidence=Evidence(message.evidence_waypoint, message.evidence_reason)
        if has_evidence
        else None,
    )


def progress_msg(record: ProgressRecord, instruction: str) -> msg.ProgressRecord:
    """Return the progress record as message; the header is left to the caller."""
    items = [progress_item_msg(item) for item in record.items]
    return msg.ProgressRecord(instruction=instruction, items=items)


def progress_of(message: msg.ProgressRecord) -> ProgressRecord:
    """Return the progress record from its message."""
    return ProgressRecord(tuple(progress_item_of(item) for item in message.items))


def graph_msg(graph: WorldGraph, step: int) -> msg.WorldGraph:
    """Return the world graph as message; the header is left to the caller."""
    return msg.WorldGraph(
        step=step,
        places=[_place_msg(place) for place in graph.places],
        objects=[_object_msg(item) for item in graph.objects],
        waypoints=[
            msg.Waypoint(
                id=w.id, pose=conv.pose2d_msg((w.x, w.y, w.yaw)), place=w.place,
                num_views=w.num_views,
            )
            for w in graph.waypoints
        ],
        viewpoints=[_viewpoint_msg(viewpoint) for viewpoint in graph.viewpoints],
        edges=[
            msg.PlaceEdge(a=e.a, b=e.b, length=float(e.length), traversals=e.traversals)
            for e in graph.edges
        ],
    )  # fmt: skip


def graph_of(message: msg.WorldGraph) -> WorldGraph:
    """Return the world graph from its message."""
    return WorldGraph(
        places=tuple(_place_of(place) for place in message.places),
        objects=tuple(_object_of(item) for item in message.objects),
        waypoints=tuple(
            WaypointState(w.id, w.pose.x, w.pose.y, w.pose.theta, w.place, w.num_views)
            for w in message.waypoints
        ),
        viewpoints=tuple(_viewpoint_of(viewpoint) for viewpoint in message.viewpoints),
        edges=tuple(PlaceEdge(e.a, e.b, e.length, e.traversals) for e in message.edges),
    )


def _place_msg(place: PlaceState) -> msg.Place:
    return msg.Place(
        id=place.id,
        anchors=[conv.pose2d_msg(anchor) for anchor in place.anchors],
        name=place.name,
        room_type=place.room_type,
        description=place.description,
        visit_count=place.visit_count,
        first_step=place.first_step,
        last_step=place.last_step,
        failures=[
            msg.FailureNote(reason=f.reason, step=f.step, subgoal=f.subgoal)
            for f in place.failures
        ],
        objects=list(place.objects),
        neighbours=list(place.neighbours),
        landmark_agreement=float(place.landmark_agreement),
    )


def _place_of(message: msg.Place) -> PlaceState:
    return PlaceState(
        id=message.id,
        anchors=tuple(conv.planar_of_pose2d(anchor) for anchor in message.anchors),
        name=message.name,
        room_type=message.room_type,
        description=message.description,
        visit_count=message.visit_count,
        first_step=message.first_step,
        last_step=message.last_step,
        failures=tuple(FailureNote(f.reason, f.step, f.subgoal) for f in message.failures),
        objects=tuple(int(value) for value in message.objects),
        neighbours=tuple(int(value) for value in message.neighbours),
        landmark_agreement=message.landmark_agreement,
    )


def _object_msg(item: ObjectState) -> msg.ObjectNode:
    x, y, z = (float(value) for value in item.extent)
    return msg.ObjectNode(
        id=item.id,
        category=item.category,
        position=conv.point_msg(item.position),
        extent=Vector3(x=x, y=y, z=z),
        confidence=float(item.confidence),
        num_sightings=item.num_sightings,
        best_waypoint=item.best_view[0],
        best_view=item.best_view[1],
        place=item.place,
        descriptions=list(item.descriptions),
        attributes=list(item.attributes),
        attribute_counts=list(item.attributes.values()),
        last_step=item.last_step,
    )


def _object_of(message: msg.ObjectNode) -> ObjectState:
    counts = (int(count) for count in message.attribute_counts)
    return ObjectState(
        id=message.id,
        category=message.category,
        position=conv.xyz_of(message.position),
        extent=conv.xyz_of(message.extent),
        confidence=message.confidence,
        num_sightings=message.num_sightings,
        best_view=(message.best_waypoint, message.best_view),
        place=message.place,
        descriptions=tuple(message.descriptions),
        attributes=dict(zip(message.attributes, counts)),
        last_step=message.last_step,
    )


def _viewpoint_msg(viewpoint: ViewpointState) -> msg.Viewpoint:
    return msg.Viewpoint(
        id=viewpoint.id,
        position=conv.point_msg((viewpoint.x, viewpoint.y, 0.0)),
        is_visited=viewpoint.is_visited,
        seen_from=viewpoint.seen_from,
        path_length=float(viewpoint.path_length),
        bearing=float(viewpoint.bearing),
        opening_width=float(viewpoint.opening_width),
        unknown_area=float(viewpoint.unknown_area),
        heading_out=float(viewpoint.heading_out),
        caption=viewpoint.caption,
    )


def _viewpoint_of(message: msg.Viewpoint) -> ViewpointState:
    return ViewpointState(
        id=message.id,
        x=message.position.x,
        y=message.position.y,
        is_visited=message.is_visited,
        seen_from=message.seen_from,
        path_length=message.path_length,
        bearing=message.bearing,
        opening_width=message.opening_width,
        unknown_area=message.unknown_area,
        heading_out=message.heading_out,
        caption=message.caption,
    )


def note_msg(note: ActionNote) -> msg.ActionNote:
    """Return an action note as message."""
    return msg.ActionNote(
        step=note.step,
        action=note.action,
        rationale=note.rationale,
        outcome=note.outcome,
        code=note.code,
    )


def note_of(message: msg.ActionNote) -> ActionNote:
    """Return an action note from its message."""
    return ActionNote(
        message.step, message.action, message.rationale, message.outcome, message.code
    )


def fill_context(
    context: PlanningContext, response: GetContext.Response, *, with_map_image: bool
) -> GetContext.Response:
    """Write a planning context into a response; headers are left to the caller."""
    response.instruction = context.instruction
    response.step = context.step
    response.panorama_id = context.panorama.id
    response.pose = conv.pose2d_msg(context.pose)
    response.progress = progress_msg(context.progress, context.instruction)
    response.graph = graph_msg(context.graph, context.step)
    response.retrieved = list(context.retrieved)
    response.memory_text = context.memory_text
    response.window_text = context.window_text
    response.window_frames = [conv.jpeg_of_rgb(frame) for frame in context.window_frames]
    if with_map_image and context.map_image is not None:
        response.map_image = conv.png_of_rgb(context.map_image)
    response.history = [note_msg(note) for note in context.history]
    response.odom_in_global = conv.pose_msg(context.global_tform_odom)
    return response


def context_of(
    response: GetContext.Response, panorama: Panorama, refusals: Sequence[str]
) -> PlanningContext:
    """Return a planning context from memory's response and the panorama that it names."""
    context = PlanningContext(
        instruction=response.instruction,
        step=response.step,
        pose=conv.planar_of_pose2d(response.pose),
        panorama=panorama,
        progress=progress_of(response.progress),
        graph=graph_of(response.graph),
        retrieved=tuple(int(value) for value in response.retrieved),
        memory_text=response.memory_text,
        window_text=response.window_text,
        window_frames=tuple(conv.rgb_of_compressed(frame) for frame in response.window_frames),
        history=tuple(note_of(note) for note in response.history),
        refusals=tuple(refusals),
        global_tform_odom=conv.tform_of_pose(response.odom_in_global),
    )
    if not response.map_image.data:
        return context
    return replace(context, map_image=conv.rgb_of_compressed(response.map_image))


def record_json(record: DecisionRecord) -> str:
    """Return a decision record as JSON of its schema."""
    return record.model_dump_json()


def record_of(text: str) -> DecisionRecord:
    """Return a decision record from JSON; raises ``pydantic.ValidationError`` (a ValueError)."""
    return DecisionRecord.model_validate_json(text)


def decision_msg(trace: DecisionTrace, *, episode_id: str, planner: str) -> msg.DecisionRecord:
    """Return one decision from picture to outcome as message."""
    message = msg.DecisionRecord(
        episode_id=episode_id,
        step=trace.step,
        panorama_id=trace.panorama.id,
        instruction=trace.context.instruction,
        planner=planner,
        view=-1,
        u_px=-1,
        v_px=-1,
        refusals=list(trace.refusals),
        outcome_code=int(trace.code),
        outcome=trace.outcome,
        latency=float(trace.latency),
    )
    message.header.stamp = conv.stamp_msg(trace.panorama.stamp)
    if trace.record is not None:
        action = trace.record.action
        message.action = action.type
        message.action_text = describe_action(action)
        message.record_json = record_json(trace.record)
        message.rationale = trace.record.rationale
        message.view = int(getattr(action, 'view', -1))
    if trace.grounding is not None and trace.grounding.box_xyxy is not None:
        message.box_xyxy_px = np.asarray(trace.grounding.box_xyxy, dtype=np.float32)
    if trace.pixel_uv is not None:
        message.u_px, message.v_px = (int(value) for value in trace.pixel_uv)
    return message
