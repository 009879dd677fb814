# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Walks of R2R's train split, for mining demonstrations out of a user's own copy of the data.

Buildings are known as text only: captions, objects and neighbours of each viewpoint. Nobody says
in what room a path ends; its type is the room that the instruction names last, and marked so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from vln_core.errors import EpisodeError
from vln_core.evaluation.datasets import R2R_FILES, GraphEpisode, find_split, load_r2r
from vln_core.evaluation.text_features import Choice
from vln_core.evaluation.text_planner import WEIGHTS, TextPlanner, TextWeights
from vln_core.evaluation.text_words import read_instruction
from vln_core.evaluation.text_world import NUM_HEADINGS, TextWalk, TextWorld
from vln_core.system2.demonstrations import rooms_named
from vln_core.system2.mining import Walk
from vln_core.system2.prompting import bearing_words

_STEPS = (3, 7)


def r2r_walks(data: Path, missing: set[str]) -> Iterator[Walk]:
    """Yield walks along train paths whose type is still missing, in the order of the file.

    Args:
        data: Folder with R2R_train.json, connectivity and NavGPT's text worlds.
        missing: Canonical room types that are wanted; read anew before each path.

    Raises:
        EpisodeError: The data cannot be read.
    """
    world = TextWorld(data)
    planner = TextPlanner(TextWeights.load(WEIGHTS / 'r2r.json'))
    for episode in load_r2r(find_split(data, R2R_FILES, 'train')):
        rooms = rooms_named(episode.instruction)
        if not rooms or rooms[-1] not in missing:
            continue
        if _STEPS[0] <= len(episode.path) <= _STEPS[1]:
            try:
                yield _walk(world, planner, episode, rooms[-1])
            except EpisodeError:
                continue  # NavGPT has no text for some viewpoints


def _walk(world: TextWorld, planner: TextPlanner, episode: GraphEpisode, room: str) -> Walk:
    walk = TextWalk(world, episode.scan, episode.path[0], episode.heading)
    read = read_instruction(episode.instruction)
    known, choices, reasons = [], [], []
    for target in (*episode.path[1:], episode.path[-1]):
        is_stop = walk.at == target
        known.append(_known(walk))
        offered = planner.maker.choices(walk, read)
        choice = next((c for c in offered if _is(c, target, is_stop)), None)
        if choice is None:
            raise EpisodeError(f'path {episode.id} takes a way that the text world lacks')
        choices.append('stop' if is_stop else f'goto {_name(target)}')
        reasons.append(f'weights of the rules for this choice: {planner.explain(choice)}')
        walk.move_to(target)
    return Walk(
        episode.instruction, room, 'instruction', f'R2R train, {episode.id}', tuple(known),
        tuple(choices), tuple(reasons),
    )  # fmt: skip


def _is(choice: Choice, viewpoint: str, is_stop: bool) -> bool:
    return choice.viewpoint == viewpoint and choice.is_stop == is_stop


def _name(viewpoint: str) -> str:
    return viewpoint[:6]


def _known(walk: TextWalk) -> str:
    """Return where one can walk from here, each way with the caption of its direction."""
    told = []
    captions = walk.panorama.captions
    for way in walk.panorama.neighbours:
        sector = round(way.heading / (2.0 * math.pi / NUM_HEADINGS)) % NUM_HEADINGS
        lines = captions[sector] if sector < len(captions) else ()
        level = lines[len(lines) // 2] if lines else 'no caption'
        # Headings turn clockwise, bearings counter-clockwise.
        bearing = bearing_words(walk.heading - way.heading)
        told.append(f'{_name(way.viewpoint)} ({way.distance:.1f} m, {bearing}): {level[:60]}')
    return '; '.join(told[:5])
