# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A sentence encoder of transformers, tiny and random, through the code that loads BGE."""

import numpy as np
import pytest

pytest.importorskip('torch', reason='the extra is absent: config/requirements/models.txt')
pytest.importorskip('transformers', reason='the extra is absent: config/requirements/models.txt')

import tiny_models
from memory_scenes import INSTRUCTION, ITEMS, drive

from vln_core.errors import ConfigError
from vln_core.memory.encoders import make_encoder
from vln_core.memory.store import MemoryStore

pytestmark = pytest.mark.models


def test_an_encoder_in_a_local_folder_serves_the_memory(tmp_path):
    folder = tiny_models.save('bert', tmp_path)
    encoder = make_encoder(f'transformers:{folder}')
    rows = encoder.encode(['sofa', 'a sofa in the room', 'sofa'])
    assert rows.shape == (3, 32) and rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(rows[0], rows[2])
    assert not np.allclose(rows[0], rows[1], atol=1e-4)
    store = MemoryStore(encoder=f'transformers:{folder}')
    store.begin(INSTRUCTION, ITEMS)
    drive(store)
    assert store.context().retrieved


def test_a_folder_without_weights_is_an_error(tmp_path):
    folder = tiny_models.save('bert', tmp_path)
    for file in folder.glob('*.safetensors'):
        file.unlink()
    with pytest.raises(ConfigError, match='cannot be loaded'):
        make_encoder(f'transformers:{folder}')
