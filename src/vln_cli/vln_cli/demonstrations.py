# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln demonstrations mine|list``: examples of reasoning for the prompts of mcgpt and fused."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vln_cli.subcommands import run_subcommand

if TYPE_CHECKING:
    from vln_core.system2.mining import Explainer, Walk

_EXAMPLES = """examples:
  ./vln demonstrations mine --scenes 0-39 --output config/demonstrations
  ./vln demonstrations mine --r2r ../shared/data/matterport --output my_demonstrations
  ./vln demonstrations mine --r2r DATA --model model.yaml --output my_demonstrations
  ./vln demonstrations list"""


def main(argv: Sequence[str]) -> int:
    """Run the subcommand; 0 done, 1 nothing was found, 2 something is wrong."""
    return run_subcommand(_parser(), argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='vln demonstrations',
        description='Mine examples of reasoning from walks that are known to be right: one JSON '
        'file a room type, to be read and edited. Files that exist are kept.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest='command', required=True)
    mine = commands.add_parser('mine', help='write one example for each type of room')
    source = mine.add_mutually_exclusive_group(required=True)
    source.add_argument('--scenes', help='generated apartments by seed: 7, or 0-39')
    source.add_argument('--r2r', type=Path, metavar='DATA', help="folder with R2R's train split")
    mine.add_argument('--output', type=Path, required=True, help='folder of the examples')
    mine.add_argument('--types', nargs='*', help='only these room types')
    mine.add_argument(
        '--model', type=Path, help='YAML profile of a model that explains; default: the rules'
    )
    mine.add_argument('--overwrite', action='store_true', help='replace files that exist')
    mine.set_defaults(run=_mine)
    show = commands.add_parser('list', help='print what a folder holds and which types it lacks')
    show.add_argument('folder', type=Path, nargs='?', help="default: the stack's own")
    show.set_defaults(run=_list)
    return parser


def _list(options: argparse.Namespace) -> int:
    from vln_core.system2.demonstrations import load_demonstrations
    from vln_core.system2.prompting import config_folder
    from vln_core.vocabulary import ROOMS

    folder = config_folder('demonstrations', options.folder)
    found = load_demonstrations(folder)
    for example in found:
        print(
            f'{example.room_type:<16} {len(example.steps):2d} steps, type from the '
            f'{example.type_source}, explained by {example.explained_by}: {example.instruction}'
        )
    _print_missing({example.room_type for example in found}, ROOMS)
    return 0


def _print_missing(have: set[str], wanted: Any) -> None:
    missing = [room for room in wanted if room not in have]
    print(f'{len(have)} types; missing: {", ".join(missing) or "none"}')


def _mine(options: argparse.Namespace) -> int:
    from vln_core.errors import RecordError
    from vln_core.system2.mining import demonstration_of
    from vln_core.vocabulary import ROOMS

    wanted = set(options.types or ROOMS)
    have = set()
    if options.output.is_dir() and not options.overwrite:
        have = {path.stem.replace('_', ' ') for path in options.output.glob('*.json')}
    explainer = _explainer(options.model)
    missing = wanted - have
    walks = (
        _scene_walks(options.scenes, missing)
        if options.scenes
        else _r2r_walks(options.r2r, missing)
    )
    for walk in walks:
        try:
            path = demonstration_of(walk, explainer).save(options.output)
        except RecordError as error:
            print(f'vln demonstrations: left out: {error}', file=sys.stderr)
            continue
        missing.discard(walk.room_type)
        have.add(walk.room_type)
        print(f'{walk.room_type}: {path} ({len(walk.choices)} steps)', flush=True)
        if not missing:
            break
    _print_missing(have, options.types or ROOMS)
    return 0 if have else 1


def _explainer(profile: Path | None) -> Explainer:
    from vln_core.errors import ConfigError
    from vln_core.system2.mining import ModelExplainer, RulesExplainer
    from vln_core.system2.model_client import ModelClient
    from vln_core.system2.model_profile import ModelProfile

    if profile is None:
        return RulesExplainer()
    import yaml

    try:
        values = ModelProfile(**yaml.safe_load(profile.read_text(encoding='utf-8')))
    except (OSError, TypeError, yaml.YAMLError) as error:
        raise ConfigError(f'--model {profile} is no profile of a model: {error}') from error
    return ModelExplainer(ModelClient(values), values.model)


def _scene_walks(seeds: str, missing: set[str]) -> Iterator[Walk]:
    """Walk reference paths of generated apartments; ``missing`` shrinks as types are found."""
    from vln_sim_bridge.episodes import load_episodes
    from vln_sim_bridge.in_process import RunConfig
    from vln_sim_bridge.make import make_simulator
    from vln_sim_bridge.scene import load_scene
    from vln_sim_bridge.scene_cache import resolve_scene

    config = RunConfig()
    first, _, last = seeds.partition('-')
    for seed in range(int(first), int(last or first) + 1):
        folder = resolve_scene(f'apartment:{seed}')
        scene = load_scene(folder)
        types = {o.name: scene.rooms[o.room].type for o in scene.objects if o.room is not None}
        simulator = None
        for number, episode in enumerate(load_episodes(folder)):
            room = types.get(episode.goal_object or '', '')
            if room not in missing or not 4.0 <= episode.geodesic_distance <= 14.0:
                continue
            simulator = simulator or make_simulator('raycast', folder, config.simulator)
            source = f'apartment:{seed}, episode {number}'
            walk = _walk(simulator, episode, config, room, source)
            if walk is not None:
                yield walk
        if simulator is not None:
            simulator.close()


def _walk(simulator: Any, episode: Any, config: Any, room: str, source: str) -> Walk | None:
    """Return the walk along one reference path; None where it teaches too little."""
    from vln_core.system2.guide import PathGuide
    from vln_core.system2.mining import Expert, walk_of
    from vln_sim_bridge.in_process import run_episode

    expert = Expert(PathGuide(episode.reference_path_xy, episode.goal_category or ''))
    run = run_episode(simulator, episode, config, brain=expert)
    steps = len(expert.steps)
    if not run.success or not 3 <= steps <= 9 or expert.unexplained:
        told = run.result.code.name.lower()
        print(
            f'{source}: not used ({told}, {steps} steps, {expert.unexplained} of them without a '
            'reason of the rules)',
            file=sys.stderr,
            flush=True,
        )
        return None
    return walk_of(expert, room, source)


def _r2r_walks(data: Path, missing: set[str]) -> Iterator[Walk]:
    """Read R2R's train paths; the type is the room that the instruction names last."""
    from vln_core.system2.mining_r2r import r2r_walks

    yield from r2r_walks(data, missing)
