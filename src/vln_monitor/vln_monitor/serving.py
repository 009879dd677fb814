# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Runs an aiohttp application in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable

from aiohttp import web

from vln_core.errors import ConfigError


def tls_context(certificate: str, key: str) -> ssl.SSLContext | None:
    """Return the TLS settings of a server; None without a certificate.

    Raises:
        ConfigError: The files cannot be read or do not fit.
    """
    if not certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f'certificate {certificate} and key {key} cannot be used: {error}'
        ) from error
    return context


class ServerThread:
    """An application that is being served until ``close``."""

    def __init__(
        self,
        make: Callable[[], web.Application],
        host: str,
        port: int,
        context: ssl.SSLContext | None,
        on_start: Callable[[asyncio.AbstractEventLoop], None] | None = None,
    ) -> None:
        """Start to serve.

        Args:
            make: Makes the application, in the thread.
            host: Address to listen on.
            port: Port to listen on.
            context: TLS settings.
            on_start: Called with the event loop before the first request.

        Raises:
            ConfigError: The port cannot be listened on.
        """
        self._make, self._on_start = make, on_start
        self._where = (host, port, context)
        self._started = threading.Event()
        self._error: BaseException | None = None
        self._end: asyncio.Event | None = None
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=f'server-{port}', daemon=True)
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            raise ConfigError(
                f'cannot listen on {host} port {port}: {self._error}'
            ) from self._error

    def close(self) -> None:
        """End, telling the clients."""
        if self._end is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._end.set)
        self._thread.join(timeout=3.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_until_complete(self._serve())
        except OSError as error:
            self._error = error
        finally:
            self._started.set()
            self.loop.close()

    async def _serve(self) -> None:
        host, port, context = self._where
        self._end = asyncio.Event()
        runner = web.AppRunner(
            self._make(), access_log=None, handle_signals=False, shutdown_timeout=1.0
        )
        await runner.setup()
        try:
            # One address, not what a name may resolve to besides.
            address = '127.0.0.1' if host == 'localhost' else host.strip('[]')
            site = web.TCPSite(runner, address, port, ssl_context=context)
            await site.start()
            if self._on_start is not None:
                self._on_start(self.loop)
            self._started.set()
            await self._end.wait()
        finally:
            await runner.cleanup()
