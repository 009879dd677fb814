# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import signal
import time

import pytest
from evaluation_world import write_data

from vln_core.errors import ConfigError
from vln_core.evaluation import benchmark, pool, runner
from vln_core.evaluation.presets import load_presets, merge
from vln_core.evaluation.provenance import config_hash
from vln_core.evaluation.runner import RunOptions, read_rows, run_benchmark
from vln_core.evaluation.text_features import FeatureConfig
from vln_core.evaluation.text_planner import TextWeights
from vln_core.evaluation.text_scorer import Network


class Scripted:
    """Episodes that succeed, raise, crash or hang, by their names; runs in worker processes."""

    def __init__(self, settings):
        self._names = settings['names']

    def episode_ids(self):
        return list(self._names)

    def facts(self):
        return {'world': 'scripted'}

    def run(self, name):
        if name.startswith('raise'):
            raise ZeroDivisionError('as written')
        if name.startswith('crash'):
            os.kill(os.getpid(), signal.SIGKILL)
        if name.startswith('hang'):
            time.sleep(600.0)
        return {'id': name, 'SR': 1.0, 'NE': float(len(name)), 'timing': {'seconds': 0.0}}

    def close(self):
        pass


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setitem(benchmark.KINDS, 'scripted', f'{__name__}:Scripted')
    return lambda *names, **more: {'kind': 'scripted', 'names': list(names), **more}


@pytest.fixture
def text(tmp_path):
    """Settings of a small text world with hand-made weights."""
    data = write_data(tmp_path / 'data')
    weights = TextWeights(
        FeatureConfig(is_goal_only=True),
        Network({'in:all': 1.0, 'stop:named': 2.0, 'stop': -1.0}),
        thing={'how': 1.0},
        made_by='by hand',
    )
    weights.save(tmp_path / 'weights.json')
    return {
        'kind': 'text', 'dataset': 'reverie', 'planner': 'rules', 'split': 'train', 'limit': 15,
        'seed': 0, 'data': str(data), 'weights': str(tmp_path / 'weights.json'),
    }  # fmt: skip


def in_process(monkeypatch):
    """Run episodes here: spawning takes seconds, and most tests are not about processes."""

    class Here:
        def __init__(self, settings, workers, deadline):
            self._benchmark = benchmark.make_benchmark(settings)

        def rows(self, names):
            for name in names:
                yield pool.run_guarded(self._benchmark, name)

        def close(self):
            self._benchmark.close()

    monkeypatch.setattr(runner, 'ProcessPool', Here)


def plain(rows):
    return [{name: value for name, value in row.items() if name != 'timing'} for row in rows]


def test_result_has_everything_that_makes_it_reproducible(monkeypatch, text, tmp_path):
    in_process(monkeypatch)
    result = run_benchmark('mini', text, RunOptions(tmp_path / 'run'))
    content = json.loads((tmp_path / 'run' / 'result.json').read_text())
    for name in ('commit', 'config', 'episode set', 'model', 'seed', 'versions', 'summary'):
        assert content[name] not in ('', None, {}), name
    assert content['facts']['weights'] == 'by hand'
    assert result.metrics == content['metrics']
    assert content['summary']['SR'].keys() == {'mean', 'low', 'high'}
    lines = (tmp_path / 'run' / 'rows.csv').read_text().splitlines()
    assert len(lines) == 4 and lines[0].startswith('id,SR,OSR,SPL')


def test_ten_interruptions_at_random_give_the_same_rows(monkeypatch, scripted, tmp_path):
    in_process(monkeypatch)
    names = [f'e{number}' for number in range(40)] + ['raise']
    whole = run_benchmark('x', scripted(*names), RunOptions(tmp_path / 'whole'))
    rng = random.Random(5)
    folder = tmp_path / 'parts'
    for _ in range(10):
        left = rng.randrange(1, 5)

        def stop(row):
            nonlocal left
            left -= 1
            if not left:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_benchmark('x', scripted(*names), RunOptions(folder, resume=True), on_row=stop)
        with (folder / 'rows.jsonl').open('rb+') as stream:  # as a crash leaves it: a torn line
            stream.seek(0, os.SEEK_END)
            stream.write(b'{"id": "e39", "SR": 1')
    resumed = run_benchmark('x', scripted(*names), RunOptions(folder, resume=True))
    assert plain(resumed.rows) == plain(whole.rows)
    assert len(read_rows(folder / 'rows.jsonl')) == 41


def test_rows_of_another_run_are_not_mixed_in(monkeypatch, scripted, tmp_path):
    in_process(monkeypatch)
    options = RunOptions(tmp_path)
    run_benchmark('x', scripted('a', 'b'), options)
    with pytest.raises(ConfigError, match='--resume continues'):
        run_benchmark('x', scripted('a', 'b'), options)
    with pytest.raises(ConfigError, match='another config'):
        run_benchmark('x', scripted('a', 'b', seed=1), RunOptions(tmp_path, resume=True))
    assert config_hash({'data': 'here'}) == config_hash({'data': 'there'})


def test_failed_episodes_are_kept_with_their_error_and_can_be_retried(
    monkeypatch, scripted, tmp_path
):
    in_process(monkeypatch)
    result = run_benchmark('x', scripted('a', 'raise'), RunOptions(tmp_path))
    assert result.metrics['SR'] == 0.5
    assert 'ZeroDivisionError: as written' in result.rows[1]['error']
    monkeypatch.setattr(Scripted, 'run', lambda self, name: {'id': name, 'SR': 1.0})
    kept = run_benchmark('x', scripted('a', 'raise'), RunOptions(tmp_path, resume=True))
    assert kept.metrics['SR'] == 0.5
    options = RunOptions(tmp_path, resume=True, retry_failed=True)
    assert run_benchmark('x', scripted('a', 'raise'), options).metrics['SR'] == 1.0


def test_a_broken_line_in_the_middle_is_an_error(tmp_path):
    path = tmp_path / 'rows.jsonl'
    path.write_text('{"id": "a"}\nbroken\n{"id": "b"}\n')
    with pytest.raises(ConfigError, match='line 2 is broken'):
        read_rows(path)


@pytest.mark.slow
def test_workers_that_crash_or_hang_cost_one_episode_each(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, '_serve', _serve_scripted)
    names = ('a', 'crash', 'b', 'hang', 'c', 'raise', 'd')
    result = run_benchmark(
        'x', scripted(*names), RunOptions(tmp_path, num_workers=2, deadline=20.0)
    )
    ends = {row['id']: row.get('failure', '') for row in result.rows}
    assert ends == {
        'a': '', 'crash': 'crash', 'b': '', 'hang': 'deadline', 'c': '', 'raise': 'error', 'd': '',
    }  # fmt: skip


def _serve_scripted(connection, settings):
    benchmark.KINDS['scripted'] = f'{__name__}:Scripted'
    pool_serve(connection, settings)


pool_serve = pool._serve


def test_one_worker_and_two_give_the_same_rows(text, tmp_path):
    one = run_benchmark('x', text, RunOptions(tmp_path / 'one'))
    two = run_benchmark('x', text, RunOptions(tmp_path / 'two', num_workers=2))
    assert plain(one.rows) == plain(two.rows) and one.metrics['SR'] == 1.0
    assert one.facts['config'] == two.facts['config']


def test_ray_gives_the_same_rows(text, tmp_path):
    pytest.importorskip('ray', reason='the optional package ray is not installed')
    one = run_benchmark('x', text, RunOptions(tmp_path / 'one'))
    options = RunOptions(tmp_path / 'ray', num_workers=2, ray_address='local')
    assert plain(run_benchmark('x', text, options).rows) == plain(one.rows)


def test_without_ray_the_reason_is_said(text, tmp_path, monkeypatch):
    import importlib

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, 'import_module', absent)
    from vln_core.evaluation.ray_pool import RayPool

    with pytest.raises(ConfigError, match='pip install ray'):
        RayPool(text, 1, 10.0, 'local')


def test_a_benchmark_that_cannot_be_made_ends_the_run(text, tmp_path):
    with pytest.raises(ConfigError, match='kind .nonsense. is unknown'):
        run_benchmark('x', {**text, 'kind': 'nonsense'}, RunOptions(tmp_path))


def test_spread_takes_episodes_of_all_buildings():
    assert runner.spread(list(range(10)), 5) == [0, 2, 4, 6, 8]
    assert runner.spread(list(range(3)), 0) == runner.spread(list(range(3)), 9) == [0, 1, 2]


def test_presets_extend_each_other(tmp_path):
    (tmp_path / 'a.yaml').write_text(
        'presets:\n  base: {kind: text, memory: {window: 1, alpha: 2}}\n'
        '  more: {extends: base, memory: {window: 3}}\n'
    )
    assert load_presets(tmp_path)['more'] == {'kind': 'text', 'memory': {'window': 3, 'alpha': 2}}
    assert merge({'a': 1}, {'a': {'b': 2}}) == {'a': {'b': 2}}


@pytest.mark.parametrize(
    ('content', 'said'),
    [
        ('presets: {a: {extends: b}}', '"a" extends "b", which does not exist'),
        ('presets: {a: {extends: b}, b: {extends: a}}', 'circle: a -> b -> a'),
        ('presets: {a: 5}', '"a" is not a mapping'),
        ('presets: {}', 'holds no presets'),
        ('{', 'cannot be read'),
    ],
)
def test_bad_presets_are_named(tmp_path, content, said):
    (tmp_path / 'a.yaml').write_text(content)
    with pytest.raises(ConfigError, match=said):
        load_presets(tmp_path)
