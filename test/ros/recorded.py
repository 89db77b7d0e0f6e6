# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Judges what `recording` has kept: every trajectory that a process under test published."""

from dataclasses import replace
import json
import os
from pathlib import Path
from types import SimpleNamespace

from motion_checker import begins_on, Bounds, bounds_of, faults, path_of, state_at, states_at
import numpy as np
import yaml

ARM = Path(__file__).parents[2] / 'urdf/six_axis_arm.urdf'
CLOCK_ROOM = 0.2  # s; on a busy machine so much lies between planning, sending and the start
BEGIN_ROOM = 0.02  # s, of a busy machine, from sending to the start
JOINS = 1.5e-4   # s after time 0 is the first point of a motion that is joined by its stamp
NOISE_SPEED = 0.08  # rad/s, of an arm at rest: four standard deviations of the noisiest test
EARLIER = 4      # motions before the last, on which the arm still is if that came too late
CLOCK_SET = 1.0  # s; by so much the clock of the stamps was set, and says nothing
SAME_PLACE = 5e-3  # rad or m, between a measured arm at rest and its last command
ON_IT = 1e-6, 1e-4, 1e-2  # q, qd, qdd: so near to the motion before, it goes on from there


def record_in(folder: Path) -> None:
    """Have all processes that are started from now on write into a folder."""
    os.environ['IK_NODE_TEST_RECORD'] = str(folder)


class Recorded:
    """What was published since the last look, per process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[Path, tuple[int, int, dict[tuple, SimpleNamespace]]] = {}
        self.count = 0

    def faults(self) -> list[str]:
        """Return what is wrong with what is new; an empty list if nothing is."""
        found = []
        for file in sorted(self._folder.glob('*.jsonl')):
            # Bytes, trajectories, and the last one for each group of joints.
            read, number, before = self._seen.get(file, (0, 0, {}))
            with file.open('rb') as lines:
                lines.seek(read)
                for line in lines:
                    if not line.endswith(b'\n'):
                        break  # it is being written
                    read, number, message = read + len(line), number + 1, _read(json.loads(line))
                    joints = (*sorted(message.joint_names),)
                    if _same(message, before.get(joints)):
                        continue  # sent again, in case it was lost
                    found += [f'trajectory {number} of {file.stem}: {fault}'
                              for fault in judge(message, before.get(joints))]
                    self.count += 1
                    before[joints] = message
            self._seen[file] = read, number, before
        return found


def judge(message, before) -> list[str]:
    """
    Return the faults of a trajectory, its way from the start to the first point included.

    It begins where the joints are measured, or on the trajectory before it, which was
    judged before; which of them is kept as its ``start``.

    Between the start and the first point one quintic bridges switches of the jerk.  A
    trajectory that takes the place of another goes on with points of that quintic; until
    when there may be some is kept as ``bridged`` (s, on the clock of ``time``).
    """
    bounds = _bounds(message)
    message.start = None
    message.earlier = [] if before is None else [before, *before.earlier[:EARLIER - 1]]
    if before is not None:
        before.earlier = []  # or each would keep all before it
    bridged = -np.inf if before is None else before.bridged
    message.bridged = max(bridged, message.time + _time(message.points[0]) + BEGIN_ROOM)
    if message.streamed:
        # From its first point on: a hundredth of a second later the next takes its place, and
        # how the commanded states follow one another is for test_follower to see.
        first, *others = message.points
        later = SimpleNamespace(
            joint_names=message.joint_names,
            times=[_time(point) - _time(first) for point in others],
            **{name: np.array([getattr(p, field) for p in others]) for name, field in (
                ('q', 'positions'), ('qd', 'velocities'), ('qdd', 'accelerations'))})
        return faults(later, bounds, (first.positions, first.velocities, first.accelerations))
    smooth = bounds
    bounds = replace(bounds, jerk=None)
    found = faults(message, bounds)
    elapsed = 0.0 if before is None else 1e-9 * (message.stamp - before.stamp)
    joined = message.stamp and before is not None and before.stamp and not before.streamed \
        and _time(message.points[0]) < JOINS \
        and abs(elapsed - (message.time - before.time)) < CLOCK_SET
    # It is joined by its stamp: its first point is on the motion before at that very time,
    # or on an earlier one, if the last was seen to come too late.
    old = joined and next((other for other in message.earlier if _shared(message, other)), None)
    # What it shares with the motion before was judged there, as pieces of longer quintics.
    own = message.points[_shared(message, old) - 1 if old else 0:]
    points = [p for p in own if message.time + _time(p) >= bridged]
    if points and not found:
        found = faults(SimpleNamespace(joint_names=message.joint_names, points=points), smooth)
    if before is not None and before.streamed:
        return found
    if joined:
        old = old or before
        message.start = tuple(state_at(path_of(old, old.start),
                                       1e-9 * (message.stamp - old.stamp)))
        if not _shared(message, old):
            found.append(f'from no start to the first point: by {_gaps(message, old)[0]} beside '
                         'the motion before')
        return found
    starts = []
    if before is not None and before.start is not None:
        start, gaps = begins_on(message, before, message.time - before.time, CLOCK_ROOM,
                                before.start)
        if (gaps <= ON_IT).all():
            starts.append(tuple(start))
    if set(message.joint_names) <= message.measured.keys():
        q, qd = np.array([message.measured[name] for name in message.joint_names]).T
        starts.append((q, np.nan_to_num(qd), np.zeros(len(q))))
        if not any(message.points[0].velocities) and np.abs(starts[-1][1]).max() < NOISE_SPEED:
            starts.append((q, np.zeros(len(q)), np.zeros(len(q))))  # it rests
        told = np.array(message.commanded)
        if told.shape == q.shape and np.abs(told - q).max() < SAME_PLACE:
            # At its last command, which the joint states have not shown yet.
            starts.append((told, np.zeros(len(q)), np.zeros(len(q))))
    first = SimpleNamespace(**{**vars(message), 'points': message.points[:1]})
    ways = [[fault for fault in faults(first, bounds, start) if 'end at rest' not in fault]
            for start in starts]
    message.start = next((start for start, way in zip(starts, ways) if not way), None)
    if message.start is None:
        found += [f'from no start to the first point: {ways}']
    return found


def _same(message, other) -> bool:
    """Return whether two messages are copies, to be joined by their stamp at the same time."""
    return other is not None and bool(message.stamp) and message.stamp == other.stamp \
        and message.points == other.points


def _gaps(message, other) -> np.ndarray:
    """Return by how much q, qd and qdd of the points, (k, 3), differ from an earlier motion."""
    new, elapsed = path_of(message), 1e-9 * (message.stamp - other.stamp)
    return np.abs(states_at(path_of(other, other.start), elapsed + new.times)
                  - new.states).max(axis=2)


def _shared(message, other) -> int:
    """
    Return how many of the first points are on an earlier motion, which has a stamp, too.

    That may be the last of a stream, if the motion that took it over came too late.
    """
    if not other.stamp:
        return 0
    on_it = (_gaps(message, other) <= ON_IT).all(axis=1)
    return int(np.argmin(on_it)) if not on_it.all() else len(on_it)


def _time(point) -> float:
    return point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec


def _bounds(message) -> Bounds:
    """Return the hard limits of the process that sent it, by its command line."""
    given = dict(argument.split(':=', 1) for argument in message.arguments if ':=' in argument)
    if '--params-file' in message.arguments:
        file = message.arguments[message.arguments.index('--params-file') + 1]
        given = {**_parameters(Path(file)), **given}

    def numbers(name, default):
        return yaml.safe_load(str(given[name])) if name in given else default

    bounds = bounds_of(
        Path(given.get('urdf_file', ARM)), message.joint_names,
        numbers('motion.velocity_limits', ()), numbers('motion.acceleration_limits', ()),
        numbers('motion.jerk_limits', ()))
    return replace(bounds, lower=np.maximum(bounds.lower, numbers('motion.lower_limits', -np.inf)),
                   upper=np.minimum(bounds.upper, numbers('motion.upper_limits', np.inf)))


def _parameters(file) -> dict[str, object]:
    """Return the parameters that a file has for a node in whatever namespace."""
    nodes = yaml.safe_load(file.read_text()) or {}
    node = nodes.get('/**/ik_node') or nodes.get('/**/ik_arms') or {}
    return node.get('ros__parameters', {})


def _read(line):
    points = [SimpleNamespace(time_from_start=SimpleNamespace(sec=sec, nanosec=nanosec),
                              positions=q, velocities=qd, accelerations=qdd)
              for sec, nanosec, q, qd, qdd in line.pop('points')]
    return SimpleNamespace(points=points, **line)
