# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Runs llama.cpp's OpenAI-compatible server on a model file: python FILE MODEL.gguf [PORT].

Runs in an environment of its own, see config/requirements/local_model.txt, and imports nothing of
the stack. The first line it prints is the base URL; it ends with its standard input.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Serve until the standard input is closed."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    parameters.hostnames = ['127.0.0.1']
    parameters.n_ctx = 8192
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    # Threads of llama.cpp wait for each other busily: on a machine with other work two are slower.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f'{server.listening_address}/v1\n')
    sys.stdout.flush()
    sys.stdin.read()
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
