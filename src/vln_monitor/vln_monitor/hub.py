# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Distributes what is shown to all pages: the latest counts, and a slow page misses some."""

from __future__ import annotations

import asyncio
import json
import struct
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

Payload = str | bytes
CAMERA = 'camera'
# A page that cannot take one message in this time is gone.
_SEND_TIMEOUT = 10.0
# The page has not said that it painted: send the next picture all the same.
_PAINT_TIMEOUT = 2.0


def text_payload(channel: str, content: Mapping[str, Any]) -> str:
    """Return a message of a channel; numbers must be finite."""
    return json.dumps({'type': channel, **content}, allow_nan=False, separators=(',', ':'))


def binary_payload(channel: str, header: Mapping[str, Any], data: bytes) -> bytes:
    """Return a message with data: length of the header (4 bytes, big-endian), header, data."""
    head = text_payload(channel, header).encode()
    return struct.pack('>I', len(head)) + head + data


class Socket(Protocol):
    """The part of a WebSocket that is used here."""

    async def send_str(self, data: str) -> None:
        """Send text."""

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes."""


class Outbox:
    """What one page has not received yet: names of channels, not messages. Event loop only."""

    def __init__(self, hub: Hub, clock: Callable[[], float]) -> None:
        self._hub = hub
        self._clock = clock
        self._due: dict[str, None] = dict.fromkeys(hub.retained)
        self._notices: deque[str] = deque(maxlen=20)
        self._wake = asyncio.Event()
        self._wake.set()
        self._sent_picture: float | None = None
        self.wants_camera = False

    def mark(self, channel: str) -> None:
        """Note that a channel has something new."""
        if channel == CAMERA and not self.wants_camera:
            return
        self._due[channel] = None
        self._wake.set()

    def notice(self, content: Mapping[str, Any]) -> None:
        """Send something to this page alone."""
        self._notices.append(text_payload('notice', content))
        self._wake.set()

    def painted(self) -> None:
        """The page has painted the last picture."""
        self._sent_picture = None
        self._wake.set()

    async def run(self, socket: Socket) -> None:
        """Send until cancelled.

        Raises:
            asyncio.TimeoutError: The page takes nothing any more.
        """
        while True:
            try:
                await asyncio.wait_for(self._wake.wait(), _PAINT_TIMEOUT)
            except asyncio.TimeoutError:
                pass
            self._wake.clear()
            while (payload := self._next()) is not None:
                sending = (
                    socket.send_str(payload)
                    if isinstance(payload, str)
                    else socket.send_bytes(payload)
                )
                await asyncio.wait_for(sending, _SEND_TIMEOUT)

    def _next(self) -> Payload | None:
        if self._notices:
            return self._notices.popleft()
        for channel in self._due:
            if channel == CAMERA:
                if not self._may_send_picture():
                    continue
                self._sent_picture = self._clock()
            del self._due[channel]
            return self._hub.retained[channel]
        return None

    def _may_send_picture(self) -> bool:
        sent = self._sent_picture
        return sent is None or self._clock() - sent > _PAINT_TIMEOUT


class Hub:
    """Keeps the last message of each channel, and the pages' outboxes."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.retained: dict[str, Payload] = {}
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._outboxes: set[Outbox] = set()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to accept messages of other threads."""
        self._loop = loop

    @property
    def wants_camera(self) -> bool:
        """Whether any page shows the camera; may be read from any thread."""
        return any(outbox.wants_camera for outbox in tuple(self._outboxes))

    def open(self) -> Outbox:
        """Return an outbox for a new page."""
        outbox = Outbox(self, self._clock)
        self._outboxes.add(outbox)
        return outbox

    def close(self, outbox: Outbox) -> None:
        """Forget a page."""
        self._outboxes.discard(outbox)

    def post(self, channel: str, content: Mapping[str, Any]) -> None:
        """Show something new; from any thread."""
        self._post(channel, text_payload(channel, content))

    def post_binary(self, channel: str, header: Mapping[str, Any], data: bytes) -> None:
        """Show something new with data; from any thread."""
        self._post(channel, binary_payload(channel, header, data))

    def _post(self, channel: str, payload: Payload) -> None:
        loop = self._loop
        if loop is None:
            self.retained[channel] = payload
            return
        try:
            loop.call_soon_threadsafe(self._put, channel, payload)
        except RuntimeError:
            pass  # the server has ended

    def _put(self, channel: str, payload: Payload) -> None:
        if self.retained.get(channel) == payload:
            return
        self.retained[channel] = payload
        for outbox in self._outboxes:
            outbox.mark(channel)
