# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Rules planner on hand-made situations: each checks one rule."""

from dataclasses import replace

import numpy as np
import pytest
from system2_contexts import (
    context,
    detection,
    door,
    note,
    opening,
    thing,
    views,
    with_status,
)

from vln_core.context import ProgressRecord
from vln_core.errors import ConfigError
from vln_core.system2.brain import make_brain
from vln_core.system2.record import Go, Goto, MoveTo, Stop
from vln_core.system2.rules import RulesConfig, RulesPlanner
from vln_core.system2.situation import Situation, surface_distance
from vln_core.system2.validation import validate
from vln_core.system2.verified_stop import check_stop
from vln_core.system2.walking import is_in_sight, walking_distance

PLANNER = RulesPlanner()


def decide(ctx):
    record = PLANNER.decide(ctx)
    validate(record, ctx)
    assert record == PLANNER.decide(ctx)  # the same context gives the same record
    assert record.rationale and record.analysis
    return record


def status(record):
    return {u.index: u.status for u in record.notes.progress}


# A bedroom at the origin; a wall along y at x = 2 with a door; a corridor beyond it.
BEDROOM = (thing(1, 'bed', -1.0, 0.0), thing(2, 'nightstand', -1.0, 1.2))
EXIT_DOOR = door(9, 2.0, 0.0)


def test_rooms_are_separated_by_doorways():
    kitchen = thing(3, 'refrigerator', 5.0, 0.1)
    s = Situation(context('go to the fridge', objects=(*BEDROOM, EXIT_DOOR, kitchen)))
    assert s.likely(s.room) == 'bedroom'
    assert s.room_of_object(kitchen) != s.room
    assert s.likely(s.room_of_object(kitchen)) == 'kitchen'
    assert s.room_beyond(s.doorways[0], s.room) == s.room_of_object(kitchen)


def test_exit_prefers_the_opening_beyond_the_doorway():
    pose = (0.0, 0.0, 0.0)
    record = decide(
        context(
            'Leave the bedroom and stop at the sofa',
            objects=(*BEDROOM, EXIT_DOOR),
            openings=(opening(1, -2.0, -1.0, pose, area=9.0), opening(2, 3.5, 0.2, pose)),
        )
    )
    assert record.action == Goto(viewpoint='f2')
    assert status(record) == {0: 'active'}


def test_exit_is_done_once_a_doorway_is_crossed():
    record = decide(
        context(
            'Leave the bedroom, turn left and stop at the sofa',
            track=((0.0, 0.0, 0.0), (3.0, 0.0, 0.0)),
            objects=(*BEDROOM, EXIT_DOOR),
            openings=(
                opening(1, 3.2, 3.0, (3.0, 0.0, 0.0), seen_from=1),
                opening(2, 3.2, -3.0, (3.0, 0.0, 0.0), seen_from=1),
            ),
        )
    )
    assert status(record)[0] == 'done'
    assert record.action == Goto(viewpoint='f1')  # left of the doorway, looking out


@pytest.mark.parametrize(('word', 'wanted'), [('left', 'f1'), ('right', 'f2')])
def test_turn_words_choose_the_side(word, wanted):
    pose = (0.0, 0.0, 0.0)
    record = decide(
        context(
            f'Turn {word} and stop at the sofa',
            openings=(opening(1, 0.2, 3.0, pose), opening(2, 0.2, -3.0, pose)),
        )
    )
    assert record.action == Goto(viewpoint=wanted)


def test_ordinal_doorway_counts_along_the_way_on_its_side():
    track = ((0.0, 0.0, 0.0),)
    doors = (
        door(1, 1.0, 1.0, 'x'), door(2, 2.2, -1.0, 'x'), door(3, 3.4, 1.0, 'x'),
        door(4, 5.0, -1.0, 'x'),
    )  # fmt: skip
    pose = track[-1]
    openings = tuple(
        opening(k, d.position[0], d.position[1] * 1.6, pose) for k, d in enumerate(doors, 1)
    )
    for text, wanted in (
        ('Enter the second door on the right and stop at the bed', 'f4'),
        ('Enter the second door on the left and stop at the bed', 'f3'),
        ('Enter the first door on your right and stop at the bed', 'f2'),
        ('Go through the last doorway on the left and stop at the bed', 'f3'),
    ):
        record = decide(context(text, objects=doors, openings=openings))
        assert record.action == Goto(viewpoint=wanted), text


def test_visible_goal_is_approached_and_then_stopped_at():
    sofa = thing(5, 'sofa', 4.0, 0.0)
    far = decide(
        context('Go to the sofa', objects=(sofa,), detections=(detection(0, 'sofa', 4.0, 0.0),))
    )
    assert far.action == Go(view=0, target='sofa')
    near = context(
        'Go to the sofa', track=((0.0, 0.0, 0.0), (3.0, 0.0, 0.0)), objects=(sofa,),
        detections=(detection(0, 'sofa', 4.0, 0.0),),
    )  # fmt: skip
    record = decide(near)
    assert record.action == Stop(object_id=5)
    assert check_stop(near, record) == []


def test_refused_go_is_not_repeated():
    sofa = thing(5, 'sofa', 4.0, 0.0)
    seen = (detection(0, 'sofa', 4.0, 0.0),)
    first = context('Go to the sofa', objects=(sofa,), detections=seen)
    tried = []
    refusals = []
    for _ in range(3):
        record = decide(replace(first, refusals=tuple(refusals)))
        assert record.action not in tried
        tried.append(record.action)
        from vln_core.system2.record import describe_action

        refusals.append(f'{describe_action(record.action)}: the corridor is blocked')
    assert isinstance(tried[0], Go) and isinstance(tried[1], MoveTo)


def test_failed_opening_is_not_tried_again_from_here():
    pose = (0.0, 0.0, 0.0)
    openings = (opening(1, 2.0, 0.0, pose, area=9.0), opening(2, -3.0, 0.0, pose, area=3.0))
    fresh = decide(context('Find the sofa', openings=openings))
    assert fresh.action == Goto(viewpoint='f1')
    again = decide(
        context('Find the sofa', openings=openings, history=(note(0, 'goto(f1)', 202),))
    )
    assert again.action == Goto(viewpoint='f2')


def test_goal_in_the_room_one_must_leave_is_not_taken():
    pose = (0.0, 0.0, 0.0)
    chair = thing(5, 'chair', 1.2, 1.0)
    record = decide(
        context(
            'Leave the bedroom and stop at the chair',
            objects=(*BEDROOM, EXIT_DOOR, chair),
            detections=(detection(1, 'chair', 1.2, 1.0),),
            openings=(opening(2, 3.5, 0.2, pose),),
        )
    )
    assert record.action == Goto(viewpoint='f2')


def test_room_goal_chooses_the_instance_in_that_room():
    objects = (
        EXIT_DOOR, *BEDROOM, thing(5, 'chair', 1.0, -1.0),
        thing(6, 'chair', 4.5, 0.2), thing(7, 'stove', 5.0, 0.1),
        thing(8, 'refrigerator', 5.0, 0.3),
    )  # fmt: skip
    record = decide(
        context(
            'Go to the chair in the kitchen',
            objects=objects,
            detections=(detection(0, 'chair', 1.0, -1.0), detection(0, 'chair', 4.5, 0.2)),
        )
    )
    assert 'object' in record.rationale or 'chair 6' in record.rationale


def test_kitchen_things_attract_the_search_for_a_kitchen():
    pose = (0.0, 0.0, 0.0)
    stove = thing(7, 'stove', 5.0, 0.1)
    other_door = door(10, -2.0, 0.0)
    desk = thing(8, 'desk', -5.0, 0.1)
    record = decide(
        context(
            'Enter the kitchen and find the microwave',
            objects=(EXIT_DOOR, other_door, stove, desk),
            openings=(opening(1, 4.0, 0.1, pose), opening(2, -4.0, 0.1, pose, area=9.0)),
        )
    )
    assert record.action == Goto(viewpoint='f1')


@pytest.mark.parametrize(
    ('words', 'choice'),
    [
        ('Do not enter the kitchen and look for the microwave', 'f2'),
        ('Look for the microwave without going into the kitchen', 'f2'),
        ('Look for the microwave', 'f1'),
    ],
)
def test_a_room_that_must_not_be_entered_is_not_searched(words, choice):
    pose = (0.0, 0.0, 0.0)
    doors = (EXIT_DOOR, door(10, -2.0, 0.0))
    record = decide(
        context(
            words,
            objects=(*doors, thing(7, 'stove', 5.0, 0.1), thing(8, 'desk', -5.0, 0.1)),
            openings=(opening(1, 4.0, 0.1, pose), opening(2, -4.0, 0.1, pose)),
        )
    )
    assert record.action == Goto(viewpoint=choice), record.rationale


@pytest.mark.parametrize(
    ('words', 'number'),
    [('Find a chair. Do not enter the kitchen.', 6), ('Find a chair', 5)],
)
def test_a_goal_in_a_room_that_must_not_be_entered_is_none(words, number):
    near, far = thing(5, 'chair', 3.0, 0.3), thing(6, 'chair', -5.0, 0.4)
    kitchen = (thing(7, 'stove', 4.0, 0.1), thing(9, 'refrigerator', 4.0, 1.0))
    record = decide(
        context(
            words,
            objects=(EXIT_DOOR, door(10, -2.0, 0.0), near, far, *kitchen),
            detections=(detection(0, 'chair', 3.0, 0.3), detection(2, 'chair', -5.0, 0.4)),
        )
    )
    assert f'chair {number} ' in record.rationale


def test_unknown_target_gives_up_with_the_reason_when_all_is_explored():
    record = decide(context('Go to the unicorn', objects=BEDROOM))
    assert isinstance(record.action, Stop)
    assert 'unicorn' in record.notes.failure and 'not found' in record.notes.failure


def test_unknown_target_is_searched_first():
    pose = (0.0, 0.0, 0.0)
    record = decide(context('Go to the unicorn', openings=(opening(1, 2.0, 0.0, pose),)))
    assert record.action == Goto(viewpoint='f1')


def test_stop_in_a_room():
    items = with_status('Enter the bedroom and stop', 1)
    record = decide(context('Enter the bedroom and stop', objects=BEDROOM, items=items))
    assert record.action == Stop()


def test_verified_stop_names_each_missing_proof():
    sofa = thing(5, 'sofa', 6.0, 0.0)
    bed = thing(6, 'bed', 1.0, 0.0)
    ctx = context('Leave the bedroom and stop at the sofa', objects=(sofa, bed))
    open_stop = PLANNER.decide(ctx).model_copy(update={'action': Stop(object_id=6)})
    missing = ' '.join(check_stop(ctx, open_stop))
    assert 'progress' in missing and 'semantics' in missing and 'geometry' not in missing
    far = PLANNER.decide(ctx).model_copy(update={'action': Stop()})
    assert 'geometry: the nearest sofa is' in ' '.join(check_stop(ctx, far))


def test_the_thing_of_the_very_name_is_looked_for_before_a_kindred_one():
    wardrobe = thing(5, 'wardrobe', 2.0, 0.5)
    seen = (detection(0, 'wardrobe', 2.0, 0.5),)
    more = (opening(1, 3.0, 0.0, (0.0, 0.0, 0.0)),)
    ctx = context('Find the cabinet', objects=(wardrobe,), detections=seen, openings=more)
    assert decide(ctx).action == Goto(viewpoint='f1')
    # nothing else is left: then it may be what was meant
    left = context('Find the cabinet', objects=(wardrobe,), detections=seen)
    assert decide(left).action == Go(view=0, target='wardrobe')


def test_what_was_named_once_and_is_not_seen_from_near_by_is_doubted():
    false = replace(thing(5, 'sofa', 2.0, 0.0), num_sightings=1)
    more = (opening(1, 0.0, 3.0, (0.5, 0.0, 0.0), seen_from=1),)
    track = ((0.0, 0.0, 0.0), (0.5, 0.0, 0.0))
    ctx = context('Find the sofa', track=track, objects=(false,), openings=more)
    ctx = replace(ctx, panorama=replace(ctx.panorama, views=looking_along_x(5.0)))
    assert decide(ctx).action == Goto(viewpoint='f1')
    twice = replace(false, num_sightings=2)
    ctx = replace(ctx, graph=replace(ctx.graph, objects=(twice,)))
    assert decide(ctx).action != Goto(viewpoint='f1')


def test_a_thing_that_cannot_be_reached_is_tried_from_its_sides():
    sofa = thing(5, 'sofa', 4.0, 0.0)
    seen = (detection(0, 'sofa', 4.0, 0.0),)
    track = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    fresh = decide(context('Go to the sofa', track=track, objects=(sofa,), detections=seen))
    assert fresh.action == Go(view=0, target='sofa')
    # a turn here, of four tries, was in vain
    again = decide(
        context(
            'Go to the sofa',
            track=track,
            objects=(sofa,),
            detections=seen,
            history=(note(0, 'move_to(view 0, 0.3, 0.8)', 105),),
        )  # fmt: skip
    )
    assert isinstance(again.action, MoveTo)
    assert again.action.u > 20.0 / 32.0  # right of its box


def test_arrived_is_who_comes_no_nearer():
    sofa = thing(5, 'sofa', 1.6, 0.0)
    seen = (detection(0, 'sofa', 1.6, 0.0),)
    track = ((0.0, 0.0, 0.0), (0.1, 0.0, 0.0))
    pursued = replace(
        note(0, 'go(view 0, "sofa")', 0), rationale='the goal sofa 5 is 1.3 m away; as said'
    )
    ctx = context(
        'Go to the sofa', track=track, objects=(sofa,), detections=seen, history=(pursued,)
    )
    assert decide(ctx).action == Stop(object_id=5)
    assert isinstance(decide(replace(ctx, history=())).action, Go)


def test_what_cannot_be_driven_at_in_three_turns_is_sought_another_way():
    stove, beyond = thing(5, 'stove', 4.0, 0.0), opening(1, 0.0, 3.0, (0.0, 1.0, 0.0))
    track = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, -0.5, 0.0), (0.0, 1.0, 0.0))
    failed = tuple(note(step, f'go(view {step}, "stove")', 205) for step in range(3))
    ctx = context(
        'Go to the stove', track=track, objects=(stove,), openings=(beyond,), history=failed,
        detections=(detection(0, 'stove', 4.0, 0.0),),
    )  # fmt: skip
    assert decide(ctx).action == Goto(viewpoint='f1')
    assert isinstance(decide(replace(ctx, history=failed[:2])).action, Go | MoveTo)
    nearer = context(
        'Go to the stove', track=(*track[:3], (1.0, 0.0, 0.0)), objects=(stove,), history=failed,
        openings=(beyond,), detections=(detection(0, 'stove', 4.0, 0.0),),
    )  # fmt: skip
    assert isinstance(decide(nearer).action, Go | MoveTo)


def test_one_looks_again_in_the_room_the_route_led_into():
    # the way led through the door into a bathroom, where a detector missed the sink
    objects = (EXIT_DOOR, thing(3, 'toilet', 4.6, 0.1), *BEDROOM)
    track = ((0.0, 0.0, 0.0), (3.0, 0.0, 0.0))
    items = with_status('Enter the first door and stop at the sink', 1, waypoint=1)
    ctx = context(
        'Enter the first door and stop at the sink', track=track, objects=objects, items=items,
        detections=(detection(0, 'toilet', 4.6, 0.1),),
        openings=(opening(1, -2.0, -1.0, track[-1], area=9.0),),
    )  # fmt: skip
    record = decide(ctx)
    assert record.action == Go(view=0, target='toilet')
    assert 'looks again' in record.rationale


def test_the_door_ahead_is_none_beside_the_way():
    pose = (0.0, 0.0, 0.0)
    doors = (door(1, 1.0, 2.0, 'x'), door(2, 4.0, 0.3, 'y'))
    openings = (opening(1, 1.0, 3.0, pose), opening(2, 5.2, 0.3, pose))
    text = 'Go straight through the doorway ahead and stop at the bed'
    record = decide(context(text, objects=doors, openings=openings))
    assert record.action == Goto(viewpoint='f2')


def looking_along_x(depth):
    """Views of which the first looks along x at a camera height of 1 m and sees ``depth``."""
    odom_tform_camera = np.array([[0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 1], [0, 0, 0, 1]], float)
    first, *others = views()
    seen = np.full(first.depth.shape, depth, np.float32)
    return (replace(first, depth=seen, odom_tform_camera=odom_tform_camera), *others)


@pytest.mark.parametrize(
    ('depth', 'is_near'), [(0.8, False), (2.0, True), (np.inf, True), (np.nan, False)]
)
def test_a_stop_behind_a_wall_is_not_near(depth, is_near):
    sofa = thing(5, 'sofa', 1.5, 0.0)
    # the waypoint that saw the sofa is four metres of way off
    ctx = context('Go to the sofa', track=((1.5, 4.0, 0.0), (0.0, 0.0, 0.0)), objects=(sofa,))
    ctx = replace(ctx, panorama=replace(ctx.panorama, views=looking_along_x(depth)))
    assert is_in_sight(ctx, sofa) == is_near
    assert walking_distance(ctx, sofa) == pytest.approx(1.2 if is_near else 4.27 + 3.7, abs=0.01)
    record = PLANNER.decide(ctx).model_copy(update={'action': Stop(object_id=5)})
    missing = check_stop(replace(ctx, progress=ProgressRecord(ctx.progress.items[-1:])), record)
    assert bool(missing) != is_near
    if missing:
        assert 'on foot' in missing[0]


def test_a_thing_to_which_no_way_is_known_is_infinitely_far():
    sofa = thing(5, 'sofa', 1.0, 0.0, seen_from=7)
    assert walking_distance(context('Go to the sofa', objects=(sofa,)), sofa) == np.inf


def test_surface_distance_counts_from_the_box():
    table = thing(1, 'table', 3.0, 0.0, size=(2.0, 1.0))
    assert surface_distance(np.array([0.0, 0.0]), table) == pytest.approx(2.0)
    assert surface_distance(np.array([3.2, 0.1]), table) == 0.0


def test_brains_are_made_by_mode():
    assert isinstance(make_brain('rules'), RulesPlanner)
    with pytest.raises(ConfigError, match='choose one of'):
        make_brain('magic')
    with pytest.raises(ConfigError, match='model client'):
        make_brain('ham')
    with pytest.raises(ConfigError):
        RulesConfig(arrive=float('nan'))
