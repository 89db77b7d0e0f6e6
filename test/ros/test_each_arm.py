# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms of one node, each with goals of its own at the same time: none meets the other."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic, sleep

from arms_rig import running
from documents import program_of
from harness import FINAL, Probe
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from test_arms import assert_apart
from two_arms import both, TREE

from ik_node.client import ClientError, GoalNotReachedError, Robot

pytestmark = pytest.mark.real_time  # an arm that is late is a reason to brake
SIDES = {side: [joint for joint in TREE.joint_names if ('right' in joint) == (side == 'right')]
         for side in ('left', 'right')}  # the torso belongs to the left arm
# At the crossing only one hand has room.
INSIDE, OUTSIDE = both(pan=-0.45, lift=0.3, elbow=-0.6), both(pan=0.7, lift=0.3, elbow=-0.6)


class ArmProbe(Probe):
    """Sends goals to one arm."""

    def __init__(self, side):
        super().__init__(f'{side}_probe', f'/ik_arms/{side}')
        self.joints = SIDES[side]
        self.joint_goals = self.create_publisher(JointState, f'/ik_arms/{side}/goal_joints', 10)

    def send_part(self, q):
        """Send the arm to its part of a posture of the robot; return the stamp of the goal."""
        goal = JointState(name=list(self.joints), position=[
            float(q[TREE.joint_names.index(joint)]) for joint in self.joints])
        goal.header.stamp = self.get_clock().now().to_msg()
        self.joint_goals.publish(goal)
        return f'{goal.header.stamp.sec}.{goal.header.stamp.nanosec:09d}'


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    """Return the probe of the robot, and one for each arm."""
    left, right = ArmProbe('left'), ArmProbe('right')
    try:
        with running(tmp_path_factory.mktemp('arms')) as probe:
            for arm in (left, right):
                arm.wait_for_node()
                arm.wait_until_ready()
            yield probe, left, right
    finally:
        left.destroy_node()
        right.destroy_node()


def answered(probe, *goals):
    """Return the final answers to goals, (arm, stamp) each; the probe records meanwhile."""
    def spun(arm, stamp):
        probe.spin_once(0.001)
        arm.spin_once(0.001)
        return any(answer['state'] in FINAL for answer in arm.answers(stamp))

    probe.wait(lambda: all([spun(*goal) for goal in goals]), 60.0, 'answers')
    return [arm.final(stamp) for arm, stamp in goals]


def test_arms_move_at_the_same_time(robot):
    """Each by its own goal, and apart."""
    probe, left, right = robot
    probe.states.clear()
    for answer in answered(probe, *((arm, arm.send_part(OUTSIDE)) for arm in (left, right))):
        assert answer['reason'] == "REACHED", answer["message"]
    assert_apart(probe)


def test_an_arm_waits_until_the_other_has_left(robot):
    """The right hand goes to where the left one is, which leaves slowly."""
    probe, left, right = robot
    assert answered(probe, (left, left.send_part(INSIDE)))[0]['reason'] == 'REACHED'
    refused, = answered(probe, (right, right.send_part(INSIDE)))
    assert refused['reason'] == 'COLLISION' and 'left' in refused['message'], refused
    probe.states.clear()
    assert left.set_parameters('/ik_arms/left', {'motion.velocity_scale': 0.05}).successful
    leaves = left.send_part(OUTSIDE)
    left.wait(lambda: left.answers(leaves), what='that the left arm begins')
    answers = answered(probe, (left, leaves), (right, right.send_part(INSIDE)))
    for answer in answers:
        assert answer['reason'] == 'REACHED', answer['message']
    assert "as 'left' moves" in answers[1]['waits_because']
    assert left.set_parameters('/ik_arms/left', {'motion.velocity_scale': 1.0}).successful
    assert_apart(probe)


def test_an_arm_brakes_if_the_other_stops_in_its_way(robot):
    """What was proved holds no longer: the right hand does not go on to where the left one is."""
    probe, left, right = robot
    for q, arms in ((OUTSIDE, (right, left)), (INSIDE, (left,))):
        assert {answer['reason'] for answer in answered(
            probe, *((arm, arm.send_part(q)) for arm in arms))} <= {'REACHED', 'ALREADY_THERE'}
    probe.states.clear()
    assert left.set_parameters('/ik_arms/left', {'motion.velocity_scale': 0.2}).successful
    leaves = left.send_part(OUTSIDE)
    left.wait(lambda: left.answers(leaves), what='that the left arm begins')
    enters = right.send_part(INSIDE)
    right.wait(lambda: left.spin_once(0.001) or probe.spin_once(0.001) or right.answers(enters),
               20.0, what='that the right arm begins')
    assert left.call(left.stop).success
    stopped, held = answered(probe, (left, leaves), (right, enters))
    assert stopped['reason'] == 'STOPPED', stopped
    assert held['reason'] == 'COLLISION' and 'another arm moves otherwise' in held['message'], held
    probe.spin_for(1.0)
    assert_apart(probe)
    assert left.set_parameters('/ik_arms/left', {'motion.velocity_scale': 1.0}).successful
    assert answered(probe, (left, left.send_part(OUTSIDE)))[0]['reason'] == 'REACHED'


def test_a_joint_that_carries_the_other_arm_moves_alone(robot):
    """The torso belongs to the left arm, and carries the right one."""
    probe, left, right = robot
    turned = OUTSIDE + both(torso=0.3) - both()
    turns = left.send_part(turned)
    left.wait(lambda: left.answers(turns), what='that the left arm begins')
    refused, = answered(probe, (right, right.send_part(INSIDE)))
    assert refused['reason'] == 'JOINTS_IN_USE' and "'torso_joint'" in refused['message'], refused
    assert answered(probe, (left, turns))[0]['reason'] == 'REACHED'
    assert answered(probe, (left, left.send_part(OUTSIDE)))[0]['reason'] == 'REACHED'


def test_a_stop_of_one_arm_stops_a_motion_in_step(robot):
    """Goals of single arms wait meanwhile, and the stop ends what moves."""
    probe, left, right = robot
    goal = probe.send_posture(OUTSIDE + both(lift=-0.5) - both())
    probe.wait(lambda: probe.answers(goal), what='that the arms begin')
    waits = right.send_part(OUTSIDE)
    right.spin_for(0.3)
    assert not right.answers(waits)
    stopped = left.call(left.stop)
    assert stopped.success and 'all arms come to rest' in stopped.message, stopped.message
    assert probe.final(goal)['reason'] == 'STOPPED'
    assert answered(probe, (right, waits))[0]['reason'] in ('REACHED', 'ALREADY_THERE')


def test_a_goal_of_all_is_refused_while_an_arm_is_paused(robot):
    """It would wait for good, and the other arm for it."""
    probe, left, right = robot
    pause = right.create_client(SetBool, '/ik_arms/right/pause')
    answered(probe, (left, left.send_part(OUTSIDE)), (right, right.send_part(OUTSIDE)))
    goes = right.send_part(INSIDE)
    right.wait(lambda: right.answers(goes), what='that the right arm begins')
    assert right.call(pause, SetBool.Request(data=True)).success
    refused = probe.final(probe.send_posture(OUTSIDE))
    assert refused['reason'] == 'ARM_HELD' and "'right' is paused" in refused['message'], refused
    assert right.call(pause, SetBool.Request(data=False)).success
    assert right.final(goes)['reason'] == 'REACHED'


def test_the_speed_changes_while_another_arm_goes_to_where_this_one_was(robot):
    """The rest of a motion is proved against what the other arm does, not against its end."""
    probe, left, right = robot
    for q, arms in ((OUTSIDE, (right, left)), (INSIDE, (left,))):
        answered(probe, *((arm, arm.send_part(q)) for arm in arms))
    said = len(probe.node.output)
    leaves = left.send_part(OUTSIDE)
    left.wait(lambda: left.answers(leaves), what='that the left arm begins')
    enters = right.send_part(INSIDE)
    assert left.set_parameters('/ik_arms/left', {'motion.velocity_scale': 0.6}).successful
    for answer in answered(probe, (left, leaves), (right, enters)):
        assert answer['reason'] in ('REACHED', 'COLLISION'), answer
    assert left.set_parameters('/ik_arms/left', {'motion.velocity_scale': 1.0}).successful
    assert 'overlap' not in probe.node.output[said:]
    answered(probe, (right, right.send_part(OUTSIDE)))


def test_goals_at_random(robot):
    """Joints, both arms, whenever they come: each goal has one answer, and nothing touches."""
    probe, left, right = robot
    random, probe_states = np.random.default_rng(4), probe.states
    probe_states.clear()
    sent = []
    for _ in range(25):
        q = both(pan=random.uniform(-0.7, 0.5), lift=random.uniform(-0.3, 0.5),
                 elbow=random.uniform(-0.8, 0.2))
        arm = (left, right)[random.integers(2)]
        sent.append((arm, arm.send_part(q)))
        end = probe.get_clock().now().nanoseconds + int(1e9 * random.uniform(0.05, 0.8))
        while probe.get_clock().now().nanoseconds < end:
            for each in robot:
                each.spin_once(0.002)
    answers = answered(probe, *sent)
    assert {answer['reason'] for answer in answers} <= {
        'REACHED', 'COLLISION', 'SUPERSEDED', 'ALREADY_THERE'}, [a['message'] for a in answers]
    assert sum(answer['reason'] == 'REACHED' for answer in answers) >= 5
    assert_apart(probe)


def test_a_program_moves_both(robot):
    """By the client, each by its own goal."""
    with Robot() as arms:
        assert list(arms.arms) == ['left', 'right']
        moved = arms.joints({side: [float(OUTSIDE[TREE.joint_names.index(joint)])
                                         for joint in joints] for side, joints in SIDES.items()})
        assert {name: answer.reached for name, answer in moved.wait(30.0).items()} == {
            'left': True, 'right': True}
        poses = {side: arms[side].tip_pose for side in SIDES}
        assert all(answer.reached for answer in arms.move(poses).wait(30.0).values())
        with pytest.raises(ClientError, match='no arm .middle.; it has .left., .right.'):
            arms.move({'left': poses['left'], 'middle': poses['left']})
        assert all(handle.wait(10.0) for handle in arms.stop().values())
    exec(program_of('docs/how_to/several_arms.md'), {})


def test_a_policy_leads_one_arm_while_the_other_has_goals(robot):
    """What it sends leads to where the other one goes: each keeps its distance, and goes on."""
    probe, left, right = robot
    answered(probe, *((arm, arm.send_part(OUTSIDE)) for arm in (left, right)))
    probe.states.clear()
    with Robot() as arms:
        begin = arms['right'].tip_pose
        towards = np.array([0.0, arms['left'].tip_pose[1, 3] - begin[1, 3], 0.0])
        assert np.linalg.norm(towards) > 0.15

        def lead():
            goals, chunks, start = [], arms['right'].chunks(), monotonic()
            while (t := monotonic() - start) < 6.0:
                shares = 0.5 * (1.0 - np.cos(np.pi * (t + 0.1 * np.arange(1, 11))))
                poses = np.repeat(begin[None], 10, axis=0)
                poses[:, :3, 3] += shares[:, None] * towards
                with suppress(GoalNotReachedError):  # as a policy that tries again
                    goals.append(chunks.send(poses, period=0.1))
                sleep(0.3)
            return goals

        with ThreadPoolExecutor(1) as threads:
            leading, sent = threads.submit(lead), []
            for k in range(6):
                sent.append((left, left.send_part((INSIDE, OUTSIDE)[k % 2])))
                end = monotonic() + 1.0
                while monotonic() < end:
                    for each in robot:
                        each.spin_once(0.002)
            probe.wait(leading.done, 20.0)
        goals = leading.result()
        answered(probe, *sent)
        probe.wait(lambda: all(goal.done for goal in goals), what='answers to chunks')
    ends = Counter(goal.latest.reason for goal in goals)
    assert ends['SUPERSEDED'] > 5 and {*ends} <= {
        'SUPERSEDED', 'REACHED', 'COLLISION', 'PATH_INTERRUPTED', 'STOPPED'}, [
            goal.latest for goal in goals if goal.latest.reason != 'SUPERSEDED']
    assert_apart(probe)
