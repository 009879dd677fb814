# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The store as the navigator sees it: episode, backtracking, ablations, corrections, refusals."""

import math
from dataclasses import replace

import numpy as np
import pytest
from memory_scenes import INSTRUCTION, ITEMS, WALK, decide, detection, drive, note, panorama
from memory_scenes import blind_panorama as blind

from vln_core.context import ItemStatus
from vln_core.errors import MemoryStoreError, UnknownReference, UpdateRefused
from vln_core.geometry.transforms import planar_tform
from vln_core.memory.backtracking import abandoned_places
from vln_core.memory.store import MemoryConfig, MemoryStore
from vln_core.memory.tokens import text_tokens
from vln_core.system2.prompting import topology_text
from vln_core.system2.record import Backtrack, Go, Goto, ProgressUpdate, Stop, WorldNotes


def make(config=None, **arguments):
    store = MemoryStore(config, encoder='words', **arguments)
    store.begin(INSTRUCTION, ITEMS)
    return store


def fingerprint(store):
    """Everything that a planner or a person can read, as bytes."""
    context = store.context()
    picture = store.map_image().pixels.tobytes()
    texts = [context.memory_text, context.window_text, topology_text(context)]
    graph = context.graph
    objects = [
        (o.id, o.category, o.position.tolist(), o.confidence, o.place) for o in graph.objects
    ]
    return picture, repr((texts, graph.places, graph.viewpoints, graph.edges, objects)).encode()


def test_an_episode_from_bedroom_to_the_far_room():
    store = make()
    drive(store)
    context = store.context(refusals=['CORRIDOR_BLOCKED: a chair'])
    assert context.step == 4
    assert context.pose == pytest.approx(WALK[-1])
    assert context.progress.items == ITEMS
    assert context.refusals == ('CORRIDOR_BLOCKED: a chair',)
    assert context.waypoints_left == 35
    assert len(context.history) == 5
    categories = sorted(o.category for o in context.graph.objects)
    assert categories == sorted(
        ['bed', 'lamp', 'chair', 'chair', 'refrigerator', 'dining table', 'sofa']
    )
    assert {w.id for w in context.graph.waypoints} == set(range(5))
    assert 1 <= len(context.retrieved) <= 5
    assert 'refrigerator' in context.memory_text
    assert len(context.window_frames) == 4, 'K = 1: the panorama of the last transition'
    assert context.window_text.startswith('w3: saw')
    assert store.recall(1, 2).shape == (120, 160, 3)


def test_the_window_keeps_k_transitions_or_all():
    for window, first in ((2, 2), (-1, 0)):
        store = make(MemoryConfig(window=window))
        drive(store)
        assert store.context().window_text.startswith(f'w{first}: saw')
    store = make(MemoryConfig(window=0))
    drive(store)
    assert store.context().window_frames == ()


def test_the_window_keeps_two_frames_spread_over_the_way():
    store = make()
    frames = [np.full((4, 4, 3), k, np.uint8) for k in range(12)]
    store.add_way_frame(frames[0])  # before anything was seen
    store.observe(panorama(0, *WALK[0]))
    store.add_way_frame(frames[0])  # the look-around is no way
    store.commit(decide())
    store.add_way_frame(frames[11])
    store.commit(decide())  # the first was refused
    for frame in frames[1:8]:
        store.add_way_frame(frame)
    assert [f[0, 0, 0] for f in store.window.transitions[-1].way] == [4]
    store.add_way_frame(frames[8])
    store.conclude(note(0))
    store.add_way_frame(frames[9])  # it has arrived
    assert store.context().window_frames == ()
    store.observe(panorama(1, *WALK[1]))
    shown = store.context().window_frames
    assert len(shown) == 6, 'the panorama and two frames'
    assert [f[0, 0, 0] for f in shown[4:]] == [4, 8]
    with pytest.raises(UpdateRefused, match='uint8'):
        store.add_way_frame(np.zeros((4, 4)))


def test_routes_come_in_odometry_coordinates_robot_first():
    store = MemoryStore(encoder='words')
    store.set_global_tform_odom(planar_tform(20.0, -3.0, 1.0))
    store.begin(INSTRUCTION, ITEMS)
    drive(store)
    route = store.route_to('w0')
    assert route[0] == pytest.approx(WALK[-1][:2])
    assert route[-1] == pytest.approx(WALK[0][:2])
    assert all(math.dist(a, b) < 1.3 for a, b in zip(route, route[1:], strict=False))
    with pytest.raises(UnknownReference, match='w0'):
        store.route_to('w99')


def test_algorithm_1_marks_the_places_of_the_suffix_without_that_of_b():
    assert abandoned_places([0, 0, 1, 2, 1, 3], 1) == [1, 2, 3]
    assert abandoned_places([0, 1, 0, 2], 0) == [1, 2]
    store = make()
    drive(store)
    home = store.place_of(1)
    expected = {store.place_of(k) for k in (2, 3, 4)} - {home}
    route = store.backtrack(1, 'no fridge on this side')
    assert math.dist(route[-1], WALK[1][:2]) < 0.2
    failed = {p.id for p in store.snapshot().places if p.failures}
    assert failed == expected
    assert expected
    (failure,) = store.snapshot().place(min(expected)).failures
    assert (failure.step, failure.subgoal) == (4, 'leave the bedroom')
    assert 'no fridge on this side' in store.context().memory_text


def test_backtracking_refuses_what_is_not_behind():
    store = make()
    drive(store, WALK[:2])
    before = fingerprint(store)
    for waypoint in (-1, 1, 2, 40):
        with pytest.raises(UnknownReference, match='past waypoints are 0..0'):
            store.backtrack(waypoint, 'reason')
    with pytest.raises(UpdateRefused, match='reason is empty'):
        store.backtrack(0, ' ')
    assert fingerprint(store) == before


def test_commit_is_all_or_none():
    store = make()
    drive(store, WALK[:1])
    before = fingerprint(store)
    notes = WorldNotes(
        place_name='kitchen',
        progress=(
            ProgressUpdate(index=0, status='done', reason='out'),
            ProgressUpdate(index=9, status='done'),
        ),
    )
    with pytest.raises(UpdateRefused, match='does not exist'):
        store.commit(decide(notes=notes))
    for action, words in (
        (Goto(viewpoint='f99'), 'there are: w0'),
        (Backtrack(waypoint=7), 'never visited'),
        (Stop(object_id=1234), 'does not exist'),
        (Go(view=4, target='door'), 'views 0..3'),
    ):
        with pytest.raises(UpdateRefused, match=words):
            store.commit(decide(action))
    assert fingerprint(store) == before


def test_progress_and_notes_reach_the_context():
    store = make()
    drive(store, WALK[:2])
    store.commit(
        decide(
            notes=WorldNotes(
                room_type='Master Bedroom',
                failure='the window is shut',
                objects=({'category': 'couch', 'description': 'red', 'attributes': ('soft',)},),
                progress=(ProgressUpdate(index=0, status='done', reason='out'),),
            )
        )
    )
    context = store.context()
    assert context.progress.items[0].status is ItemStatus.DONE
    assert store.changes[0].reason == 'out'
    here = context.graph.place(store.place_of(1))
    assert here.room_type == 'bedroom'
    assert 'the window is shut' in context.memory_text


def test_a_correction_moves_anchors_without_breaking_places():
    store = make()
    drive(store)
    before = store.context()
    correction = planar_tform(1.0, 2.0, 0.5)
    store.set_global_tform_odom(correction)
    after = store.context()
    assert [p.id for p in after.graph.places] == [p.id for p in before.graph.places]
    assert [w.place for w in after.graph.waypoints] == [w.place for w in before.graph.waypoints]
    for old, new in zip(before.graph.objects, after.graph.objects, strict=True):
        moved = correction @ np.array([*old.position, 1.0])
        assert new.position == pytest.approx(moved[:3])
    assert store.route_to('w0')[-1] == pytest.approx(WALK[0][:2])
    assert after.retrieved == before.retrieved


def test_the_same_panorama_again_changes_nothing():
    store = make()
    look = panorama(0, *WALK[0])
    assert store.observe(look) == 0
    before = fingerprint(store)
    assert store.observe(look) == 0
    assert fingerprint(store) == before


def test_replay_is_byte_identical_over_200_steps():
    def run():
        store = make()
        rng = np.random.default_rng(5)
        for step in range(200):
            x, y = 4 * math.cos(step / 9), 4 * math.sin(step / 13)
            found = [
                detection(name, (*rng.normal((x, y), 2.0), 0.4), bearing=0.1)
                for name in rng.choice(['chair', 'sofa', 'lamp', 'bed'], 3)
            ]
            store.observe(blind(step, x, y, 0.1 * step, found))
            store.commit(decide(notes=WorldNotes(place_name=f'spot {step % 7}')))
            store.conclude(note(step))
            if step % 50 == 49:
                store.backtrack(step - 5, f'dead end {step}')
        return fingerprint(store)

    assert run() == run()


def test_failed_approaches_drop_an_opening():
    store = make()
    drive(store, WALK[:1])
    opening = next(v.id for v in store.snapshot().viewpoints if not v.is_visited)
    for _ in range(2):
        store.conclude(note(0, f'goto({opening})', code=105))
    assert store.snapshot().viewpoint(opening) is None


def test_captions_are_kept():
    store = make()
    drive(store, WALK[:2])
    assert store.snapshot().viewpoint('w0').caption.startswith('saw ')
    store.caption('w1', 'a door to a corridor')
    drive_more = panorama(9, *WALK[2])
    store.observe(drive_more)
    assert '<w1, a door to a corridor' in topology_text(store.context())


def test_an_opening_is_told_in_the_words_of_the_captioner():
    store = make()
    told = tuple(f'picture of view {k}' for k in range(4))
    store.observe(replace(panorama(0, 3.0, 3.45), captions=told))
    door = min(
        (v for v in store.snapshot().viewpoints if not v.is_visited), key=lambda v: abs(v.bearing)
    )
    assert door.caption == told[0], 'the door is straight ahead'
    store.observe(panorama(1, 3.3, 3.45))
    assert store.snapshot().viewpoint(door.id).caption == told[0], 'kept'
    with pytest.raises(UpdateRefused, match='1 captions for 4 views'):
        store.observe(replace(panorama(2, 3.6, 3.45), captions=told[:1]))


def test_what_depth_cannot_place_sits_amid_the_viewpoints_that_saw_it():
    store = make()
    unseen = replace(detection('piano'), position_odom=None)
    far_sofa = replace(detection('sofa'), position_odom=None)
    store.observe(blind(0, 0.0, 0.0, 0.0, [unseen, detection('sofa', (1.0, 0.0, 0.4))]))
    store.observe(blind(1, 4.0, 2.0, 0.0, [unseen, far_sofa]))
    (cluster,) = store.topology().clusters
    assert dict(cluster.categories) == {'sofa': 1, 'piano': 1}, 'the sofa was placed by depth'
    assert (cluster.x, cluster.y) == pytest.approx((1.5, 0.5)), 'between (1, 0) and (2, 1)'
    assert len(cluster.objects) == 1
    assert topology_text(store.context()).startswith(
        'cluster 0: {sofa 0, piano (no position)}\nNavigable viewpoints:\n<w1, saw piano, sofa,'
    )


def test_a_lifelong_store_keeps_the_graph_and_ages_it():
    store = make(MemoryConfig(lifelong=True))
    drive(store)
    objects = {o.id: o.confidence for o in store.snapshot().objects}
    store.begin('find the lamp', ITEMS)
    kept = store.snapshot()
    assert {o.id for o in kept.objects} == set(objects)
    assert all(o.confidence < objects[o.id] for o in kept.objects)
    assert kept.waypoints == ()
    store.observe(panorama(50, *WALK[0]))
    assert len(store.snapshot().waypoints) == 1
    assert 'in an earlier episode' in store.context().memory_text
    fresh = make()
    drive(fresh)
    fresh.begin('find the lamp', ITEMS)
    assert fresh.snapshot().objects == ()


def test_without_the_world_graph_the_context_has_no_slice():
    store = make(MemoryConfig(use_world_graph=False, window=-1))
    drive(store)
    context = store.context()
    assert context.retrieved == ()
    assert 'place 0' not in context.memory_text
    assert text_tokens(context.window_text) > 50


def test_reading_before_anything_was_seen_says_what_to_do():
    store = MemoryStore(encoder='words')
    with pytest.raises(UpdateRefused, match='begin'):
        store.observe(panorama(0, *WALK[0]))
    store.begin(INSTRUCTION, ITEMS)
    with pytest.raises(MemoryStoreError, match='observe a panorama'):
        store.context()
    with pytest.raises(UnknownReference, match='nothing can be recalled'):
        store.recall(0, 0)
