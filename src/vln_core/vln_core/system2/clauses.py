# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""When a clause of the instruction is fulfilled, judged from geometry (rules planner)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from vln_core.context import ClauseKind, ItemStatus, ObjectState, ProgressItem
from vln_core.system2.doorways import DOORWAY, Doorway
from vln_core.system2.reference import Reference, is_beside, through, wanted_angle
from vln_core.system2.situation import Situation, surface_distance, wrap


class ClauseJudge:
    """Judges items against the situation.

    Args:
        situation: What is known now.
        items: L_t, with updates of this decision applied.
    """

    def __init__(self, situation: Situation, items: tuple[ProgressItem, ...]) -> None:
        self.s = situation
        self.items = items

    # --------------------------------------------------------------- references

    def start_of(self, index: int) -> int:
        """Return the waypoint at which item ``index`` became current."""
        item = self.items[index]
        if item.status is ItemStatus.ACTIVE and item.evidence is not None:
            return item.evidence.waypoint
        closed = [i.evidence.waypoint for i in self.items[:index] if i.evidence is not None]
        return max(closed, default=0)

    def reference(self, index: int) -> Reference:
        """Return the pose from which the direction words of item ``index`` are meant.

        Where the clause follows a change of room this is inside the doorway, looking in. A turn
        that was said turns it, whatever way the robot went since: "turn left, take the second door
        on the right" is meant from where one turns.
        """
        before = self.items[index - 1] if index > 0 else None
        turn = wanted_angle(before) if before is not None else None
        if before is not None and before.kind is ClauseKind.TURN and turn is not None:
            base = self.reference(index - 1)
            heading = wrap(base.heading + turn)
            if self.is_mere_turn(index - 1):
                return replace(base, heading=heading, is_turned=True)
            here = self._reference_at(index, before)
            return replace(here, heading=heading, is_turned=True)
        if before is not None and before.kind in (ClauseKind.GO, ClauseKind.PASS):
            base = self.reference(index - 1)
            there = self.origin(base)
            goes_on = before.direction in ('', 'straight')
            if goes_on and there == self.s.room_of_waypoint(self.start_of(index)):
                return base
        return self._reference_at(index, before)

    def origin(self, reference: Reference) -> Hashable:
        """Return the room in which the directions of a reference pose hold."""
        return reference.room or self.s.room_of_waypoint(reference.waypoint)

    def is_mere_turn(self, index: int) -> bool:
        """Tell whether an item says a direction alone, for what follows it."""
        item = self.items[index]
        if item.kind is not ClauseKind.TURN or wanted_angle(item) is None:
            return False
        after = self.items[index + 1] if index + 1 < len(self.items) else None
        says_more = after is not None and (after.landmarks or after.rooms or after.distance)
        return bool(says_more) and not (item.landmarks or item.rooms or item.ordinal)

    def _reference_at(self, index: int, previous: ProgressItem | None) -> Reference:
        """Return the pose at which item ``index`` became current, or the doorway before it."""
        start = self.start_of(index)
        waypoints = self.s.waypoints
        position = self._position(start)
        if previous is not None and previous.kind in (
            ClauseKind.EXIT, ClauseKind.ENTER, ClauseKind.PASS,
        ):  # fmt: skip
            for later in range(position, max(0, position - 2), -1):
                before, after = self.s.track[later - 1], self.s.track[later]
                doors = self.s.crossed(before, after, 1.2)
                is_over = previous.kind is ClauseKind.EXIT or not previous.rooms
                if len(doors) > 1 and is_over and previous.kind is not ClauseKind.PASS:
                    # One went farther than was said: what follows is meant behind the first.
                    first = through(doors[0], before, start)
                    return replace(first, room=self.s.room_inside(doors[0], first.xy))
                if doors:
                    return through(doors[-1], before, start)
        xy = self.s.track[position] if self.s.track else self.s.xy
        heading = waypoints[position].yaw if waypoints else self.s.yaw
        if previous is not None and position and self.is_branch(index - 1):
            gap = xy - self.s.track[position - 1]
            heading = math.atan2(gap[1], gap[0])
        return Reference(start, xy, heading)

    def moved_since(self, waypoint: int) -> float:
        """Return the length of the track since a waypoint, metres, straight between waypoints."""
        ids = [w.id for w in self.s.waypoints]
        points = [p for w, p in zip(ids, self.s.track, strict=True) if w >= waypoint]
        return float(sum(np.hypot(*(b - a)) for a, b in zip(points[:-1], points[1:], strict=True)))

    def waypoints_since(self, waypoint: int) -> int:
        """Return the number of waypoints after one."""
        return sum(1 for w in self.s.waypoints if w.id > waypoint)

    # --------------------------------------------------------------- done?

    def done(self, index: int) -> str:
        """Return why item ``index`` is fulfilled, or '' while it is not."""
        item = self.items[index]
        judge = {
            ClauseKind.EXIT: self._exit,
            ClauseKind.ENTER: self._enter,
            ClauseKind.PASS: self._pass,
            ClauseKind.TURN: self._turn,
            ClauseKind.GO: self._go,
            ClauseKind.APPROACH: self._approach,
            ClauseKind.FIND: self._find,
        }.get(item.kind)
        return judge(index, item) if judge else ''

    def _changed_room(self, index: int) -> str:
        """Return how the room was changed since item ``index`` became current, or ''."""
        start = self.start_of(index)
        position = self._position(start)
        for before, after in zip(
            self.s.track[position:-1], self.s.track[position + 1 :], strict=True
        ):
            doors = self.s.crossed(before, after, 1.2)
            if doors and self.s.room_of_waypoint(start) != self.s.room:
                return f'went through doorway {doors[-1].id}'
        if self.s.room_of_waypoint(start) != self.s.room and self.moved_since(start) > 1.0:
            return 'is in another room than before'
        return ''

    def _exit(self, index: int, item: ProgressItem) -> str:
        start = self.start_of(index)
        if self.s.room_of_waypoint(start) != self.s.room:
            return 'crossed a doorway out of the room'
        if self.is_branch(index):
            gap = float(np.hypot(*(self.s.xy - self.s.track[self._position(start)])))
            return f'went {gap:.1f} m, out of the branch' if gap > 2.5 else ''
        if item.rooms and item.rooms[0] != 'corridor':
            moved = float(np.hypot(*(self.s.xy - self.s.track[self._position(start)])))
            type_now = self.s.likely(self.s.room)
            if moved > 1.5 and type_now and self.s.weight_of(self.s.room, item.rooms) < 0.15:
                return f'the surroundings look like a {type_now}, no more like a {item.rooms[0]}'
        return ''

    def is_branch(self, index: int) -> bool:
        """Tell whether an item leaves a side corridor: no doorway leads out of one."""
        item = self.items[index]
        is_exit = item.kind is ClauseKind.EXIT and item.rooms[:1] == ('corridor',)
        return is_exit and 'side' in item.text.split()

    def _position(self, waypoint: int) -> int:
        return next((n for n, w in enumerate(self.s.waypoints) if w.id == waypoint), 0)

    def _enter(self, index: int, item: ProgressItem) -> str:
        crossed = self._changed_room(index)
        is_told_apart = item.ordinal or item.side or item.direction
        if not item.rooms and not is_told_apart:
            return crossed
        if item.rooms and not is_told_apart:
            weight = self.s.weight_of(self.s.room, item.rooms)
            best = max(self.s.belief(self.s.room).values(), default=0.0)
            start_room = self.s.room_of_waypoint(self.start_of(index))
            is_here = crossed or start_room == self.s.room and self._has_gone_on(index)
            if weight >= max(0.3, 0.75 * best) and is_here:
                return f'the objects here suit a {item.rooms[0]} ({weight:.2f})'
            if crossed and item.rooms[0] == 'corridor' and not self.s.belief(self.s.room):
                return 'came into a room without furniture, likely the corridor'
            return ''
        target = self.target_door(index)
        here = self.s.room
        if target is not None:
            origin = self.origin(self.reference(index))
            is_beyond = self.s.room_beyond(target, origin) == here != origin
            if is_beyond or crossed.endswith(f'doorway {target.id}'):
                return f'went through doorway {target.id}, which was meant'
            return ''
        if not item.rooms:
            return ''  # another doorway than the one that was said, which is not seen yet
        return crossed if self.s.weight_of(here, item.rooms) >= 0.3 else ''

    def _has_gone_on(self, index: int) -> bool:
        """Tell whether a turn said before item ``index`` was walked: "left into the side hall"."""
        reference = self.reference(index)
        gap = self.s.xy - reference.xy
        ahead = math.cos(reference.heading) * gap[0] + math.sin(reference.heading) * gap[1]
        return not reference.is_turned or float(ahead) > 1.0

    def target_door(self, index: int) -> Doorway | None:
        """Return the doorway that "the second door on the left" means, or None while unclear."""
        item = self.items[index]
        if not (item.ordinal or item.side or item.direction):
            return None
        reference = self.reference(index)
        room = self.origin(reference)
        forward = np.array([math.cos(reference.heading), math.sin(reference.heading)])
        left = np.array([-forward[1], forward[0]])
        side = item.side or (item.direction if item.direction in ('left', 'right') else '')
        found: list[tuple[float, Doorway]] = []
        for door in self.s.doorways_of(room):
            gap = door.centre - reference.xy
            ahead, lateral = float(forward @ gap), float(left @ gap)
            if door.id == reference.door or np.hypot(*gap) < 0.5 or ahead < -0.6:
                continue
            if side == 'left' and lateral < 0.2 or side == 'right' and lateral > -0.2:
                continue
            if side and item.ordinal >= 0 and not is_beside(door, forward):
                continue  # in the wall that ends the way, or of a branch
            if item.direction == 'straight' and not side and abs(lateral) > max(ahead, 0.3):
                continue  # "the door ahead" is none beside the way
            if item.ordinal == -1 and not side and is_beside(door, forward):
                continue  # "the door at the end" is in the wall that ends the way
            found.append((ahead, door))
        found.sort(key=lambda pair: (pair[0], pair[1].id))
        if item.ordinal == -1:
            return found[-1][1] if found else None
        number = max(1, item.ordinal)
        return found[number - 1][1] if len(found) >= number else None

    def landmark(self, index: int) -> ObjectState | None:
        """Return the instance of the first landmark that item ``index`` most likely means."""
        item = self.items[index]
        if not item.landmarks:
            return None
        if item.landmarks[0] == DOORWAY:
            door = self.target_door(index)
            if door is not None:
                return door.state
        known = self.s.known(item.landmarks[0])
        if not known:
            return None
        reference = self.reference(index)
        left_rooms = self.left_rooms(index)

        def cost(thing: ObjectState) -> tuple[float, int]:
            xy = np.asarray(thing.position, dtype=float)[:2]
            value = float(np.hypot(*(xy - reference.xy)))
            if self.s.room_of_object(thing) in left_rooms:
                value += 8.0
            angle = reference.angle_to(xy)
            if item.side == 'left' and angle < 0.0 or item.side == 'right' and angle > 0.0:
                value += 2.0
            return value, thing.id

        return min(known, key=cost)

    def left_rooms(self, index: int) -> set[Hashable]:
        """Return rooms that an earlier EXIT clause left behind."""
        return {
            self.s.room_of_waypoint(self.start_of(i.index))
            for i in self.items[:index]
            if i.kind is ClauseKind.EXIT and i.status is ItemStatus.DONE
        } - {self.s.room}

    def _pass(self, index: int, item: ProgressItem) -> str:
        start = self.start_of(index)
        if not item.landmarks:
            crossed = self._changed_room(index)
            if item.rooms and crossed and self.s.weight_of(self.s.room, item.rooms) >= 0.3:
                return f'is in the {item.rooms[0]}'
            after = self.items[index + 1] if index + 1 < len(self.items) else None
            if item.rooms and after is not None and after.kind is ClauseKind.ENTER:
                # The next clause says by which way one leaves it again.
                if self.s.weight_of(self.s.room, item.rooms) >= 0.3:
                    return f'is in the {item.rooms[0]}, which the next clause leaves'
            moved = self.moved_since(start)
            if item.rooms and moved > 2.0 and self.s.weight_of(
                self.s.room_of_waypoint(start), item.rooms
            ) >= 0.25:  # fmt: skip
                return f'walked {moved:.1f} m through the {item.rooms[0]}'
            return ''
        thing = self.landmark(index)
        if thing is None:
            return ''
        near = min(
            surface_distance(p, thing)
            for w, p in zip(self.s.waypoints, self.s.track, strict=True)
            if w.id >= start
        )
        moved = self.moved_since(start)
        now = surface_distance(self.s.xy, thing)
        angle = abs(self.s.bearing_to(np.asarray(thing.position, dtype=float)[:2]))
        if near <= 2.0:
            return f'came within {near:.1f} m of the {thing.category}'
        if near <= 2.6 and angle > math.radians(70) and moved > 0.5:
            return f'the {thing.category} is behind, {now:.1f} m away'
        if near <= 3.0 and now > near + 1.0:
            return f'left the {thing.category} behind'
        return ''

    def _turn(self, index: int, item: ProgressItem) -> str:
        wanted = wanted_angle(item)
        reference = self.reference(index)
        if item.landmarks and item.landmarks[0] != DOORWAY:
            thing = self.landmark(index)
            if thing is None or surface_distance(self.s.xy, thing) > 3.5:
                if self.waypoints_since(reference.waypoint) < 3:
                    return ''
        if wanted is None:
            return 'no direction was said'
        if self.is_mere_turn(index):
            return f'what follows is meant looking {item.direction}'
        moved = float(np.hypot(*(self.s.xy - reference.xy)))
        turned = wrap(self.s.yaw - reference.heading)
        if moved > 0.7:
            off = abs(wrap(reference.angle_to(self.s.xy) - wanted))
            if off < math.radians(65):
                return f'moved {moved:.1f} m to the {item.direction}'
            if abs(wrap(turned - wanted)) < math.radians(50):
                return f'now heads {item.direction} of the old heading'
        return ''

    def _go(self, index: int, item: ProgressItem) -> str:
        start = self.start_of(index)
        moved = self.moved_since(start)
        wanted = item.distance if item.distance is not None else 2.0
        if item.rooms and not item.landmarks:
            after = self.items[index + 1] if index + 1 < len(self.items) else None
            is_there = self.s.weight_of(self.s.room, item.rooms) >= 0.2
            if is_there and after is not None and after.kind is ClauseKind.ENTER:
                return f'is in the {item.rooms[0]}; the next clause says how far to follow it'
            if is_there and moved >= 1.0:
                return f'went {moved:.1f} m along the {item.rooms[0]}'
        if moved >= max(0.5, wanted - 0.5):
            return f'went {moved:.1f} m'
        return ''

    def _approach(self, index: int, item: ProgressItem) -> str:
        thing = self.landmark(index)
        if thing is not None:
            near = surface_distance(self.s.xy, thing)
            if near <= 1.8:
                return f'the {thing.category} is {near:.1f} m away'
        elif not item.landmarks and item.rooms:
            return self._enter(index, item)
        return ''

    def _find(self, index: int, item: ProgressItem) -> str:
        if item.landmarks:
            known = [o for o in self.s.known(item.landmarks[0]) if o.category == item.landmarks[0]]
            if known:
                return f'the {known[0].category} was found'
        elif item.rooms:
            return self._enter(index, item)
        return ''
