# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Navigation graphs of Matterport3D buildings: positions, edges and exact shortest distances."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from vln_core.errors import EpisodeError

ARCHIVE = 'connectivity.zip'
FOLDER = 'connectivity'


class ViewpointGraph:
    """One building: viewpoints that are included, and the unobstructed edges between them.

    Attributes:
        scan: Name of the building.
        names: Viewpoint ids, in the order of the file.
        positions: (N, 3) float64, metres, z up, frame of the scan.
    """

    def __init__(self, scan: str, entries: Sequence[dict[str, Any]], origin: str = '') -> None:
        """Read the entries of a connectivity file.

        Args:
            scan: Name of the building.
            entries: One object per viewpoint: image_id, pose (16 numbers, row by row), included,
                unobstructed (one flag per entry).
            origin: Where the entries came from, for messages.

        Raises:
            EpisodeError: An entry is malformed.
        """
        self.scan = scan
        kept = []
        for number, entry in enumerate(entries):
            if _check(entry, len(entries), f'{origin or scan}: viewpoint {number}')['included']:
                kept.append(number)
        self.names: list[str] = [entries[number]['image_id'] for number in kept]
        self.positions: NDArray[np.float64] = np.array(
            [[entries[number]['pose'][axis] for axis in (3, 7, 11)] for number in kept], float
        ).reshape(-1, 3)
        flags = np.array([entries[number]['unobstructed'] for number in kept], bool)
        self._open = flags[:, kept] if kept else flags.reshape(0, 0)
        self._index = {name: row for row, name in enumerate(self.names)}

    def __contains__(self, viewpoint: str) -> bool:
        return viewpoint in self._index

    def index(self, viewpoint: str) -> int:
        """Return the row of a viewpoint.

        Raises:
            EpisodeError: The building has no such viewpoint.
        """
        row = self._index.get(viewpoint)
        if row is None:
            raise EpisodeError(
                f'building {self.scan} has no viewpoint {viewpoint!r} among its '
                f'{len(self.names)} included ones; do predictions and split belong together?'
            )
        return row

    def position(self, viewpoint: str) -> NDArray[np.float64]:
        """Return the (3,) position of a viewpoint, metres."""
        return self.positions[self.index(viewpoint)]

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """(N, N) lengths of the shortest ways along edges, metres; inf where there is none."""
        return self._ways[0]

    @cached_property
    def _ways(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        steps = self.positions[:, None] - self.positions[None]
        lengths = np.where(self._open, np.linalg.norm(steps, axis=2), 0.0)
        found, before = dijkstra(csr_matrix(lengths), directed=False, return_predecessors=True)
        return found, before

    def distance(self, a: str, b: str) -> float:
        """Return the length of the shortest way from a to b, metres; inf if there is none."""
        return float(self.distances[self.index(a), self.index(b)])

    def shortest_path(self, a: str, b: str) -> list[str]:
        """Return the viewpoints of the shortest way, both ends included; empty if none."""
        start, row = self.index(a), self.index(b)
        if not math.isfinite(self.distances[start, row]):
            return []
        before, way = self._ways[1], [row]
        while way[-1] != start:
            way.append(int(before[start, way[-1]]))
        return [self.names[number] for number in reversed(way)]

    def neighbours(self, viewpoint: str) -> list[str]:
        """Return the viewpoints joined to one by an edge, in the order of the file."""
        row = self.index(viewpoint)
        joined = self._open[row] | self._open[:, row]
        return [self.names[number] for number in np.flatnonzero(joined) if number != row]

    def length(self, path: Sequence[str]) -> float:
        """Return the length of a sequence of viewpoints, metres; a jump is its shortest way."""
        rows = [self.index(name) for name in path]
        return float(sum(self.distances[a, b] for a, b in zip(rows, rows[1:])))


def _check(entry: dict[str, Any], size: int, where: str) -> dict[str, Any]:
    try:
        pose, flags = entry['pose'], entry['unobstructed']
        good = (
            isinstance(entry['image_id'], str)
            and isinstance(entry['included'], bool)
            and len(pose) == 16
            and all(math.isfinite(float(value)) for value in pose)
            and len(flags) == size
        )
    except (KeyError, TypeError, ValueError) as error:
        raise EpisodeError(f'{where} is malformed: {error!r}') from error
    if not good:
        raise EpisodeError(
            f'{where} is malformed: image_id, included, a finite pose of 16 numbers and '
            f'{size} flags in unobstructed are expected'
        )
    return entry


class GraphStore:
    """Buildings of a data folder, read when they are asked for."""

    def __init__(self, data: Path) -> None:
        """Open the folder.

        Args:
            data: Holds connectivity.zip, or a folder connectivity with one JSON per building.

        Raises:
            EpisodeError: It holds neither.
        """
        self._archive = data / ARCHIVE
        self._folder = data / FOLDER
        if not self._archive.is_file() and not self._folder.is_dir():
            raise EpisodeError(
                f'{data} holds neither {ARCHIVE} nor {FOLDER}/: the navigation graphs of '
                'Matterport3DSimulator are needed'
            )
        self.graph = lru_cache(maxsize=None)(self._load)

    def _load(self, scan: str) -> ViewpointGraph:
        name = f'{scan}_connectivity.json'
        origin = f'{self._archive if self._archive.is_file() else self._folder}: {name}'
        try:
            if self._archive.is_file():
                with zipfile.ZipFile(self._archive) as archive:
                    text = archive.read(f'{FOLDER}/{name}')
            else:
                text = (self._folder / name).read_bytes()
            entries = json.loads(text)
        except (KeyError, FileNotFoundError) as error:
            raise EpisodeError(f'{origin} does not exist: no graph of building {scan}') from error
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise EpisodeError(f'{origin} cannot be read: {error}') from error
        if not isinstance(entries, list):
            raise EpisodeError(f'{origin} is not a list of viewpoints')
        return ViewpointGraph(scan, entries, origin)
