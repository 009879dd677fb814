# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a page may send: a closed schema, checked before anything happens."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

# A message of a page is a sentence at most.
MAX_MESSAGE_BYTES = 8192


class _Closed(BaseModel):
    model_config = ConfigDict(extra='forbid', frozen=True, allow_inf_nan=False)


class Hello(_Closed):
    """Introduces a page; the name is what others see, and goes into the command log."""

    type: Literal['hello']
    name: str = Field(default='', max_length=40, pattern=r'^[^\x00-\x1f]*$')


class Show(_Closed):
    """Whether the page is visible and wants pictures of the camera."""

    type: Literal['show']
    camera: bool


class Painted(_Closed):
    """The last picture has been painted: the next one may come."""

    type: Literal['painted']


class StopNow(_Closed):
    """Emergency stop."""

    type: Literal['stop']


class Release(_Closed):
    """Release the emergency stop."""

    type: Literal['release']


class Wheel(_Closed):
    """Take the wheel, from another driver with ``force``, or leave it."""

    type: Literal['wheel']
    take: bool
    force: bool = False


class Instruct(_Closed):
    """Follow an instruction."""

    type: Literal['instruct']
    text: str = Field(min_length=1, max_length=2000)


class Cancel(_Closed):
    """End the instruction."""

    type: Literal['cancel']


class Pause(_Closed):
    """Pause or resume the instruction."""

    type: Literal['pause']
    on: bool


class RequireApproval(_Closed):
    """Ask before every motion, or not."""

    type: Literal['require_approval']
    on: bool


class Approve(_Closed):
    """Answer to a motion that waits."""

    type: Literal['approve']
    yes: bool


class Drive(_Closed):
    """Velocity by hand, fractions of the limits; sent only while the dead man's switch is held."""

    type: Literal['drive']
    linear: float = Field(ge=-1.0, le=1.0)
    angular: float = Field(ge=-1.0, le=1.0)
    speed: float = Field(default=1.0, gt=0.0, le=1.0)


class LetGo(_Closed):
    """The dead man's switch was released: zero now."""

    type: Literal['let_go']


Message = Annotated[
    Hello
    | Show
    | Painted
    | StopNow
    | Release
    | Wheel
    | Instruct
    | Cancel
    | Pause
    | RequireApproval
    | Approve
    | Drive
    | LetGo,
    Field(discriminator='type'),
]  # fmt: skip
_ADAPTER: TypeAdapter[Message] = TypeAdapter(Message)


def parse(text: str) -> Message:
    """Return a page's message.

    Raises:
        ValueError: It does not fit the schema (``pydantic.ValidationError``).
    """
    return _ADAPTER.validate_json(text)
