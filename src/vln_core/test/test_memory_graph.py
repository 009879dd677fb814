# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Clustering of places, association and fusion of objects."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_scenes import blind_panorama, detection, panorama

from vln_core.memory.config import MemoryConfig
from vln_core.memory.objects import ObjectStore
from vln_core.memory.places import PlaceStore
from vln_core.memory.space_map import SpaceMap
from vln_core.memory.world_graph import WorldGraphStore

CONFIG = MemoryConfig()
SPOT = st.tuples(st.floats(-6, 6), st.floats(-6, 6))


def free(start, ends):
    return np.ones(len(ends), bool)


def partition(places, order):
    groups = {}
    for anchor, spot in enumerate(order):
        groups.setdefault(int(places.anchor_place[anchor]), set()).add(spot)
    return sorted(map(sorted, groups.values()))


def cluster(spots):
    places = PlaceStore(1.5)
    for x, y in spots:
        places.add_anchor((x, y, 0.0), free)
    return places


@settings(max_examples=60, deadline=None)
@given(st.lists(SPOT, min_size=1, max_size=25, unique=True), st.randoms(use_true_random=False))
def test_clustering_does_not_depend_on_the_order(spots, random):
    shuffled = list(spots)
    random.shuffle(shuffled)
    one, other = cluster(spots), cluster(shuffled)
    assert partition(one, spots) == partition(other, shuffled)
    assert sum(len(n.anchors) for n in one.nodes.values()) == len(spots), 'no anchor is lost'
    # Single link: the places are the connected components of the 1.5 m graph.
    for i, a in enumerate(spots):
        for j, b in enumerate(spots):
            if math.dist(a, b) <= 1.5:
                assert one.anchor_place[i] == one.anchor_place[j]


def test_a_waypoint_between_two_places_merges_them_and_the_smaller_id_survives():
    places = cluster([(0, 0), (2.6, 0), (9, 9)])
    places.connect(1, 2, 5.0, 1)
    places.nodes[1].name, places.nodes[1].visit_count = 'kitchen', 3
    places.nodes[1].objects.add(7)
    _, gone, place = places.add_anchor((1.3, 0, 0), free)
    assert (gone, place) == ([1], 0)
    assert sorted(places.nodes) == [0, 2]
    assert places.nodes[0].name == 'kitchen'
    assert places.nodes[0].objects == {7}
    assert places.neighbours(0) == [2], 'edges of the merged place live on'


def test_anchors_close_to_each_other_are_looked_up_once():
    spots = [(0.0, 0.0), (0.1, 0.1), (0.2, 0.0), (1.0, 0.0), (1.1, 0.1), (9.0, 0.0)]
    places = cluster(spots)
    assert places.near(0.5, 0.0, 2.0).tolist() == [0, 1, 2, 3, 4]
    assert places.near_sparse(0.5, 0.0, 2.0).tolist() == [0, 3]
    again = PlaceStore(1.5)  # as from disk, in another order
    for node in reversed(places.nodes.values()):
        again.restore(node, {a: tuple(places.anchors[a]) for a in reversed(node.anchors)})
    assert again.near_sparse(0.5, 0.0, 20.0).tolist() == [0, 3, 5]
    moved = {k: (x + 5.0, y, 0.0) for k, (x, y) in enumerate(spots)}
    again.transform(moved)
    assert again.near_sparse(5.5, 0.0, 2.0).tolist() == [0, 3]


def test_a_wall_keeps_near_waypoints_apart():
    space = SpaceMap(CONFIG)
    for k, pose in enumerate([(4.4, 5.5, 0.0), (5.6, 5.5, 0.0)]):
        space.integrate(panorama(k, *pose).views, np.eye(4), (*pose[:2], 0.0))
    places = PlaceStore(1.5)
    first = places.add_anchor((4.4, 5.5, 0), space.lines_free)[2]
    second = places.add_anchor((5.6, 5.5, 0), space.lines_free)[2]
    assert first != second


def observe(graph, step, *found, at=(0.0, 0.0)):
    look = blind_panorama(step, *at, found=found)
    graph.visit((*at, 0.0), step, SpaceMap(CONFIG))
    return graph.see(look.detections, look.views, np.eye(4), at, step, SpaceMap(CONFIG))


def test_sightings_of_synonyms_fuse_by_inverse_variance():
    graph = WorldGraphStore(CONFIG)
    observe(graph, 0, detection('couch', (2.0, 0.0, 0.4)))
    observe(graph, 1, detection('sofa', (2.4, 0.0, 0.4)))
    (sofa,) = graph.objects.snapshot()
    assert sofa.category == 'sofa'
    assert sofa.num_sightings == 2
    assert sofa.position[0] == pytest.approx(2.2), 'equal covariances meet in the middle'
    assert sofa.confidence > 0.7


def test_equal_objects_of_one_view_stay_two_however_near():
    graph = WorldGraphStore(CONFIG)
    pair = detection('chair', (2.0, 0.0, 0.4)), detection('chair', (2.3, 0.0, 0.4))
    for step in range(4):
        observe(graph, step, *pair)
    assert [o.num_sightings for o in graph.objects.snapshot()] == [4, 4]


def test_overlapping_views_see_one_object():
    graph = WorldGraphStore(CONFIG)
    observe(
        graph,
        0,
        detection('chair', (2, 0, 0.4), view=0),
        detection('chair', (2.1, 0, 0.4), view=1),
    )
    (chair,) = graph.objects.snapshot()
    assert chair.num_sightings == 2


@pytest.mark.parametrize(
    ('size', 'gap', 'count'), [(0.4, 0.45, 1), (0.4, 0.6, 2), (2.0, 1.1, 1), (2.0, 1.3, 2)]
)
def test_the_gate_grows_with_the_size(size, gap, count):
    graph = WorldGraphStore(CONFIG)
    extent = (size, 0.4, 0.5)
    observe(graph, 0, detection('bed', (3, 0, 0.4), extent=extent))
    observe(graph, 1, detection('bed', (3 + gap, 0, 0.4), extent=extent))
    assert len(graph.objects.snapshot()) == count


def test_doorways_join_by_their_centres():
    graph = WorldGraphStore(CONFIG)
    wide = (2.5, 0.1, 2.0)
    observe(graph, 0, detection('doorway', (3, 0, 1), extent=wide))
    observe(graph, 1, detection('door', (3.7, 0, 1), extent=wide))
    observe(graph, 2, detection('doorway', (4.6, 0, 1), extent=wide))
    assert len(graph.objects.snapshot()) == 2


def test_absent_objects_lose_confidence_and_ghosts_go():
    graph = WorldGraphStore(CONFIG)
    space = SpaceMap(CONFIG)
    look = panorama(0, 2.0, 5.0, objects=[('vase', (4.2, 5.0))])
    assert look.detections
    graph.visit((2.0, 5.0, 0.0), 0, space)
    graph.see(look.detections, look.views, np.eye(4), (2.0, 5.0), 0, space)
    before = graph.objects.snapshot()[0].confidence
    for step in range(1, 8):
        empty = panorama(step, 2.0, 5.0, objects=[])
        graph.see((), empty.views, np.eye(4), (2.0, 5.0), step, space)
        now = graph.objects.snapshot()
        if step == 1:
            assert now[0].confidence < before
    assert now == ()
    assert all(not node.objects for node in graph.places.nodes.values())


def test_what_is_hidden_or_out_of_view_keeps_its_confidence():
    graph = WorldGraphStore(CONFIG)
    space = SpaceMap(CONFIG)
    graph.visit((2.0, 5.0, 0.0), 0, space)
    hidden = detection('vase', (6.0, 6.5, 0.4))  # behind the wall
    graph.see((hidden,), (), np.eye(4), (2.0, 5.0), 0, space)
    before = graph.objects.snapshot()[0].confidence
    empty = panorama(1, 3.0, 6.0, objects=[])
    graph.see((), empty.views, np.eye(4), (3.0, 6.0), 1, space)
    assert graph.objects.snapshot()[0].confidence == before


@settings(max_examples=30, deadline=None)
@given(st.lists(SPOT, min_size=1, max_size=12), st.integers(0, 3))
def test_every_sighting_is_kept_and_every_object_has_one_place(spots, step):
    graph = WorldGraphStore(CONFIG)
    found = [detection('chair', (x, y, 0.4)) for x, y in spots]
    owners = []
    for k in range(step + 1):
        owners += observe(graph, k, *found, at=(0.3 * k, 0.0))
    objects = graph.objects.snapshot()
    assert sum(o.num_sightings for o in objects) == len(found) * (step + 1)
    assert len(objects) >= len(spots), 'seen side by side, they stay apart'
    for item in objects:
        inside = [p for p, n in graph.places.nodes.items() if item.id in n.objects]
        assert inside == ([item.place] if item.place >= 0 else [])


def test_snapshots_renew_only_what_changed():
    store = ObjectStore(CONFIG)
    graph = WorldGraphStore(CONFIG)
    graph.objects = store
    observe(graph, 0, detection('chair', (2, 0, 0.4)), detection('lamp', (0, 2, 0.4)))
    first = store.snapshot()
    observe(graph, 1, detection('chair', (2, 0, 0.4)))
    second = store.snapshot()
    assert first[1] is second[1]
    assert first[0] is not second[0]
    assert first[0].num_sightings == 1, 'an old snapshot never changes'
