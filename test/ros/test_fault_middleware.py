# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Another middleware than the default one."""

import os
from pathlib import Path
import subprocess
import sys

import pytest

MOTION = Path(__file__).parent / 'test_motion.py'


@pytest.mark.fault('start, end and middleware', 'another middleware: Fast DDS, Cyclone DDS',
                   'goals are reached with each that is installed')
@pytest.mark.parametrize('middleware', ['rmw_fastrtps_cpp', 'rmw_cyclonedds_cpp'])
@pytest.mark.nightly
def test_another_middleware(middleware, recorded):
    """For node, controller and test, which are all begun anew with it."""
    environment = {**os.environ, 'RMW_IMPLEMENTATION': middleware}
    tried = subprocess.run([sys.executable, '-c', 'import rclpy; rclpy.init()'], env=environment,
                           capture_output=True)
    if tried.returncode:
        pytest.skip(f'{middleware} is not installed; PyPI has Fast DDS alone')
    ran = subprocess.run([sys.executable, '-m', 'pytest', '-q', str(MOTION), '-k', 'is_reached'],
                         env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0 and '1 passed' in ran.stdout, ran.stdout
