# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""System 1: from words about a target to a pixel of a published view."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vln_core.errors import ConfigError, VlnError
from vln_core.outcome import Grounding
from vln_core.ports import Pointer
from vln_core.system1.mllm_pointer import MllmPointer, MllmPointerConfig
from vln_core.system1.pointer import DetectorPointer, PointerConfig
from vln_interfaces.srv import Ground
from vln_nodes import conversions, parameters, runtime
from vln_nodes.awaiting import Changed, PanoramaCache
from vln_nodes.base import StackNode
from vln_nodes.parameters import parameter


@dataclass(frozen=True)
class System1Parameters:
    """Parameters of the System 1 node."""

    pointer: str = parameter(
        'detector',
        "Back end: 'detector', or 'mllm': a grounding model by 'mllm.*'; its key comes from the "
        'environment variable mllm.key_variable.',
    )
    detector: PointerConfig = field(default_factory=PointerConfig)
    mllm: MllmPointerConfig = field(default_factory=MllmPointerConfig)

    def __post_init__(self) -> None:
        if self.pointer not in ('detector', 'mllm'):
            raise ConfigError(f"system1 pointer = '{self.pointer}': choose 'detector' or 'mllm'")


def make_pointer(config: System1Parameters) -> Pointer:
    """Return the back end of System 1 that the parameters choose."""
    if config.pointer == 'mllm':
        return MllmPointer(config.mllm)
    return DetectorPointer(config.detector)


class System1Node(StackNode):
    """Serves ``system1/ground``."""

    def __init__(self) -> None:
        super().__init__('system1')
        self._config = parameters.load(self, System1Parameters())
        self._worker = runtime.Worker(self, 'pointer')
        self._changed = Changed(self)
        self._panoramas = PanoramaCache(self, self._changed)
        self._pointer = make_pointer(self._config)
        self._service = self.create_service(
            Ground, 'system1/ground', self._on_ground, callback_group=self._changed.group
        )

    async def _on_ground(
        self, request: Ground.Request, response: Ground.Response
    ) -> Ground.Response:
        message = await self._panoramas.get(request.panorama_id)
        if message is None or request.view >= len(message.views):
            response.error_code = Ground.Response.UNKNOWN_VIEW
            response.error_msg = (
                f'panorama {request.panorama_id} has not arrived here or has no view '
                f'{request.view}'
            )
            return response

        def work() -> Grounding:
            panorama = conversions.panorama_of(message)
            return self._pointer.ground(panorama, request.view, request.target)

        try:
            grounding = await self._worker.submit(work)
        except VlnError as error:
            response.error_code = Ground.Response.MODEL_FAILED
            response.error_msg = str(error)
            self.report(error=str(error))
            return response
        response.error_code = int(grounding.code)
        response.error_msg = grounding.message
        response.score = float(grounding.score)
        if grounding.box_xyxy is not None:
            response.box_xyxy_px = np.asarray(grounding.box_xyxy, dtype=np.float32)
        if grounding.pixel_uv is not None:
            response.u_px, response.v_px = (int(value) for value in grounding.pixel_uv)
        self.report(target=request.target, answer=grounding.message)
        return response

    def close(self) -> None:
        """End the worker."""
        self._changed.close()
        self._worker.close()


def main() -> None:
    """Run the node."""
    runtime.main(System1Node)


if __name__ == '__main__':
    main()
