# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Messages as the page shows them, health, trail, log."""

from __future__ import annotations

import json
import math
from array import array
from pathlib import Path

import cv2
import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Pose2D
from nav_msgs.msg import OccupancyGrid

from vln_core.errors import ConfigError
from vln_interfaces import msg
from vln_monitor import views
from vln_monitor.audit import CommandLog
from vln_monitor.health import HealthTable
from vln_monitor.trail import Trail


def is_json(content: object) -> bool:
    json.dumps(content, allow_nan=False)
    return True


def test_graph_holds_places_with_failures() -> None:
    place = msg.Place(id=3, anchors=[Pose2D(x=1.0), Pose2D(x=3.0)], room_type='kitchen')
    place.failures = [msg.FailureNote(reason='locked door', step=4, subgoal='enter')]
    world = msg.WorldGraph(places=[place, msg.Place(id=4)], edges=[msg.PlaceEdge(a=3, b=4)])
    world.objects = [msg.ObjectNode(id=1, category='sofa', position=Point(x=math.nan))]
    world.viewpoints = [msg.Viewpoint(id='f1'), msg.Viewpoint(id='w0', is_visited=True)]
    shown = views.graph(world)
    assert is_json(shown)
    assert [p['at'] for p in shown['places']] == [[2.0, 0.0]], 'a place without anchor is nowhere'
    assert shown['places'][0]['name'] == 'kitchen'
    assert shown['places'][0]['failures'][0]['reason'] == 'locked door'
    assert [opening['id'] for opening in shown['openings']] == ['f1']
    assert shown['objects'][0]['at'] == [None, 0.0]


def test_decision_has_cost_and_survives_a_broken_record() -> None:
    record = msg.DecisionRecord(
        prompt_tokens=2000, completion_tokens=100, record_json='{broken', outcome_code=104, u_px=-1
    )
    shown = views.decision(record, 1.0, 10.0)
    assert is_json(shown)
    assert shown['cost'] == pytest.approx(0.003)
    assert (shown['code'], shown['ok'], shown['pixel']) == ('CORRIDOR_BLOCKED', False, None)
    assert views.decision(record, 0.0, 0.0)['cost'] is None
    record.record_json = json.dumps({'analysis': 'the door is left'})
    assert views.decision(record, 0.0, 0.0)['analysis'] == 'the door is left'


def test_codes_of_all_blocks_have_names() -> None:
    names = [views.code_name(code) for code in (0, 203, 301, 402, 999)]
    assert names == ['OK', 'STUCK', 'NOT_IN_VIEW', 'GAVE_UP', '999']


def test_safety_of_an_unknown_state() -> None:
    assert views.safety(msg.SafetyStatus(state=1))['state'] == 'EMERGENCY_STOP'
    assert views.safety(msg.SafetyStatus(state=200))['state'] == 'STATE_200'


def test_diagnostic_level() -> None:
    status = DiagnosticStatus(level=DiagnosticStatus.WARN, message='slow')
    status.values = [KeyValue(key='a', value='1')]
    assert views.diagnostic(status) == {'level': 'warn', 'text': 'slow', 'values': {'a': '1'}}


def test_grid_is_drawn_north_up() -> None:
    grid = OccupancyGrid()
    grid.info.width, grid.info.height, grid.info.resolution = 2, 2, 0.1
    grid.data = array('b', [100, -1, 0, -1])  # south row first
    header, png = views.grid(grid)
    picture = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
    assert header['size'] == [2, 2]
    assert picture[:, :, 3].tolist() == [[255, 0], [255, 0]]
    assert picture[1, 0, :3].max() < 128 < picture[0, 0, :3].min(), 'occupied dark, free light'
    assert views.grid(OccupancyGrid()) is None


def test_wide_pictures_are_scaled() -> None:
    data, width, height = views.jpeg_of_rgb(np.zeros((100, 400, 3), np.uint8), 200, 75)
    assert (width, height) == (400, 100)
    assert cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).shape == (50, 200, 3)


def test_health() -> None:
    table = HealthTable()
    table.beat('memory', 10.0)
    table.tell('/robot/memory', {'level': 'error', 'text': 'full', 'values': {}}, 10.0)
    rows = {row['name']: row for row in table.rows(10.5)}
    assert rows['memory']['state'] == 'error'
    assert rows['safety']['state'] == 'absent'
    rows = {row['name']: row for row in table.rows(13.4)}
    assert (rows['memory']['state'], rows['memory']['age']) == ('silent', 3)


def test_trail_is_bounded_and_begins_anew_after_a_jump() -> None:
    trail = Trail()
    for index in range(200_000):
        trail.add(0.06 * index, 0.0)
    assert len(trail.take()) <= Trail.MAX_POINTS
    assert trail.take()[-1][0] > 11_000
    trail.add(-500.0, 0.0)
    assert trail.take() == [[-500.0, 0.0]]
    trail.add(-500.01, 0.0)
    assert not trail.is_changed


def test_command_log_is_json_lines(tmp_path: Path) -> None:
    log = CommandLog(tmp_path / 'deep' / 'log.jsonl')
    log.add('Ada', 'operator', '127.0.0.1', 'STOP', 'stopped\nnow')
    log.close()
    (line,) = (tmp_path / 'deep' / 'log.jsonl').read_text().splitlines()
    entry = json.loads(line)
    assert (entry['who'], entry['what'], entry['outcome']) == ('Ada', 'STOP', 'stopped\nnow')
    with pytest.raises(ConfigError, match='command_log'):
        CommandLog(Path('/proc/nowhere/log'))
