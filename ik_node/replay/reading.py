# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Chain, collision model, solvers and requests from the values of a recording, with checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from math import inf
from typing import Any, get_args

import numpy as np

from ik_node.base.errors import ParameterError, Reason
from ik_node.base.text import quote
from ik_node.collision.bodies.part_checks import checked_padding, checked_part, NO_VERTICES
from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.other_joints import OtherJoint
from ik_node.collision.scene.scene import MAX_SCENE_PARTS
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import parse_urdf, Tree
from ik_node.motion.chunk import TimedPoses
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.following.options import FollowOptions
from ik_node.motion.joint_path.motion_sequence import SequencedMotion
from ik_node.motion.requests import (
    ArcPoses,
    ConstrainableRequest,
    PathRequest,
    Request,
    Rounds,
    SequenceRequest,
)
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.trajectory.limits import MotionLimits, TipLimits
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.replay.json_values import Entry
from ik_node.solver.goal import Goal
from ik_node.solver.options import SolverOptions
from ik_node.solver.remedies.remedy_search import REMEDIED_REASONS
from ik_node.solver.solver import Solver

REPLAY_DEADLINE_S = 60.0  # of a solve; what the node found, is found in any case
MIN_PERIOD_S, MAX_PERIOD_S = 1e-3, 10.0  # between points
MIN_RATE = 1e-6  # of a limit per s, s^2 or s^3

REQUESTS: Mapping[str, type] = {kind.name: kind for kind in get_args(Request)}
CONSTRAINED_REQUESTS = {kind.name: kind for kind in get_args(ConstrainableRequest)}
REMEDIED_REQUESTS = {kind.name: kind for kind in (PathRequest, SequenceRequest)}


def read_robot(entry: Entry) -> tuple[Tree, Chain]:
    """Return the tree and the chain without a tool, with the position limits that the node had."""
    tree = parse_urdf(entry['urdf'].text().encode('utf-8', 'surrogateescape'))
    chain = make_chain(tree, entry['base_link'].text(), entry['tip_link'].text())
    return tree, chain.with_limits(*(entry[name].array(chain.n, infinite=True)
                                     for name in ('lower', 'upper')))


def read_collisions(entry: Entry, arm: CollisionModel) -> CollisionModel:
    """Return the model of an arm among recorded objects; raise ParameterError if it is none."""
    pairs = [tuple(name.text() for name in pair.items())
             for pair in entry['disabled_pairs'].items()]
    touch_links = {name: frozenset(link.text() for link in entry['touch_links'][name].items())
                   for name in entry['touch_links'].keys()}
    others = {} if 'others' not in entry.keys() else {
        name: OtherJoint(*(value.number() for value in entry['others'][name].items()))
        for name in entry['others'].keys()}
    return arm.with_disabled_pairs(pairs).with_others(others).with_objects(
        read_bodies(entry['objects']), entry['margin'].number(), touch_links)


def read_bodies(entry: Entry, links: Collection[str] | None = None) -> tuple[Body, ...]:
    """Return bodies of objects, or of some links."""
    bodies = tuple(Body(each['name'].text(), each['frame'].text(),
                        tuple(map(_part, each['parts'].items())),
                        checked_padding(each['padding'].number(), each.where))
                   for each in entry.items())
    if len({body.name for body in bodies}) < len(bodies):
        raise ParameterError(f'{entry.where} has two bodies of the same name')
    if sum(len(body.parts) for body in bodies) > MAX_SCENE_PARTS:
        raise ParameterError(f'{entry.where} has more than {MAX_SCENE_PARTS} parts')
    for body in () if links is None else bodies:
        if body.name != body.frame or body.name not in links:
            raise ParameterError(f'{entry.where} has {quote(body.name)} in the frame '
                                 f'{quote(body.frame)}; a body has the name and the frame of a '
                                 'link of the URDF')
    return bodies


def _part(entry: Entry) -> ConvexPart:
    kind = entry['kind'].text()
    return checked_part(ConvexPart(
        kind, tuple(entry['size'].array(None).tolist()), entry['T'].array(4, 4),
        entry['vertices'].array(None, 3) if kind == 'hull' else NO_VERTICES), entry.where)


def read_solver(entry: Entry, chain: Chain, collisions: CollisionModel | None) -> Solver:
    """
    Return the solver of a chain with a tool.

    It has more time than in the node, so that a slower machine finds the same.
    """
    chain = chain.with_tool(entry['tool'].array(4, 4))
    if collisions is not None:
        collisions = collisions.with_tool(chain.T_link_tool)
    given, known = entry['options'], vars(SolverOptions())
    for name in given.keys():
        if name not in known:
            raise ParameterError(f'{given.where} has {quote(name)}, which this version does not '
                                 'know')
    options = {name: _option(given[name], known[name], name) for name in given.keys()}
    return Solver(chain, collisions, **{**options, 'deadline': REPLAY_DEADLINE_S})


def _option(entry: Entry, default: Any, name: str) -> Any:
    if isinstance(default, bool):
        return entry.truth()
    if isinstance(default, int):
        return entry.whole()
    if isinstance(default, float):
        return entry.number(high=inf)
    if isinstance(default, str):
        return entry.text()
    return tuple(each.text() if name in ('free', 'locked') else each.number()
                 for each in entry.items())


# ---- requests ---------------------------------------------------------------

def read_request(entry: Entry, chain: Chain, kinds: Mapping[str, type] = REQUESTS) -> Any:
    """Return a request for a chain, which is one of these kinds."""
    name = entry['call'].text()
    if name not in kinds:
        raise ParameterError(f'{entry.where}.call is {quote(name)}; this version knows '
                             + ', '.join(kinds))
    return kinds[name](**{
        field.name: None if field.type.endswith('| None') and entry[field.name].missing
        else FIELD_READERS[field.name](entry, chain) for field in fields(kinds[name])})


def _status(entry: Entry, _chain: Chain) -> Reason:
    status, known = entry['status'].text(), {reason.value: reason for reason in REMEDIED_REASONS}
    if status not in known:
        raise ParameterError(f'{entry.where}.status is {quote(status)}; it must be one of '
                             + ', '.join(known))
    return known[status]


def _rounds(entry: Entry, _chain: Chain) -> Rounds:
    return Rounds.at_most(inf if entry['rounds'].missing else entry['rounds'].whole())


def _seeds(entry: Entry, chain: Chain) -> np.ndarray:
    seeds = entry['seeds']
    several = isinstance(seeds.value, list) and seeds.value and isinstance(seeds.value[0], list)
    return seeds.array(None, chain.n) if several else seeds.array(chain.n)


def _path(entry: Entry, _chain: Chain) -> tuple[np.ndarray, ...]:
    poses = tuple(entry['poses'].array(None, 4, 4, unchecked=True))
    if not entry['arc'].truth():
        return poses
    if len(poses) != len(ArcPoses._fields):
        raise ParameterError(f'{entry.where}.poses must be three poses, of an arc, got '
                             f'{len(poses)}')
    return ArcPoses(*poses)


def _motions(entry: Entry, chain: Chain) -> tuple[SequencedMotion, ...]:
    motions = tuple(_motion(each, chain) for each in entry['motions'].items())
    if not motions:
        raise ParameterError(f'{entry.where}.motions must not be empty')
    return motions


def _motion(entry: Entry, chain: Chain) -> SequencedMotion:
    goal, between, straight = entry['goal'], entry['T_between'], entry['straight'].truth()
    posed = isinstance(goal.value, dict)
    if straight and not posed:
        raise ParameterError(f'{entry.where} is straight; its goal must be a pose')
    return SequencedMotion(
        _goal(goal) if posed else goal.array(chain.n, unchecked=True),
        _limits(entry['limits'], chain), straight,
        None if between.missing else between.array(4, 4, unchecked=True),
        entry['blend_radius'].number(low=0.0))


# By the names of the fields of requests, each from the entry of its request.
FIELD_READERS: Mapping[str, Callable[[Entry, Chain], Any]] = {
    'active': lambda entry, chain: _trajectory(entry['active'], chain),
    'advice': lambda entry, _: entry['advice'].text(),
    'chunk': lambda entry, _: _timed_poses(entry['chunk']),
    'constraints': lambda entry, _: tuple(map(_constraint, entry['constraints'].items()))
    if 'constraints' in entry.keys() else (),  # older files have none
    'first': lambda entry, _: entry['first'].whole(),
    'following': lambda entry, _: _follow_options(entry['following']),
    'goal': lambda entry, _: _goal(entry['goal']),
    'limits': lambda entry, chain: _limits(entry['limits'], chain),
    'motion': lambda entry, chain: read_request(entry['motion'], chain, REMEDIED_REQUESTS),
    'motions': _motions,
    'nearest': lambda entry, chain: entry['nearest'].array(chain.n),
    'options': lambda entry, _: _path_options(entry['options']),
    'path': _path,
    'period': lambda entry, _: entry['period'].number(MIN_PERIOD_S, MAX_PERIOD_S),
    'place': lambda entry, _: entry['place'].number(),
    'q': lambda entry, chain: entry['q'].array(None, chain.n, unchecked=True),
    'q_goal': lambda entry, chain: entry['q_goal'].array(chain.n, unchecked=True),
    'ratio': lambda entry, _: entry['ratio'].number(),
    'request': lambda entry, chain: read_request(entry['request'], chain, CONSTRAINED_REQUESTS),
    'rounds': _rounds,
    'seeds': _seeds,
    'start': lambda entry, chain: _start(entry['start'], chain),
    'start_tolerance': lambda entry, _: entry['start_tolerance'].number(low=0.0),
    'status': _status,
    'times': lambda entry, _: entry['times'].array(len(entry['q'].items()), unchecked=True),
    'tolerance': lambda entry, _: entry['tolerance'].number(),
    'trajectory': lambda entry, chain: _trajectory(entry['trajectory'], chain, unchecked=True),
}


# ---- what they take ---------------------------------------------------------

def _goal(entry: Entry) -> Goal:
    """Return a goal; one that is exact has no tolerance, from which the solver knows it."""
    tolerance, T = entry['tolerance'], entry['T_base_tip'].array(4, 4)
    return Goal(T, frame=entry['frame'].text()) if tolerance.missing else Goal(
        T, tuple(tolerance.array(6, infinite=True).tolist()), entry['frame'].text())


def _constraint(entry: Entry) -> PathConstraint:
    wide = {name: entry[name].number(high=inf) for name in ('tilt', 'distance', 'axis_distance')}
    return PathConstraint(
        entry['T_base_frame'].array(4, 4),
        *(tuple(entry[name].array(3, infinite=True).tolist())
          for name in ('position', 'rotation')),
        entry['angles'].text(), **wide, T_tip_point=entry['T_tip_point'].array(4, 4))


def _state(entry: Entry, chain: Chain, unchecked: bool = False) -> MotionState:
    return MotionState(*(entry[name].array(chain.n, unchecked=unchecked)
                         for name in ('q', 'qd', 'qdd')))


def _start(entry: Entry, chain: Chain) -> StartState:
    states = tuple(_state(each, chain) for each in entry['states'].items())
    elapsed = entry['elapsed']
    return StartState(_state(entry['initial'], chain), _times(entry['times'], len(states)),
                      states, entry['backdating'].number(),
                      None if elapsed.missing else elapsed.number())


def _trajectory(entry: Entry, chain: Chain, unchecked: bool = False) -> Trajectory:
    q, qd, qdd = (entry[name].array(None, chain.n, unchecked=unchecked)
                  for name in ('q', 'qd', 'qdd'))
    if not len(q) or not q.shape == qd.shape == qdd.shape:
        raise ParameterError(f'{entry.where} must have as many points of q as of qd and qdd, one '
                             f'at least; it has {len(q)}, {len(qd)} and {len(qdd)}')
    return Trajectory(chain.joint_names, _state(entry['start'], chain, unchecked),
                      _times(entry['times'], len(q)), q, qd, qdd, entry['lead_points'].whole())


def _times(entry: Entry, count: int) -> np.ndarray:
    times = entry.array(count)
    if (np.diff(times, prepend=0.0) <= 0.0).any():
        raise ParameterError(f'{entry.where} must increase from above 0')
    return times


def _timed_poses(entry: Entry) -> TimedPoses:
    times = entry['times'].array(None)
    if not len(times) or (np.diff(times) <= 0.0).any():
        raise ParameterError(f'{entry.where}.times must increase')
    return TimedPoses(times, entry['poses'].array(len(times), 4, 4))


def _follow_options(entry: Entry) -> FollowOptions:
    return FollowOptions(**{name: _option(entry[name], default, name)
                            for name, default in vars(FollowOptions()).items()})


def _path_options(entry: Entry) -> PathOptions:
    period = entry['period'].number(MIN_PERIOD_S, MAX_PERIOD_S)
    options = {field.name: entry[field.name].truth() if field.name == 'partial'
               else entry[field.name].number() for field in fields(PathOptions)
               if field.name != 'free_axes'}
    if 'free_axes' in entry.keys():  # older files have none
        options['free_axes'] = tuple(axis.text() for axis in entry['free_axes'].items())
    return PathOptions(**{**options, 'period': period})


def _limits(entry: Entry, chain: Chain) -> MotionLimits:
    tip = entry['tip']
    positions = {name: entry[name].array(chain.n, infinite=True) for name in ('lower', 'upper')}
    rates = {field.name: entry[field.name].array(chain.n) for field in fields(MotionLimits)
             if field.name not in (*positions, 'tip')}
    if min(rate.min() for rate in rates.values()) < MIN_RATE:
        raise ParameterError(f'{entry.where} must have rates of at least {MIN_RATE:g}')
    return MotionLimits(**positions, **rates, tip=TipLimits(**{
        field.name: tip[field.name].number(high=inf) for field in fields(TipLimits)}))
