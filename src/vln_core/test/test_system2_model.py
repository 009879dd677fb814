# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Model modes through the real client and a scripted server: faults, tools, budgets, fences."""

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from system2_contexts import context, detection, opening, thing, views

sys.path.insert(0, str(Path(__file__).parents[3] / 'tests'))
from vln_core.errors import Cancelled, PlannerError, RecordError, UnknownReference
from vln_core.memory.tokens import text_tokens
from vln_core.system2.brain import OutageConfig, make_brain
from vln_core.system2.messages import Message, ToolCall
from vln_core.system2.model_client import ModelClient, ReplayModel
from vln_core.system2.model_errors import BudgetSpent, ModelError
from vln_core.system2.model_planner import ModelPlanner, ModelPlannerConfig
from vln_core.system2.model_profile import Budget
from vln_core.system2.parsing import parse_record
from vln_core.system2.prompting import MAX_TEXT_TOKENS, PromptLibrary
from vln_core.system2.record import Goto, MoveTo, Stop
from vln_core.system2.tools import ALL, ToolBox
from vln_core.system2.transcript import Transcript, redact
from vln_system_tests.model_faults import FAULTS, ended_as_stated, fault_profile, play
from vln_system_tests.model_server import ModelServer, Play, good

POSE = (0.0, 0.0, 0.0)


def scene(**more):
    return context(
        'Go to the sofa',
        objects=(thing(1, 'sofa', 3.0, 0.0), thing(2, 'bed', 1.0, 2.0)),
        openings=(opening(1, 2.0, 0.0, POSE),),
        detections=(detection(0, 'sofa', 3.0, 0.0),),
        **more,
    )


@pytest.mark.parametrize('fault', FAULTS, ids=lambda f: f.name)
def test_fault_ends_as_stated(fault):
    ended, kind, requests = play(fault, scene())
    assert ended_as_stated(fault, ended, kind), (ended, kind, requests)


@pytest.mark.parametrize('is_streamed', [True, False])
def test_plain_reply_streamed_and_whole(is_streamed):
    ended, _, requests = play(FAULTS[0], scene(), is_streamed=is_streamed)
    assert (ended, requests) == ('record', 1)


def planner_of(server, mode, **config):
    client = ModelClient(fault_profile(server.base_url))
    return ModelPlanner(client, ModelPlannerConfig(mode=mode, **config)), client


def test_agentic_native_tools():
    plays = [
        Play(tool_calls=(('query_depth', '{"view": 0, "points": [[0.5, 0.5], [1, 1]]}'),)),
        Play(tool_calls=(('recall', '{"p": 0, "k": 1}'),)),
        Play('the sofa is ahead', tool_calls=(('move_to', '{"k": 0, "u": 0.5, "v": 0.6}'),)),
    ]
    picture = np.full((24, 32, 3), 200, np.uint8)
    with ModelServer(plays) as server:
        planner, _ = planner_of(server, 'agentic')
        record = planner.decide(scene(recall=lambda p, k: picture))
    assert record.action == MoveTo(view=0, u=0.5, v=0.6)
    assert record.rationale == 'the sofa is ahead'
    sent = json.dumps(server.requests[1]['messages'])
    assert '[0.5, 0.5]: 2.50 m' in sent and 'image_url' in sent
    assert {t['function']['name'] for t in server.requests[0]['tools']} == {
        'query_depth', 'recall', 'move_to', 'stop',
    }  # fmt: skip


def test_agentic_tools_as_json_where_the_endpoint_has_none():
    plays = [
        good('{"tool": "query_depth", "arguments": {"view": 0, "points": [[0.2, 0.5]]}}'),
        good('```json\n{"tool": "stop", "arguments": {}}\n```'),
    ]
    with ModelServer(plays) as server:
        planner, _ = planner_of(server, 'agentic', native_tools=False)
        assert planner.decide(scene()).action == Stop()
    assert '2.50 m' in json.dumps(server.requests[1]['messages'])


def test_tool_calls_are_bounded_per_step():
    endless = Play(tool_calls=(('query_depth', '{"view": 0, "points": [[0.5, 0.5]]}'),))
    with ModelServer([endless]) as server:
        planner, _ = planner_of(server, 'fused', max_calls=4)
        with pytest.raises(PlannerError, match='calls were made'):
            planner.decide(scene())
    assert len(server.requests) <= 6


@pytest.mark.parametrize(
    ('name', 'arguments', 'words'),
    [
        ('query_depth', '{"view": 9, "points": [[0.5, 0.5]]}', 'view 9 does not exist'),
        ('query_depth', '{"view": 0, "points": [[1.5, 0.5]]}', 'outside'),
        ('query_depth', '{"view": 0}', 'points'),
        ('query_depth', 'nonsense', 'no JSON object'),
        ('recall', '{"waypoint": 7, "view": 0}', 'not in the cache'),
        ('move_to', '{"view": 0, "u": 2, "v": 0}', 'less than or equal to 1'),
        ('self_destruct', '{}', 'there is no tool'),
    ],
)
def test_tool_faults_are_answers_in_words(name, arguments, words):
    def recall(waypoint, view):
        raise UnknownReference(f'waypoint {waypoint} is not in the cache')

    box = ToolBox(scene(recall=recall), ALL)
    answer = box.run(ToolCall('1', name, arguments))
    assert answer.action is None and words in answer.text


def test_depth_tells_far_and_invalid():
    ctx = scene()
    depth = np.full((24, 32), np.inf, np.float32)
    depth[:, :16] = np.nan
    view = replace(ctx.panorama.views[0], depth=depth)
    ctx = replace(ctx, panorama=replace(ctx.panorama, views=(view, *ctx.panorama.views[1:])))
    text = (
        ToolBox(ctx, ALL)
        .run(ToolCall('1', 'query_depth', '{"view": 0, "points": [[0.1, 0.5], [1.0, 1.0]]}'))
        .text
    )
    assert text == '[0.1, 0.5]: invalid; [1, 1]: far'


def test_mcgpt_is_text_only_and_chooses_viewpoints():
    answers = [
        good('{"thought": "explore", "viewpoint": "f1"}'),
        good('{"thought": "there", "viewpoint": "STOP", "object_id": 1}'),
    ]
    with ModelServer(answers) as server:
        planner, _ = planner_of(server, 'mcgpt')
        assert planner.decide(scene()).action == Goto(viewpoint='f1')
        assert planner.decide(scene()).action == Stop(object_id=1)
    assert 'image_url' not in json.dumps(server.requests)
    assert '<f1,' in server.requests[0]['messages'][1]['content']


@pytest.mark.parametrize('mode', ['agentic', 'mcgpt'])
def test_modes_without_progress_are_not_asked_for_it_at_a_stop(mode):
    stop = (
        Play(tool_calls=(('stop', '{}'),)) if mode == 'agentic' else good('{"viewpoint": "STOP"}')
    )
    with ModelServer([stop]) as server:
        planner, _ = planner_of(server, mode)
        record = planner.decide(context('Leave the bedroom and stop at the sofa.'))
    (update,) = record.notes.progress
    assert (update.index, update.status) == (0, 'skipped')
    assert update.reason == f'mode {mode} writes no progress'


def test_refused_answer_goes_back_with_the_reason_once():
    bad = '{"action": {"type": "goto", "viewpoint": "f77"}}'
    with ModelServer([good(bad)]) as server:
        planner, _ = planner_of(server, 'ham')
        with pytest.raises(PlannerError, match='f77'):
            planner.decide(scene())
    assert len(server.requests) == 2
    assert 'choose one of' in server.requests[1]['messages'][-1]['content']


def test_a_spent_budget_ends_the_episode_in_order():
    with ModelServer([good()]) as server:
        client = ModelClient(fault_profile(server.base_url), budget=Budget(tokens=100))
        planner = ModelPlanner(client, ModelPlannerConfig(mode='ham'))
        planner.parse('go to the sofa')
        assert planner.decide(scene()).action == Goto(viewpoint='f1')
        record = planner.decide(scene())
        assert record.action == Stop() and 'budget' in record.notes.failure
        planner.parse('go to the bed')  # a new episode has its budget again
        assert planner.decide(scene()).action == Goto(viewpoint='f1')
    with pytest.raises(BudgetSpent):
        client.usage.upload_bytes = 10**9
        ModelClient.chat(client, [Message('user', 'x')])


def test_circuit_breaker_then_rules_and_back():
    down = Play(status=503, body='{"error": {"message": "down"}}')
    with ModelServer([down] * 6 + [good()]) as server:
        now = [0.0]
        profile = fault_profile(server.base_url, max_retries=0, breaker_failures=2)
        client = ModelClient(profile, clock=lambda: now[0])
        brain = make_brain('ham', client=client, outage=OutageConfig('rules'))
        for _ in range(2):
            assert '[rules' in brain.decide(scene()).rationale
        sent = len(server.requests)
        assert not client.is_available
        assert 'circuit_open' in brain.decide(scene()).rationale
        assert len(server.requests) == sent  # an open circuit sends nothing
        for _ in range(8):
            now[0] += 31.0
            record = brain.decide(scene())
            if '[rules' not in record.rationale:
                break
        assert record.rationale == 'it is unexplored' and client.is_available


def test_outage_policies_wait_and_fail():
    down = Play(status=503, body='{"error": {"message": "down"}}')
    with ModelServer([down, down, good()]) as server:
        client = ModelClient(fault_profile(server.base_url, max_retries=0))
        brain = make_brain('ham', client=client, outage=OutageConfig('wait', 10.0, 0.05))
        assert brain.decide(scene()).action == Goto(viewpoint='f1')
    with ModelServer([down]) as server:
        client = ModelClient(fault_profile(server.base_url, max_retries=0))
        with pytest.raises(ModelError):
            make_brain('ham', client=client).decide(scene())


def test_cancel_ends_the_wait_at_once():
    cancelled = threading.Event()
    with ModelServer([Play('x', delay=30.0)]) as server:
        profile = fault_profile(server.base_url, stall_timeout=20.0, call_timeout=20.0)
        client = ModelClient(profile, is_cancelled=cancelled.is_set)
        threading.Timer(0.3, cancelled.set).start()
        with pytest.raises(Cancelled):
            client.chat([Message('user', 'hello')])


def test_cancel_ends_the_wait_for_a_model_that_is_away():
    cancelled = threading.Event()
    down = Play(status=503, body='{"error": {"message": "down"}}')
    with ModelServer([down]) as server:
        profile = fault_profile(server.base_url, max_retries=0)
        client = ModelClient(profile, is_cancelled=cancelled.is_set)
        brain = make_brain('ham', client=client, outage=OutageConfig('wait', 100.0, 60.0))
        threading.Timer(0.3, cancelled.set).start()
        with pytest.raises(Cancelled):
            brain.decide(scene())


def test_missing_key_is_said_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv('VLN_TEST_KEY', raising=False)
    with ModelServer([good()]) as server:
        client = ModelClient(fault_profile(server.base_url, key_variable='VLN_TEST_KEY'))
        with pytest.raises(ModelError, match='VLN_TEST_KEY'):
            client.chat([Message('user', 'hello')])
    assert not server.requests


def test_transcript_holds_pictures_and_no_secrets_and_replays(tmp_path):
    key = 'sk-verysecretkey1234567890'
    with ModelServer([good()]) as server:
        transcript = Transcript(tmp_path, (key,))
        client = ModelClient(fault_profile(server.base_url), key=key, transcript=transcript)
        planner = ModelPlanner(client, ModelPlannerConfig(mode='ham'))
        ctx = replace(scene(), instruction=f'Go to the sofa, my key is {key}')
        first = planner.decide(ctx)
        assert server.headers[0]['authorization'] == f'Bearer {key}'
    everything = b''.join(p.read_bytes() for p in tmp_path.iterdir())
    assert key.encode() not in everything
    assert list(tmp_path.glob('*.jpg')) and (tmp_path / 'index.html').is_file()
    again = ModelPlanner(ReplayModel(tmp_path), ModelPlannerConfig(mode='ham'))
    assert again.decide(ctx) == first
    with pytest.raises(ModelError, match='only 1'):
        again.decide(ctx)


def test_a_key_that_the_endpoint_echoes_is_told_to_nobody(tmp_path):
    key = 'plain-words-as-a-key'
    body = json.dumps({'error': {'message': f'{"x" * 240} no such key: {key}'}})
    with ModelServer([Play(status=401, body=body)]) as server:
        transcript = Transcript(tmp_path)
        client = ModelClient(fault_profile(server.base_url), key=key, transcript=transcript)
        with pytest.raises(ModelError, match='refused the key') as caught:
            client.chat([Message('user', f'who has {key}?')])
    told = str(caught.value) + ''.join(p.read_text() for p in tmp_path.iterdir())
    assert 'no such key' in told and 'plain-words' not in told


@pytest.mark.parametrize(
    ('limit', 'name'),
    [
        ({'cost': 1e-6}, 'cost'),
        ({'upload_bytes': 1000}, 'upload_bytes'),
        ({'seconds': 1e-6}, 'seconds'),
    ],
)
def test_every_budget_ends_the_episode(limit, name):
    with ModelServer([good()]) as server:
        profile = fault_profile(server.base_url, price_in=1.0, price_out=1.0)
        planner = ModelPlanner(
            ModelClient(profile, budget=Budget(**limit)), ModelPlannerConfig(mode='ham')
        )
        planner.parse('go to the sofa')
        assert planner.decide(scene()).action == Goto(viewpoint='f1')
        record = planner.decide(scene())
        assert record.action == Stop() and f'{name} is spent' in record.notes.failure
    assert len(server.requests) == 1


def test_redaction():
    assert 'abcdefgh' not in redact('Authorization: Bearer abcdefgh12345678')
    assert redact('token budget is fine') == 'token budget is fine'


def test_pictures_shrink_when_the_request_is_too_large():
    too_large = Play(status=413, body='{"error": {"message": "too large"}}')
    with ModelServer([too_large, too_large, good()]) as server:
        profile = fault_profile(server.base_url, picture_size_px=512)
        planner = ModelPlanner(ModelClient(profile), ModelPlannerConfig(mode='ham'))
        ctx = scene()
        views = tuple(
            replace(v, rgb=np.random.default_rng(0).integers(0, 255, (480, 640, 3), np.uint8))
            for v in ctx.panorama.views
        )
        planner.decide(replace(ctx, panorama=replace(ctx.panorama, views=views)))
    sizes = [len(json.dumps(r)) for r in server.requests]
    assert sizes[0] > 2 * sizes[1] > 2 * sizes[2]


def test_pictures_shrink_until_they_fit_the_context():
    ctx = scene()
    rgb = np.zeros((480, 640, 3), np.uint8)
    pictures = tuple(replace(v, rgb=rgb) for v in ctx.panorama.views)
    ctx = replace(ctx, panorama=replace(ctx.panorama, views=pictures))
    with ModelServer([good()]) as server:
        profile = fault_profile(
            server.base_url, picture_size_px=512, context_tokens=2000, max_reply_tokens=500
        )
        client = ModelClient(profile)
        assert ModelPlanner(client, ModelPlannerConfig(mode='ham')).decide(ctx).action
        assert client.picture_size_px < 512 and len(server.requests) == 1
        client = ModelClient(replace(profile, context_tokens=600))
        with pytest.raises(ModelError, match='do not fit the context_tokens = 600') as caught:
            ModelPlanner(client, ModelPlannerConfig(mode='ham')).decide(ctx)
        assert caught.value.kind == 'too_large' and len(server.requests) == 1


def test_prompt_stays_below_its_limit_whatever_the_length():
    words = 'the long corridor with many doors ' * 60
    ctx = context(
        'walk past the sofa and turn left and ' * 150,
        track=tuple((0.3 * k, 0.0, 0.0) for k in range(60)),
        objects=tuple(thing(k, 'chair', k, 1.0) for k in range(1, 120)),
        openings=tuple(opening(k, k, 2.0, POSE) for k in range(80)),
        detections=tuple(detection(k % 12, 'chair', 1.0 + k, 0.0) for k in range(200)),
        memory_text=words * 40, window_text=words * 10, refusals=(words,) * 3,
    )  # fmt: skip

    ctx = replace(ctx, panorama=replace(ctx.panorama, views=views(12)))

    class Example:
        def query(self, instruction):
            return words * 20

    for mode in ('ham', 'agentic', 'mcgpt', 'fused'):
        planner = ModelPlanner(object(), ModelPlannerConfig(mode=mode), Example())
        texts = [m.text for m in planner.prompt(ctx)]
        assert sum(text_tokens(t) for t in texts) <= MAX_TEXT_TOKENS, mode


def test_prompts_state_their_version():
    library = PromptLibrary()
    for name in ('ham', 'fused', 'agentic', 'mcgpt', 'mining'):
        assert library.version(f'{name}.system.j2') >= 1


def test_records_survive_any_truncation():
    text = json.dumps({
        'analysis': 'a', 'action': {'type': 'go', 'view': 1, 'target': 'the red sofa'},
        'notes': {'room_type': 'kitchen', 'objects': [{'category': 'sofa'}]}, 'rationale': 'r',
    })  # fmt: skip
    whole = parse_record(text).action
    for end in range(len(text)):
        try:
            assert parse_record(text[:end]).action == whole
        except RecordError:
            pass
