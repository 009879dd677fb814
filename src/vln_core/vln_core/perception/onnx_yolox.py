# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""YOLOX through onnxruntime: a closed set of 80 categories, milliseconds a picture on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core import vocabulary
from vln_core.errors import PerceptionError
from vln_core.observation import Segment, View
from vln_core.perception.detector import suppress_overlaps
from vln_core.perception.models import ModelConfig, require, weights_file

# Order of the network's outputs; spelt as the vocabulary knows them.
COCO = (
    'person,bicycle,car,motorcycle,airplane,bus,train,truck,boat,traffic light,fire hydrant,'
    'stop sign,parking meter,bench,bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe,'
    'backpack,umbrella,handbag,tie,suitcase,frisbee,skis,snowboard,ball,kite,baseball bat,'
    'baseball glove,skateboard,surfboard,tennis racket,bottle,wine glass,cup,fork,knife,spoon,'
    'bowl,banana,apple,sandwich,orange,broccoli,carrot,hot dog,pizza,donut,cake,chair,couch,'
    'potted plant,bed,dining table,toilet,tv,laptop,mouse,remote,keyboard,cell phone,microwave,'
    'oven,toaster,sink,refrigerator,book,clock,vase,scissors,teddy bear,hair dryer,toothbrush'
).split(',')
_STRIDES = (8, 16, 32)
_GREY = 114


class YoloxDetector:
    """Implements the Detector protocol for YOLOX networks exported with their raw grid."""

    def __init__(self, config: ModelConfig) -> None:
        """Load the weights.

        Raises:
            PerceptionError: onnxruntime or the file is absent, or the file is no such network.
        """
        self._config = config
        file = weights_file(config.path, 'onnx_yolox')
        self._session = _session(file, config)
        shape = self._session.get_inputs()[0].shape
        if len(shape) != 4 or not all(isinstance(n, int) and n % 32 == 0 for n in shape[2:]):
            raise PerceptionError(
                f'{file}: input of shape {shape} is not (1, 3, H, W), H, W = 32 k'
            )
        self._input = self._session.get_inputs()[0].name
        self._size = (int(shape[2]), int(shape[3]))
        self._cells = _grid(self._size)
        found = self._session.run(None, {self._input: np.zeros((1, 3, *self._size), np.float32)})
        if found[0].shape != (1, len(self._cells), 5 + len(COCO)):
            raise PerceptionError(
                f'{file}: output of shape {found[0].shape} is not the raw YOLOX grid '
                f'(1, {len(self._cells)}, {5 + len(COCO)})'
            )

    def detect(self, view: View, words: Sequence[str]) -> list[Segment]:
        """Return boxes of those ``words`` that the closed set knows, best first; see Detector."""
        wanted = {vocabulary.category_of(word) for word in words}
        columns = [k for k, name in enumerate(COCO) if vocabulary.category_of(name) in wanted]
        if not columns:
            return []
        blob, scale = letterbox(view.rgb, self._size)
        raw = self._session.run(None, {self._input: blob})[0][0]
        boxes = decode(raw, self._cells) / scale
        scores = raw[:, 4] * raw[:, 5:].max(axis=1)
        labels = raw[:, 5:].argmax(axis=1)
        # A box belongs to its best category among all: a person is no chair for lack of 'person'.
        good = (scores >= self._config.box_threshold) & np.isin(labels, columns)
        height, width = view.rgb.shape[:2]
        boxes = np.clip(boxes[good], 0.0, [width, height, width, height])
        segments = [
            Segment(COCO[label], float(score), (box[0], box[1], box[2], box[3]))
            for box, score, label in zip(boxes.tolist(), scores[good], labels[good])
            if box[2] - box[0] >= 1.0 and box[3] - box[1] >= 1.0
        ]
        return suppress_overlaps(segments, min(self._config.max_iou, 0.45))


def letterbox(rgb: NDArray[np.uint8], size: tuple[int, int]) -> tuple[NDArray[np.float32], float]:
    """Fit a picture into the upper left of the network's input, blue first, 0..255.

    Args:
        rgb: (H, W, 3) uint8.
        size: Rows and columns of the input, px.

    Returns:
        (1, 3, rows, columns) float32, and input px per picture px.
    """
    height, width = rgb.shape[:2]
    scale = min(size[0] / height, size[1] / width)
    w, h = max(1, round(width * scale)), max(1, round(height * scale))
    canvas = np.full((*size, 3), _GREY, dtype=np.uint8)
    canvas[:h, :w] = cv2.resize(rgb, (w, h), interpolation=cv2.INTER_LINEAR)[..., ::-1]
    return np.ascontiguousarray(canvas.transpose(2, 0, 1)[None], dtype=np.float32), scale


def decode(raw: NDArray[np.float32], cells: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (N, 4) left, top, right, bottom, input px, of raw grid outputs (N, 5 + classes)."""
    stride = cells[:, 2:]
    centre = (raw[:, :2] + cells[:, :2]) * stride
    half = 0.5 * np.exp(np.clip(raw[:, 2:4], -20.0, 20.0)) * stride
    return np.concatenate([centre - half, centre + half], axis=1)


def _grid(size: tuple[int, int]) -> NDArray[np.float32]:
    """Return (N, 3): column, row and stride (px) of every cell."""
    parts = []
    for stride in _STRIDES:
        rows, columns = np.mgrid[: size[0] // stride, : size[1] // stride]
        parts.append(np.stack([columns.ravel(), rows.ravel(), np.full(rows.size, stride)], axis=1))
    return np.concatenate(parts).astype(np.float32)


def _session(file: Path, config: ModelConfig) -> Any:
    runtime = require('onnxruntime', 'onnx_yolox')
    options = runtime.SessionOptions()
    options.intra_op_num_threads = config.num_threads
    options.log_severity_level = 3
    providers = ['CPUExecutionProvider']
    if config.device.startswith('cuda'):
        if 'CUDAExecutionProvider' not in runtime.get_available_providers():
            raise PerceptionError(
                f"onnx_yolox: device '{config.device}' was asked for, but this onnxruntime has "
                "no CUDA; install onnxruntime-gpu or set models.device to 'cpu'"
            )
        providers.insert(0, 'CUDAExecutionProvider')
    try:
        return runtime.InferenceSession(str(file), options, providers=providers)
    except Exception as error:  # onnxruntime raises errors of its own compiled module
        raise PerceptionError(f'onnx_yolox: {file} is no ONNX network: {error}') from error
