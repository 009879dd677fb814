# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""vision_msgs for other software, against the package's definitions or doubles of them."""

from __future__ import annotations

import sys
import types
from types import SimpleNamespace

import numpy as np
import pytest

from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Detection, Panorama, View
from vln_nodes import conversions, vision_messages


def pose():
    return SimpleNamespace(
        position=SimpleNamespace(x=0.0, y=0.0, z=0.0), orientation=SimpleNamespace(w=0.0)
    )


class Box:
    """Fields of BoundingBox2D and BoundingBox3D."""

    def __init__(self):
        self.center, self.size = pose(), SimpleNamespace(x=0.0, y=0.0, z=0.0)
        self.size_x = self.size_y = 0.0


class Single:
    def __init__(self, header, id):
        self.header, self.id, self.results, self.bbox = header, id, [], Box()


class Array:
    def __init__(self, header):
        self.header, self.detections = header, []


class Hypothesis:
    def __init__(self):
        self.hypothesis = SimpleNamespace(class_id='', score=0.0)
        self.pose = SimpleNamespace(pose=pose(), covariance=np.zeros(36))


DOUBLES = SimpleNamespace(
    Detection2DArray=Array, Detection3DArray=Array, Detection2D=Single, Detection3D=Single,
    ObjectHypothesisWithPose=Hypothesis,
)  # fmt: skip


@pytest.fixture
def msgs():
    return vision_messages.load() or DOUBLES


def panorama():
    view = View(
        1, 0.5, np.zeros((4, 6, 3), np.uint8), np.ones((4, 6), np.float32),
        PinholeCamera.from_hfov(6, 4, 1.0), np.eye(4), 77,
    )  # fmt: skip
    placed = Detection(
        1, 'couch', 'sofa', 0.75, (1.0, 0.0, 5.0, 3.0), (2, 1), 0.1,
        np.array([1.0, 2.0, 0.5]), np.diag([0.1, 0.2, 0.3]), np.array([1.5, 0.8, 0.9]),
    )  # fmt: skip
    bearing = Detection(1, 'tv', 'television', 0.5, (0.0, 0.0, 2.0, 2.0), (1, 1), 0.3)
    elsewhere = Detection(0, 'bed', 'bed', 0.5, (0.0, 0.0, 2.0, 2.0), (1, 1), 0.3)
    return Panorama(5, 77, np.eye(4), (view,), (elsewhere, placed, bearing))


def test_boxes_of_a_view(msgs):
    seen = panorama()
    array = vision_messages.boxes_2d(msgs, seen, seen.views[0], 'optical')
    assert array.header.frame_id == 'optical'
    assert conversions.stamp_ns(array.header.stamp) == 77
    sofa, television = array.detections
    assert (sofa.results[0].hypothesis.class_id, sofa.results[0].hypothesis.score) == (
        'sofa',
        0.75,
    )
    assert (sofa.bbox.center.position.x, sofa.bbox.center.position.y) == (3.0, 1.5)
    assert (sofa.bbox.size_x, sofa.bbox.size_y) == (4.0, 3.0)
    assert television.results[0].hypothesis.class_id == 'television'
    assert sofa.id != television.id


def test_boxes_in_space(msgs):
    array = vision_messages.boxes_3d(msgs, panorama(), 'odom')
    (sofa,) = array.detections
    assert array.header.frame_id == 'odom'
    assert (sofa.bbox.center.position.x, sofa.bbox.center.position.y) == (1.0, 2.0)
    assert (sofa.bbox.size.x, sofa.bbox.size.z) == (1.5, 0.9)
    covariance = np.asarray(sofa.results[0].pose.covariance).reshape(6, 6)
    np.testing.assert_allclose(np.diag(covariance), [0.1, 0.2, 0.3, 0, 0, 0])


def test_they_are_loaded_where_installed_only(monkeypatch):
    monkeypatch.setitem(sys.modules, 'vision_msgs', None)
    monkeypatch.setitem(sys.modules, 'vision_msgs.msg', None)
    assert vision_messages.load() is None
    package = types.ModuleType('vision_msgs')
    package.msg = types.ModuleType('vision_msgs.msg')
    monkeypatch.setitem(sys.modules, 'vision_msgs', package)
    monkeypatch.setitem(sys.modules, 'vision_msgs.msg', package.msg)
    assert vision_messages.load() is package.msg
