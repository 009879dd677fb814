# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import csv
import json

import pytest

from vln_core.errors import ConfigError
from vln_core.evaluation import run_report, runner


def row(name, success, **more):
    return {
        'id': name, 'SR': success, 'OSR': success, 'SPL': success, 'NE': 1.0, 'TL': 5.0,
        'failure': '' if success else 'planner', 'instruction': f'go <b>{name}</b>',
        'positions': [[0, 0, 0], [4, 0, 0]], 'reference': [[0, 0, 0], [4, 3, 0]],
        'decisions': [{'step': 0, 'action': 'go(view 0, "sofa")', 'rationale': 'the sofa is near',
                       'outcome': 'reached', 'pose': [0, 0, 0], 'memory_characters': 100,
                       'window_characters': 20}],
        'timing': {'seconds': 2.0}, **more,
    }  # fmt: skip


def write_run(folder, rows, episodes='set'):
    folder.mkdir()
    head = {
        'schema': 1, 'preset': 'mini', 'config': 'c0ffee', 'episode set': episodes,
        'episodes': len(rows), 'planner': 'rules', 'model': 'none', 'seed': 0, 'commit': 'abc',
        'versions': {'python': '3'}, 'facts': {'world': 'hand-made'},
    }  # fmt: skip
    (folder / 'run.json').write_text(json.dumps(head))
    (folder / 'rows.jsonl').write_text(''.join(json.dumps(r) + '\n' for r in rows))
    return run_report.read_run(folder)


def test_a_report_needs_nothing_beside_it_and_shows_every_decision(tmp_path):
    failed = {'id': 'c', 'SR': 0.0, 'failure': 'crash', 'error': 'it <died>'}
    run = write_run(tmp_path / 'run', [row('a', 1.0), row('b', 0.0), failed])
    run_report.write_run_report(run, tmp_path / 'r.html')
    text = (tmp_path / 'r.html').read_text()
    for words in (
        'the sofa is near', 'go(view 0, &#34;sofa&#34;)', 'it &lt;died&gt;', 'c0ffee', 'abc',
        'hand-made', 'Success against path length', 'Growth of context', '33.3 %',
    ):  # fmt: skip
        assert words in text, words
    assert 'go &lt;b&gt;a' in text and 'go <b>a' not in text
    assert 'src="http' not in text and 'href="http' not in text
    assert text.count('aria-label="Path on the floor plan"') == 2


def test_pictures_replace_the_drawn_path(tmp_path):
    run = write_run(tmp_path / 'run', [row('a', 1.0)])
    run_report.write_run_report(run, tmp_path / 'r.html', lambda row: 'data:image/png;base64,QUJD')
    text = (tmp_path / 'r.html').read_text()
    assert 'QUJD' in text and 'Path on the floor plan' not in text


def test_a_comparison_is_paired_and_comes_as_csv_and_json(tmp_path):
    one = write_run(tmp_path / 'one', [row(str(n), 0.0) for n in range(8)])
    two = write_run(tmp_path / 'two', [row(str(n), float(n < 4)) for n in range(8)])
    out = tmp_path / 'c.html'
    run_report.write_comparison([one, two], out)
    text = out.read_text()
    assert '+50.0 points' in text and 'different sets' not in text
    table = list(csv.DictReader((tmp_path / 'c.csv').open()))
    assert {'run': 'two', 'metric': 'SR', 'mean': '0.5'}.items() <= next(
        line for line in table if (line['run'], line['metric']) == ('two', 'SR')
    ).items()
    assert json.loads((tmp_path / 'c.json').read_text())['one']['commit'] == 'abc'


def test_different_sets_are_called_out(tmp_path):
    one = write_run(tmp_path / 'one', [row('a', 1.0)])
    two = write_run(tmp_path / 'two', [row('b', 1.0)], episodes='other')
    run_report.write_comparison([one, two], tmp_path / 'c.html')
    assert 'different sets of episodes' in (tmp_path / 'c.html').read_text()
    with pytest.raises(ConfigError, match='nothing to compare'):
        run_report.write_comparison([one], tmp_path / 'c.html')


def test_a_folder_without_run_is_named(tmp_path):
    with pytest.raises(ConfigError, match='holds no run'):
        run_report.read_run(tmp_path)


def test_success_by_length_and_context_growth():
    rows = [row(str(n), float(n % 2)) for n in range(12)]
    points = run_report.success_by_length(rows)
    assert len(points) == 6 and all(x == 5.0 for x, _ in points)
    assert run_report.context_growth(rows) == [(0.0, 120.0)]
    assert run_report.success_by_length([{'id': 'x', 'SR': 0.0}]) == []


def test_failures_are_counted_and_intervals_given():
    rows = [row('a', 1.0), row('b', 0.0), row('c', 0.0)]
    assert runner.failures(rows) == {'planner': 2, '': 1}
    table = runner.summary(rows)
    assert table['SR']['low'] <= table['SR']['mean'] <= table['SR']['high']
    assert 'RGS' not in table and table['seconds']['mean'] == 2.0
