# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Runs habitat_sim for :mod:`vln_sim_bridge.habitat_client`, in Habitat's own Python.

Started as a script, never imported: that Python has neither this package nor ROS. Speaks over its
standard input and output: four bytes of length (little-endian), a JSON header, then the arrays
the header announces. Coordinates on the wire are ROS (x, y on the floor, z up); here they become
Habitat's (x, z, -y).
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import struct
import sys
import threading
import time

import numpy as np

_SUBSTEP = 0.01
# A navigable spot further above the floor is the top of a table.
_FLOOR_TOLERANCE = 0.25
_SNAP = 0.6
_PR_SET_PDEATHSIG = 1


def die_with_parent(parent):
    """End this process when its parent is gone, whatever became of the pipe."""
    if '--parent-death-signal' in sys.argv:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class World:
    """One habitat_sim.Simulator with a camera that goes wherever it is told."""

    def __init__(self, request):
        import habitat_sim

        self._hs = habitat_sim
        backend = habitat_sim.SimulatorConfiguration()
        backend.scene_id = request['stage_config']
        backend.enable_physics = True
        backend.random_seed = request['seed']
        self._is_bare = request.get('is_bare', False)
        # A bare model brings its objects with it, as Matterport3D and HM3D do.
        backend.load_semantic_mesh = self._is_bare
        if request.get('scene_dataset'):
            backend.scene_dataset_config_file = request['scene_dataset']
        backend.scene_light_setup = habitat_sim.gfx.NO_LIGHT_KEY
        agent = habitat_sim.agent.AgentConfiguration()
        agent.height, agent.radius = request['robot_height'], request['robot_radius']
        kinds = habitat_sim.SensorType
        wanted = (('rgb', kinds.COLOR), ('depth', kinds.DEPTH), ('semantic', kinds.SEMANTIC))
        agent.sensor_specifications = [self._sensor(name, kind, request) for name, kind in wanted]
        self._sim = habitat_sim.Simulator(habitat_sim.Configuration(backend, [agent]))
        for item in request['objects']:
            self._add(item)
        self._make_navmesh(request)
        self._position = None
        self._floor = 0.0
        self.labels = self._labels() if self._is_bare else []

    def _labels(self):
        """Ids of the semantic image with their categories, as the model's own table has them."""
        found = []
        scene = self._sim.semantic_scene
        for number, thing in enumerate(scene.objects if scene is not None else ()):
            if thing is None or thing.category is None:
                continue
            found.append(
                {
                    'id': int(getattr(thing, 'semantic_id', number)),
                    'category': thing.category.name(),
                    'name': str(thing.id),
                }
            )
        return found

    def _sensor(self, name, kind, request):
        spec = self._hs.CameraSensorSpec()
        spec.uuid, spec.sensor_type = name, kind
        spec.resolution = [request['height'], request['width']]
        spec.hfov = math.degrees(request['hfov'])
        spec.position = [0.0, 0.0, 0.0]
        return spec

    def _add(self, item):
        templates = self._sim.get_object_template_manager()
        template = templates.create_new_template(item['glb'], False)
        template.render_asset_handle = template.collision_asset_handle = item['glb']
        template.semantic_id = item['id']
        if hasattr(template, 'requires_lighting'):
            template.requires_lighting = False
        # Models are in world coordinates; without this Habitat moves their centre to the origin.
        template.com = np.zeros(3)
        template.compute_COM_from_shape = False
        number = templates.register_template(template, f'object_{item["id"]}')
        placed = self._sim.get_rigid_object_manager().add_object_by_template_id(number)
        if placed is None:
            raise RuntimeError(f'habitat_sim cannot load {item["glb"]}')
        placed.translation = np.zeros(3)
        placed.motion_type = self._hs.physics.MotionType.STATIC
        placed.semantic_id = item['id']

    def _make_navmesh(self, request):
        settings = self._hs.NavMeshSettings()
        settings.set_defaults()
        settings.cell_size, settings.cell_height = 0.03, 0.03
        settings.agent_radius = request['robot_radius']
        settings.agent_height = request['robot_height']
        # In the field's benchmarks stairs are floor.
        settings.agent_max_climb = 0.2 if self._is_bare else 0.06
        self.pathfinder = self._sim.pathfinder
        if hasattr(settings, 'include_static_objects'):
            settings.include_static_objects = True
            made = self._sim.recompute_navmesh(self.pathfinder, settings)
        else:
            made = self._sim.recompute_navmesh(self.pathfinder, settings, True)
        if not made or not self.pathfinder.is_loaded:
            raise RuntimeError('habitat_sim found no floor the robot can stand on')

    def place(self, request):
        """Put the body somewhere; answers whether it fits and where the nearest spot is."""
        x, y = request['x'], request['y']
        self._floor = request.get('floor', 0.0)
        if self._fits(x, y):
            self._position = self._on_floor(x, y)
            return {'fits': True}
        return {'fits': False, 'nearest': self._nearest(x, y)}

    def step(self, request):
        """Drive in arcs of at most 1 cm along the navigation mesh, which slides at its border."""
        x, y, yaw = request['x'], request['y'], request['yaw']
        v, w, dt = request['v'], request['w'], request['dt']
        count = max(1, math.ceil(abs(v) * dt / _SUBSTEP), math.ceil(abs(w) * dt / 0.05))
        h, touched = dt / count, False
        for _ in range(count):
            heading = yaw + 0.5 * w * h
            yaw = math.remainder(yaw + w * h, 2.0 * math.pi)
            if v == 0.0:
                continue
            to_x, to_y = x + v * h * math.cos(heading), y + v * h * math.sin(heading)
            wanted = np.array([to_x, self._position[1], -to_y], np.float32)
            end = np.array(self.pathfinder.try_step(self._position, wanted), np.float32)
            if not np.all(np.isfinite(end)):
                touched = True
                continue
            if math.hypot(float(end[0]) - to_x, float(end[2]) + to_y) > 1e-3 * abs(v) * h + 2e-5:
                touched = True
                to_x, to_y = float(end[0]), -float(end[2])
            x, y, self._position = to_x, to_y, end
        gap = self.pathfinder.distance_to_closest_obstacle(self._position, 0.2)
        return {'x': x, 'y': y, 'yaw': yaw, 'touched': touched, 'gap': float(gap)}

    def distance(self, request):
        """Walking distance between two points; None where there is no way."""
        ends, gaps = [], 0.0
        for x, y in (request['start'], request['goal']):
            near = [x, y] if self._fits(x, y) else self._nearest(x, y)
            if near is None or math.dist(near, (x, y)) > _SNAP:
                return {'distance': None}
            gaps += math.dist(near, (x, y))
            ends.append(self._on_floor(*near))
        path = self._hs.ShortestPath()
        path.requested_start, path.requested_end = ends
        found = self.pathfinder.find_path(path) and math.isfinite(path.geodesic_distance)
        return {'distance': float(path.geodesic_distance) + gaps if found else None}

    def distance_to_any(self, request):
        """Walking distance from a point of the robot's floor to the nearest of several points."""
        near = request['start']
        if not self._fits(*near):
            near = self._nearest(*near)
        if near is None:
            return {'distance': None}
        path = self._hs.MultiGoalShortestPath()
        path.requested_start = self._on_floor(*near)
        path.requested_ends = [np.array([x, z, -y], np.float32) for x, y, z in request['goals']]
        found = self.pathfinder.find_path(path) and math.isfinite(path.geodesic_distance)
        gap = math.dist(near, request['start'])
        return {'distance': float(path.geodesic_distance) + gap if found else None}

    def render(self, request):
        """Images from a pose of the camera's GL axes: position, quaternion (x, y, z, w)."""
        utils = self._hs.utils.common
        rotation = utils.quat_from_coeffs(np.array(request['quat_xyzw']))
        state = self._hs.AgentState()
        state.position = np.array(request['position'], np.float32)
        if self._is_bare and self._position is not None:
            # The robot takes its own floor for zero, wherever in the building that is.
            state.position[1] += self._position[1]
        state.rotation = rotation
        self._sim.get_agent(0).set_state(state)
        seen = self._sim.get_sensor_observations()
        return {}, (
            np.ascontiguousarray(seen['rgb'][..., :3], dtype=np.uint8),
            np.ascontiguousarray(seen['depth'], dtype=np.float32),
            np.ascontiguousarray(seen['semantic'], dtype=np.uint32),
        )

    def close(self):
        """Free the graphics context."""
        self._sim.close()

    def _on_floor(self, x, y):
        point = self.pathfinder.snap_point(np.array([x, self._floor, -y], np.float32))
        return np.array(point, np.float32)

    def _fits(self, x, y):
        point = np.array([x, self._floor, -y], np.float32)
        return bool(self.pathfinder.is_navigable(point, _FLOOR_TOLERANCE))

    def _nearest(self, x, y):
        for ring in range(1, 101):
            radius = 0.03 * ring
            for k in range(48):
                angle = 2.0 * math.pi * k / 48
                spot = [x + radius * math.cos(angle), y + radius * math.sin(angle)]
                if self._fits(*spot):
                    return spot
        return None


def read(stream):
    """Return the next request, or None at the end of the stream."""
    prefix = stream.read(4)
    if len(prefix) < 4:
        return None
    body = stream.read(struct.unpack('<I', prefix)[0])
    return json.loads(body)


def write(stream, header, arrays=()):
    """Send an answer."""
    header['arrays'] = [{'dtype': a.dtype.str, 'shape': a.shape} for a in arrays]
    body = json.dumps(header).encode()
    stream.write(struct.pack('<I', len(body)) + body)
    for array in arrays:
        stream.write(memoryview(array).cast('B'))
    stream.flush()


def answer(world, request):
    """Run one request on the world."""
    operation = request.pop('op')
    result = getattr(world, operation)(request)
    return result if isinstance(result, tuple) else (result or {}, ())


def main():
    """Serve until the other side closes the pipe."""
    die_with_parent(int(sys.argv[1]))
    # Stopping is the parent's business: signals may reach the whole process group.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Habitat's libraries print to standard output; keep that off the wire.
    wire = os.fdopen(os.dup(1), 'wb')
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), 'rb')
    world = None
    while (request := read(requests)) is not None:
        try:
            if request['op'] == 'open':
                world = World(request)
                write(wire, {'ok': True, 'labels': world.labels})
                continue
            header, arrays = answer(world, request)
            write(wire, {'ok': True, **header}, arrays)
        except Exception as error:  # the other side turns it into its own error
            write(wire, {'ok': False, 'error': f'{type(error).__name__}: {error}'})
    if world is not None:
        world.close()


if __name__ == '__main__':
    main()
