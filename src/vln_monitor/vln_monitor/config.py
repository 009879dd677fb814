# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the monitor, and the rule of where it may be reached from."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from vln_core.errors import ConfigError
from vln_nodes.parameters import parameter


@dataclass(frozen=True)
class MonitorConfig:
    """Parameters of the monitor node. Tokens are not here: they come from the environment."""

    host: str = parameter('127.0.0.1', 'Address to listen on.')
    port: int = parameter(8765, 'Port of the page.', minimum=1, maximum=65535)
    stop_port: int = parameter(
        0,
        'Port of the second listener, for the stop alone; 0: next one, -1: none.',
        minimum=-1,
    )
    tls_certificate: str = parameter('', 'PEM file with the certificate chain; empty: no TLS.')
    tls_key: str = parameter('', 'PEM file with the private key.')
    camera_rate: float = parameter(
        10.0, 'Most pictures sent to a page, Hz.', minimum=0.1, maximum=30.0
    )
    camera_width_px: int = parameter(640, 'Wider pictures are scaled down.', minimum=64)
    jpeg_quality: int = parameter(75, 'Of the pictures.', minimum=10, maximum=100)
    max_linear: float = parameter(0.5, 'Top speed by hand, m/s.', minimum=0.01, maximum=2.0)
    max_angular: float = parameter(1.0, 'Top turning rate by hand, rad/s.', minimum=0.01)
    teleop_timeout: float = parameter(
        0.25, 'Silence of the driver after which the robot stands, s.', minimum=0.05, maximum=0.5
    )
    max_clients: int = parameter(32, 'Pages served at once.', minimum=1)
    command_log: str = parameter('', 'File of all commands, JSON lines; empty: below ~/.local.')
    prompt_price: float = parameter(0.0, 'Price of a million prompt tokens.', minimum=0.0)
    completion_price: float = parameter(0.0, 'Price of a million completion tokens.', minimum=0.0)

    def __post_init__(self) -> None:
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise ConfigError('TLS needs both tls_certificate and tls_key, or neither')

    @property
    def has_tls(self) -> bool:
        """Whether the page is served over TLS."""
        return bool(self.tls_certificate)

    @property
    def stop_listener_port(self) -> int | None:
        """Port of the second listener; None without one."""
        if self.stop_port < 0:
            return None
        return self.stop_port or (self.port + 1 if self.port < 65535 else self.port - 1)

    @property
    def command_log_path(self) -> Path:
        """File of all commands."""
        if self.command_log:
            return Path(self.command_log).expanduser()
        return Path.home() / '.local' / 'state' / 'vln' / 'monitor-commands.jsonl'


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine only."""
    if host == 'localhost':
        return True
    try:
        return ipaddress.ip_address(host.strip('[]')).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, *, has_tokens: bool, has_tls: bool) -> None:
    """Refuse to be reachable from the network without TLS and tokens.

    Raises:
        ConfigError: The message is one line that says what to do.
    """
    if is_loopback(host) or (has_tokens and has_tls):
        return
    missing = []
    if not has_tls:
        missing.append('TLS (parameters tls_certificate and tls_key)')
    if not has_tokens:
        missing.append('a token (VLN_MONITOR_TOKEN in the environment)')
    raise ConfigError(
        f'{host} can be reached from the network, which needs {" and ".join(missing)}; '
        'or listen on 127.0.0.1 and use an SSH tunnel'
    )
