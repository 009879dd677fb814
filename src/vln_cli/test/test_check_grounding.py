# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The check against a scripted endpoint over real HTTP, one model of each convention."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cv2
import numpy as np
import pytest

from vln_cli import check_grounding
from vln_core.system1.conventions import CONVENTIONS, SentPicture, from_original


class Handler(BaseHTTPRequestHandler):
    """Finds the coloured target in the picture it is sent and writes it as the scripted model."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        if self.server.status != 200:
            self.send_response(self.server.status)
            self.end_headers()
            return
        url = body['messages'][0]['content'][0]['image_url']['url']
        data = np.frombuffer(base64.b64decode(url.split(',', 1)[1]), np.uint8)
        picture = cv2.imdecode(data, cv2.IMREAD_COLOR)
        text = self.server.answer(picture)
        reply = {
            'id': '1', 'object': 'chat.completion', 'created': 0, 'model': body['model'],
            'choices': [{'index': 0, 'finish_reason': 'stop',
                         'message': {'role': 'assistant', 'content': text}}],
        }  # fmt: skip
        payload = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *args: object) -> None:
        pass


def grounded(name: str, picture: np.ndarray) -> str:
    spread = picture.astype(int).max(axis=2) - picture.astype(int).min(axis=2)
    rows, columns = np.nonzero(spread > 90)
    box = (columns.min(), rows.min(), columns.max(), rows.max())
    height, width = picture.shape[:2]
    sent = SentPicture(picture, (width, height), (1.0, 1.0), (0.0, 0.0))
    numbers = [round(v, 4) for v in from_original(box, CONVENTIONS[name], sent)]
    key = 'point_2d' if CONVENTIONS[name].is_point else 'bbox_2d'
    return json.dumps({key: numbers})


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.status = 200
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def run(
    server: ThreadingHTTPServer, capsys: pytest.CaptureFixture, *extra: str
) -> tuple[int, dict]:
    url = f'http://127.0.0.1:{server.server_address[1]}/v1'
    code = check_grounding.main(['--base-url', url, '--model', 'some-model', '--json', *extra])
    return code, json.loads(capsys.readouterr().out.strip().splitlines()[-1])


@pytest.mark.parametrize('name', sorted(CONVENTIONS))
def test_the_model_s_convention_is_found(
    server: ThreadingHTTPServer, capsys: pytest.CaptureFixture, name: str
) -> None:
    server.answer = lambda picture: grounded(name, picture)
    code, report = run(server, capsys, '--convention', name)
    assert code == 0 and report['fits']
    assert report['fitting'][0] == name or report['conventions'][0]['mean_error'] < 0.01


def test_a_wrong_declaration_is_noticed_and_the_right_one_named(
    server: ThreadingHTTPServer, capsys: pytest.CaptureFixture
) -> None:
    server.answer = lambda picture: grounded('thousand-yx', picture)
    code, report = run(server, capsys)  # the table says unit-xy for unknown models
    assert code == 1 and not report['fits']
    assert report['fitting'] == ['thousand-yx']


def test_a_model_that_cannot_ground(
    server: ThreadingHTTPServer, capsys: pytest.CaptureFixture
) -> None:
    server.answer = lambda picture: 'What a nice picture.'
    code, report = run(server, capsys)
    assert code == 1 and report['fitting'] == []


def test_an_endpoint_that_refuses_is_one_clear_line(
    server: ThreadingHTTPServer, capsys: pytest.CaptureFixture
) -> None:
    server.status = 401
    url = f'http://127.0.0.1:{server.server_address[1]}/v1'
    assert check_grounding.main(['--base-url', url]) == 2
    assert 'got no answer' in capsys.readouterr().err
