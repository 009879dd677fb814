# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Takes the views of a look-around, detects, and publishes the panorama.

With one camera each request takes one view. A request whose ``index`` equals its ``num_views``
takes no further one: it publishes those taken so far as an incomplete panorama. With several
cameras the first request takes all views and answers with a field of view of the whole circle.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from vln_core.errors import GeometryError, PerceptionError, VlnError
from vln_core.geometry.mounting import unseen_sectors
from vln_core.observation import Panorama, View
from vln_core.perception.captioner import make_captioner
from vln_core.perception.factory import make_detector
from vln_core.perception.panorama import PanoramaBuilder
from vln_core.perception.simulated import SimulatedDetector
from vln_interfaces.msg import LabelTable
from vln_interfaces.srv import Capture
from vln_nodes import conversions, parameters, qos, runtime
from vln_nodes.awaiting import Changed, TfPoses
from vln_nodes.base import STEADY, StackNode
from vln_nodes.camera_intake import CameraIntake
from vln_nodes.camera_views import CameraViews, Refused, Shot
from vln_nodes.perception_parameters import PerceptionParameters
from vln_nodes.perception_topics import PerceptionTopics

_CODES = Capture.Response
_WATCH_PERIOD = 1.0
# Every how many looks at the cameras the newest pictures are converted too.
_DEEP = 5


class PerceptionNode(StackNode):
    """Serves ``perception/capture``; publishes ``panorama`` and pictures of the detections."""

    def __init__(self) -> None:
        super().__init__('perception')
        self._config = config = parameters.load(self, PerceptionParameters())
        is_simulated = config.detector == 'simulated'
        self._builder = PanoramaBuilder(None, config.grounding)
        if not self.is_managed:
            self._load()  # absent weights end the node here, before anybody relies on it
        self._worker = runtime.Worker(self, 'detector')
        self._changed = Changed(self)
        poses = TfPoses(self, self._changed)
        intakes = [self._subscribed(name) for name in config.cameras]
        self._cameras = [
            CameraViews(self, camera, poses, self._worker, config) for camera in intakes
        ]
        if is_simulated:
            self.create_subscription(LabelTable, 'sim/labels', self._on_labels, qos.LATCHED)
        self._semantic: tuple[int, NDArray[np.uint16]] | None = None
        self._topics = PerceptionTopics(self, self._worker, config)
        self._topics.show_way(intakes[0])
        self._base_tform: NDArray[np.float64] | None = None
        self._frames: list[str] = []
        self._request = 0
        self._num_views = 0
        self._refusal = ''
        self._looks = 0
        self._is_watching = False
        self._service = self.create_service(
            Capture, 'perception/capture', self._on_capture, callback_group=self._changed.group
        )
        self.create_timer(
            _WATCH_PERIOD, self._on_watch, clock=STEADY, callback_group=self._changed.group
        )

    def _load(self) -> None:
        """Load the networks; the simulated detector waits for the table of labels instead."""
        config = self._config
        if config.detector != 'simulated':
            self._builder.detector = make_detector(config.detector, config.models)
        self._builder.captioner = make_captioner(config.models)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the networks; where that fails the node stays unconfigured and says why."""
        try:
            self._load()
        except VlnError as error:
            self.get_logger().error(str(error))
            self.report(error=str(error))
            return TransitionCallbackReturn.FAILURE
        return super().on_configure(state)

    def _subscribed(self, name: str) -> CameraIntake:
        config = self._config
        return CameraIntake(
            self,
            self._changed,
            config.intake,
            name=name,
            slop=int(config.sync_slop * 1e9),
            is_lockstep=config.lockstep,
            is_simulated=config.detector == 'simulated',
        )

    def _on_labels(self, table: LabelTable) -> None:
        categories = {label.id: label.category for label in table.labels}
        self._builder.detector = SimulatedDetector(
            categories, self._semantic_of, self._config.simulated
        )

    def _semantic_of(self, view: View) -> NDArray[np.uint16]:
        if self._semantic is None or self._semantic[0] != view.stamp:
            raise PerceptionError(f'no semantic image of the view of {view.stamp * 1e-9:.3f} s')
        return self._semantic[1]

    async def _on_watch(self) -> None:
        """Look at the cameras while nobody asks for a view."""
        if self._is_watching:
            return
        self._is_watching = True
        self._looks += 1
        errors, warnings = [], []
        try:
            for camera in self._cameras:
                error, warning = await camera.watch(deep=self._looks % _DEEP == 1)
                errors += [error] if error else []
                warnings += [warning] if warning else []
        except runtime.Closing:
            return
        self._is_watching = False
        error = '; '.join(errors) or self._refusal
        self.report(error=error, warning='; '.join(warnings))

    async def _on_capture(
        self, request: Capture.Request, response: Capture.Response
    ) -> Capture.Response:
        self._request += 1
        try:
            if request.index > 0 and request.index == request.num_views:
                response.panorama_id = await self._finish_early(request)
            elif len(self._cameras) > 1:
                await self._capture_all(request, response)
            else:
                await self._capture(request, response)
        except Refused as refusal:
            response.error_code, response.error_msg = refusal.code, str(refusal)
            self._refusal = str(refusal)
            self.get_logger().warning(str(refusal), throttle_duration_sec=2.0)
        else:
            self._refusal = ''
        self.report(error=response.error_msg, panorama=response.panorama_id, view=request.index)
        return response

    async def _finish_early(self, request: Capture.Request) -> int:
        taken = self._builder.num_views_taken
        if request.index != taken or self._base_tform is None:
            raise Refused(_CODES.WRONG_ORDER, f'{taken} views were taken, not {request.index}')
        reason = self._refusal or 'the robot could not turn further'
        note = f'only {taken} of {self._num_views or "all"} views: {reason}'
        self.get_logger().warning(note)
        panorama = self._builder.finish(self._base_tform, is_complete=False, note=note)
        await self._publish(panorama)
        return panorama.id

    async def _capture(self, request: Capture.Request, response: Capture.Response) -> None:
        """Take the next view of a camera that the robot turns."""
        shot = await self._shot(self._cameras[0], request)
        response.hfov = shot.camera.hfov
        if request.index == 0:
            self._begin(shot)
        due = self._builder.num_views_taken
        if request.index != due:
            wrong = f'view {request.index} was asked for, view {due} is due'
            raise Refused(_CODES.WRONG_ORDER, wrong)
        self._num_views = request.num_views
        self._frames.append(shot.frame_id)
        # A mount that looks ahead but for its tolerance counts as one that does.
        aside = shot.heading if abs(shot.heading) > math.radians(5.0) else 0.0
        view = shot.view(request.index, request.yaw + aside)
        is_last = request.num_views > 0 and request.index == request.num_views - 1
        panorama = await self._detected([view], [shot], request, is_last=is_last)
        if panorama is not None:
            await self._publish(panorama)
            response.panorama_id = panorama.id

    async def _capture_all(self, request: Capture.Request, response: Capture.Response) -> None:
        """Take the views of all fixed cameras; some may fail, and the note says which."""
        shots: list[Shot] = []
        failures: list[Refused] = []
        for camera in self._cameras:
            try:
                shots.append(await self._shot(camera, request))
            except Refused as refusal:
                failures.append(Refused(refusal.code, f'{camera.name}: {refusal}'))
        if not shots:
            raise Refused(failures[0].code, '; '.join(map(str, failures)))
        ahead = min((shot.heading for shot in shots), key=abs)
        shots.sort(key=lambda shot: (shot.heading - ahead + 1e-6) % (2.0 * math.pi))
        self._begin(shots[0])
        self._frames = [shot.frame_id for shot in shots]
        views = [shot.view(k, shot.heading) for k, shot in enumerate(shots)]
        notes = [f'{len(shots)} of {len(self._cameras)} cameras'] if failures else []
        notes += [str(failure) for failure in failures]
        notes += [
            f'{math.degrees(width):.0f} deg around {math.degrees(middle):.0f} deg are not seen'
            for middle, width in unseen_sectors([(s.heading, s.camera.hfov) for s in shots])
        ]
        if notes:
            self.get_logger().warning('; '.join(notes), throttle_duration_sec=10.0)
        panorama = await self._detected(views, shots, request, is_last=True, note='; '.join(notes))
        await self._publish(panorama)
        response.panorama_id, response.hfov = panorama.id, 2.0 * math.pi

    async def _shot(self, camera: CameraViews, request: Capture.Request) -> Shot:
        """Take a shot, unless another request came meanwhile: the newest one counts."""
        number = self._request
        shot = await camera.take(conversions.stamp_ns(request.not_before))
        if number != self._request:
            raise Refused(_CODES.WRONG_ORDER, 'a newer request took the place of this one')
        return shot

    def _begin(self, shot: Shot) -> None:
        self._builder.begin()
        self._base_tform = shot.odom_tform_base
        self._frames = []

    async def _detected(
        self,
        views: list[View],
        shots: list[Shot],
        request: Capture.Request,
        *,
        is_last: bool,
        note: str = '',
    ) -> Panorama | None:
        """Detect in a worker; return the panorama with the last view."""

        def run() -> Panorama | None:
            if shots[0].semantic is not None:
                self._semantic = (shots[0].stamp, shots[0].semantic)
            self._builder.add_all(views, list(request.landmarks))
            if not is_last:
                return None
            return self._builder.finish(self._base_tform, is_complete=not note, note=note)

        try:
            return await self._worker.submit(run)
        except (PerceptionError, GeometryError) as error:
            raise Refused(_CODES.DETECTOR_FAILED, str(error)) from error

    async def _publish(self, panorama: Panorama) -> None:
        await self._topics.publish(panorama, dict(enumerate(self._frames)))

    def close(self) -> None:
        """End the worker."""
        self._changed.close()
        self._worker.close()


def main() -> None:
    """Run the node."""
    runtime.main(PerceptionNode)


if __name__ == '__main__':
    main()
