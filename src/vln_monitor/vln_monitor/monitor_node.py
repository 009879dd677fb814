# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Listens to everything that the page shows, and hosts its server."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import OccupancyGrid, Odometry, Path
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Image

from vln_core.errors import GeometryError, PerceptionError
from vln_interfaces.action import Navigate
from vln_interfaces.msg import (
    DecisionRecord,
    Heartbeat,
    Panorama,
    ProgressRecord,
    SafetyStatus,
    WorldGraph,
)
from vln_monitor import views
from vln_monitor.access import Access, tokens_of
from vln_monitor.audit import CommandLog
from vln_monitor.command_node import CommandNode
from vln_monitor.config import MonitorConfig, check_exposure
from vln_monitor.health import HealthTable
from vln_monitor.hub import CAMERA, Hub
from vln_monitor.polling import Polled
from vln_monitor.server import Facts, make_app, make_stop_app
from vln_monitor.serving import ServerThread, tls_context
from vln_monitor.session import Desk
from vln_monitor.trail import Trail
from vln_monitor.wheel import TeleopLimits
from vln_nodes import conversions, parameters, qos
from vln_nodes.base import STEADY, StackNode, steady_now

_NUM_DECISIONS = 100
_NUM_INSTRUCTIONS = 50
_OTHERS = 'another program'
_POLL_PERIOD, _SHOW_PERIOD = 0.1, 0.2  # s


def _history(depth: int, *, reliable: bool) -> QoSProfile:
    kept = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
    return QoSProfile(depth=depth, reliability=kept)


class MonitorNode(StackNode):
    """Watches the graph for the pages."""

    def __init__(self, commands: CommandNode) -> None:
        super().__init__('monitor')
        config = self._config = parameters.load(self, MonitorConfig())
        tokens = tokens_of(os.environ)
        check_exposure(config.host, has_tokens=bool(tokens), has_tls=config.has_tls)
        context = tls_context(config.tls_certificate, config.tls_key)
        self._commands = commands
        commands.limit(TeleopLimits(config.max_linear, config.max_angular, config.teleop_timeout))
        commands.on_started = self._on_started
        commands.on_ended = self._on_ended
        self._log = CommandLog(config.command_log_path)
        self._hub = Hub(steady_now)
        self._desk = Desk(commands, self._hub, self._log)
        # Not a runtime.Worker, which wakes the executor for each picture: nothing awaits these.
        self._pictures = ThreadPoolExecutor(max_workers=1, thread_name_prefix='pictures')
        self._is_encoding = False
        self._poses: deque[tuple[int, tuple[float, float, float]]] = deque(maxlen=40)
        self._trail = Trail()
        self._table = HealthTable()
        self._decisions: deque[dict[str, Any]] = deque(maxlen=_NUM_DECISIONS)
        self._instructions: deque[dict[str, Any]] = deque(maxlen=_NUM_INSTRUCTIONS)
        self._lock = threading.Lock()  # instructions begin and end on the commands' thread
        self._episode: dict[str, Any] = {
            'state': 'idle',
            'step': 0,
            'text': '',
            'gate': 'open',
            'pending': '',
            'following': False,
        }
        self._safety_time = 0.0
        self._subscribe()
        self._shown = self._pictured = 0.0
        self._rows_timer = self.create_timer(0.5, self._show_health, clock=STEADY)
        self._serve(Access(tokens), context)

    def _serve(self, access: Access, context: Any) -> None:
        config = self._config
        facts = Facts(
            config.stop_listener_port,
            config.max_clients,
            config.has_tls,
            config.max_linear,
            config.max_angular,
        )
        self._servers = [
            ServerThread(
                lambda: make_app(self._desk, access, facts),
                config.host,
                config.port,
                context,
                self._hub.start,
            )
        ]
        if facts.stop_port is not None:
            self._servers.append(
                ServerThread(
                    lambda: make_stop_app(self._desk, access, facts),
                    config.host,
                    facts.stop_port,
                    context,
                )
            )
        scheme = 'https' if config.has_tls else 'http'
        self.get_logger().info(f'the page is at {scheme}://{config.host}:{config.port}/')

    def _subscribe(self) -> None:
        # As deep as what arrives between two looks at them.
        self._odometry = Polled(self, Odometry, 'odom', _history(30, reliable=False))
        self._heartbeats = Polled(self, Heartbeat, 'heartbeat', _history(100, reliable=True))
        self._safety = Polled(self, SafetyStatus, 'safety_status', qos.LATCHED)
        self._camera = Polled(
            self, Image, 'camera/color/image_raw', _history(1, reliable=False), raw=True
        )
        # One timer for all that comes often: each turn of the executor costs a millisecond.
        period = min(_POLL_PERIOD, 1.0 / self._config.camera_rate)
        self._poll_timer = self.create_timer(period, self._poll, clock=STEADY)
        for kind, topic, handler, profile in (
            (DiagnosticArray, 'diagnostics', self._on_diagnostics, qos.EVENTS),
            (Panorama, 'panorama', self._on_panorama, qos.PANORAMA),
            (WorldGraph, 'world_graph', self._on_graph, qos.LATCHED),
            (ProgressRecord, 'progress', self._on_progress, qos.LATCHED),
            (Image, 'map_image', self._on_map_image, qos.LATCHED),
            (OccupancyGrid, 'map', self._on_map, qos.LATCHED),
            (Path, 'plan', self._on_plan, qos.LATCHED),
            (DecisionRecord, 'decisions', self._on_decision, qos.EVENTS),
            (Navigate.Impl.FeedbackMessage, 'navigate/_action/feedback', self._on_feedback,
             qos.EVENTS),
        ):  # fmt: skip
            self.create_subscription(kind, topic, handler, profile)

    # -- robot ----------------------------------------------------------------------------------

    def _poll(self) -> None:
        for message in self._odometry.take():
            self._on_odometry(message)
        now = steady_now()
        for message in self._heartbeats.take():
            self._table.beat(message.node, now)
        for message in self._safety.take():
            self._safety_time = now
            self._hub.post('safety', views.safety(message))
        if now - self._shown >= _SHOW_PERIOD:
            self._shown = now
            self._show_robot()
        is_due = now >= self._pictured + 0.9 / self._config.camera_rate
        if is_due and self._hub.wants_camera and not self._is_encoding:
            self._pictured = now
            pictures = self._camera.take()
            if pictures:
                self._is_encoding = True
                self._in_background(self._encode, pictures[-1])

    def _on_odometry(self, message: Odometry) -> None:
        try:
            pose = conversions.planar_of_odometry(message)
        except GeometryError:
            return
        self._poses.append((conversions.stamp_ns(message.header.stamp), pose))
        self._trail.add(pose[0], pose[1])

    def _show_robot(self) -> None:
        if not self._poses:
            return
        _, pose = self._poses[-1]
        self._hub.post('pose', {'pose': [views.number(value) for value in pose]})
        if self._trail.is_changed:
            self._hub.post('trail', {'points': self._trail.take()})

    def _on_plan(self, message: Path) -> None:
        self._hub.post('plan', views.plan(message))

    # -- camera ---------------------------------------------------------------------------------

    def _in_background(self, work: Callable[..., None], *args: Any) -> None:
        def run() -> None:
            try:
                work(*args)
            except Exception as error:  # a picture that cannot be drawn must not end the page
                self.get_logger().error(f'a picture could not be drawn: {error!r}')

        self._pictures.submit(run)

    def _encode(self, data: bytes) -> None:
        try:
            message = deserialize_message(data, Image)
            rgb = conversions.rgb_of_image(message)
            jpeg, width, height = views.jpeg_of_rgb(
                rgb, self._config.camera_width_px, self._config.jpeg_quality
            )
            stamp = conversions.stamp_ns(message.header.stamp)
            pose = self._pose_at(stamp)
            header = {
                'stamp': stamp / 1e9,
                'size': [width, height],
                'pose': [views.number(value, 4) for value in pose] if pose else None,
            }
            self._hub.post_binary(CAMERA, header, jpeg)
        except PerceptionError as error:
            self.report(warning=str(error))
        finally:
            self._is_encoding = False

    def _pose_at(self, stamp: int) -> tuple[float, float, float] | None:
        """Return the pose nearest in time, for drawing on a picture; None if none is near."""
        poses = tuple(self._poses)
        if not poses:
            return None
        nearest = min(poses, key=lambda sample: abs(sample[0] - stamp))
        return nearest[1] if abs(nearest[0] - stamp) < 100_000_000 else None

    def _on_panorama(self, message: Panorama) -> None:
        try:
            header, pictures = views.panorama(message)
        except GeometryError as error:
            self.report(warning=f'panorama {message.id}: {error}')
            return
        self._hub.post_binary('panorama', header, pictures)

    # -- memory ---------------------------------------------------------------------------------

    def _on_graph(self, message: WorldGraph) -> None:
        self._hub.post('graph', views.graph(message))

    def _on_progress(self, message: ProgressRecord) -> None:
        self._hub.post('progress', views.progress(message))
        self._note_instruction(message.instruction)

    def _on_map_image(self, message: Image) -> None:
        def work() -> None:
            png = views.png_of_rgb(conversions.rgb_of_image(message))
            self._hub.post_binary('map_image', {'size': [message.width, message.height]}, png)

        self._in_background(work)

    def _on_map(self, message: OccupancyGrid) -> None:
        def work() -> None:
            drawn = views.grid(message)
            if drawn is not None:
                self._hub.post_binary('map', *drawn)

        self._in_background(work)

    # -- decisions ------------------------------------------------------------------------------

    def _on_decision(self, message: DecisionRecord) -> None:
        config = self._config
        entry = views.decision(message, config.prompt_price, config.completion_price)
        entry['number'] = (self._decisions[-1]['number'] if self._decisions else 0) + 1
        self._decisions.append(entry)
        self._hub.post('decisions', {'entries': list(self._decisions)})

    def _on_feedback(self, message: Any) -> None:
        feedback = message.feedback
        self._set_episode(state=feedback.state, step=feedback.step, text=feedback.text)

    def _set_episode(self, **values: Any) -> None:
        self._episode.update(values)
        self._hub.post('episode', self._episode)

    def _note_instruction(self, text: str) -> None:
        """Another program may have given an instruction."""
        with self._lock:
            if text and (not self._instructions or self._instructions[-1]['text'] != text):
                self._instructions.append({'text': text, 'who': _OTHERS, 'outcome': ''})
        self._show_instructions()

    def _on_started(self, text: str, who: str) -> None:
        with self._lock:
            last = self._instructions[-1] if self._instructions else None
            if last and last['text'] == text and last['who'] == _OTHERS and not last['outcome']:
                last['who'] = who  # its progress record came first
            else:
                self._instructions.append({'text': text, 'who': who, 'outcome': ''})
        self._show_instructions()

    def _on_ended(self, text: str, who: str, outcome: str) -> None:
        with self._lock:
            for entry in reversed(self._instructions):
                if entry['text'] == text and entry['who'] == who and not entry['outcome']:
                    entry['outcome'] = outcome
                    break
        self._set_episode(state='ended', text=outcome)
        self._show_instructions()

    def _show_instructions(self) -> None:
        with self._lock:
            entries = [dict(entry) for entry in self._instructions]
        self._hub.post('instructions', {'entries': entries})

    # -- health ---------------------------------------------------------------------------------

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            told = views.diagnostic(status)
            self._table.tell(status.name, told, steady_now())
            if status.name.rpartition('/')[2] == 'system2':
                self._on_system2(told['values'])

    def _on_system2(self, values: dict[str, str]) -> None:
        known = {key: values[key] for key in ('state', 'text', 'gate', 'pending') if key in values}
        if values.get('step', '').isdecimal():
            known['step'] = int(values['step'])
        self._set_episode(**known)

    def _show_health(self) -> None:
        now = steady_now()
        is_safety_alive = now - self._safety_time < 1.0
        following = self._commands.is_following
        self._hub.post('health', {'nodes': self._table.rows(now), 'safety': is_safety_alive})
        self._set_episode(following=following)
        self.report(pages=len(self._desk.pages), driver=self._desk.wheel.name or 'nobody')

    def close(self) -> None:
        """End the servers first: a page that is told of the end cannot drive any more."""
        for server in self._servers:
            server.close()
        self._commands.close()
        self._pictures.shutdown(wait=False, cancel_futures=True)
        self._log.close()
