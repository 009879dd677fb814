# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Who may do what: tokens, roles, sessions, and pages of other sites kept out."""

from __future__ import annotations

import enum
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from vln_core.errors import ConfigError
from vln_monitor.config import is_loopback

OPERATOR_VARIABLE = 'VLN_MONITOR_TOKEN'
VIEWER_VARIABLE = 'VLN_MONITOR_VIEWER_TOKEN'
_MIN_TOKEN = 16
_SESSION = 12 * 3600.0
_FAILURES, _WINDOW = 10, 60.0


class Role(enum.Enum):
    """What a page may do: a viewer watches and stops, an operator does everything."""

    VIEWER = 'viewer'
    OPERATOR = 'operator'


@dataclass(frozen=True)
class Tokens:
    """The secrets; empty where there is none. Without any, whoever gets through is an operator."""

    operator: str = ''
    viewer: str = ''

    def __post_init__(self) -> None:
        for name, token in ((OPERATOR_VARIABLE, self.operator), (VIEWER_VARIABLE, self.viewer)):
            if token and len(token) < _MIN_TOKEN:
                raise ConfigError(
                    f'{name} is shorter than {_MIN_TOKEN} characters; make one with: '
                    'openssl rand -hex 16'
                )
        if self.operator and self.operator == self.viewer:
            raise ConfigError(f'{OPERATOR_VARIABLE} and {VIEWER_VARIABLE} must differ')

    def __bool__(self) -> bool:
        return bool(self.operator or self.viewer)

    def __repr__(self) -> str:
        return 'Tokens(...)'  # never into a log


def tokens_of(environment: Mapping[str, str]) -> Tokens:
    """Read the tokens from the environment.

    Raises:
        ConfigError: A token is too short, or both are equal.
    """
    return Tokens(
        environment.get(OPERATOR_VARIABLE, '').strip(),
        environment.get(VIEWER_VARIABLE, '').strip(),
    )


class Access:
    """Checks tokens and issues sessions that outlive a restart of the server.

    A session is 'role.expiry.nonce.signature', signed with the role's token: a new token ends
    all sessions of the old one, and the server keeps no list of them.
    """

    def __init__(self, tokens: Tokens, clock: Callable[[], float] = time.time) -> None:
        self._tokens = tokens
        self._clock = clock
        self._failures: dict[str, list[float]] = {}

    @property
    def is_open(self) -> bool:
        """True without tokens: on loopback only."""
        return not self._tokens

    def role_of_token(self, token: str) -> Role | None:
        """Return the role of a token, comparing in constant time; None for a wrong one."""
        given = hashlib.sha256(token.encode()).digest()
        found = None
        for role in Role:
            secret = self._secret(role)
            expected = hashlib.sha256(secret.encode()).digest()
            # Both are always compared, so that the time tells nothing.
            if hmac.compare_digest(given, expected) and secret:
                found = role
        return found

    def is_blocked(self, address: str) -> bool:
        """Whether an address has guessed too often in the last minute."""
        recent = [t for t in self._failures.get(address, []) if self._clock() - t < _WINDOW]
        if recent:
            self._failures[address] = recent
        else:
            self._failures.pop(address, None)
        return len(recent) >= _FAILURES

    def note_failure(self, address: str) -> None:
        """Remember a wrong token."""
        if len(self._failures) > 10_000:
            self._failures.clear()
        self._failures.setdefault(address, []).append(self._clock())

    def new_session(self, role: Role) -> str:
        """Return the value of a session's cookie."""
        body = f'{role.value}.{int(self._clock() + _SESSION)}.{secrets.token_hex(8)}'
        return f'{body}.{self._sign(role, body)}'

    def role_of_session(self, cookie: str) -> Role | None:
        """Return the role of a session; None if it is forged, expired or of an old token."""
        body, _, signature = cookie.rpartition('.')
        parts = body.split('.')
        if len(parts) != 3 or not parts[1].isdecimal():
            return None
        try:
            role = Role(parts[0])
        except ValueError:
            return None
        if not self._secret(role) or int(parts[1]) < self._clock():
            return None
        is_right = hmac.compare_digest(signature.encode(), self._sign(role, body).encode())
        return role if is_right else None

    def role_of(self, *, authorization: str, cookie: str, origin: str) -> Role | None:
        """Return the role of a request.

        Args:
            authorization: Header; 'Bearer TOKEN'.
            cookie: Of the session.
            origin: Header; a cookie counts only for our own pages, which always send it with
                what changes anything.
        """
        if self.is_open:
            return Role.OPERATOR
        scheme, _, token = authorization.partition(' ')
        if scheme.lower() == 'bearer':
            return self.role_of_token(token.strip())
        return self.role_of_session(cookie) if cookie and origin else None

    def _secret(self, role: Role) -> str:
        return self._tokens.operator if role is Role.OPERATOR else self._tokens.viewer

    def _sign(self, role: Role, body: str) -> str:
        return hmac.new(self._secret(role).encode(), body.encode(), hashlib.sha256).hexdigest()


def is_own_origin(origin: str, host: str, *, is_other_port: bool = False) -> bool:
    """Tell whether a request comes from our own page.

    Args:
        origin: Header; empty where no browser page sent the request.
        host: Header.
        is_other_port: True for the listener beside the page's: only the host's name must agree.
    """
    if not origin:
        return True
    parts = urlsplit(origin)
    if parts.scheme not in ('http', 'https') or not parts.hostname:
        return False
    if is_other_port:
        return parts.hostname == hostname_of(host)
    return parts.netloc.lower() == host.lower()


def is_own_host(host: str, *, is_open: bool) -> bool:
    """Keep foreign names out that were made to point at this machine (DNS rebinding).

    Where a token guards the server any name will do, because no other site has the token.
    """
    return not is_open or is_loopback(hostname_of(host))


def hostname_of(host: str) -> str:
    """Return the name or address in a Host header, without the port."""
    try:
        return urlsplit(f'//{host}').hostname or ''
    except ValueError:
        return ''
