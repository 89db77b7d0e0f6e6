# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Several arms of which one controller does not do its part: nothing goes on alone."""

from importlib.util import find_spec
import signal
from time import monotonic

from arms_rig import ArmsProbe, begins_anew, controllers, READY, running, SIMULATED, URDF
from geometry_msgs.msg import Pose, PoseArray
from geometry_oracle import Oracle
from harness import COLD_START, NOT_BUILT, PATIENCE_S, process, reasons
from managers import Manager
from nightly import usual_first
import numpy as np
import pytest
import robots
from sensor_msgs.msg import JointState
from test_each_arm import ArmProbe, OUTSIDE
from two_arms import ARM_JOINTS, both, TREE

from ik_node import load_tree
from ik_node.collision import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.ros.messages.conversion import fill_pose
from ik_node.ros.middleware.handshake import greet


@pytest.mark.skipif(find_spec('controller_manager_msgs') is None, reason=NOT_BUILT)
def test_an_inactive_controller_is_named(tmp_path):
    """The arm whose controller is inactive is named, and how it is activated."""
    with running(tmp_path, right_controller={'silent': True}) as probe:
        manager = Manager(probe)
        manager.states |= {'left_controller': 'active', 'right_controller': 'inactive'}
        assert greet(probe, '/ik_arms', PATIENCE_S, probe.poses)
        answer = probe.final(probe.send_posture(both(pan=0.8, lift=-0.4, elbow=0.2, torso=0.8)))
        assert (answer['state'], answer['reason']) == ('failed', 'OFF_TRACK'), answer
        assert "'left_controller' is active" in answer['message']
        assert answer['message'].endswith(
            "'right_controller' is inactive; activate it: ros2 control set_controller_state -c "
            '/controller_manager right_controller active')


LATE_STOPS = """
from time import sleep
from ik_node.node.arms import arms_motion
plan = arms_motion.plan_free_stop
def late(*arguments):
    sleep(0.45)
    return plan(*arguments)
arms_motion.plan_free_stop = late
"""
SLOW_STATES = """
from ik_node.node.arms import arms_node
take = arms_node.JointStates.take
def slow(*arguments):
    sleep(0.03)
    return take(*arguments)
arms_node.JointStates.take = slow
"""


def elsewhere(probe):
    """Return a posture to which both arms move for a while."""
    return max((READY, both(pan=0.8, lift=-0.4, elbow=0.2, torso=0.8)),
               key=lambda q: np.abs(probe.positions() - q).max())


def moving(probe):
    """Send a goal; return its stamp when both arms move."""
    stamp = probe.send_posture(elsewhere(probe))
    probe.wait(lambda: probe.answers(stamp), COLD_START, 'an answer')
    first = probe.answers(stamp)[0]
    assert first['state'] == 'accepted', first['message']
    start = probe.positions()
    probe.wait(lambda: abs(probe.positions() - start).max() > 0.05, what='motion')
    return stamp


def goes_on_in_spite_of_a_stop(probe, sentence):
    """Check that ~/stop says why there is none, and that nothing else is sent."""
    stamp = moving(probe)
    waiting = probe.send_posture(READY)
    probe.spin_for(0.1)
    stopped = probe.call(probe.stopping)
    assert not stopped.success and sentence in stopped.message
    assert reasons(probe, waiting) == ['STOPPED']  # though the other goes on
    assert reasons(probe, stamp) == ['ACCEPTED', 'REACHED']
    assert all(len(sent) == 1 for sent in probe.sent.values())


@pytest.mark.fault('time and load', 'no stop of several arms is planned in time',
                   'none is sent, as the arms would jump to it; the service says so, and the goal '
                   'goes on to its one answer')
@pytest.mark.fault('time and load', 'joint states of several arms wait while a node is busy',
                   'they are as old as they are; the arms are not taken for late')
def test_joint_states_that_waited_are_as_old_as_they_are(tmp_path):
    """Those of a second wait, and are read one by one while the arms are watched."""
    rarely = {'rate': 8.0}
    # Without nodes of the arms, in which the states would be slow, too.
    with running(tmp_path, {'motion.velocity_scale': 0.15, 'arms': ['']},
                 script=LATE_STOPS + SLOW_STATES, left_controller=rarely,
                 right_controller=rarely) as probe:
        goes_on_in_spite_of_a_stop(probe, 'not planned within 0.4 s')


SLOW_ARMS = """
from time import sleep
from ik_node.motion.trajectory import controller_rules
controller_rules.AGE_HISTORY = 20
from ik_node.node.state import arm_state
read = arm_state.read_joint_state
def slow(data):
    sleep(0.008)
    return read(data)
arm_state.read_joint_state = slow
"""


@pytest.mark.fault('time and load', 'joint states of both controllers wait in a node of an arm',
                   'this is no difference of the clocks: trajectories have stamps all the same')
def test_joint_states_that_wait_are_no_difference_of_clocks(tmp_path):
    """The queue of 20 is full all the time, so each has waited for 0.25 s at least."""
    with running(tmp_path, {'state.timeout': 5.0}, script=SLOW_ARMS) as probe:
        left = ArmProbe('left')
        try:
            left.wait_for_node()
            left.wait_until_ready()
            probe.spin_for(2.0)  # until none of those that are looked at came in time
            stamp = left.send_part(OUTSIDE)
            answer = left.final(stamp)
            assert answer['reason'] == 'REACHED', answer['message']
            probe.wait(lambda: probe.sent['left_controller'], what='a trajectory')
            assert all(message.header.stamp.sec for message in probe.sent['left_controller'])
        finally:
            left.destroy_node()


# A ball that comes down to where the left arm passes.
GATE_AT = 'gate_slide', -1.0
GATE = """<link name="gate"><collision><geometry><sphere radius="0.05"/></geometry></collision>
</link><joint name="gate_slide" type="prismatic"><parent link="base_link"/><child link="gate"/>
<origin xyz="0.18 1.02 2.2"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="0" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.fault('collision', 'a joint beside several arms moves into their way',
                   'all arms are brought to rest before it')
def test_a_joint_beside_the_arms_moves_into_their_way(tmp_path):
    """Judged by coal where the arms come to rest."""
    text, urdf = URDF.read_text().replace('</robot>', GATE), tmp_path / 'gate.urdf'
    urdf.write_text(text)
    with running(tmp_path, {'urdf_file': urdf, 'motion.velocity_scale': 0.3}) as probe:
        stamp = moving(probe)
        gate = JointState(name=GATE_AT[:1], position=GATE_AT[1:])
        gate.header.stamp = probe.get_clock().now().to_msg()
        states = probe.create_publisher(JointState, 'joint_states', 10)
        probe.create_timer(0.05, lambda: states.publish(gate))
        answer = probe.final(stamp)
        assert (answer['state'], answer['reason']) == ('stopped', 'COLLISION'), answer
        assert "'gate'" in answer['message'] and 'all arms come to rest' in answer['message']
        probe.wait(lambda: all(len(sent) > 1 for sent in probe.sent.values()), what='the ramps')
        q = np.array([dict(zip(sent.joint_names, sent.points[-1].positions))[name]
                      for name in TREE.joint_names for sent in (
                          each[-1] for each in probe.sent.values()) if name in sent.joint_names])
        probe.wait(lambda: np.abs(probe.positions() - q).max() < 1e-3, what='rest')
    tree = load_tree(urdf, 'base_link', TREE.tip_links)
    bodies = arm_bodies(tree.tree).bodies
    oracle = Oracle(robots.Reference(text), CollisionModel(tree, tree.tree, bodies), bodies)
    assert oracle.distances(q, dict([GATE_AT])).min() > 0.0


NO_TIME = """
from ik_node.node.arms import arms_motion
arms_motion.STOP_HANDOVER_S = 1e3
"""


@pytest.mark.nightly
def test_a_motion_that_nearly_ends_before_a_joint_is_judged_as_ever(tmp_path):
    """Nothing brakes, so it reaches its goal; it is said when the joint is lost meanwhile."""
    urdf = tmp_path / 'gate.urdf'
    urdf.write_text(URDF.read_text().replace('</robot>', GATE))
    with running(tmp_path, {'urdf_file': urdf, 'motion.velocity_scale': 0.15},
                 script=NO_TIME) as probe:
        stamp = moving(probe)
        states = probe.create_publisher(JointState, 'joint_states', 10)
        probe.wait(states.get_subscription_count)
        for position in np.linspace(*[0.9 * GATE_AT[1], GATE_AT[1]], 5):
            gate = JointState(name=GATE_AT[:1], position=[position], velocity=[-0.5])
            gate.header.stamp = probe.get_clock().now().to_msg()
            states.publish(gate)
            probe.spin_for(0.05)
        assert reasons(probe, stamp) == ['ACCEPTED', 'REACHED'], probe.final(stamp)
        assert "'gate_slide' may be anywhere" in probe.node.output


def test_a_stop_before_the_begin_keeps_both_arms_where_they_are(tmp_path):
    """Both controllers hold the start for a moment: a stop then ends the motion."""
    with running(tmp_path, {'motion.start_delay': 3.0}) as probe:
        start = probe.positions()
        stamp = probe.send_posture(both(pan=1.4, lift=-0.6, elbow=0.5, torso=1.0))
        probe.wait(lambda: probe.answers(stamp))
        assert probe.call(probe.stopping).success
        assert reasons(probe, stamp) == ['ACCEPTED', 'STOPPED']
        probe.spin_for(0.5)
        resting = probe.positions()
        probe.spin_for(0.2)
        assert np.abs(probe.positions() - resting).max() < 1e-6
        assert np.abs(resting - start).max() < 0.05
        again = probe.send_posture(READY)
        assert reasons(probe, again)[-1] in ('REACHED', 'ALREADY_THERE'), probe.answers(again)


@pytest.mark.fault('time and load', 'a goal of several arms waits while the process stands still',
                   'it is as old as it is, and refused if that is too old; nothing moves')
def test_a_goal_that_waited_too_long_is_not_carried_out(tmp_path):
    """Also without a stamp: the middleware knows when it was sent."""
    with running(tmp_path, {'goal.max_age': 0.5}) as probe:
        goal = PoseArray(poses=[Pose() for _ in TREE.tip_links])
        goal.header.frame_id = 'base_link'
        for message, T in zip(goal.poses, TREE.fk(both(pan=0.3)).values()):
            fill_pose(message, T)
        probe.node.send(signal.SIGSTOP)
        probe.poses.publish(goal)
        probe.spin_for(1.5)
        probe.node.send(signal.SIGCONT)
        assert reasons(probe, '0.000000000') == ['GOAL_STALE']
        assert not any(probe.sent.values())


PATIENT_START = """
from ik_node.node.arms import arms_motion
arms_motion.START_GRACE_S = 60.0
"""


@pytest.mark.fault('start, end and middleware', 'goals before the controllers are there',
                   'shortly after the start they wait, the newest for as long; then it is reached')
def test_goals_before_the_controllers(tmp_path):
    """First no joint states, then no subscription: of two goals the newer one is carried out."""
    with running(tmp_path, sims={}, script=PATIENT_START) as probe:
        older, newer = (probe.send_posture(both(pan=0.3, lift=lift, elbow=-1.0))
                        for lift in (0.4, 0.5))
        probe.wait(lambda: probe.answers(older), what='the answer to the older goal')
        assert probe.answers(older)[-1]['reason'] == 'SUPERSEDED'
        def publish_until(done):
            while not done():
                probe.publish_state(list(TREE.joint_names), [float(q) for q in READY])
                probe.spin_for(0.05)
        end = monotonic() + 1.5
        publish_until(lambda: monotonic() > end)  # a motion is planned, to which nobody listens
        assert not probe.answers(newer)
        with controllers(tmp_path, SIMULATED):
            end = monotonic() + 60.0
            publish_until(lambda: probe.answers(newer) or monotonic() > end)
            assert reasons(probe, newer) == ['ACCEPTED', 'REACHED']


@pytest.mark.fault('controller', 'one of two controllers is not there',
                   'nothing is sent to the other; the goal is rejected with the topic')
def test_without_one_controller_nothing_moves(tmp_path):
    with running(tmp_path, sims={'left_controller': SIMULATED['left_controller']}) as probe:
        names = [joint for joint in TREE.joint_names if 'right' in joint]
        q = [float(READY[TREE.joint_names.index(joint)]) for joint in names]
        stamp = ''

        def answered():
            probe.publish_state(names, q)
            return stamp and any(a['state'] != 'accepted' for a in probe.answers(stamp))

        probe.wait(lambda: answered() or probe.positions() is not None)
        reason = 'STATE_INCOMPLETE'
        while reason == 'STATE_INCOMPLETE':  # the node may hear of the joints after we have
            stamp = probe.send_posture(both(pan=0.3, lift=0.5, elbow=-1.0))
            probe.wait(answered)
            answer = probe.final(stamp)
            reason = answer['reason']
        assert answer['reason'] == 'NO_LISTENER', answer
        assert 'nobody listens on /right_controller/joint_trajectory' in answer['message']
        assert not probe.sent['left_controller']


def test_without_a_robot_description_goals_are_refused(tmp_path):
    probe = ArmsProbe(())
    with process('ik_arms', tmp_path):
        assert greet(probe, '/ik_arms', COLD_START, probe.poses)
        stamp = probe.send_posture(READY)
        assert probe.final(stamp)['reason'] == 'MODEL_MISSING'
    probe.destroy_node()


@pytest.mark.parametrize('wrong, words', usual_first(2, [
    ({'controllers': ['left_controller']}, 'controllers has 1 names (1 different) and '
     'controller_joints 2 entries'),
    ({'tip_links': ['left_tool', 'right_tol']}, "the link 'right_tol' is not in the URDF; did "),
    ({'controller_joints': ['torso_joint left_elbow', 'right_elbow']},
     "no controller has 'left_shoulder_pan'"),
    ({'motion.velocity_limits': [1.0, 2.0]}, 'the parameter motion.velocity_limits needs 1 or 13'),
]))
def test_wrong_parameters_are_said_at_the_start(tmp_path, wrong, words):
    """One sentence, and exit code 1."""
    given = {'tip_links': list(TREE.tip_links), 'controllers': list(ARM_JOINTS),
             'controller_joints': [' '.join(joints) for joints in ARM_JOINTS.values()]}
    with process('ik_arms', tmp_path, {'urdf_file': URDF, **given, **wrong}) as node:
        assert node.wait(COLD_START) == 1
        assert words in node.output


# ---- one node, which all others share ----------------------------------------------------

# What the node does wrong is in a file, which tests write.
FAULTS = """
from math import inf
from pathlib import Path
from time import monotonic, sleep
from ik_node.base.errors import TrajectoryError
from ik_node.node.arms import arms_motion
from ik_node.node.execution.outputs import TopicOutput
fault, plan, send, began = Path({!r}), arms_motion.plan_free_stop, TopicOutput.send, {{}}
def plan_stop(*arguments):
    print('a stop is planned', flush=True)
    wanted = fault.read_text()
    if wanted == 'no stop':
        raise TrajectoryError('the test wants none')
    if wanted == 'slow stop':
        fault.write_text('')
        sleep(0.08)
    return plan(*arguments)
def lossy(output, trajectory, stamp=None, before=inf):
    wanted = fault.read_text()
    if 'right' in output.name and wanted.startswith('lose'):
        stamps = began.setdefault(wanted, {{}})
        since = stamps.setdefault(stamp, monotonic())
        if len(stamps) == int(wanted.split()[1]) and monotonic() < since + 0.3:
            return
    send(output, trajectory, stamp, before)
arms_motion.plan_free_stop, TopicOutput.send = plan_stop, lossy
"""


@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    """Run a node that goes wrong when it is told to, and both controllers."""
    folder = tmp_path_factory.mktemp('arms')
    fault = folder / 'fault'
    fault.write_text('')
    with running(folder, {'motion.velocity_scale': 0.3},
                 script=FAULTS.format(str(fault))) as probe:
        probe.fault = fault
        yield probe


@pytest.fixture
def arms(shared):
    """Lend it, with both arms at rest somewhere."""
    begins_anew(shared)
    yield shared
    shared.fault.write_text('')
    shared.spin_for(0.5)  # a ramp is repeated until it begins
    assert shared.set_parameters('/right_controller', {'silent': False}).successful


@pytest.mark.fault('controller', 'one of two controllers ignores its trajectory',
                   'all arms are stopped, and the goal fails with the joint and its controller')
def test_if_one_arm_does_not_follow_all_stop(arms):
    arms.set_parameters('/right_controller', {'silent': True})
    stamp = arms.send_posture(elsewhere(arms))
    answer = arms.final(stamp)
    assert (answer['state'], answer['reason']) == ('failed', 'OFF_TRACK'), answer
    assert "out of step: 'right_" in answer['message']
    assert "of 'right_controller' is " in answer['message']
    assert 'all arms come to rest in' in answer['message']
    arms.wait(lambda: len(arms.sent['left_controller']) == 2, what='the stop')


@pytest.mark.fault('controller', 'a stop of several arms for which no motion is found',
                   'the service says so; the goal goes on to its one answer')
def test_a_stop_that_cannot_be_planned_is_no_success(arms):
    arms.fault.write_text('no stop')
    goes_on_in_spite_of_a_stop(arms, 'the test wants none')


@pytest.mark.fault('time and load', 'a stop of several arms is planned too late to be joined',
                   'it is planned again, to leave the motion later')
def test_a_stop_that_is_late_is_planned_again(arms):
    said = arms.node.output.count('a stop is planned')
    arms.fault.write_text('slow stop')
    stamp = moving(arms)
    assert arms.call(arms.stopping).success
    assert arms.final(stamp)['reason'] == 'STOPPED'
    assert arms.node.output.count('a stop is planned') == said + 2
    left, right = (arms.sent[name][-1] for name in SIMULATED)
    assert left.header.stamp == right.header.stamp


@pytest.mark.fault('controller', 'one of two controllers does not get the ramp to rest',
                   'joint states show it, and it gets another one')
def test_a_ramp_that_one_arm_does_not_get(arms):
    arms.fault.write_text('lose 2')
    stamp = arms.send_posture(both(pan=1.5, lift=-0.4, elbow=0.2, torso=0.8))
    start = arms.positions()
    arms.wait(lambda: np.abs(arms.positions() - start).max() > 0.1, what='motion')
    assert arms.call(arms.stopping).success
    assert arms.final(stamp)['reason'] == 'STOPPED'
    arms.spin_for(1.5)
    resting = arms.positions()
    arms.spin_for(0.3)
    assert np.abs(arms.positions() - resting).max() < 1e-6
    first = arms.sent['right_controller'][0]
    right = [TREE.joint_names.index(name) for name in first.joint_names]
    assert np.abs(resting[right] - first.points[-1].positions).max() > 0.3, 'it went on'
    assert "'right_controller' had not got the ramp to rest" in arms.node.output


@pytest.mark.fault('controller', 'one of two controllers does not get the trajectory of a goal',
                   'the other is stopped, and the arm that stood stays where it is')
def test_a_trajectory_that_one_arm_does_not_get(arms):
    arms.fault.write_text('lose 1')
    start, right = arms.positions(), ['right' in name for name in TREE.joint_names]
    stamp = arms.send_posture(elsewhere(arms))
    assert arms.final(stamp)['reason'] == 'OFF_TRACK'
    arms.spin_for(1.0)
    moved = np.abs(np.array([state.position for _, state in arms.states
                             if 'right_elbow' in state.name]) - start[right]).max()
    assert moved < 1e-3, moved
