# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln doctor --robot`: listens to a live robot and writes what is right and wrong with it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from vln_cli.doctor import MISSING, WRONG, print_table


def main(argv: Sequence[str]) -> int:
    """Print the table and write the report; 0 if nothing is missing or wrong, else 1."""
    options = _parser().parse_intermixed_args(argv)
    from vln_core.errors import VlnError

    try:
        found = _probe(options)
    except (VlnError, OSError) as error:
        print(f'vln: {error}', file=sys.stderr)
        return 1
    bad = [check for check in found if check.state in (MISSING, WRONG)]
    if options.json:
        print(json.dumps([asdict(check) for check in found], indent=1))
    else:
        print_table(found)
        print(f'\n{len(bad)} to mend, see the lines with ->' if bad else '\nthe robot is ready')
    if options.report:
        from vln_nodes.robot_checks import as_markdown

        title = f'Robot, {datetime.now():%Y-%m-%d %H:%M}'
        options.report.write_text(as_markdown(title, found))
        print(f'report: {options.report}', file=sys.stderr)
    return 1 if bad else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='./vln doctor --robot',
        description='Listen to a live robot, without or beside a running stack: rates, stamps, '
        'TF, height and tilt of the camera, floor, depth registration, who takes velocities, '
        'network buffers, model endpoint. Nothing moves without --move. The exit code is 0 if '
        'nothing is missing or wrong.',
        epilog='example: ./vln doctor --robot --params-file config/robots/generic.yaml '
        'color_topic:=camera/color/image_raw',
    )
    parser.add_argument(
        'arguments', nargs='*', metavar='NAME:=VALUE',
        help='as for robot.launch.xml: color_topic, depth_topic, odom_topic, cmd_vel_topic, ...',
    )  # fmt: skip
    parser.add_argument('--params-file', type=Path, help="the robot's parameter file")
    parser.add_argument('--duration', type=float, default=5.0, metavar='S', help='listen so long')
    parser.add_argument(
        '--move', action='store_true',
        help='turn slowly for two seconds to measure the time-out of the base: wheels off the '
        'ground or free space, stack not running',
    )  # fmt: skip
    parser.add_argument(
        '--hue', choices=('red', 'orange', 'yellow', 'blue'), default='',
        help='a thing of this colour is held before the camera: is its red red?',
    )  # fmt: skip
    parser.add_argument('--report', type=Path, metavar='FILE.md', help='write a report, too')
    parser.add_argument('--json', action='store_true', help='print the rows as JSON')
    return parser


def _probe(options: argparse.Namespace) -> list[Any]:
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from vln_nodes.robot_probe import RobotProbe

    given = _arguments(options.arguments)
    names = ['--ros-args', '-r', '/tf:=tf', '-r', '/tf_static:=tf_static']
    if given.get('use_sim_time') == 'true':
        names += ['-p', 'use_sim_time:=true']
    rclpy.init(args=names, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node('vln_doctor', namespace=given.get('namespace') or None)
        probe = RobotProbe(node, _config(options, given))
        return probe.run(may_move=options.move)
    except KeyboardInterrupt:
        return []
    finally:
        rclpy.try_shutdown()


def _arguments(words: Sequence[str]) -> dict[str, str]:
    from vln_core.errors import ConfigError

    known = {'color_topic', 'color_info_topic', 'depth_topic', 'depth_info_topic', 'odom_topic',
             'cmd_vel_topic', 'enable_stamped_cmd_vel', 'namespace', 'use_sim_time',
             'params_file', 'layout', 'planner', 'log_level', 'managed'}  # fmt: skip
    given = {}
    for word in words:
        name, separator, value = word.partition(':=')
        if not separator or name not in known:
            raise ConfigError(f'"{word}": known are NAME:=VALUE with {", ".join(sorted(known))}')
        given[name] = value
    return given


def _config(options: argparse.Namespace, given: dict[str, str]) -> Any:
    """Return what to listen to, from launch arguments and the robot's parameter file."""
    from vln_nodes.parameter_files import read
    from vln_nodes.robot_probe import ProbeConfig

    file = options.params_file or (Path(given['params_file']) if 'params_file' in given else None)
    values = read(file) if file else {}
    perception, system2 = values.get('perception', {}), values.get('system2', {})
    planner = given.get('planner', 'rules')
    topics = {
        name: given[f'{name}_topic']
        for name in ('color', 'color_info', 'depth', 'depth_info', 'odom')
        if f'{name}_topic' in given
    }
    return ProbeConfig(
        topics=topics,
        cmd_vel=given.get('cmd_vel_topic', 'cmd_vel'),
        is_stamped=given.get('enable_stamped_cmd_vel', 'true') == 'true',
        odom_frame=perception.get('odom_frame', 'odom'),
        base_frame=perception.get('base_frame', 'base_link'),
        duration=options.duration,
        hue=options.hue,
        detector=perception.get('detector', 'simulated'),
        segmenter=perception.get('models.segmenter', ''),
        captioner=perception.get('models.captioner', ''),
        model_url='' if planner == 'rules' else system2.get('model.base_url', ''),
    )


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
