# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The System 1 node with a grounding model: a scripted endpoint, real HTTP and real services."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
import rclpy

from vln_core.errors import ConfigError
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Panorama, View
from vln_core.system1.mllm_pointer import MllmPointer
from vln_core.system1.pointer import DetectorPointer
from vln_interfaces.msg import Panorama as PanoramaMsg
from vln_interfaces.srv import Ground
from vln_nodes import conversions, qos
from vln_nodes.system1_node import System1Node, System1Parameters, make_pointer

KEY_VARIABLE = 'VLN_TEST_SYSTEM1_KEY'


class Endpoint:
    """Answers every request with ``answer`` and keeps what it was sent."""

    def __init__(self) -> None:
        self.answer = '{"bbox_2d": null}'
        self.keys: list[str] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers['Content-Length']))
                endpoint.keys.append(self.headers.get('Authorization', ''))
                message = {'role': 'assistant', 'content': endpoint.answer}
                choice = {'index': 0, 'message': message, 'finish_reason': 'stop'}
                reply = {'id': '1', 'object': 'chat.completion', 'choices': [choice]}
                body = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self._server.server_port}/v1'
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    yield endpoint
    endpoint.close()


def panorama_before_a_wall() -> PanoramaMsg:
    """One view of a wall at 3 m, level camera 1 m above the floor."""
    camera = PinholeCamera.from_hfov(64, 48, 1.5)
    mount = transforms.camera_mount_tform(0.0, 0.0, 1.0)
    rows = (np.arange(48) - camera.cy) / camera.fy
    floor = np.where(rows > 1e-6, 1.0 / np.maximum(rows, 1e-6), np.inf)
    depth = np.repeat(np.minimum(floor, 3.0)[:, None], 64, axis=1).astype(np.float32)
    view = View(0, 0.0, np.zeros((48, 64, 3), np.uint8), depth, camera, mount, 1000)
    return conversions.panorama_msg(Panorama(1, 1000, np.eye(4), (view,)), 'odom', 'camera')


def test_the_model_answers_through_the_node(
    endpoint: Endpoint, spin_until: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, 'secret-of-the-test')
    parameters = {
        'pointer': 'mllm',
        'mllm.base_url': endpoint.url,
        'mllm.model': 'some-model',
        'mllm.convention': 'unit-xy',
        'mllm.key_variable': KEY_VARIABLE,
    }
    arguments = [part for name, value in parameters.items() for part in ('-p', f'{name}:={value}')]
    rclpy.init(args=['--ros-args', *arguments])
    node = System1Node()
    try:
        publisher = node.create_publisher(PanoramaMsg, 'panorama', qos.PANORAMA)
        client = node.create_client(Ground, 'system1/ground')
        publisher.publish(panorama_before_a_wall())

        def ground() -> Ground.Response:
            future = client.call_async(Ground.Request(panorama_id=1, view=0, target='a fridge'))
            assert spin_until(node, future.done, 30.0)
            return future.result()

        endpoint.answer = '{"bbox_2d": [0.4, 0.3, 0.6, 0.75], "confidence": 0.9}'
        found = ground()
        assert found.error_code == Ground.Response.FOUND, found.error_msg
        assert 0.4 * 64 <= found.u_px <= 0.6 * 64 and found.v_px >= 0.3 * 48
        assert endpoint.keys == ['Bearer secret-of-the-test']
        endpoint.answer = '{"bbox_2d": null}'
        refused = ground()
        assert refused.error_code == Ground.Response.NOT_IN_VIEW
        assert 'a fridge' in refused.error_msg
        endpoint.answer = 'somewhere'
        assert ground().error_code == Ground.Response.MODEL_FAILED
    finally:
        node.close()
        node.destroy_node()
        rclpy.try_shutdown()


def test_back_ends_by_parameter() -> None:
    assert isinstance(make_pointer(System1Parameters()), DetectorPointer)
    assert isinstance(make_pointer(System1Parameters(pointer='mllm')), MllmPointer)
    with pytest.raises(ConfigError, match="'detector' or 'mllm'"):
        System1Parameters(pointer='oracle')
