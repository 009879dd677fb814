# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Named protocols: settings of benchmarks in YAML files, so that each result says which it is.

A file maps names to settings; ``extends`` takes over another preset's settings, nested mappings
are merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from vln_core.errors import ConfigError


def load_presets(folder: Path) -> dict[str, dict[str, Any]]:
    """Read every preset of a folder's YAML files.

    Raises:
        ConfigError: A file is malformed, two presets have one name, or one extends nothing known.
    """
    raw: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob('*.yaml')):
        try:
            content = yaml.safe_load(path.read_text(encoding='utf-8'))
        except (OSError, yaml.YAMLError) as error:
            raise ConfigError(f'{path} cannot be read: {error}') from error
        presets = (content or {}).get('presets', {})
        for name, settings in presets.items():
            if name in raw:
                raise ConfigError(f'{path}: a preset "{name}" exists already')
            if not isinstance(settings, dict):
                raise ConfigError(f'{path}: preset "{name}" is not a mapping')
            raw[name] = settings
    if not raw:
        raise ConfigError(f'{folder} holds no presets')
    return {name: _resolve(name, raw, ()) for name in raw}


def _resolve(
    name: str, raw: Mapping[str, dict[str, Any]], trail: tuple[str, ...]
) -> dict[str, Any]:
    if name in trail:
        raise ConfigError(f'presets extend each other in a circle: {" -> ".join((*trail, name))}')
    if name not in raw:
        raise ConfigError(f'preset "{trail[-1]}" extends "{name}", which does not exist')
    own = dict(raw[name])
    base = own.pop('extends', None)
    return own if base is None else merge(_resolve(base, raw, (*trail, name)), own)


def merge(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Return base with the changes; nested mappings are merged, all else is replaced."""
    merged = dict(base)
    for key, value in change.items():
        old = merged.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            merged[key] = merge(old, value)
        else:
            merged[key] = value
    return merged
