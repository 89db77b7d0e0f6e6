# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A node where ruckig is not installed: goals from rest, in motion, and a stop."""

from harness import latest, QUICK, READY, run_system
import numpy as np

from ik_node.motion.direct.ruckig_motion import NO_RUCKIG_NOTICE

WITHOUT_RUCKIG = "import sys; sys.modules['ruckig'] = None\n"
FAR = [1.2, 0.1, -0.6, 0.3, 1.2, 0.5]
BETWEEN = [0.8, 0.2, -0.5, 0.2, 1.1, 0.3]


def test_goals_without_ruckig(tmp_path, probe):
    """It says so once; each goal is answered, and every trajectory keeps the limits."""
    with run_system(tmp_path, probe, {**QUICK, 'motion.velocity_scale': 0.2},
                    script=WITHOUT_RUCKIG, fresh=True):
        assert probe.final(probe.send_joints(FAR))['state'] == 'reached'
        back = probe.send_joints(READY)
        probe.wait(lambda: probe.answers(back), what='the goal during which another comes')
        instead = probe.send_joints(BETWEEN)
        assert probe.final(back)['state'] == 'superseded'
        assert probe.final(instead)['state'] == 'reached'
        assert np.abs(latest(probe) - BETWEEN).max() < 1e-6
        last = probe.send_joints(FAR)
        probe.wait(lambda: probe.answers(last), what='the goal that is stopped')
        assert probe.call(probe.stop).success
        assert probe.final(last)['state'] == 'stopped'
        assert probe.node.output.count(NO_RUCKIG_NOTICE) == 1
