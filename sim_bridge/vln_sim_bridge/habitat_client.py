# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Simulator on the real habitat_sim, which runs in a process with a Python of its own."""

from __future__ import annotations

import json
import math
import os
import select
import struct
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import SceneError
from vln_core.geometry.transforms import camera_mount_tform, planar_tform, quat_from_tform
from vln_core.vocabulary import category_of
from vln_sim_bridge.contact import ContactCounter
from vln_sim_bridge.noise import DepthNoise, OdometryNoise
from vln_sim_bridge.scene import Label, Scene, labels_of, load_scene
from vln_sim_bridge.simulator import Frame, RobotState, SimulatorConfig

_START_TIMEOUT = 120.0
_TIMEOUT = 60.0
_DROPPED = (
    'AMENT_',
    'CMAKE_PREFIX_PATH',
    'COLCON_',
    'FASTDDS_',
    'FASTRTPS_',
    'LD_LIBRARY_PATH',
    'LD_PRELOAD',
    'PKG_CONFIG_PATH',
    'PYTHON',
    'RMW_',
    'ROS_',
    'VIRTUAL_ENV',
    '_ROS_',
)
# Habitat's axes of world vectors (x, y, z) in ROS: (x, z, -y).
_HABITAT_ROTATION = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
# Graphics cameras look along -z with y up; optical frames look along +z with y down.
_OPTICAL_FROM_GL = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class HabitatPython:
    """A Python that can import habitat_sim, and the shell file it needs before, if any."""

    python: Path
    env_file: Path | None


def find_habitat() -> HabitatPython:
    """Return Habitat's Python: ``$VLN_HABITAT``, a conda environment with it, or ``.vln/habitat``.

    Raises:
        SceneError: There is none.
    """
    chosen = os.environ.get('VLN_HABITAT')
    folders = [Path(chosen).expanduser()] if chosen else [*_conda_prefixes(), *_checkout_folders()]
    for folder in folders:
        for python in (folder / 'venv' / 'bin' / 'python', folder / 'bin' / 'python'):
            if python.exists() and _has_habitat(python.parent.parent):
                env_file = folder / 'env.sh'
                return HabitatPython(python, env_file if env_file.is_file() else None)
    where = f'in VLN_HABITAT={chosen}' if chosen else 'here'
    raise SceneError(f'habitat_sim is not set up {where}: run ./vln setup --habitat')


def _has_habitat(prefix: Path) -> bool:
    return any(prefix.glob('lib/python3.*/site-packages/habitat_sim/__init__.py'))


def _conda_prefixes() -> list[Path]:
    prefixes = [os.environ['CONDA_PREFIX']] if os.environ.get('CONDA_PREFIX') else []
    listed = Path.home() / '.conda' / 'environments.txt'
    if listed.is_file():
        prefixes += listed.read_text(encoding='utf-8').splitlines()
    return [Path(prefix) for prefix in prefixes if prefix]


def _checkout_folders() -> list[Path]:
    parents = [Path(__file__).resolve(), Path.cwd()]
    return [p / '.vln' / 'habitat' for start in parents for p in (start, *start.parents)]


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return ``environment`` without what belongs to ROS or to this process's Python."""
    return {key: value for key, value in environment.items() if not key.startswith(_DROPPED)}


class HabitatSimulator:
    """One robot in one scene, drawn and collided by habitat_sim."""

    def __init__(
        self,
        scene: Scene | str | Path,
        config: SimulatorConfig,
        *,
        scene_dataset: Path | None = None,
    ) -> None:
        """Start the process, load the scene and put the robot at its start.

        Args:
            scene: Scene or its folder; or a model by itself (:func:`bare_scene`), which has no
                start: place the robot before anything else.
            config: Camera, body and noise.
            scene_dataset: Habitat's description of the data set that a bare model belongs to;
                HM3D has its objects there.

        Raises:
            SceneError: Habitat is not set up, the scene is broken, or the body does not fit.
        """
        self.config = config
        self.scene = scene if isinstance(scene, Scene) else load_scene(scene)
        self.labels: Mapping[int, Label] = labels_of(self.scene)
        self._depth_noise = DepthNoise(config)
        self._odometry = OdometryNoise(config)
        self._contacts = ContactCounter()
        self._pose = (math.nan, math.nan, math.nan)
        mount = config.mount
        self._base_tform_camera = camera_mount_tform(
            mount.x, mount.y, mount.z, roll=mount.roll, pitch=mount.pitch, yaw=mount.yaw
        )
        self.floor = 0.0
        """Height of the floor that the robot is placed on next, metres, in a bare model."""
        self._wire = _Wire(find_habitat())
        try:
            reply, _ = self._wire.ask(
                'open',
                _START_TIMEOUT,
                stage_config=str(self.scene.stage_config),
                objects=[{'id': item.id, 'glb': str(item.glb)} for item in self.scene.objects],
                width=config.width,
                height=config.height,
                hfov=config.hfov,
                robot_radius=config.robot_radius,
                robot_height=config.robot_height,
                seed=config.seed,
                is_bare=is_bare(self.scene),
                scene_dataset=str(scene_dataset) if scene_dataset else '',
            )
            self._add_labels(reply['labels'])
            if not is_bare(self.scene):
                self.place(*self.scene.start)
        except BaseException:
            self.close()
            raise

    def _add_labels(self, labels: list[dict[str, Any]]) -> None:
        """Take the objects that a bare model brings with it."""
        own = {
            int(item['id']): Label(
                int(item['id']),
                category_of(str(item['category']).replace('_', ' ')),
                str(item['name']),
            )
            for item in labels
        }
        self.labels = {**self.labels, **own}

    def place(self, x: float, y: float, yaw: float) -> None:
        """Put the robot there at rest; odometry and random streams start again.

        Raises:
            SceneError: The body would be inside something; nothing was changed.
        """
        if not all(map(math.isfinite, (x, y, yaw))):
            raise SceneError(f'start ({x}, {y}, {yaw}) is not finite')
        reply, _ = self._wire.ask('place', x=x, y=y, floor=self.floor)
        if not reply['fits']:
            near = reply['nearest']
            where = (
                f'nearest free spot is ({near[0]:.2f}, {near[1]:.2f})' if near else 'no free spot'
            )
            raise SceneError(f'start inside a wall or object at ({x:.2f}, {y:.2f}): {where}')
        self._pose = (x, y, math.remainder(yaw, 2.0 * math.pi))
        self._contacts = ContactCounter()
        self._depth_noise.reset()
        self._odometry.reset(*self._pose)

    def step(self, v: float, w: float, dt: float) -> RobotState:
        """Drive with v m/s and w rad/s for dt s on the navigation mesh; slides at its border."""
        if not all(map(math.isfinite, (v, w, dt))) or dt < 0.0:
            raise ValueError(f'step({v}, {w}, {dt}) is not finite or goes back in time')
        before = self._pose
        x, y, yaw = before
        reply, _ = self._wire.ask('step', x=x, y=y, yaw=yaw, v=v, w=w, dt=dt)
        self._pose = (reply['x'], reply['y'], reply['yaw'])
        self._contacts.update(reply['touched'], reply['gap'])
        self._odometry.advance(before, self._pose)
        return self.state()

    def state(self) -> RobotState:
        """Return the true state."""
        return RobotState(*self._pose, self._contacts.collided, self._contacts.count)

    def odometry(self) -> tuple[float, float, float]:
        """Return (x, y, yaw) of base_link in odom, metres and rad."""
        return self._odometry.x, self._odometry.y, self._odometry.yaw

    def render(self) -> Frame:
        """Take the images at the current pose."""
        frame = self.render_at(planar_tform(*self._pose) @ self._base_tform_camera)
        return Frame(frame.rgb, self._depth_noise.apply(frame.depth), frame.semantic)

    def render_at(self, world_tform_camera: NDArray[np.float64]) -> Frame:
        """Take noise-free images from any (4, 4) pose of the optical frame in the world."""
        tform = np.eye(4)
        tform[:3, :3] = _HABITAT_ROTATION @ world_tform_camera[:3, :3] @ _OPTICAL_FROM_GL
        position = _HABITAT_ROTATION @ world_tform_camera[:3, 3]
        _, (rgb, depth, semantic) = self._wire.ask(
            'render', position=position.tolist(), quat_xyzw=quat_from_tform(tform).tolist()
        )
        # Habitat writes 0 where nothing was hit.
        far = (depth <= 0.0) | (depth > self.config.max_depth)
        return Frame(rgb, np.where(far, np.float32(np.inf), depth), semantic)

    def geodesic_distance(self, start: tuple[float, float], goal: tuple[float, float]) -> float:
        """Return the length of the shortest walk for the body, metres; inf if there is none."""
        reply, _ = self._wire.ask('distance', start=list(start), goal=list(goal))
        return math.inf if reply['distance'] is None else float(reply['distance'])

    def distance_to_any(
        self, start: tuple[float, float], goals: Sequence[tuple[float, float, float]]
    ) -> float:
        """Return the shortest walk from a point of the robot's floor to any of several points.

        Args:
            start: (x, y), metres.
            goals: (x, y, z), metres; they may lie on other floors.

        Returns:
            Metres; inf if there is no way to any of them.
        """
        reply, _ = self._wire.ask(
            'distance_to_any', start=list(start), goals=[list(goal) for goal in goals]
        )
        return math.inf if reply['distance'] is None else float(reply['distance'])

    def close(self) -> None:
        """End the process."""
        self._wire.close()


def bare_scene(model: Path) -> Scene:
    """Return a scene that is a model by itself: Matterport3D, HM3D, or any Y-up .glb.

    Raises:
        SceneError: There is no such file.
    """
    if not model.is_file():
        raise SceneError(f'no model at {model}')
    return Scene(
        folder=model.parent.resolve(),
        name=model.stem,
        seed=None,
        stage=model.resolve(),
        stage_config=model.resolve(),
        bounds=((-math.inf, -math.inf), (math.inf, math.inf)),
        rooms=(),
        doorways=(),
        objects=(),
        start=(math.nan, math.nan, math.nan),
    )


def is_bare(scene: Scene) -> bool:
    """Tell whether a scene is a model without the description that scene folders have."""
    return scene.stage_config == scene.stage


class _Wire:
    """The child process and the talk with it; see :mod:`vln_sim_bridge.habitat_server`."""

    def __init__(self, habitat: HabitatPython) -> None:
        server = Path(__file__).with_name('habitat_server.py')
        command = [str(habitat.python), str(server), str(os.getpid())]
        if threading.current_thread() is threading.main_thread():
            # The kernel sends this signal when the starting *thread* ends: only from the main one.
            command.append('--parent-death-signal')
        if habitat.env_file is not None:
            command = ['bash', '-c', '. "$0" && exec "$@"', str(habitat.env_file), *command]
        self._log: IO[bytes] = tempfile.TemporaryFile()
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=clean_environment(os.environ),
        )

    def ask(
        self, operation: str, timeout: float = _TIMEOUT, **request: Any
    ) -> tuple[dict[str, Any], list[NDArray[Any]]]:
        """Send a request and wait for the answer.

        Raises:
            SceneError: Habitat answered with an error, is gone, or did not answer in time.
        """
        body = json.dumps({'op': operation, **request}).encode()
        with self._lock:
            try:
                self._process.stdin.write(struct.pack('<I', len(body)) + body)
                self._process.stdin.flush()
            except (OSError, ValueError) as error:
                raise SceneError(f'habitat is gone: {self._last_words()}') from error
            (length,) = struct.unpack('<I', self._read(4, timeout))
            header = json.loads(self._read(length, timeout))
            arrays = []
            for described in header['arrays']:
                dtype, shape = np.dtype(described['dtype']), tuple(described['shape'])
                raw = self._read(dtype.itemsize * math.prod(shape), timeout)
                arrays.append(np.frombuffer(raw, dtype).reshape(shape))
        if not header['ok']:
            raise SceneError(f'habitat: {header["error"]}')
        return header, arrays

    def _read(self, size: int, timeout: float) -> bytearray:
        stream = self._process.stdout
        data = bytearray()
        while len(data) < size:
            ready, _, _ = select.select([stream], [], [], timeout)
            if not ready:
                self.close()
                raise SceneError(f'habitat did not answer within {timeout:.0f} s')
            part = os.read(stream.fileno(), size - len(data))
            if not part:
                raise SceneError(f'habitat is gone: {self._last_words()}')
            data += part
        return data

    def _last_words(self) -> str:
        try:
            self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors='replace').strip().splitlines()
        return f'exit code {self._process.returncode}; {lines[-1] if lines else "it said nothing"}'

    def close(self) -> None:
        """End the child: by closing its input, after 3 s by force."""
        process = self._process
        for stream in (process.stdin, process.stdout):
            try:
                stream.close()
            except OSError:
                pass
        try:
            process.wait(timeout=3.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._log.close()
