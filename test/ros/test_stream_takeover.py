# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""~/goal_stream takes over a motion, and its parameters change, without a step."""

from harness import ARM, DOWN, READY, run_system, stamp_of, tip
from nightly import usual_first
import numpy as np
import pytest
from std_msgs.msg import String
from streams import speeds, Target

pytestmark = pytest.mark.real_time
NODE_LIMITS = {}  # those of the node by default

CYCLE = 0.01  # s, of the simulated controller
JERK = 20.0  # rad/s^3, the limit
ACCELERATION = 2.2  # rad/s^2, the limit and 10 %
LATE_STEP = 0.08  # rad/s
HOME = tip([0.0, 0.8, 0.4, 0.0, -1.5, 0.0])  # of the circle in benchmarks/following.py


def velocity_steps(probe, after, before=np.inf):
    """
    Return the largest step in velocity (rad/s) of each cycle between two stamps (s), and its time.

    In each cycle a simulated arm is where it was commanded to be a period after the cycle
    before.
    """
    stamps = np.array([stamp_of(message) for _, message in probe.states])[:-1]
    chosen = (stamps > after) & (stamps < before)
    return (np.abs(np.diff(speeds(probe)[1:][chosen], axis=0)).max(axis=1),
            np.diff(stamps[chosen]))


def roughness(probe, after, before=np.inf):
    """
    Return how much larger than allowed the steps in velocity are, as a share; 1 = as allowed.

    In nine cycles of ten the limit of 2 rad/s^2 counts, with 10 % for the times of a Python
    process.  A message that is late by d more than the lead costs a step of at most jerk d^2
    beside it: LATE_STEP is allowed, which is 63 ms, and as much more as node and controller
    were late by their own stamps.  Steps are judged, not accelerations: after a cycle that was
    late, the next may come within a millisecond.
    """
    def gaps(messages):
        stamps = np.array([stamp_of(message) for message in messages])
        return np.diff(stamps[(stamps > after) & (stamps < before)]) - CYCLE

    states, sent = gaps(message for _, message in probe.states), gaps(probe.trajectories)
    late = states.max() + max(sent, default=0.0)
    on_time = 1.0 - (states > 0.5 * CYCLE).mean()
    steps, times = velocity_steps(probe, after, before)
    usual = np.percentile(steps / times, 90.0 * on_time)
    largest = (steps - ACCELERATION * times).max()
    print(f'\nlargest step beyond the limit {largest:.4f} rad/s, nine accelerations in ten below '
          f'{usual:.2f} rad/s^2; late by {1e3 * late:.0f} ms')
    return max(usual / ACCELERATION, largest / max(LATE_STEP, JERK * late**2))


@pytest.mark.parametrize('from_desired', usual_first(1, [False, True]))
def test_a_stream_takes_over_a_motion(tmp_path, probe, from_desired):
    """
    From where and as fast as the arm moves; then it follows the circle of
    docs/explanation/motion.md.

    With stamps no kind of controller makes steps in velocity: it goes from one trajectory to
    the next where they are the same.
    """
    with run_system(tmp_path, probe, {'stream.timeout': 2.0},
                    {'interpolate_from_desired_state': from_desired}):
        rough, errors = take_over(probe)
        print(f'from_desired {from_desired}: error {np.sqrt((errors**2).mean()):.2f} mm rms, '
              f'{errors.max():.2f} mm at most')
        assert rough < 1.5  # a step would be several times as rough; late cycles are a little
        assert np.percentile(errors, 25) < 2.0


def take_over(probe):
    """Return the roughness from a motion into a stream and on it, and errors (mm)."""
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'
    first = probe.send((0.3, 0.4, 0.3), DOWN)
    probe.wait(lambda: np.abs(speeds(probe)[-1]).max() > 0.1)
    probe.spin_for(0.3)
    count = len(probe.states)
    target = Target(probe, radius=0.2, speed=0.25, here=HOME)
    target.run(6.0)
    assert [a['state'] for a in probe.answers(first)] == ['accepted', 'superseded']
    assert [a['state'] for a in target.session()] == ['accepted']
    start, end = (stamp_of(probe.states[k][1]) for k in (count - 5, -1))
    rough = roughness(probe, start, end)
    errors = 1e3 * target.errors(
        [message for _, message in probe.states if stamp_of(message) > end - 2.0])
    probe.wait(lambda: len(target.session()) == 2, what='the end of the stream')
    return rough, errors


@pytest.mark.nightly
def test_changes_during_a_session(system):
    """Parameters are taken up without a step; another robot description is not taken."""
    # Nothing is streamed until a change is answered.
    assert system.set_parameters('/ik_node', {'stream.timeout': 10.0}).successful
    target = Target(system)
    target.run(1.5)
    begin = stamp_of(system.states[-1][1])
    for values in ({'stream.lead': 0.05}, {'stream.rate': 200.0}, {'motion.velocity_scale': 0.4},
                   {'stream.gain': 10.0}):
        assert system.set_parameters('/ik_node', values).successful
        target.run(0.5)
    system.descriptions.publish(String(data=ARM.read_text().replace('0.4', '0.41')))
    target.run(1.0)
    assert [a['state'] for a in target.session()] == ['accepted'], target.session()
    assert roughness(system, begin) < 1.0
