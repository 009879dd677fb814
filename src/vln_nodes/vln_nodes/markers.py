# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What people see in RViz and Foxglove: markers and pictures. Pure functions."""

from __future__ import annotations

import colorsys
import zlib
from collections.abc import Sequence

import cv2
import numpy as np
from geometry_msgs.msg import Point, Vector3
from numpy.typing import NDArray
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from vln_core.context import WorldGraph
from vln_core.observation import Panorama
from vln_nodes import conversions


def color_of(word: str) -> tuple[float, float, float]:
    """Return the colour of a category, the same in every picture and run, each 0..1."""
    return colorsys.hsv_to_rgb(zlib.crc32(word.encode()) % 360 / 360.0, 0.75, 0.95)


def detection_markers(panorama: Panorama, frame_id: str) -> MarkerArray:
    """Return a box and a name for each detection that has a position."""
    array = _cleared(frame_id, panorama.stamp)
    placed = [d for d in panorama.detections if d.position_odom is not None]
    for number, detection in enumerate(placed):
        color = color_of(detection.category)
        extent = np.maximum(detection.extent if detection.extent is not None else 0.1, 0.05)
        box = _marker(array, 'boxes', number, Marker.CUBE, color, 0.5)
        box.pose.position = conversions.point_msg(detection.position_odom)
        box.scale = Vector3(x=float(extent[0]), y=float(extent[1]), z=float(extent[2]))
        name = _marker(array, 'names', number, Marker.TEXT_VIEW_FACING, color, 1.0)
        name.pose.position = conversions.point_msg(detection.position_odom + (0.0, 0.0, 0.3))
        name.scale.z = 0.2
        name.text = f'{detection.category} {detection.score:.2f}'
    return array


def graph_markers(
    graph: WorldGraph, frame_id: str, stamp: int, retrieved: Sequence[int] = ()
) -> MarkerArray:
    """Return places, their edges, failures, waypoints, openings and objects of the world graph.

    The places of the slice retrieved last, best first, lie on yellow discs with their rank.
    """
    array = _cleared(frame_id, stamp)
    centres = {}
    for place in graph.places:
        centre = np.mean([anchor[:2] for anchor in place.anchors], axis=0)
        centres[place.id] = Point(x=float(centre[0]), y=float(centre[1]), z=0.05)
        color = (0.9, 0.2, 0.2) if place.failures else (0.2, 0.5, 0.9)
        _sphere(array, 'places', place.id, centres[place.id], 0.35, color)
        text = place.name or place.room_type or f'place {place.id}'
        _text(array, 'place_names', place.id, centres[place.id], 0.5, text)
        if place.failures:
            note = f'abandoned at w{place.failures[-1].step}: {place.failures[-1].reason[:60]}'
            _text(array, 'failures', place.id, centres[place.id], 0.75, note)
    for rank, number in enumerate(n for n in retrieved if n in centres):
        disc = _marker(array, 'retrieved', number, Marker.CYLINDER, (0.95, 0.8, 0.1), 0.5)
        disc.pose.position = centres[number]
        disc.scale = Vector3(x=0.9, y=0.9, z=0.02)
        _text(array, 'retrieved_ranks', number, centres[number], 0.25, f'{rank + 1}')
    edges = _marker(array, 'edges', 0, Marker.LINE_LIST, (0.2, 0.5, 0.9), 0.8)
    edges.scale.x = 0.04
    for edge in graph.edges:
        if edge.a in centres and edge.b in centres:
            edges.points += [centres[edge.a], centres[edge.b]]
    for item in graph.objects:
        position = conversions.point_msg(item.position)
        _sphere(array, 'objects', item.id, position, 0.2, color_of(item.category))
        _text(array, 'object_names', item.id, position, 0.25, item.category)
    for number, viewpoint in enumerate(graph.viewpoints):
        color = (0.4, 0.4, 0.4) if viewpoint.is_visited else (0.2, 0.85, 0.3)
        position = Point(x=viewpoint.x, y=viewpoint.y, z=0.02)
        _sphere(array, 'viewpoints', number, position, 0.15, color)
    return array


def detection_picture(panorama: Panorama) -> NDArray[np.uint8]:
    """Return the views side by side, (H, N W, 3), with the boxes of the detections."""
    pictures = []
    for view in panorama.views:
        picture = np.ascontiguousarray(view.rgb).copy()
        for detection in panorama.detections:
            if detection.view == view.index:
                _draw(picture, detection.box_xyxy, detection.category)
        pictures.append(picture)
    return np.concatenate(pictures, axis=1)


def _draw(picture: NDArray[np.uint8], box: tuple[float, ...], name: str) -> None:
    color = tuple(int(255 * part) for part in color_of(name))
    left, top, right, bottom = (int(round(edge)) for edge in box)
    cv2.rectangle(picture, (left, top), (right - 1, bottom - 1), color, 1)
    cv2.putText(picture, name, (left + 2, top + 11), cv2.FONT_HERSHEY_SIMPLEX, 0.35, color, 1)


def _cleared(frame_id: str, stamp: int) -> MarkerArray:
    first = Marker(action=Marker.DELETEALL)
    first.header.frame_id = frame_id
    first.header.stamp = conversions.stamp_msg(stamp)
    return MarkerArray(markers=[first])


def _marker(
    array: MarkerArray,
    namespace: str,
    number: int,
    kind: int,
    color: tuple[float, float, float],
    alpha: float,
) -> Marker:
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
    marker.header = array.markers[0].header
    marker.pose.orientation.w = 1.0
    marker.color = ColorRGBA(r=color[0], g=color[1], b=color[2], a=alpha)
    array.markers.append(marker)
    return marker


def _sphere(
    array: MarkerArray,
    namespace: str,
    number: int,
    position: Point,
    size: float,
    color: tuple[float, float, float],
) -> None:
    marker = _marker(array, namespace, number, Marker.SPHERE, color, 0.8)
    marker.pose.position = position
    marker.scale = Vector3(x=size, y=size, z=size)


def _text(
    array: MarkerArray, namespace: str, number: int, below: Point, lift: float, text: str
) -> None:
    marker = _marker(array, namespace, number, Marker.TEXT_VIEW_FACING, (1.0, 1.0, 1.0), 1.0)
    marker.pose.position = Point(x=below.x, y=below.y, z=below.z + lift)
    marker.scale.z = 0.2
    marker.text = text
