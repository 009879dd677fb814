# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""One place that makes every detector by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError
from vln_core.observation import View
from vln_core.perception.detector import Detector
from vln_core.perception.mllm_detector import MllmDetector
from vln_core.perception.models import ModelConfig
from vln_core.perception.onnx_yolox import YoloxDetector
from vln_core.perception.segmenters import SegmentedDetector, Segmenter
from vln_core.perception.simulated import SimulatedDetector, SimulatedDetectorConfig
from vln_core.perception.transformers_detectors import KINDS, TransformersDetector
from vln_core.system2.model_client import ModelClient

DETECTORS = ('simulated', 'onnx_yolox', *KINDS, 'mllm')


def make_detector(
    name: str,
    config: ModelConfig | None = None,
    *,
    simulated: SimulatedDetectorConfig | None = None,
    categories: Mapping[int, str] | None = None,
    semantic_of: Callable[[View], NDArray[np.unsignedinteger]] | None = None,
    client: ModelClient | None = None,
) -> Detector:
    """Return a detector, loaded and ready; with a segmenter where ``config`` names one.

    Args:
        name: One of :data:`DETECTORS`.
        config: Weights, device, thresholds, endpoint.
        simulated: Noise of 'simulated'.
        categories: Category by instance id, for 'simulated'.
        semantic_of: Semantic image of a view, for 'simulated'.
        client: Of 'mllm', to share one.

    Raises:
        ConfigError: There is no such detector, or it lacks a setting.
        PerceptionError: Weights or packages are absent; the message says which.
    """
    config = config or ModelConfig()
    if name not in DETECTORS:
        raise ConfigError(f"no detector '{name}': choose one of {', '.join(DETECTORS)}")
    detector: Detector
    if name == 'simulated':
        if categories is None or semantic_of is None:
            raise ConfigError('the simulated detector needs categories and semantic images')
        return SimulatedDetector(categories, semantic_of, simulated)
    if name == 'onnx_yolox':
        detector = YoloxDetector(config)
    elif name == 'mllm':
        detector = MllmDetector(config, client)
    else:
        detector = TransformersDetector(name, config)
    if config.segmenter:
        detector = SegmentedDetector(detector, Segmenter(config.segmenter, config))
    return detector
