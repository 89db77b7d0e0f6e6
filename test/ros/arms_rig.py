# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""ik_arms with its shipped parameters, and a simulated controller for each arm."""

from contextlib import contextmanager

from geometry_msgs.msg import Pose, PoseArray
from harness import COLD_START, Probe, process, ROOT
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
from two_arms import both, TREE

from ik_node.ros.messages.conversion import fill_pose
from ik_node.ros.middleware.handshake import greet

CONFIG = ROOT / 'config/two_arms.yaml'
URDF = ROOT / 'urdf/two_arms.urdf'
# Base and tip of the joints of each controller in config/two_arms.yaml.
SIMULATED = {'left_controller': ('base_link', 'left_tool'),
             'right_controller': ('torso', 'right_tool')}
READY = both(pan=0.1, lift=0.6, elbow=-1.2, pitch=0.3)
SIM_PERIOD_S = 0.02


class ArmsProbe(Probe):
    """Sends goals to ik_arms, and keeps what the controllers get and what they command."""

    def __init__(self, controllers):
        super().__init__('arms_probe', '/ik_arms')
        self.watch_motion()
        self.poses = self.create_publisher(PoseArray, '/ik_arms/goal_poses', 100)
        self.sent = {name: [] for name in controllers}
        for name, sent in self.sent.items():
            self.create_subscription(JointTrajectory, f'/{name}/joint_trajectory', sent.append, 10)
        self.stopping = self.create_client(Trigger, '/ik_arms/stop')

    def send_poses(self, poses, frame='base_link'):
        """Publish the poses (4, 4) of tips; return the stamp by which the answers are known."""
        goal = PoseArray(poses=[Pose() for _ in poses])
        for message, T in zip(goal.poses, poses):
            fill_pose(message, T)
        goal.header.frame_id = frame
        goal.header.stamp = self.get_clock().now().to_msg()
        self.poses.publish(goal)
        return f'{goal.header.stamp.sec}.{goal.header.stamp.nanosec:09d}'

    def send_posture(self, q):
        """Publish the poses that both tips have in a posture."""
        return self.send_poses(list(TREE.fk(q).values()))

    def positions(self):
        """Return the latest joint positions, (n,); None before all are known."""
        known = {}
        for _, message in self.states[-50:]:
            known |= dict(zip(message.name, message.position))
        return TREE.positions(known) if set(TREE.joint_names) <= set(known) else None


@contextmanager
def running(folder, node=None, sims=SIMULATED, script='', config=CONFIG, **sim):
    """Run ik_arms, after a script, and the controllers; yield the probe."""
    with _arms_probe(sims) as probe, process(
            'ik_arms', folder, {'urdf_file': URDF, 'motion.velocity_scale': 1.0, **(node or {})},
            arguments=['--params-file', str(config)], script=script) as probe.node:
        with controllers(folder, sims, **sim):
            assert greet(probe, '/ik_arms', COLD_START, probe.poses)
            probe.wait(lambda: 'ready for' in probe.node.output, COLD_START, 'the robot')
            if len(sims) == 2:
                probe.wait(lambda: probe.positions() is not None, COLD_START, 'joint states')
                probe.wait(lambda: _hears_states(probe), COLD_START, 'joint states of the node')
            yield probe


def begins_anew(probe):
    """Forget what was recorded, and wait for new states of both controllers."""
    for seen in (probe.statuses, probe.states, *probe.sent.values()):
        seen.clear()
    probe.wait(lambda: probe.positions() is not None)


def _hears_states(probe):
    """Return whether the node hears all joint states, too: nothing is sent for this goal."""
    return probe.final(probe.send_posture(READY))['reason'] not in ('STATE_MISSING',
                                                                    'STATE_INCOMPLETE')


@contextmanager
def controllers(folder, sims, **sim):
    """Run simulated controllers, with further parameters by the name of each."""
    managers = []
    for name, (base, tip) in sims.items():
        joints = [joint for joint in TREE.joint_names if ('right' in joint) == ('right' in name)]
        start = [float(READY[TREE.joint_names.index(joint)]) for joint in joints]
        (folder / name).mkdir()
        managers.append(process(
            'sim_controller', folder / name, {
                'urdf_file': URDF, 'base_link': base, 'tip_link': tip, 'fixed_joints': False,
                'initial_positions': start, 'rate': 1.0 / SIM_PERIOD_S, **sim.get(name, {})},
            remap={'__node': name, 'joint_trajectory': f'{name}/joint_trajectory'}))
    with _all(managers):
        yield


@contextmanager
def _arms_probe(controllers):
    """Make a probe for the time of a test: the next one must not find that it listens."""
    probe = ArmsProbe(controllers)
    try:
        yield probe
    finally:
        probe.destroy_node()


@contextmanager
def _all(managers):
    if not managers:
        yield
        return
    with managers[0], _all(managers[1:]):
        yield
