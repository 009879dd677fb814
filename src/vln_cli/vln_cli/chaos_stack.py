# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The stack under attack: started as a user does, with the interposer before its sensors."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import yaml

from vln_cli.chaos_interposer import PREFIX, SENSORS
from vln_cli.chaos_model import ChaosModel
from vln_cli.chaos_watch import Acknowledged, resident_bytes
from vln_cli.launch import launch_command
from vln_cli.paths import ROOT
from vln_cli.processes import end_marked, marked_processes

_MARK = 'VLN_CHAOS_STACK'
_STARTED = re.compile(r'\[([\w.-]+)-\d+\]: process started with pid \[(\d+)\]')


class ChaosStack:
    """One launch of the stack and the interposer."""

    def __init__(
        self, folder: Path, scene: Path, seed: int, secret: str, model: ChaosModel
    ) -> None:
        """Start both; output goes to ``folder``.

        Args:
            folder: New folder of this launch.
            scene: Scene folder.
            seed: Of noise and interposer.
            secret: Put into the environment as every key of a model; must never be printed.
            model: Endpoint of System 2.
        """
        self.model = model
        folder.mkdir(parents=True)
        self.folder, self.journal = folder, folder.parent / 'memory.db'
        self.memory: dict[str, list[tuple[float, float]]] = {}
        self._mark = f'{_MARK}={uuid.uuid4().hex}'
        names = ('OPENAI_API_KEY', 'VLN_API_KEY', 'VLN_MODEL_API_KEY', 'VLN_MONITOR_TOKEN')
        environment = {
            **os.environ,
            **dict.fromkeys(names, secret),
            _MARK: self._mark.partition('=')[2],
            'ROS_LOG_DIR': str(folder),
            'VLN_CHAOS_SEED': str(seed),
        }
        given = {'scene': str(scene), 'seed': str(seed), 'lockstep': 'false'}
        given['params_file'] = str(self._parameters())
        self._log = folder / 'stack.log'
        with self._log.open('wb') as log:
            self.process = subprocess.Popen(
                launch_command(self._launch_file(), given),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._interposer = subprocess.Popen(
                [sys.executable, '-m', 'vln_cli.chaos_interposer'],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def _parameters(self) -> Path:
        text = (ROOT / 'config' / 'params' / 'simulation.yaml').read_text(encoding='utf-8')
        values = yaml.safe_load(text)
        values['/**/memory']['ros__parameters']['journal'] = str(self.journal)
        values['/**/system2']['ros__parameters'] |= self.model.parameters()
        file = self.folder / 'parameters.yaml'
        file.write_text(yaml.safe_dump(values), encoding='utf-8')
        return file

    def _launch_file(self) -> Path:
        """Return sim.launch.xml with the simulator's sensors going to the interposer."""
        text = (ROOT / 'launch' / 'sim.launch.xml').read_text(encoding='utf-8')
        text = text.replace('$(dirname)', str(ROOT / 'launch'))
        start = text.index('  <include file=' + f'"{ROOT}/launch/components/bridge.launch.xml"')
        end = text.index('</include>', start) + len('</include>')
        remaps = ''.join(
            f'<set_remap from="{"/" * (name in ("tf", "clock"))}{name}" to="/{PREFIX}{name}"/>'
            for name in SENSORS
        )
        text = f'{text[:start]}<group>{remaps}{text[start:end]}</group>{text[end:]}'
        file = self.folder / 'chaos.launch.xml'
        file.write_text(text, encoding='utf-8')
        return file

    # -- state -----------------------------------------------------------------------------------

    @property
    def output(self) -> str:
        """Everything printed so far."""
        return self._log.read_text(errors='replace')

    @property
    def is_alive(self) -> bool:
        """Whether the launch process runs."""
        return self.process.poll() is None

    def pids(self) -> dict[str, int]:
        """Return the processes of the stack by executable."""
        return {name: int(pid) for name, pid in _STARTED.findall(self.output)}

    def note_memory(self) -> None:
        """Sample the resident memory of each process."""
        for name, pid in self.pids().items():
            size = resident_bytes(pid)
            if size:
                self.memory.setdefault(name, []).append((time.monotonic(), float(size)))

    # -- faults ----------------------------------------------------------------------------------

    def order(self, **order: Any) -> float:
        """Give an order to the interposer; return the steady time from which it holds."""
        assert self._interposer.stdin is not None and self._interposer.stdout is not None
        self._interposer.stdin.write(json.dumps(order) + '\n')
        self._interposer.stdin.flush()
        return float(self._interposer.stdout.readline())

    def signal(self, name: str, number: int) -> float:
        """Send a signal to a process of the stack; return the steady time."""
        os.kill(self.pids()[name], number)
        return time.monotonic()

    def limit_files(self, name: str, size: int | None) -> float:
        """Let a process write no file beyond ``size`` bytes, as a full disk does; None: any."""
        import resource

        hard = resource.prlimit(self.pids()[name], resource.RLIMIT_FSIZE)[1]
        soft = hard if size is None else size
        resource.prlimit(self.pids()[name], resource.RLIMIT_FSIZE, (soft, hard))
        return time.monotonic()

    # -- end -------------------------------------------------------------------------------------

    def end(self) -> list[str]:
        """End everything; return what did not end by itself."""
        for name in list(self.pids()):
            with contextlib.suppress(ProcessLookupError, KeyError):
                self.signal(name, signal.SIGCONT)
        if self.is_alive:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(30.0)
        deadline = time.monotonic() + 30.0
        with contextlib.suppress(OSError):
            assert self._interposer.stdin is not None
            self._interposer.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._interposer.wait(10.0)
        while marked_processes(self._mark) and time.monotonic() < deadline:
            time.sleep(0.1)
        left = end_marked(self._mark)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5.0)
        return left

    def journal_fault(self, acknowledged: Acknowledged) -> str:
        """Return what the journal lost of what was acknowledged, empty for nothing."""
        from vln_core.errors import VlnError
        from vln_core.memory.store import MemoryStore

        if not self.journal.exists():
            return '' if not acknowledged.waypoints else 'there is no journal'
        copy = self.folder / 'copy.db'
        for suffix in ('', '-wal'):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(f'{self.journal}{suffix}', f'{copy}{suffix}')
        try:
            store = MemoryStore(path=copy, encoder='words')
        except VlnError as error:
            return f'the journal cannot be read: {error}'
        held, instruction = len(store.waypoints), store.instruction
        store.close()
        for file in self.folder.glob('copy.db*'):
            file.unlink()
        if acknowledged.instruction == instruction and held < acknowledged.waypoints:
            return f'{acknowledged.waypoints} waypoints were acknowledged, {held} are there'
        return ''
