# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Map image and topological map."""

import numpy as np
import pytest
from memory_scenes import INSTRUCTION, ITEMS, WALK, drive

from vln_core.context import ObjectState
from vln_core.errors import UnknownReference
from vln_core.memory.labels import LabelLayout
from vln_core.memory.map_image import _HERE, _OCCUPIED, draw_map
from vln_core.memory.store import MemoryConfig, MemoryStore
from vln_core.memory.topological import build_topology, cluster_objects, viewpoint_objects
from vln_core.system2.prompting import topology_text


@pytest.fixture(scope='module')
def store():
    result = MemoryStore(MemoryConfig(), encoder='words')
    result.begin(INSTRUCTION, ITEMS)
    drive(result)
    return result


@pytest.mark.parametrize('size', [256, 512, 768])
def test_the_picture_has_a_constant_size_and_north_is_up(store, size):
    picture = store.map_image(size)
    assert picture.pixels.shape == (size, size, 3)
    assert picture.pixels.dtype == np.uint8
    south, north = picture.pixel_of(2.0, 1.0), picture.pixel_of(2.0, 7.0)
    assert north[1] < south[1] and north[0] == south[0]
    # Its own numbers tell where a pixel is: a wall is drawn where it stands.
    u, v = picture.pixel_of(-0.05, 5.0)
    assert tuple(picture.pixels[v, u]) == _OCCUPIED


def test_the_pose_is_drawn_where_the_robot_is(store):
    picture = store.map_image()
    rows, columns = np.nonzero((picture.pixels == _HERE).all(axis=2))
    u, v = picture.pixel_of(*WALK[-1][:2])
    assert np.hypot(columns - u, rows - v).min() < 10
    assert np.hypot(columns - u, rows - v).max() < 45


def test_labels_never_overlap():
    layout = LabelLayout(512)
    image = np.full((512, 512, 3), 255, np.uint8)
    rng = np.random.default_rng(0)
    written = sum(
        layout.label(image, f'object {k}', tuple(rng.integers(150, 350, 2)), (0, 0, 0), 5)
        for k in range(120)
    )
    assert 20 < written < 120, 'what finds no room is left out'
    boxes = [box for _, box in layout.boxes]
    for i, a in enumerate(boxes):
        assert a[0] >= 0 and a[1] >= 0 and a[2] < 512 and a[3] < 512
        for b in boxes[i + 1 :]:
            assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]


def test_failures_are_marked(store):
    before = store.map_image().pixels
    place = store.place_of(4)
    from vln_core.context import FailureNote

    store.graph.note_failure(place, FailureNote('dead end', 4, ''))
    store._snapshot = None
    assert not np.array_equal(store.map_image().pixels, before)


def test_an_empty_memory_still_gives_a_picture():
    store = MemoryStore(encoder='words')
    assert draw_map(store.space, store.snapshot()).pixels.shape == (512, 512, 3)


def thing(number, category, x, y):
    return ObjectState(number, category, np.array([x, y, 0.4]), np.ones(3), 0.9, 1, (0, 0))


def test_clusters_follow_the_rooms_and_k_the_silhouette():
    rng = np.random.default_rng(2)
    rooms = [(0, 0), (8, 0), (0, 8)]
    things = [
        thing(5 * r + k, f'kind {r}', *(np.array(room) + rng.normal(0, 0.5, 2)))
        for r, room in enumerate(rooms)
        for k in range(5)
    ]
    clusters = cluster_objects(things)
    assert [c.categories for c in clusters] == [((f'kind {r}', 5),) for r in range(3)]
    assert cluster_objects(list(reversed(things))) == clusters, 'order does not matter'
    assert cluster_objects(()) == ()
    assert len(cluster_objects(things[:2])) == 1
    assert len(cluster_objects([thing(k, 'x', 1, 1) for k in range(5)])) == 1


def test_the_text_has_the_template_of_mc_gpt(store):
    text = topology_text(store.context())
    clusters, viewpoints = text.split('Navigable viewpoints:')
    assert clusters.startswith('cluster 0: {') and 'refrigerator' in clusters
    assert '<w0, saw' in viewpoints and ', near cluster' in viewpoints
    assert text == topology_text(store.context())


def test_shortest_paths_over_viewpoints(store):
    topology = build_topology(
        store.snapshot(),
        [
            ('w0', 'w1', 1.0),
            ('w1', 'w2', 1.0),
            ('w0', 'w2', 5.0),
            ('w2', 'w1', 3.0),
            ('w0', 'x', 1),
        ],
    )
    assert topology.shortest_path('w0', 'w2') == ['w0', 'w1', 'w2']
    with pytest.raises(UnknownReference, match='does not exist'):
        topology.shortest_path('w0', 'f99')
    with pytest.raises(UnknownReference, match='no known way'):
        topology.shortest_path('w0', 'w4')
    assert store.topology().shortest_path('w0', 'w4')[0] == 'w0'


def test_objects_without_depth_sit_at_their_viewpoints():
    placed = viewpoint_objects([('a', (1.0, 1.0)), ('b', (0.0, 0.0)), ('b', (2.0, 4.0))])
    assert placed == {'a': (1.0, 1.0), 'b': (1.0, 2.0)}
