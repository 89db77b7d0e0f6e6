# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""plot_trajectory takes what is published, over DDS."""

import subprocess
import sys

from harness import READY
import pytest
from test_sim_controller import trajectory

COMMAND = 'from ik_node.tools.entry import plot_trajectory; plot_trajectory()'


def test_the_next_trajectory_is_drawn(tmp_path, probe):
    """With --listen a picture of the next message is written."""
    output = tmp_path / 'heard.png'
    message = trajectory(READY)
    message.points.append(trajectory([value + 0.1 for value in READY], 2.0).points[0])
    with subprocess.Popen([sys.executable, '-c', COMMAND, '--listen', '--output', output],
                          stderr=subprocess.PIPE, text=True) as listening:
        timer = probe.create_timer(0.1, lambda: probe.commands.publish(message))
        probe.wait(lambda: listening.poll() is not None, 30.0)
        assert listening.returncode == 0, listening.stderr.read()
    assert output.read_bytes().startswith(b'\x89PNG')
    probe.destroy_timer(timer)


@pytest.mark.nightly
def test_nothing_published_is_one_sentence(tmp_path):
    """After the time that was given, the topic is named."""
    done = subprocess.run([sys.executable, '-c', COMMAND, '--listen', '--timeout', '0.5',
                           '--output', tmp_path / 'none.png'], capture_output=True, text=True)
    assert done.returncode == 2 and 'no trajectory came on /joint_trajectory' in done.stderr
    assert 'Traceback' not in done.stderr
