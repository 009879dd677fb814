# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Discrete text worlds over Matterport graphs: what an agent without pictures sees and may do.

Observations are NavGPT's BLIP-2 captions of eight headings and its objects; proposals of objects
are REVERIE's boxes. Object names in NavGPT's world equal REVERIE's annotations. Headings are rad,
clockwise from +y of the scan's frame, as Matterport3DSimulator has them.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import networkx as nx

from vln_core.errors import EpisodeError, UnknownReference
from vln_core.evaluation.scoring import VisibleObjects
from vln_core.evaluation.viewpoint_graph import GraphStore, ViewpointGraph

ARCHIVE = 'navgpt_text_world.zip'
NUM_HEADINGS = 8
_VIEW_COLUMNS = 12
_FOCAL_PX = 240.0 / math.tan(math.radians(30.0))
_CENTRE_PX = 320.0


@dataclass(frozen=True)
class TextObject:
    """An object as text.

    Attributes:
        name: Words.
        heading: Direction, rad.
        distance: Metres; NaN where not known.
        id: REVERIE's object id of a proposal, '' for what was merely detected.
    """

    name: str
    heading: float
    distance: float = math.nan
    id: str = ''


@dataclass(frozen=True)
class Neighbour:
    """A viewpoint one can walk to: heading and elevation in rad, distance in metres."""

    viewpoint: str
    heading: float
    elevation: float
    distance: float


@dataclass(frozen=True)
class TextPanorama:
    """What is seen at one viewpoint.

    Attributes:
        viewpoint: Id.
        captions: Per heading 45 degrees times its index: captions of the pictures taken downward,
            level and upward.
        objects: Detected objects, without the ones that only REVERIE annotates.
        neighbours: Where one can walk.
        proposals: REVERIE's boxes; empty in worlds without them.
    """

    viewpoint: str
    captions: tuple[tuple[str, ...], ...]
    objects: tuple[TextObject, ...]
    neighbours: tuple[Neighbour, ...]
    proposals: tuple[TextObject, ...] = ()


class TextWorld:
    """The text worlds of a data folder; buildings are read when they are entered."""

    def __init__(
        self, data: Path, *, use_objects: bool = True, use_proposals: bool = False
    ) -> None:
        """Open the archives.

        Args:
            data: Holds connectivity, navgpt_text_world.zip and, for proposals, reverie_bbox.zip.
            use_objects: Whether NavGPT's objects are shown; False is captions only.
            use_proposals: Whether REVERIE's boxes are shown.

        Raises:
            EpisodeError: An archive is missing or broken.
        """
        self.graphs = GraphStore(data)
        self._path = data / ARCHIVE
        self._use_objects = use_objects
        self._boxes = VisibleObjects(data) if use_proposals else None
        try:
            self._archive = zipfile.ZipFile(self._path)
        except (OSError, zipfile.BadZipFile) as error:
            raise EpisodeError(
                f'{self._path} cannot be read ({error}): captions and objects of NavGPT are needed'
            ) from error
        self._building = lru_cache(maxsize=None)(self._load)
        self.panorama = lru_cache(maxsize=None)(self._panorama)

    def graph(self, scan: str) -> ViewpointGraph:
        """Return the navigation graph of a building."""
        return self.graphs.graph(scan)

    def _load(self, scan: str) -> tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]:
        parts = []
        for name in (
            f'observations_list/{scan}.json',
            f'objects_list/{scan}.json',
            f'navigable/{scan}_navigable.json',
        ):
            try:
                parts.append(json.loads(self._archive.read(name)))
            except (KeyError, ValueError, zipfile.BadZipFile) as error:
                raise EpisodeError(f'{self._path}: {name} is missing or broken') from error
        return parts[0], parts[1], parts[2]

    def _panorama(self, scan: str, viewpoint: str) -> TextPanorama:
        """Return what is seen at a viewpoint.

        Raises:
            EpisodeError: The world has no text for it, or its text is malformed.
        """
        captions, objects, navigable = self._building(scan)
        where = f'{self._path}: building {scan}, viewpoint {viewpoint}'
        if viewpoint not in captions or viewpoint not in navigable:
            raise EpisodeError(f'{where} has no captions or no neighbours')
        try:
            return TextPanorama(
                viewpoint=viewpoint,
                captions=tuple(_caption_lines(text) for text in captions[viewpoint]),
                objects=self._objects(objects.get(viewpoint, ())) if self._use_objects else (),
                neighbours=tuple(
                    Neighbour(name, float(way['heading']), float(way['elevation']),
                              float(way['distance']))
                    for name, way in navigable[viewpoint].items()
                ),
                proposals=self._proposals(scan, viewpoint),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise EpisodeError(f'{where} is malformed: {error!r}') from error

    @staticmethod
    def _objects(views: Sequence[Mapping[str, Any]]) -> tuple[TextObject, ...]:
        return tuple(
            TextObject(name, math.radians(thing['heading']), float(thing['distance']))
            for view in views
            for name, thing in view.items()
        )

    def _proposals(self, scan: str, viewpoint: str) -> tuple[TextObject, ...]:
        if self._boxes is None:
            return ()
        return tuple(
            TextObject(thing['name'].replace('#', ' '), _box_heading(thing), id=key)
            for key, thing in self._boxes.at(scan, viewpoint).items()
        )


def _caption_lines(text: str) -> tuple[str, ...]:
    return tuple(line.split(':', 1)[-1].strip() for line in text.splitlines() if line.strip())


def _box_heading(thing: Mapping[str, Any]) -> float:
    """Return the heading of an object: of its largest box over the 12 views of each row."""
    boxes = zip(thing['visible_pos'], thing['bbox2d'])
    view, (left, _, width, _) = max(boxes, key=lambda pair: pair[1][2] * pair[1][3])
    offset = math.atan((left + width / 2.0 - _CENTRE_PX) / _FOCAL_PX)
    return (math.radians(30.0) * (view % _VIEW_COLUMNS) + offset) % (2.0 * math.pi)


class TextWalk:
    """One episode: where the agent is, and all that it has reached or been shown.

    Attributes:
        scan: Building.
        at: Viewpoint where the agent stands.
        heading: Where it looks, rad.
        path: Every viewpoint it stood at, in order, the start first.
        visited: The panoramas it has seen, in the order of the first visit.
        shown: For each viewpoint it was shown but has not reached, where it was seen from and how.
        num_moves: Decisions to move so far.
    """

    def __init__(self, world: TextWorld, scan: str, start: str, heading: float) -> None:
        self._world = world
        self.scan = scan
        self.heading = heading
        self.path: list[str] = []
        self.visited: dict[str, TextPanorama] = {}
        self.shown: dict[str, list[tuple[str, Neighbour]]] = {}
        self.num_moves = 0
        self._known = nx.Graph()
        self._positions = {start: (0.0, 0.0, 0.0)}
        self._known.add_node(start)
        self._stand_at(start)

    @property
    def at(self) -> str:
        """The viewpoint where the agent stands."""
        return self.path[-1]

    @property
    def panorama(self) -> TextPanorama:
        """What is seen from there."""
        return self.visited[self.at]

    def position(self, viewpoint: str) -> tuple[float, float, float]:
        """Return where a viewpoint that was reached or shown lies from the start, metres.

        By dead reckoning from headings, elevations and distances; x, y, z as the scan has them.
        """
        return self._positions[viewpoint]

    def _step(self, viewpoint: str, way: Neighbour) -> tuple[float, float, float]:
        x, y, z = self._positions[viewpoint]
        flat = way.distance * math.cos(way.elevation)
        return (
            x + flat * math.sin(way.heading),
            y + flat * math.cos(way.heading),
            z + way.distance * math.sin(way.elevation),
        )

    def known_distances(self) -> dict[str, float]:
        """Return the length of the known way to every viewpoint reached or shown, metres."""
        return dict(nx.single_source_dijkstra_path_length(self._known, self.at, weight='length'))

    def distances_from_start(self) -> dict[str, tuple[int, float]]:
        """Return (edges, metres) of the known way from the start to what was reached or shown."""
        hops = nx.single_source_shortest_path_length(self._known, self.path[0])
        metres = nx.single_source_dijkstra_path_length(self._known, self.path[0], weight='length')
        return {name: (int(hops[name]), float(metres[name])) for name in hops}

    def known_way(self, viewpoint: str) -> list[str]:
        """Return the shortest known way to a viewpoint, both ends included.

        Raises:
            UnknownReference: It was neither reached nor shown.
        """
        if viewpoint not in self._known:
            raise UnknownReference(
                f'viewpoint {viewpoint} was neither reached nor shown; choose one of '
                f'{", ".join(sorted(self._known)[:8])}'
            )
        return list(nx.dijkstra_path(self._known, self.at, viewpoint, weight='length'))

    def move_to(self, viewpoint: str) -> None:
        """Walk to a viewpoint along the shortest known way; what is seen on the way counts.

        Raises:
            UnknownReference: It was neither reached nor shown.
        """
        way = self.known_way(viewpoint)
        if len(way) > 1:
            self.num_moves += 1
        for name in way[1:]:
            here = self.panorama
            self.heading = next(n.heading for n in here.neighbours if n.viewpoint == name)
            self._stand_at(name)

    def _stand_at(self, viewpoint: str) -> None:
        self.path.append(viewpoint)
        self.shown.pop(viewpoint, None)
        if viewpoint in self.visited:
            return
        panorama = self._world.panorama(self.scan, viewpoint)
        self.visited[viewpoint] = panorama
        for neighbour in panorama.neighbours:
            self._known.add_edge(viewpoint, neighbour.viewpoint, length=neighbour.distance)
            self._positions.setdefault(neighbour.viewpoint, self._step(viewpoint, neighbour))
            if neighbour.viewpoint not in self.visited:
                self.shown.setdefault(neighbour.viewpoint, []).append((viewpoint, neighbour))
