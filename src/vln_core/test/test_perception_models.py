# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Neural back ends with tiny random networks through the code that loads the real ones."""

import numpy as np
import pytest

pytest.importorskip('torch', reason='the extra is absent: config/requirements/models.txt')
pytest.importorskip('transformers', reason='the extra is absent: config/requirements/models.txt')

import tiny_models

from vln_core.errors import PerceptionError
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Segment, View
from vln_core.perception.captioner import make_captioner
from vln_core.perception.detector import detect_all
from vln_core.perception.factory import make_detector
from vln_core.perception.models import ModelConfig
from vln_core.perception.segmenters import Segmenter

pytestmark = pytest.mark.models

WORDS = ['sofa', 'chair', 'dining table', 'bed']


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('weights')


def view_of(seed=0, width=120, height=90):
    rgb = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    camera = PinholeCamera.from_hfov(width, height, 1.5)
    return View(0, 0.0, rgb, np.full((height, width), 2.0, np.float32), camera, np.eye(4), 1)


@pytest.mark.parametrize('name', ['grounding_dino', 'mm_grounding_dino', 'owlv2'])
def test_open_set_detectors_load_and_answer_with_words_that_were_asked_for(name, folder):
    path = str(tiny_models.save(name, folder))
    config = ModelConfig(path=path, box_threshold=0.0, text_threshold=0.0, max_iou=1.0)
    detector = make_detector(name, config)
    segments = detector.detect(view_of(), WORDS)
    assert segments and {s.label for s in segments} <= set(WORDS)
    for left, top, right, bottom in (s.box_xyxy for s in segments):
        assert 0 <= left < right <= 120 and 0 <= top < bottom <= 90
    scores = [s.score for s in segments]
    assert scores == sorted(scores, reverse=True) and all(0.0 <= s <= 1.0 for s in scores)
    strict = make_detector(name, ModelConfig(path=path, box_threshold=1.0))
    assert strict.detect(view_of(), WORDS) == []
    batch = detector.detect_batch([view_of(0), view_of(1)], WORDS)
    assert len(batch) == 2
    np.testing.assert_allclose(
        [s.score for s in batch[0]][:3], scores[:3], atol=1e-4
    )  # fmt: skip


def test_weights_of_another_kind_are_named(folder):
    path = str(tiny_models.save('owlv2', folder))
    with pytest.raises(PerceptionError, match="set detector to 'owlv2'"):
        make_detector('grounding_dino', ModelConfig(path=path))


@pytest.mark.parametrize('name', ['grounding_dino', 'mm_grounding_dino', 'owlv2'])
@pytest.mark.parametrize(
    ('path', 'message'),
    [
        ('', 'set its path'),
        ('/nowhere/weights', 'no folder /nowhere/weights'),
        ('nobody/has-this-one', 'allow_download'),
    ],
)
def test_absent_weights_are_one_clear_line(name, path, message):
    with pytest.raises(PerceptionError, match=message) as caught:
        make_detector(name, ModelConfig(path=path))
    assert '\n' not in str(caught.value)


def test_an_absent_graphics_card_is_said(folder):
    import torch

    if torch.cuda.is_available():
        pytest.skip('there is a graphics card')
    path = str(tiny_models.save('owlv2', folder))
    with pytest.raises(PerceptionError, match='no graphics card'):
        make_detector('owlv2', ModelConfig(path=path, device='cuda'))


@pytest.mark.parametrize('name', ['sam', 'sam2'])
def test_segmenters_turn_boxes_into_masks(name, folder):
    if name == 'sam2':
        pytest.importorskip('torchvision', reason='reads the pictures of SAM 2')
    path = str(tiny_models.save(name, folder))
    segmenter = Segmenter(name, ModelConfig(segmenter=name, segmenter_path=path))
    own = np.zeros((90, 120), bool)
    own[:5, :5] = True
    segments = [
        Segment('bed', 0.9, (10, 10, 60, 60)),
        Segment('sofa', 0.8, (0, 0, 5, 5), own),
        Segment('chair', 0.7, (50, 20, 110, 80)),
    ]
    filled = segmenter.fill(view_of(), segments)
    assert [s.label for s in filled] == ['bed', 'sofa', 'chair']
    assert filled[1].mask is own
    for segment in (filled[0], filled[2]):
        assert segment.mask is None or segment.mask.shape == (90, 120)
    assert filled[0].mask is not None or filled[2].mask is not None
    assert segmenter.fill(view_of(), []) == []


def test_a_detector_may_be_followed_by_a_segmenter(folder):
    config = ModelConfig(
        path=str(tiny_models.save('owlv2', folder)),
        box_threshold=0.0,
        segmenter='sam',
        segmenter_path=str(tiny_models.save('sam', folder)),
    )
    segments = make_detector('owlv2', config).detect(view_of(), WORDS)
    assert any(s.mask is not None and s.mask.dtype == bool for s in segments)


def test_instructblip_is_prompted_with_the_detections(folder):
    path = str(tiny_models.save('instructblip', folder))
    captioner = make_captioner(ModelConfig(captioner='instructblip', captioner_path=path))
    said = captioner.caption(view_of(), [Segment('sofa', 0.9, (0, 0, 30, 30))])
    assert isinstance(said, str) and len(said) <= 300
    assert 'sofa left' not in said, 'the prompt came back as caption'


@pytest.mark.parametrize('name', ['grounding_dino', 'owlv2', 'sam', 'florence2'])
def test_networks_run_in_half_precision(name, folder):
    path = str(tiny_models.save(name, folder))
    segments = [Segment('sofa', 0.9, (0, 0, 60, 60))]
    if name == 'sam':
        config = ModelConfig(segmenter=name, segmenter_path=path, precision='bfloat16')
        assert Segmenter(name, config).fill(view_of(), segments)[0].label == 'sofa'
    elif name == 'florence2':
        config = ModelConfig(captioner=name, captioner_path=path, precision='bfloat16')
        assert 'sofa' in make_captioner(config).caption(view_of(), segments)
    else:
        config = ModelConfig(
            path=path, precision='bfloat16', box_threshold=0.0, text_threshold=0.0
        )
        assert make_detector(name, config).detect(view_of(), WORDS)


def test_florence2_says_what_it_sees_and_what_was_detected(folder):
    path = str(tiny_models.save('florence2', folder))
    captioner = make_captioner(ModelConfig(captioner='florence2', captioner_path=path))
    said = captioner.caption(view_of(), [Segment('sofa', 0.9, (0, 0, 30, 30))])
    assert 'Detected: sofa (left).' in said and len(said) <= 300


def test_several_views_are_detected_in_one_pass(folder):
    config = ModelConfig(
        path=str(tiny_models.save('owlv2', folder)),
        box_threshold=0.0,
        segmenter='sam',
        segmenter_path=str(tiny_models.save('sam', folder)),
    )
    detector = make_detector('owlv2', config)
    views = [view_of(0), view_of(1)]
    found = detect_all(detector, views, WORDS)
    for segments, view in zip(found, views):
        alone = detector.detect(view, WORDS)
        np.testing.assert_allclose(
            [s.score for s in segments][:3], [s.score for s in alone][:3], atol=1e-4
        )


def test_absent_weights_of_what_follows_are_named():
    with pytest.raises(PerceptionError, match='florence2 needs weights'):
        make_captioner(ModelConfig(captioner='florence2'))
    with pytest.raises(PerceptionError, match='sam2 needs weights'):
        Segmenter('sam2', ModelConfig(segmenter='sam2'))
