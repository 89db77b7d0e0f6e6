# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The network between node and controller is cut in mid-motion."""

import os
from pathlib import Path
import signal
import subprocess
import sys

from harness import PROFILES_VARIABLE
import pytest

OWN_NETWORK = ['unshare', '--map-root-user', '--net']
HERE = Path(__file__).parent


def why_not() -> str:
    """Return why there can be no networks of our own here; empty if there can."""
    try:
        tried = subprocess.run(
            [*OWN_NETWORK, 'sh', '-c', 'ip link add near type veth peer name far && '
             'unshare --net nsenter --version'], capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return tried.stderr.strip() or ('' if tried.returncode == 0 else 'they cannot be made')


WHY_NOT = why_not()


@pytest.mark.fault('kill, cut off and restart', 'the network is cut in motion',
                   'the arm goes on to the end of its trajectory and rests; the goal has failed, '
                   'because nobody knows where; goals meanwhile are refused; connected again, the '
                   'next goal is reached from where the arm is')
@pytest.mark.skipif(bool(WHY_NOT), reason=f'needs network namespaces: {WHY_NOT}')
def test_the_network_is_cut(tmp_path, recorded):
    """Two networks and a cable between them; what cut_off.py sees there, it asserts."""
    environment = {**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET',
                   'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4', 'PYTHONPATH': os.pathsep.join(
                       [str(HERE), str(HERE.parent),
                        *filter(None, [os.environ.get('PYTHONPATH')])])}
    del environment[PROFILES_VARIABLE]
    with subprocess.Popen([*OWN_NETWORK, sys.executable, str(HERE / 'cut_off.py'), str(tmp_path)],
                          env=environment, start_new_session=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as inside:
        try:
            said, _ = inside.communicate(timeout=300.0)
        finally:
            if inside.poll() is None:
                os.killpg(inside.pid, signal.SIGKILL)
    assert inside.returncode == 0, said
