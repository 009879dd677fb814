# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the world graph, the progress record, the map image and past views of an episode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import Image
from vln_core.context import PlanningContext
from vln_core.errors import GeometryError, MemoryStoreError, PerceptionError
from vln_core.memory.config import MemoryConfig
from vln_core.memory.store import MemoryStore
from vln_interfaces.msg import ProgressRecord, WorldGraph
from vln_interfaces.srv import (
    BeginEpisode,
    Commit,
    Conclude,
    GetContext,
    GetMapImage,
    GetRoute,
    Observe,
    Recall,
)
from visualization_msgs.msg import MarkerArray

from vln_nodes import conversions, markers, memory_conversions, parameters, qos, runtime
from vln_nodes.awaiting import Changed, PanoramaCache
from vln_nodes.base import StackNode
from vln_nodes.parameters import parameter

_REFUSED = BeginEpisode.Response.REFUSED
_UNKNOWN = GetRoute.Response.UNKNOWN


@dataclass(frozen=True)
class MemoryParameters:
    """Parameters of the memory node."""

    global_frame: str = parameter('odom', 'Frame of the memory: odom, or map where localised.')
    odom_frame: str = parameter('odom', 'Odometry frame.')
    directory: str = parameter('', 'Folder of the journal and of spilled views; empty: none.')
    map_image_size_px: int = parameter(512, 'Edge of the map image.', minimum=128, maximum=2048)
    memory: MemoryConfig = field(default_factory=MemoryConfig)


class MemoryNode(StackNode):
    """Serves ``memory/*``; publishes the graph, the progress record and the maps, latched."""

    def __init__(self) -> None:
        super().__init__('memory')
        self._config = parameters.load(self, MemoryParameters())
        if self._config.global_frame != self._config.odom_frame:
            raise MemoryStoreError(
                f'global_frame = {self._config.global_frame}: only the odometry frame '
                f'{self._config.odom_frame} is supported as the memory\'s frame'
            )
        self._worker = runtime.Worker(self, 'memory')
        self._changed = Changed(self)
        self._panoramas = PanoramaCache(self, self._changed)
        folder = Path(self._config.directory).expanduser() if self._config.directory else None
        self._store = MemoryStore(self._config.memory, folder)
        self._stamp = 0
        self._graph = self.create_publisher(WorldGraph, 'world_graph', qos.LATCHED)
        self._progress = self.create_publisher(ProgressRecord, 'progress', qos.LATCHED)
        self._picture = self.create_publisher(Image, 'map_image', qos.LATCHED)
        self._grid = self.create_publisher(OccupancyGrid, 'map', qos.LATCHED)
        self._markers = self.create_publisher(MarkerArray, 'memory/markers', qos.LATCHED)
        self._serve(BeginEpisode, 'begin', self._begin, _REFUSED)
        self._serve(Observe, 'observe', self._observe, Observe.Response.REFUSED)
        self._serve(GetContext, 'context', self._context, GetContext.Response.NO_EPISODE)
        self._serve(Commit, 'commit', self._commit, _REFUSED)
        self._serve(Conclude, 'conclude', self._conclude, _REFUSED)
        self._serve(GetRoute, 'route', self._route, _UNKNOWN)
        self._serve(Recall, 'recall', self._recall, _UNKNOWN)
        self._serve(GetMapImage, 'map_image', self._map_image, 1)

    def _serve(self, kind: Any, name: str, handler: Callable[..., Any], refused: int) -> None:
        """Offer a service whose handler may be slow and may refuse."""

        async def answer(request: Any, response: Any) -> Any:
            try:
                await handler(request, response)
            except (MemoryStoreError, PerceptionError, GeometryError, ValueError) as error:
                response.error_code = response.error_code or refused
                response.error_msg = str(error)
                self.get_logger().info(f'memory/{name} refused: {error}')
            return response

        self.create_service(kind, f'memory/{name}', answer, callback_group=self._changed.group)

    async def _begin(self, request: BeginEpisode.Request, _: Any) -> None:
        items = [memory_conversions.progress_item_of(item) for item in request.items]
        await self._worker.submit(self._store.begin, request.instruction, items)

    async def _observe(self, request: Observe.Request, response: Observe.Response) -> None:
        message = await self._panoramas.get(request.panorama_id)
        if message is None:
            response.error_code = Observe.Response.UNKNOWN_PANORAMA
            raise PerceptionError(f'panorama {request.panorama_id} did not arrive at the memory')
        self._stamp = conversions.stamp_ns(message.header.stamp)

        def work() -> int:
            return self._store.observe(conversions.panorama_of(message))

        response.waypoint = await self._worker.submit(work)
        await self._show()

    async def _context(self, request: GetContext.Request, response: GetContext.Response) -> None:
        def work() -> PlanningContext:
            context = self._store.context()
            if request.with_map_image and context.map_image is None:
                picture = _picture_of(self._store.map_image(self._config.map_image_size_px))
                context = replace(context, map_image=picture)
            memory_conversions.fill_context(
                context, response, with_map_image=request.with_map_image
            )
            return context

        await self._worker.submit(work)
        self._stamp_header(response.graph.header)
        self._stamp_header(response.progress.header)

    async def _commit(self, request: Commit.Request, _: Any) -> None:
        record = memory_conversions.record_of(request.record_json)
        await self._worker.submit(self._store.commit, record)
        await self._show()

    async def _conclude(self, request: Conclude.Request, _: Any) -> None:
        note = memory_conversions.note_of(request.note)
        await self._worker.submit(self._store.conclude, note)
        await self._show()

    async def _route(self, request: GetRoute.Request, response: GetRoute.Response) -> None:
        if request.is_backtrack:
            route = await self._worker.submit(
                self._store.backtrack, request.waypoint, request.reason
            )
        else:
            route = await self._worker.submit(self._store.route_to, request.viewpoint)
        response.route = [conversions.point_msg((x, y, 0.0)) for x, y in route]

    async def _recall(self, request: Recall.Request, response: Recall.Response) -> None:
        picture = await self._worker.submit(self._store.recall, request.waypoint, request.view)
        response.image = conversions.jpeg_of_rgb(picture)

    async def _map_image(
        self, request: GetMapImage.Request, response: GetMapImage.Response
    ) -> None:
        size = request.size_px or self._config.map_image_size_px
        result = await self._worker.submit(self._store.map_image, size)
        response.image = conversions.png_of_rgb(_picture_of(result))

    async def _show(self) -> None:
        """Publish what the memory holds now."""
        context = await self._worker.submit(self._store.context)
        frame = self._config.global_frame
        graph = memory_conversions.graph_msg(context.graph, context.step)
        self._stamp_header(graph.header)
        self._graph.publish(graph)
        progress = memory_conversions.progress_msg(context.progress, context.instruction)
        self._stamp_header(progress.header)
        self._progress.publish(progress)
        self._markers.publish(markers.graph_markers(context.graph, frame, self._stamp))
        if self._picture.get_subscription_count():
            result = await self._worker.submit(
                self._store.map_image, self._config.map_image_size_px
            )
            self._picture.publish(
                conversions.image_of_rgb(_picture_of(result), self._stamp, frame)
            )  # fmt: skip
        self.report(waypoints=len(context.graph.waypoints), objects=len(context.graph.objects))

    def _stamp_header(self, header: Any) -> None:
        header.frame_id = self._config.global_frame
        header.stamp = conversions.stamp_msg(self._stamp)

    def close(self) -> None:
        """End the worker; the journal is written at every change."""
        self._worker.close()


def _picture_of(result: Any) -> np.ndarray:
    return result[0] if isinstance(result, tuple) else result


def main() -> None:
    """Run the node."""
    runtime.main(MemoryNode)


if __name__ == '__main__':
    main()
