# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Tokens, sessions, origins and the rule of loopback."""

from __future__ import annotations

import pytest

from vln_core.errors import ConfigError
from vln_monitor.access import Access, Role, Tokens, is_own_host, is_own_origin, tokens_of
from vln_monitor.config import MonitorConfig, check_exposure, is_loopback

OPERATOR, VIEWER = 'o' * 20, 'v' * 20


def test_tokens_have_roles() -> None:
    access = Access(Tokens(OPERATOR, VIEWER))
    assert access.role_of_token(OPERATOR) is Role.OPERATOR
    assert access.role_of_token(VIEWER) is Role.VIEWER
    assert access.role_of_token('o' * 19) is None
    assert access.role_of_token('') is None


def test_an_absent_token_opens_nothing() -> None:
    access = Access(Tokens(viewer=VIEWER))
    assert access.role_of_token('') is None
    assert access.role_of_token(VIEWER) is Role.VIEWER
    forged = Access(Tokens(operator='x' * 20)).new_session(Role.OPERATOR)
    assert access.role_of_session(forged) is None


@pytest.mark.parametrize(
    'environment',
    [
        {'VLN_MONITOR_TOKEN': 'short'},
        {'VLN_MONITOR_TOKEN': OPERATOR, 'VLN_MONITOR_VIEWER_TOKEN': OPERATOR},
    ],
)
def test_weak_tokens_are_refused(environment: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match='VLN_MONITOR'):
        tokens_of(environment)


def test_tokens_do_not_print() -> None:
    assert OPERATOR not in repr(Tokens(OPERATOR)) + str(Tokens(OPERATOR))


def test_sessions_outlive_the_server_but_not_the_token_nor_the_day() -> None:
    now = [1000.0]
    cookie = Access(Tokens(OPERATOR, VIEWER), lambda: now[0]).new_session(Role.VIEWER)
    restarted = Access(Tokens(OPERATOR, VIEWER), lambda: now[0])
    assert restarted.role_of_session(cookie) is Role.VIEWER
    assert restarted.role_of_session(cookie.replace('viewer', 'operator')) is None
    assert restarted.role_of_session(cookie[:-1] + ('0' if cookie[-1] != '0' else '1')) is None
    assert Access(Tokens(OPERATOR, 'w' * 20), lambda: now[0]).role_of_session(cookie) is None
    now[0] += 13 * 3600
    assert restarted.role_of_session(cookie) is None


@pytest.mark.parametrize(
    'cookie', ['', 'operator', 'a.b.c.d', 'operator.9999999999.x.', '...', 'é.1.2.3']
)
def test_nonsense_is_no_session(cookie: str) -> None:
    assert Access(Tokens(OPERATOR)).role_of_session(cookie) is None


def test_a_cookie_needs_an_origin() -> None:
    access = Access(Tokens(OPERATOR))
    cookie = access.new_session(Role.OPERATOR)
    assert access.role_of(authorization='', cookie=cookie, origin='') is None
    assert access.role_of(authorization='', cookie=cookie, origin='http://a') is Role.OPERATOR
    assert (
        access.role_of(authorization=f'Bearer {OPERATOR}', cookie='', origin='') is Role.OPERATOR
    )
    # A wrong token is not saved by a good cookie.
    assert access.role_of(authorization='Bearer no', cookie=cookie, origin='http://a') is None


def test_guessing_is_slowed() -> None:
    now = [0.0]
    access = Access(Tokens(OPERATOR), lambda: now[0])
    for _ in range(10):
        assert not access.is_blocked('1.2.3.4')
        access.note_failure('1.2.3.4')
    assert access.is_blocked('1.2.3.4')
    assert not access.is_blocked('1.2.3.5')
    now[0] = 61.0
    assert not access.is_blocked('1.2.3.4')


def test_origins() -> None:
    assert is_own_origin('http://robot:8765', 'robot:8765')
    assert is_own_origin('', 'robot:8765')
    assert not is_own_origin('http://robot:8766', 'robot:8765')
    assert not is_own_origin('http://evil.example', 'robot:8765')
    assert not is_own_origin('null', 'robot:8765')
    assert is_own_origin('http://robot:8765', 'robot:8766', is_other_port=True)
    assert not is_own_origin('http://evil.example:8765', 'robot:8766', is_other_port=True)


def test_names_that_point_here() -> None:
    assert is_own_host('localhost:8765', is_open=True)
    assert is_own_host('[::1]:8765', is_open=True)
    assert not is_own_host('evil.example:8765', is_open=True)
    assert is_own_host('robot.local:8765', is_open=False)


@pytest.mark.parametrize('host', ['127.0.0.1', '127.8.9.1', 'localhost', '::1', '[::1]'])
def test_loopback_needs_nothing(host: str) -> None:
    assert is_loopback(host)
    check_exposure(host, has_tokens=False, has_tls=False)


@pytest.mark.parametrize('host', ['0.0.0.0', '::', '192.168.1.4', 'robot.local', ''])
@pytest.mark.parametrize(('has_tokens', 'has_tls', 'named'), [(False, True, 'VLN_MONITOR_TOKEN'),
                                                              (True, False, 'TLS')])  # fmt: skip
def test_beyond_loopback_needs_token_and_tls(
    host: str, has_tokens: bool, has_tls: bool, named: str
) -> None:
    with pytest.raises(ConfigError, match=named) as caught:
        check_exposure(host, has_tokens=has_tokens, has_tls=has_tls)
    assert '\n' not in str(caught.value)
    check_exposure(host, has_tokens=True, has_tls=True)


def test_half_of_tls_is_refused() -> None:
    with pytest.raises(ConfigError, match='both'):
        MonitorConfig(tls_certificate='a.pem')
