# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A node behind links that are late, and what its controller commands.

The rig of rig.py stands between node and controller.  IK_NODE_TEST_TAKEOVERS=20 makes 20 takeovers
of each kind and tries every kind of controller and link; the default is a selection.  It takes
hours, and needs the machine: with more than ``-n 2`` on two cores the rig itself is late.
"""

from dataclasses import asdict, replace
import importlib.util
from itertools import count, product
import json
import os
import subprocess
import sys
from time import monotonic
from typing import NamedTuple

from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped
from harness import ARM, NAMES, NOT_BUILT, path_of, pose, Probe, Process, READY, ROOT, stamped, tip
from nav_msgs.msg import Path
import numpy as np
import pytest
from rig import judged, Setting
from std_msgs.msg import String

ACCELERATION = 2.0  # rad/s^2, as config/ik_node.yaml has it
AWAY = np.array([1.2, 0.1, -0.6, 0.3, 1.2, 0.5])
HERE = tip(READY)
EACH = int(os.environ.get('IK_NODE_TEST_TAKEOVERS', 1))
JERK = 20.0         # rad/s^3
LINKS = [((0.0,), 0.0), ((0.02,), 0.02), ((0.05,), 0.05), ((0.0, 0.03), 0.015)]
ALL = [Setting(rate, from_desired, lag, late, states_late)
       for rate, from_desired, lag, (late, states_late) in product(
           (50.0, 100.0, 250.0, 500.0, 1000.0), (False, True), (0.0, 0.05), LINKS)]
SELECTED = [
    Setting(50.0, False, 0.05, *LINKS[1]), Setting(100.0, True, 0.0, *LINKS[2]),
    Setting(250.0, False, 0.0, *LINKS[3]), Setting(500.0, True, 0.05, *LINKS[0]),
    Setting(1000.0, False, 0.05, *LINKS[2])]
TRIED = ALL if EACH > 1 else SELECTED
MAX_OVERDUE_S = 0.1  # of rig or node, for want of the processor: then it is another link
MAX_UNSEEN_S = 0.1  # by which a trajectory is late when that is seen
RIG_START_S = 15.0
MEASUREMENTS = 5  # at most, until both had the processor in time
files = count()


class Commanded(NamedTuple):
    """
    What was commanded in a setting.

    Attributes
    ----------
    cycles : (N, 3, n) array
        q, qd, qdd in each cycle.
    overdue : float
        How late (s) the rig itself was at most.
    behind : float
        How long (s) after its start a trajectory arrived at most.
    stalled : float
        How long (s) the rig was without the processor at most, as the node may have been.

    """

    cycles: np.ndarray
    overdue: float
    behind: float
    stalled: float

    def judged(self, setting):
        """Return the Findings; what came later than the link made it may be joined later."""
        found = judged(self.cycles, setting.rate, ACCELERATION)
        late = max(self.overdue, self.stalled)
        print(f'\n{found}, the rig was late by {1e3 * late:.1f} ms')
        # Both motions may have the jerk limit, against each other.
        return replace(found, allowed=found.allowed + JERK * late**3 / 3.0)


class Arm:
    """A node and the rig; every kind of goal, and what the controller made of them."""

    def __init__(self, probe, folder, output):
        self.probe, self._folder, self._output, self._told = probe, folder, output, {}
        self._start_process()

    def begin(self):
        """Wait for the node and the rig."""
        probe = self.probe
        self._wait_for_node()
        self._poses = probe.publisher(PoseStamped, 'goal_pose')
        self._pointing = probe.publisher(PoseStamped, 'goal_pointing')
        self._positions = probe.publisher(PointStamped, 'goal_position')
        self._paths = probe.publisher(Path, 'goal_path')
        self._arcs = probe.publisher(PoseArray, 'goal_arc')
        self._streams = probe.publisher(PoseStamped, 'goal_stream')
        self._settings = probe.create_publisher(String, 'rig/setting', 10)
        probe.create_subscription(String, 'rig/dumped', self._on_dumped, 10)
        end = monotonic() + RIG_START_S
        while not self._told:  # what is sent before both know each other is lost
            assert monotonic() < end, 'the rig does not answer'
            self._ask(Setting())
            probe.spin_for(0.3)

    def start(self):
        """Start a node."""
        self._start_process()
        self._wait_for_node()

    def _start_process(self):
        self.probe.health.clear()
        self.node = Process('ik_node', self._folder / f'ik_node_{next(files)}.log', {
            'urdf_file': ARM, 'path.partial': True, 'output': self._output})

    def _wait_for_node(self):
        self.probe.wait_for_node()
        self.probe.wait_until_ready()

    def end(self):
        """End the node by a signal, as Ctrl-C does."""
        assert self.node.stop() == 0, self.node.output
        assert 'Traceback' not in self.node.output

    def set(self, setting):
        """Give the rig another setting; return what was commanded with the one before."""
        file = self._ask(setting)
        self.probe.wait(lambda: file in self._told, what='the rig')
        self.probe.spin_for(0.6)  # the node forgets what it knew of the one before
        return Commanded(np.load(file) if os.path.exists(file) else None, **self._told[file])

    def _ask(self, setting):
        file = str(self._folder / f'{next(files)}.npy')
        self._settings.publish(String(data=json.dumps({'file': file, **asdict(setting)})))
        return file

    def _on_dumped(self, message):
        told = json.loads(message.data)
        self._told[told.pop('file')] = told

    # ---- the kinds of takeovers ---------------------------------------------

    def pose(self, rng):
        """Go to a pose."""
        self._send(self._poses, PoseStamped(pose=pose(_near(rng))))

    def pointing(self, rng):
        """Point there."""
        self._send(self._pointing, PoseStamped(pose=pose(_near(rng))))

    def position(self, rng):
        """Go to a position."""
        message = PointStamped()
        message.point.x, message.point.y, message.point.z = map(float, _near(rng))
        self._send(self._positions, message)

    def joints(self, rng):
        """Go to joint positions."""
        self.probe.send_joints(AWAY + rng.uniform(-0.3, 0.3, 6))

    def line(self, rng):
        """Go in a line."""
        self._send(self._paths, path_of(pose(_near(rng))))

    def path(self, rng):
        """Go through three poses."""
        self._send(self._paths, path_of(*(pose(_near(rng)) for _ in range(3))))

    def arc(self, rng):
        """Go along an arc, from a pose that is given, because the arm moves."""
        self._send(self._arcs, PoseArray(poses=[pose(_near(rng)) for _ in range(3)]))

    def stream(self, rng):
        """Follow a target for a moment."""
        target, end = _near(rng), monotonic() + 0.3
        while monotonic() < end:
            target[1] += 0.001
            self._send(self._streams, PoseStamped(pose=pose(target)))
            self.probe.spin_for(0.01)

    def home(self, _rng):
        """Go home."""
        assert self.probe.call(self.probe.home).message

    def stop(self, _rng):
        """Stop."""
        assert self.probe.call(self.probe.stop).success

    def deactivate(self, _rng):
        """Deactivate the node, and activate it again."""
        assert self.probe.change_state('deactivate') and self.probe.change_state('activate')

    def _send(self, publisher, message):
        stamped(self.probe, message)
        publisher.publish(message)

    def away(self, rng):
        """Bring the arm into fast motion; return the stamp of the goal."""
        q = np.array(READY) + rng.choice((-1.0, 1.0), 6) * (1.2, 0.25, 0.25, 0.8, 0.5, 0.8)
        return self.probe.send_joints(q)


KINDS = ('pose', 'pointing', 'position', 'joints', 'line', 'path', 'arc', 'stream', 'home', 'stop',
         'deactivate')


def _near(rng):
    return HERE.translation + rng.uniform(-0.12, 0.12, 3)


BY_ACTION = pytest.param('action', marks=pytest.mark.skipif(
    importlib.util.find_spec('control_msgs') is None, reason=NOT_BUILT))


def running(request, tmp_path_factory):
    """Run the node with the rig; for a fixture whose parameter is the output of the node."""
    folder, probe = tmp_path_factory.mktemp('rig'), Probe()
    with (folder / 'rig.log').open('w') as log:
        rig = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(__file__), 'rig.py'),
                                json.dumps({'joints': NAMES, 'q': READY,
                                            'parent': os.getpid()})],
                               stdout=log, stderr=subprocess.STDOUT, env={
                                   **os.environ, 'PYTHONPATH': os.pathsep.join(
                                       [str(ROOT), os.environ.get('PYTHONPATH', '')])})
    arm = Arm(probe, folder, request.param)
    try:
        arm.begin()
        yield arm
        arm.end()
    finally:
        arm.node.kill()
        rig.terminate()
        rig.wait(10)
    probe.destroy_node()


@pytest.fixture(scope='module', params=['topic'])
def arm_by_topic(request, tmp_path_factory, recorded):
    """Run the node, which publishes trajectories."""
    yield from running(request, tmp_path_factory)


@pytest.fixture(scope='module', params=[BY_ACTION])
def arm_by_action(request, tmp_path_factory, recorded):
    """Run the node, which sends trajectories by the action."""
    yield from running(request, tmp_path_factory)


@pytest.fixture(scope='module', params=['topic', BY_ACTION])
def arm(request, tmp_path_factory, recorded):
    """Run the node, one after the other."""
    yield from running(request, tmp_path_factory)


def measured_in_time(measure):
    """
    Measure until node and rig had the processor in time; return what was commanded.

    What a machine does that has no time for them says nothing of the node.
    """
    for _ in range(MEASUREMENTS):
        commanded = measure()
        if max(commanded.overdue, commanded.stalled) < MAX_OVERDUE_S:
            return commanded
    pytest.skip('the machine is too busy: node or rig were late in each measurement')


def taken_over(arm, setting, kinds):
    """Take motions over by these kinds, in any order; return what was commanded."""
    rng = np.random.default_rng(int(setting.rate) + len(setting.late))
    arm.set(setting)
    for kind in rng.permutation(kinds).tolist():
        arm.away(rng)
        arm.probe.spin_for(rng.uniform(0.2, 0.6))
        getattr(arm, kind)(rng)
        arm.probe.spin_for(rng.uniform(0.05, 0.25))
    arm.probe.call(arm.probe.stop)
    arm.probe.spin_for(1.5)
    commanded = arm.set(Setting())
    assert np.abs(commanded.cycles[:, 1]).max() > 0.5, 'the arm was never fast'
    return commanded
