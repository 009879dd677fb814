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
from sensor_msgs.msg import CompressedImage, Image
from visualization_msgs.msg import MarkerArray

from vln_core.context import PlanningContext
from vln_core.context import WorldGraph as GraphState
from vln_core.errors import ConfigError, GeometryError, MemoryStoreError, PerceptionError
from vln_core.memory import kernels
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
from vln_nodes import conversions, markers, memory_conversions, parameters, qos, runtime
from vln_nodes.awaiting import Changed, PanoramaCache, TfPoses
from vln_nodes.base import StackNode
from vln_nodes.parameters import parameter

_REFUSED = BeginEpisode.Response.REFUSED
_UNKNOWN = GetRoute.Response.UNKNOWN


@dataclass(frozen=True)
class MemoryParameters:
    """Parameters of the memory node."""

    global_frame: str = parameter('odom', 'Frame of the memory: odom, or map where localised.')
    odom_frame: str = parameter('odom', 'Odometry frame.')
    journal: str = parameter('', 'File of the journal, to resume after a restart; empty: none.')
    encoder: str = parameter('minilm', "Sentence encoder: 'minilm', 'words', 'transformers:DIR'.")
    tf_timeout: float = parameter(1.0, 'Longest wait for TF at the panorama, s.', minimum=0.0)
    map_image_size_px: int = parameter(512, 'Edge of the map image.', minimum=128, maximum=2048)
    memory: MemoryConfig = field(default_factory=MemoryConfig)

    def __post_init__(self) -> None:
        if self.memory.lifelong and self.journal and self.global_frame == self.odom_frame:
            raise ConfigError(
                f'memory.lifelong with a journal needs a frame that outlives a restart, but '
                f"global_frame is the odometry '{self.odom_frame}', which begins anew: localise "
                "the robot and set global_frame to 'map', or leave journal empty"
            )


class MemoryNode(StackNode):
    """Serves ``memory/*``; publishes the graph, the progress record and the maps, latched."""

    def __init__(self) -> None:
        super().__init__('memory')
        self._config = parameters.load(self, MemoryParameters())
        self._worker = runtime.Worker(self, 'memory')
        self._changed = Changed(self)
        self._panoramas = PanoramaCache(self, self._changed)
        kernels.warm_up()  # before the first panorama waits for it
        journal = Path(self._config.journal).expanduser() if self._config.journal else None
        is_odom = self._config.global_frame == self._config.odom_frame
        map_id = '' if is_odom else self._config.global_frame
        self._poses = None if is_odom else TfPoses(self, self._changed)
        self._store = MemoryStore(self._config.memory, journal, self._config.encoder, map_id)
        self._stamp = 0
        self._retrieved: tuple[int, ...] = ()
        self._graph = self.create_publisher(WorldGraph, 'world_graph', qos.LATCHED)
        self._progress = self.create_publisher(ProgressRecord, 'progress', qos.LATCHED)
        self._picture = self.create_publisher(Image, 'map_image', qos.LATCHED)
        self._grid = self.create_publisher(OccupancyGrid, 'map', qos.LATCHED)
        self._markers = self.create_publisher(MarkerArray, 'memory/markers', qos.LATCHED)
        if self._config.memory.window and self._config.memory.way_frames:
            self.create_subscription(CompressedImage, 'way_frame', self._on_way, qos.EVENTS)
        self._serve(BeginEpisode, 'begin', self._do_begin, _REFUSED)
        self._serve(Observe, 'observe', self._do_observe, Observe.Response.REFUSED)
        self._serve(GetContext, 'context', self._do_context, GetContext.Response.NO_EPISODE)
        self._serve(Commit, 'commit', self._do_commit, _REFUSED)
        self._serve(Conclude, 'conclude', self._do_conclude, _REFUSED)
        self._serve(GetRoute, 'route', self._do_route, _UNKNOWN)
        self._serve(Recall, 'recall', self._do_recall, _UNKNOWN)
        self._serve(GetMapImage, 'map_image', self._do_map_image, 1)

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

    async def _on_way(self, message: CompressedImage) -> None:
        try:
            await self._worker.submit(
                lambda: self._store.add_way_frame(conversions.rgb_of_compressed(message))
            )
        except (PerceptionError, MemoryStoreError) as error:
            self.get_logger().warning(f'a frame on the way was left out: {error}')
        except runtime.Closing:
            return

    async def _do_begin(self, request: BeginEpisode.Request, _: Any) -> None:
        items = [memory_conversions.progress_item_of(item) for item in request.items]
        await self._worker.submit(self._store.begin, request.instruction, items)

    async def _do_observe(self, request: Observe.Request, response: Observe.Response) -> None:
        message = await self._panoramas.get(request.panorama_id)
        if message is None:
            response.error_code = Observe.Response.UNKNOWN_PANORAMA
            raise PerceptionError(f'panorama {request.panorama_id} did not arrive at the memory')
        self._stamp = conversions.stamp_ns(message.header.stamp)
        correction = await self._global_tform_odom(response)

        def work() -> int:
            if correction is not None:
                self._store.set_global_tform_odom(correction)
            return self._store.observe(conversions.panorama_of(message))

        response.waypoint = await self._worker.submit(work)
        await self._show()

    async def _global_tform_odom(self, response: Observe.Response) -> np.ndarray | None:
        """Return where localisation puts the odometry frame; None where memory lives in odom."""
        config = self._config
        if self._poses is None:
            return None
        try:
            return await self._poses.pose(
                config.global_frame, config.odom_frame, self._stamp, config.tf_timeout
            )
        except PerceptionError:
            response.error_code = Observe.Response.NO_TF
            raise

    async def _do_context(
        self, request: GetContext.Request, response: GetContext.Response
    ) -> None:
        def work() -> PlanningContext:
            context = self._store.context()
            if request.with_map_image:
                drawn = self._store.map_image(self._config.map_image_size_px)
                context = replace(context, map_image=drawn.pixels)
            memory_conversions.fill_context(
                context, response, with_map_image=request.with_map_image
            )
            return context

        context = await self._worker.submit(work)
        self._retrieved = context.retrieved
        self._show_markers(context.graph)
        self._stamp_header(response.graph.header)
        self._stamp_header(response.progress.header)

    async def _do_commit(self, request: Commit.Request, _: Any) -> None:
        record = memory_conversions.record_of(request.record_json)
        await self._worker.submit(self._store.commit, record)
        await self._show()

    async def _do_conclude(self, request: Conclude.Request, _: Any) -> None:
        note = memory_conversions.note_of(request.note)
        await self._worker.submit(self._store.conclude, note)
        await self._show()

    async def _do_route(self, request: GetRoute.Request, response: GetRoute.Response) -> None:
        if request.is_backtrack:
            route = await self._worker.submit(
                self._store.backtrack, request.waypoint, request.reason
            )
        else:
            route = await self._worker.submit(self._store.route_to, request.viewpoint)
        response.route = [conversions.point_msg((x, y, 0.0)) for x, y in route]

    async def _do_recall(self, request: Recall.Request, response: Recall.Response) -> None:
        picture = await self._worker.submit(self._store.recall, request.waypoint, request.view)
        response.image = conversions.jpeg_of_rgb(picture)

    async def _do_map_image(
        self, request: GetMapImage.Request, response: GetMapImage.Response
    ) -> None:
        size = request.size_px or self._config.map_image_size_px
        drawn = await self._worker.submit(self._store.map_image, size)
        response.image = conversions.png_of_rgb(drawn.pixels)
        response.resolution = float(drawn.resolution)
        response.origin = conversions.point_msg((*drawn.origin, 0.0))

    async def _show(self) -> None:
        """Publish what the memory holds now."""
        size = self._config.map_image_size_px
        has_viewer = self._picture.get_subscription_count() > 0

        def work() -> tuple[Any, ...]:
            graph, space = self._store.snapshot(), self._store.space
            drawn = self._store.map_image(size).pixels if has_viewer else None
            occupied, free = space.masks()
            return graph, self._store.progress, drawn, (occupied, free, space.origin, space.cell)

        graph, progress, drawn, space = await self._worker.submit(work)
        message = memory_conversions.graph_msg(graph, max(0, len(graph.waypoints) - 1))
        self._stamp_header(message.header)
        self._graph.publish(message)
        record = memory_conversions.progress_msg(progress, self._store.instruction)
        self._stamp_header(record.header)
        self._progress.publish(record)
        self._show_markers(graph)
        grid = conversions.grid_msg(*space)
        self._stamp_header(grid.header)
        self._grid.publish(grid)
        if drawn is not None:
            self._picture.publish(
                conversions.image_of_rgb(drawn, self._stamp, self._config.global_frame)
            )
        self.report(waypoints=len(graph.waypoints), objects=len(graph.objects))

    def _show_markers(self, graph: GraphState) -> None:
        frame = self._config.global_frame
        self._markers.publish(markers.graph_markers(graph, frame, self._stamp, self._retrieved))

    def _stamp_header(self, header: Any) -> None:
        header.frame_id = self._config.global_frame
        header.stamp = conversions.stamp_msg(self._stamp)

    def close(self) -> None:
        """End the worker; the journal is written at every change."""
        self._changed.close()
        self._worker.submit(self._store.close)
        self._worker.close(wait=True)


def main() -> None:
    """Run the node."""
    runtime.main(MemoryNode)


if __name__ == '__main__':
    main()
