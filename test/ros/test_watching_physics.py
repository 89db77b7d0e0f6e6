# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""An arm that sags under its weight: reached, and the sag is in the measured error."""

from importlib.util import find_spec

from harness import DOWN, latest, Probe, reasons, run_system, tip
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(find_spec('mujoco') is None, reason='physics needs mujoco')


def test_the_sag_is_in_the_measured_error(tmp_path, recorded):
    """By an independent reading of the joint states."""
    probe = Probe()
    with run_system(tmp_path, probe, sim={'physics': True}):
        for xyz in ((0.4, 0.2, 0.4), (0.5, -0.2, 0.3)):
            stamp = probe.send(xyz, DOWN)
            assert reasons(probe, stamp) == ['ACCEPTED', 'REACHED'], probe.final(stamp)
            off = np.linalg.norm(tip(latest(probe)).translation - xyz)
            assert off > 1e-4
            assert float(probe.final(stamp)['measured_position_error_m']) == pytest.approx(
                off, rel=0.2)
    probe.destroy_node()
