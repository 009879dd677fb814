# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The decision record J_t = (a_t, w_t, r_t): a closed, versioned schema (HAM-VLN 3.1, SPEC 4)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1
_TEXT = 2000


class _Closed(BaseModel):
    model_config = ConfigDict(extra='forbid', frozen=True)


class Go(_Closed):
    """Go towards what the target words describe in view ``view``; System 1 finds the pixel."""

    type: Literal['go'] = 'go'
    view: int = Field(ge=0, le=63)
    target: str = Field(min_length=1, max_length=200)


class MoveTo(_Closed):
    """Go to the pixel (u, v), fractions of width and height in [0, 1], of view ``view``."""

    type: Literal['move_to'] = 'move_to'
    view: int = Field(ge=0, le=63)
    u: float = Field(ge=0.0, le=1.0)
    v: float = Field(ge=0.0, le=1.0)


class Goto(_Closed):
    """Go to a viewpoint of the topological map."""

    type: Literal['goto'] = 'goto'
    viewpoint: str = Field(min_length=1, max_length=32)


class Backtrack(_Closed):
    """Return to a visited waypoint because the branch since then failed."""

    type: Literal['backtrack'] = 'backtrack'
    waypoint: int = Field(ge=0)


class Stop(_Closed):
    """End the episode here; ``object_id`` names the goal object where the task asks for one."""

    type: Literal['stop'] = 'stop'
    object_id: int | None = None


Action = Annotated[Go | MoveTo | Goto | Backtrack | Stop, Field(discriminator='type')]


class ObjectNote(_Closed):
    """Open-vocabulary words about an object of this place."""

    category: str = Field(min_length=1, max_length=80)
    description: str = Field(default='', max_length=300)
    attributes: tuple[str, ...] = Field(default=(), max_length=16)


class ProgressUpdate(_Closed):
    """Explicit change of one progress item."""

    index: int = Field(ge=0)
    status: Literal['active', 'done', 'skipped', 'failed']
    reason: str = Field(default='', max_length=500)


class WorldNotes(_Closed):
    """w_t: what the agent writes into memory with its decision."""

    place_name: str = Field(default='', max_length=80)
    room_type: str = Field(default='', max_length=80)
    place_description: str = Field(default='', max_length=_TEXT)
    objects: tuple[ObjectNote, ...] = Field(default=(), max_length=64)
    progress: tuple[ProgressUpdate, ...] = Field(default=(), max_length=64)
    failure: str = Field(default='', max_length=500)


class DecisionRecord(_Closed):
    """One decision of System 2."""

    version: Literal[1] = 1
    analysis: str = Field(default='', max_length=_TEXT)
    action: Action
    notes: WorldNotes = WorldNotes()
    rationale: str = Field(default='', max_length=_TEXT)


def describe_action(action: Go | MoveTo | Goto | Backtrack | Stop) -> str:
    """Return compact text of an action for histories, logs and markers."""
    if isinstance(action, Go):
        return f'go(view {action.view}, "{action.target}")'
    if isinstance(action, MoveTo):
        return f'move_to(view {action.view}, {action.u:.2f}, {action.v:.2f})'
    if isinstance(action, Goto):
        return f'goto({action.viewpoint})'
    if isinstance(action, Backtrack):
        return f'backtrack({action.waypoint})'
    return 'stop()' if action.object_id is None else f'stop(object {action.object_id})'
