# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Named poses of nodes that are started for it: with the SRDF on the topic, or without a file."""

from harness import ARM, Probe, process, QUICK, READY, run_system
import pytest
from std_msgs.msg import String
from test_named_poses import ASIDE, group_state, Poses, SRDF

from ik_node.ros.middleware.qos import LATCHED_QOS

FOLDED = [0.0, 0.3, 1.29, 0.0, 2.0, 0.0]  # the hand in the arm


def test_found_again_after_a_restart(tmp_path, probe):
    """
    A file that was not there is made, and another node has what was saved.

    With the SRDF on the topic, which may change, and without collision checks; a posture that
    collides is refused as any joint goal.
    """
    file = tmp_path / 'poses.yaml'
    parameters = {**QUICK, 'named_poses_file': file, 'collision.check': False}
    semantics = probe.create_publisher(String, 'robot_description_semantic', LATCHED_QOS)
    semantics.publish(String(data=SRDF))
    with run_system(tmp_path, probe, parameters):
        poses = Poses(probe)
        probe.wait(lambda: {*poses.listed} == {'aside', 'both'}, what='those of the topic')
        semantics.publish(String(data='<robot name="a">' + group_state('fold', FOLDED)
                                 + '</robot>'))
        probe.wait(lambda: {*poses.listed} == {'fold'}, what='those of the other text')
        assert poses.go('aside')['reason'] == 'NAME_UNKNOWN'
        assert poses.save('kept')[0] and file.is_file()
    again = Probe()
    with process('ik_node', tmp_path, {'urdf_file': ARM, **QUICK, 'named_poses_file': file}), \
            process('sim_controller', tmp_path, {'urdf_file': ARM, 'initial_positions': ASIDE}):
        again.watch_motion()
        again.wait_for_node()
        again.wait_until_ready()
        poses = Poses(again)
        poses.reach('kept', READY)
        again.wait(lambda: 'fold' in poses.listed, what='those of the topic')
        assert poses.go('fold')['reason'] == 'COLLISION'
    again.destroy_node()


@pytest.mark.nightly
def test_without_a_file(tmp_path, probe):
    """Saving says which parameter is missing; a goal says that there is no pose at all."""
    with run_system(tmp_path, probe, QUICK):
        poses = Poses(probe)
        assert poses.listed == {}
        done, said = poses.save('a')
        assert not done and 'named_poses_file' in said
        answer = poses.go('a')
        assert answer['reason'] == 'NAME_UNKNOWN' and 'none at all' in answer['message']
    bad = tmp_path / 'bad.yaml'
    bad.write_text('poses: {}')
    with process('ik_node', tmp_path, {'urdf_file': ARM, 'named_poses_file': bad}) as node:
        probe.wait(lambda: not node.running(), 60.0)
        assert 'must have one key, named_poses' in node.output
