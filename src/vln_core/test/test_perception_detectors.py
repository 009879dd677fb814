# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Back ends that need no neural packages beyond onnxruntime, with real weights where present."""

import json
import os
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from vln_core import vocabulary
from vln_core.errors import ConfigError, PerceptionError
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import View
from vln_core.perception.captioner import MllmCaptioner, detected_text
from vln_core.perception.detector import prompt_words
from vln_core.perception.factory import make_detector
from vln_core.perception.grounding import GroundingConfig, ground_segments
from vln_core.perception.models import ModelConfig, require
from vln_core.perception.onnx_yolox import COCO, _grid, decode, letterbox
from vln_core.perception.transformers_detectors import asked_word
from vln_core.system2.model_profile import ModelProfile

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get('VLN_DATA') or ROOT.parent / 'shared' / 'data')
WEIGHTS = DATA / 'models' / 'yolox_nano.onnx'
KITCHEN = DATA / 'red_kitchen'

sys.path.insert(0, str(ROOT / 'tests'))
from vln_system_tests.model_server import ModelServer, Play  # noqa: E402


def view_of(rgb, depth=None):
    height, width = rgb.shape[:2]
    depth = np.full((height, width), 2.0, np.float32) if depth is None else depth
    camera = PinholeCamera(width, height, 585.0, 585.0, width / 2, height / 2)
    return View(0, 0.0, rgb, depth, camera, np.eye(4), 1)


GREY = view_of(np.full((240, 320, 3), 128, np.uint8))


@pytest.fixture(scope='module')
def yolox():
    pytest.importorskip('onnxruntime', reason='onnxruntime is not installed')
    if not WEIGHTS.is_file():
        pytest.skip(f'no weights at {WEIGHTS}; set VLN_DATA')
    return make_detector('onnx_yolox', ModelConfig(path=str(WEIGHTS), num_threads=1))


def kitchen(frame):
    color = cv2.imread(str(KITCHEN / f'frame-{frame:06d}.color.jpg'))
    if color is None:
        pytest.skip(f'no pictures in {KITCHEN}; set VLN_DATA')
    raw = cv2.imread(str(KITCHEN / f'frame-{frame:06d}.depth.png'), cv2.IMREAD_UNCHANGED)
    depth = raw.astype(np.float32) / 1000.0
    depth[(raw == 0) | (raw == 65535)] = np.nan
    return view_of(np.ascontiguousarray(color[..., ::-1]), depth)


def test_yolox_sees_a_real_kitchen(yolox):
    segments = yolox.detect(kitchen(0), prompt_words([]))
    found = [vocabulary.category_of(s.label) for s in segments]
    assert found.count('chair') == 2 and 'dining table' in found
    chair = next(s for s in segments if s.label == 'chair')
    np.testing.assert_allclose(chair.box_xyxy, (420, 143, 550, 211), atol=8)
    assert [s.score for s in segments] == sorted((s.score for s in segments), reverse=True)


def test_yolox_boxes_are_placed_by_real_depth(yolox):
    view = kitchen(0)
    chairs = ground_segments(view, yolox.detect(view, ['chair']), GroundingConfig())
    assert all(c.position_odom is not None and 0.5 < c.position_odom[2] < 4.0 for c in chairs)


def test_yolox_answers_only_what_is_asked_for(yolox):
    assert {s.label for s in yolox.detect(kitchen(0), ['cup'])} == {'cup'}
    assert yolox.detect(kitchen(0), ['telescope']) == []


def test_yolox_gives_the_same_boxes_in_a_picture_of_another_size(yolox):
    view = kitchen(0)
    small = view_of(cv2.resize(view.rgb, (416, 312), interpolation=cv2.INTER_AREA))
    big = view.rgb.shape[1] / 416
    one = yolox.detect(view, ['dining table'])[0].box_xyxy
    other = yolox.detect(small, ['dining table'])[0].box_xyxy
    np.testing.assert_allclose(np.array(other) * big, one, atol=12)


def test_yolox_finds_furniture_in_renders_of_the_small_house(yolox):
    if not (DATA / 'small_house').is_dir():
        pytest.skip(f'no small house in {DATA}; set VLN_DATA')
    simulators = pytest.importorskip('vln_sim_bridge.make', reason='the simulators are not there')
    from vln_sim_bridge.simulator import SimulatorConfig

    config = SimulatorConfig(width=640, height=480, hfov=1.4)
    simulator = simulators.make_simulator('raycast', 'small_house', config)
    try:
        simulator.place(2.97, 1.5, 0.0)
        frame = simulator.render()
        truth = {label.id: label.category for label in simulator.labels.values()}
    finally:
        simulator.close()
    chairs = yolox.detect(view_of(frame.rgb), ['chair'])
    assert len(chairs) >= 2
    for chair in chairs[:2]:
        left, top, right, bottom = (round(edge) for edge in chair.box_xyxy)
        inside = frame.semantic[top:bottom, left:right]
        names = [truth.get(int(k)) for k in np.unique(inside)]
        assert 'chair' in names or 'office chair' in names


def test_the_grid_is_decoded_by_cell_and_stride():
    cells = _grid((64, 64))
    assert len(cells) == 64 + 16 + 4
    raw = np.zeros((len(cells), 6), np.float32)
    # Cell (column 1, row 2) of stride 16, in its middle, e strides wide and one high.
    raw[64 + 2 * 4 + 1, :4] = (0.5, 0.5, 1.0, 0.0)
    box = decode(raw, cells)[64 + 2 * 4 + 1]
    np.testing.assert_allclose(box, (24 - 8 * np.e, 32, 24 + 8 * np.e, 48), rtol=1e-6)


def test_the_letterbox_keeps_the_aspect_and_swaps_red_and_blue():
    rgb = np.zeros((10, 20, 3), np.uint8)
    rgb[..., 0] = 200
    blob, scale = letterbox(rgb, (64, 64))
    assert scale == pytest.approx(3.2) and blob.shape == (1, 3, 64, 64)
    assert blob[0, :, 31, 63].tolist() == [0.0, 0.0, 200.0]
    assert blob[0, :, 33, 0].tolist() == [114.0] * 3


def test_names_of_the_closed_set_are_known_to_the_vocabulary():
    assert len(COCO) == 80
    indoor = 'couch,tv,potted plant,oven,laptop,dining table,refrigerator,toilet,sink,bed,ball'
    for name in indoor.split(','):
        assert name in COCO and vocabulary.canonical_object(name), name


@pytest.mark.parametrize(
    ('name', 'config', 'message'),
    [
        ('onnx_yolox', {}, 'set the parameter models.path'),
        ('onnx_yolox', {'path': '/nowhere/y.onnx'}, 'no file /nowhere/y.onnx'),
        ('onnx_yolox', {'path': __file__}, 'no ONNX network'),
    ],
)
def test_absent_weights_say_what_to_do(name, config, message):
    pytest.importorskip('onnxruntime', reason='onnxruntime is not installed')
    with pytest.raises(PerceptionError, match=message):
        make_detector(name, ModelConfig(**config))


def test_unknown_names_are_refused():
    with pytest.raises(ConfigError, match='choose one of simulated, onnx_yolox, grounding_dino'):
        make_detector('yolo')
    with pytest.raises(ConfigError, match='semantic images'):
        make_detector('simulated')
    with pytest.raises(ConfigError, match='box_threshold'):
        ModelConfig(box_threshold=1.5)
    with pytest.raises(ConfigError, match="'sam2'"):
        ModelConfig(segmenter='sam3')


def test_an_absent_package_names_the_extra():
    with pytest.raises(PerceptionError, match='models.txt'):
        require('surely_not_installed', 'grounding_dino')


@pytest.mark.parametrize(
    ('label', 'expected'),
    [
        ('sofa', 'sofa'),
        ('dining', 'dining table'),
        ('chair office chair', 'office chair'),
        ('couch', 'sofa'),
        ('zebra', ''),
        ('', ''),
    ],
)
def test_labels_lead_back_to_what_was_asked_for(label, expected):
    words = ['sofa', 'chair', 'office chair', 'dining table', 'table lamp shade']
    assert asked_word(label, words) == expected


def mllm(server, model='Qwen/Qwen3-VL-8B', **more):
    profile = ModelProfile(
        model=model, base_url=server.base_url, key_variable='', max_retries=0, **more
    )
    return make_detector('mllm', ModelConfig(mllm=profile))


def answer(*objects, key='bbox_2d'):
    entries = [{'label': n, key: list(b), 'confidence': c} for n, b, c in objects]
    return Play('Here it is:\n```json\n' + json.dumps({'objects': entries}) + '\n```')


def test_a_multimodal_model_answers_in_its_own_coordinates():
    play = answer(('couch', (0, 500, 500, 1000), 0.9), ('lamp', (900, 0, 1000, 100), 0.2))
    with ModelServer([play]) as server:
        segments = mllm(server).detect(GREY, ['sofa', 'lamp'])
        content = server.requests[0]['messages'][0]['content']
    assert [s.label for s in segments] == ['couch']
    assert segments[0].box_xyxy == pytest.approx((0.0, 120.0, 160.0, 240.0))
    assert any(part['type'] == 'image_url' for part in content)
    assert 'sofa, lamp' in content[0]['text'] and '0 to 1000' in content[0]['text']


def test_rows_may_come_first():
    with ModelServer([answer(('bed', (500, 0, 1000, 250), 0.9), key='box_2d')]) as server:
        segments = mllm(server, 'gemini-2.5-flash').detect(GREY, ['bed'])
    assert segments[0].box_xyxy == pytest.approx((0.0, 120.0, 80.0, 240.0))


def test_a_bad_box_does_not_hide_the_others():
    play = answer(
        ('bed', (1, 2, 3), 0.9), ('bed', (0, 0, 9000, 10), 0.9), ('bed', (0, 0, 500, 500), 0.8)
    )
    with ModelServer([play]) as server:
        assert len(mllm(server).detect(GREY, ['bed'])) == 1


def test_nothing_seen_and_nothing_understood_differ():
    with ModelServer([Play('{"objects": []}'), Play('I am a poet.')]) as server:
        detector = mllm(server)
        assert detector.detect(GREY, ['bed']) == []
        with pytest.raises(PerceptionError, match='I am a poet'):
            detector.detect(GREY, ['bed'])


def test_a_dead_endpoint_is_an_error_not_an_empty_room():
    with (
        ModelServer([Play(status=500)]) as server,
        pytest.raises(PerceptionError, match='detector'),
    ):
        mllm(server).detect(GREY, ['bed'])


def test_points_and_blind_models_are_refused():
    with pytest.raises(ConfigError, match='needs boxes'):
        make_detector('mllm', ModelConfig(mllm=ModelProfile(model='allenai/Molmo-7B')))
    with pytest.raises(ConfigError, match='has_vision'):
        make_detector('mllm', ModelConfig(mllm=ModelProfile(model='x', has_vision=False)))


def test_captions_are_asked_for_with_the_detections():
    with ModelServer(
        [answer(('couch', (0, 0, 200, 500), 0.9)), Play(' A  living room. ')]
    ) as server:
        segments = mllm(server).detect(GREY, ['sofa'])
        profile = ModelProfile(model='m', base_url=server.base_url, key_variable='')
        said = MllmCaptioner(ModelConfig(mllm=profile)).caption(GREY, segments)
        asked = server.requests[1]['messages'][0]['content'][0]['text']
    assert said == 'A living room.' and 'couch (left)' in asked
    assert detected_text(GREY, []) == ''
