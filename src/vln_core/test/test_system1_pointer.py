# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import math
from dataclasses import replace

import numpy as np
import pytest
from control_world import BoxWorld, Driver, wall_ring

from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Detection, Panorama
from vln_core.outcome import GroundingCode
from vln_core.system1.mllm_pointer import MllmPointer, MllmPointerConfig
from vln_core.system1.pointer import DetectorPointer, best_match, target_category

CAMERA = PinholeCamera.from_hfov(320, 240, math.radians(100))
FRIDGE = ((2.0, -0.3, 0.0), (2.6, 0.3, 1.8))


def scene(*boxes: tuple) -> Driver:
    return Driver(BoxWorld([*wall_ring(-4.0, -3.0, 4.0, 3.0), *boxes], camera=CAMERA))


def detection(driver: Driver, panorama: Panorama, box: tuple, label: str, score: float = 0.9):
    corners = [(x, y, z) for x in (box[0][0], box[1][0]) for y in (box[0][1], box[1][1])
               for z in (box[0][2], box[1][2])]  # fmt: skip
    pixels = np.array([driver.pixel_of(panorama.views[0], corner) for corner in corners])
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    low, high = np.maximum(low, 0), np.minimum(high, (320, 240))
    middle = (low + high) // 2
    return Detection(
        view=0,
        label=label,
        category=target_category(label) or label,
        score=score,
        box_xyxy=(float(low[0]), float(low[1]), float(high[0]), float(high[1])),
        pixel_uv=(int(middle[0]), int(middle[1])),
        bearing=0.0,
        position_odom=np.array([box[0][0], 0.5 * (box[0][1] + box[1][1]), 0.9]),
    )


def world_point(panorama: Panorama, pixel: tuple[int, int]) -> np.ndarray:
    view = panorama.views[0]
    depth = float(view.depth[pixel[1], pixel[0]])
    ray = np.array([(pixel[0] - CAMERA.cx) / CAMERA.fx, (pixel[1] - CAMERA.cy) / CAMERA.fy, 1.0])
    return (view.odom_tform_camera @ np.array([*(ray * depth), 1.0]))[:3]


def test_the_pixel_is_where_the_thing_meets_the_floor() -> None:
    driver = scene(FRIDGE)
    panorama = driver.panorama(4)
    panorama = replace(panorama, detections=(detection(driver, panorama, FRIDGE, 'fridge'),))
    grounding = DetectorPointer().ground(panorama, 0, 'the big refrigerator')
    assert grounding.code is GroundingCode.FOUND
    point = world_point(panorama, grounding.pixel_uv)
    assert abs(point[2]) < 0.08
    assert abs(point[1]) < 0.35
    assert 1.6 < point[0] < 2.05


def test_a_thing_on_the_wall_gives_its_own_pixel() -> None:
    picture = ((3.9, -0.4, 1.2), (4.0, 0.4, 1.8))
    driver = scene(picture)
    panorama = driver.panorama(4)
    found = replace(
        detection(driver, panorama, picture, 'painting'), position_odom=np.array([3.9, 0, 1.5])
    )
    grounding = DetectorPointer().ground(replace(panorama, detections=(found,)), 0, 'painting')
    assert grounding.code is GroundingCode.FOUND
    assert grounding.pixel_uv == found.pixel_uv


def test_a_doorway_gives_floor_in_the_middle_of_the_opening_just_behind_it() -> None:
    frame = ((2.0, -0.45, 0.0), (2.1, 0.45, 2.0))
    driver = scene(((2.0, -3.0, 0.0), (2.1, -0.45, 2.5)), ((2.0, 0.45, 0.0), (2.1, 3.0, 2.5)))
    panorama = driver.panorama(4)
    found = detection(driver, panorama, frame, 'door')
    grounding = DetectorPointer().ground(replace(panorama, detections=(found,)), 0, 'the doorway')
    point = world_point(panorama, grounding.pixel_uv)
    assert abs(point[2]) < 0.08 and abs(point[1]) < 0.15
    assert 2.4 < point[0] < 3.1


def test_refusals_of_the_detector() -> None:
    driver = scene(FRIDGE)
    panorama = driver.panorama(4)
    good = detection(driver, panorama, FRIDGE, 'fridge')
    pointer = DetectorPointer()
    panorama = replace(panorama, detections=(good,))
    assert pointer.ground(panorama, 9, 'fridge').code is GroundingCode.UNKNOWN_VIEW
    missing = pointer.ground(panorama, 0, 'piano')
    assert missing.code is GroundingCode.NOT_IN_VIEW and 'fridge' in missing.message
    assert pointer.ground(panorama, 1, 'fridge').code is GroundingCode.NOT_IN_VIEW
    weak = replace(panorama, detections=(replace(good, score=0.1),))
    assert pointer.ground(weak, 0, 'fridge').code is GroundingCode.LOW_CONFIDENCE
    blind = replace(panorama.views[0], depth=np.full((240, 320), np.nan, np.float32))
    dark = replace(panorama, views=(blind, *panorama.views[1:]))
    assert pointer.ground(dark, 0, 'fridge').code is GroundingCode.NO_DEPTH


def test_words_choose_between_things_of_a_kind() -> None:
    base = Detection(0, 'chair', 'chair', 0.9, (0, 0, 9, 9), (4, 4), 0.0)
    red = replace(base, label='red chair', score=0.5)
    assert best_match([base, red], 'the red chair by the window') is red
    assert best_match([base, red], 'a chair') is base
    assert best_match([base], 'a sofa') is None
    strange = replace(base, label='blue gizmo', category='blue gizmo')
    assert best_match([base, strange], 'gizmo') is strange


def mllm(answer: str, **config: object) -> MllmPointer:
    return MllmPointer(MllmPointerConfig(**config), ask=lambda jpeg, prompt: answer)


def test_the_model_s_box_becomes_a_floor_pixel() -> None:
    driver = scene(FRIDGE)
    panorama = driver.panorama(4)
    left, top, right, bottom = detection(driver, panorama, FRIDGE, 'fridge').box_xyxy
    answer = f'{{"bbox_2d": [{left / 320}, {top / 240}, {right / 320}, {bottom / 240}]}}'
    grounding = mllm(answer, model='gpt-x').ground(panorama, 0, 'fridge')
    assert grounding.code is GroundingCode.FOUND, grounding.message
    assert grounding.box_xyxy == pytest.approx((left, top, right, bottom))
    assert abs(world_point(panorama, grounding.pixel_uv)[2]) < 0.08


@pytest.mark.parametrize(
    ('answer', 'code'),
    [
        ('{"bbox_2d": null}', GroundingCode.NOT_IN_VIEW),
        ('{"bbox_2d": [0.1, 0.1, 0.5, 0.9], "confidence": 0.1}', GroundingCode.LOW_CONFIDENCE),
        ('{"bbox_2d": [100, 100, 500, 900]}', GroundingCode.MODEL_FAILED),
        ('{"bbox_2d": [0.5, 0.5, 0.5, 0.5]}', GroundingCode.MODEL_FAILED),
        ('it is over there', GroundingCode.MODEL_FAILED),
    ],
)
def test_refusals_of_the_model(answer: str, code: GroundingCode) -> None:
    panorama = scene(FRIDGE).panorama(4)
    grounding = mllm(answer, model='gpt-x').ground(panorama, 0, 'fridge')
    assert grounding.code is code
    assert grounding.pixel_uv is None and grounding.message
