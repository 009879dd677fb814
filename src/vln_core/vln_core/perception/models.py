# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What all back ends with weights share: their settings, where weights lie, what is missing."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vln_core.errors import ConfigError, PerceptionError
from vln_core.system2.model_profile import ModelProfile

PRECISIONS = ('float32', 'float16', 'bfloat16')
SEGMENTERS = ('', 'sam', 'sam2')
CAPTIONERS = ('', 'florence2', 'instructblip', 'mllm')
_WITHOUT_PACKAGES = ('', 'simulated', 'mllm')


@dataclass(frozen=True)
class ModelConfig:
    """Weights and thresholds of the detector, and what may follow it.

    Attributes:
        path: Weights of the detector: a file for onnx_yolox, else a folder as transformers saves
            it, or a hub name whose files are in the local cache.
        device: 'cpu', 'cuda' or 'cuda:0'.
        precision: 'float32', 'float16' or 'bfloat16' (the last two for graphics cards).
        allow_download: Whether weights may be fetched from the hub at start.
        box_threshold: Least score of a box (SPEC 2).
        text_threshold: Least score of a word for a box, Grounding DINO only (SPEC 2).
        max_iou: Boxes of one category that overlap more are one.
        num_threads: Of the CPU for the network.
        segmenter: Masks for the boxes: '' (none), 'sam' or 'sam2'.
        segmenter_path: Weights of the segmenter: folder or hub name.
        captioner: Sentence for each view: '' (none), 'florence2', 'instructblip' or 'mllm'.
        captioner_path: Weights of the captioner: folder or hub name; unused by 'mllm'.
        box_convention: Overrides the table of box conventions for 'mllm'; empty: by the model.
        mllm: Endpoint of the detector 'mllm' and the captioner 'mllm'.
    """

    path: str = ''
    device: str = 'cpu'
    precision: str = 'float32'
    allow_download: bool = False
    box_threshold: float = 0.35
    text_threshold: float = 0.25
    max_iou: float = 0.7
    num_threads: int = 2
    segmenter: str = ''
    segmenter_path: str = ''
    captioner: str = ''
    captioner_path: str = ''
    box_convention: str = ''
    mllm: ModelProfile = field(default_factory=ModelProfile)

    def __post_init__(self) -> None:
        for name in ('box_threshold', 'text_threshold', 'max_iou'):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0.0 <= value <= 1.0):
                raise ConfigError(f'models.{name} = {value} is not within 0..1')
        for name, choices in (
            ('precision', PRECISIONS),
            ('segmenter', SEGMENTERS),
            ('captioner', CAPTIONERS),
        ):
            if getattr(self, name) not in choices:
                known = ', '.join(repr(choice) for choice in choices)
                raise ConfigError(
                    f"models.{name} = '{getattr(self, name)}': choose one of {known}"
                )
        if self.num_threads < 1:
            raise ConfigError(f'models.num_threads = {self.num_threads} must be at least 1')


def weights_file(path: str, what: str) -> Path:
    """Return the file of weights.

    Raises:
        PerceptionError: No file was named, or it is not there.
    """
    if not path:
        raise PerceptionError(f'{what} needs a file of weights: set the parameter models.path')
    file = Path(path).expanduser()
    if not file.is_file():
        raise PerceptionError(f'{what}: there is no file {file}; set models.path to its weights')
    return file


def missing_modules(name: str) -> list[str]:
    """Return what a detector, segmenter or captioner imports and this Python does not have.

    Args:
        name: Of the back end; '' is none.
    """
    if name in _WITHOUT_PACKAGES:
        return []
    needed = ('onnxruntime',) if name == 'onnx_yolox' else ('torch', 'transformers')
    return [module for module in needed if importlib.util.find_spec(module) is None]


def install_line(module: str = 'torch') -> str:
    """Return what to type in the checkout to get a module of a back end."""
    file = 'language.txt' if module == 'onnxruntime' else 'models.txt'
    return f'.vln/venv/bin/python -m pip install -r config/requirements/{file}'


def require(module: str, what: str) -> Any:
    """Import a module of the extra ``models``.

    Raises:
        PerceptionError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PerceptionError(
            f'{what} needs {module}, which cannot be imported ({error}); install the extra: '
            f'{install_line(module)}'
        ) from error


def load_pretrained(
    auto_class: Any, path: str, what: str, config: ModelConfig, **more: Any
) -> Any:
    """Load a model or processor of transformers from a folder or the local cache of the hub.

    Args:
        auto_class: A class with ``from_pretrained``.
        path: Folder or hub name.
        what: For messages.
        config: Says whether a download is allowed.
        more: Further arguments of ``from_pretrained``.

    Raises:
        PerceptionError: The weights are not there, or not of that kind.
    """
    if not path:
        raise PerceptionError(f'{what} needs weights: set its path to a folder or a hub name')
    folder = Path(path).expanduser()
    if (folder.is_absolute() or path.startswith(('.', '~'))) and not folder.is_dir():
        raise PerceptionError(f'{what}: there is no folder {folder} with weights')
    source = str(folder) if folder.is_dir() else path
    try:
        return auto_class.from_pretrained(
            source, local_files_only=not config.allow_download, **more
        )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        hint = (
            'check the name and the connection'
            if config.allow_download
            else 'fetch it beforehand into a folder, or set models.allow_download'
        )
        first = str(error).strip().split('\n')[0][:200]
        raise PerceptionError(
            f"{what}: '{path}' cannot be loaded as {auto_class.__name__} ({first}); {hint}"
        ) from error


def load_network(auto_class: Any, path: str, what: str, config: ModelConfig) -> Any:
    """Load a network for inference on the configured device and precision; see above."""
    torch = require('torch', what)
    dtype = getattr(torch, config.precision)
    if config.device.startswith('cuda') and not torch.cuda.is_available():
        raise PerceptionError(
            f"{what}: device '{config.device}' was asked for, but torch sees no graphics card; "
            "set models.device to 'cpu'"
        )
    os.environ.setdefault('TOKENIZERS_PARALLELISM', 'false')
    torch.set_num_threads(config.num_threads)
    network = load_pretrained(auto_class, path, what, config)
    try:
        return network.to(device=config.device, dtype=dtype).eval()
    except (RuntimeError, AssertionError) as error:
        raise PerceptionError(f"{what} cannot be put on '{config.device}': {error}") from error
