# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The short form of `make soak`: counts are exact, memory is bounded."""

import json
import os
from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[2]
GROWTH = 40.0  # MB: what a burst leaves, while it is answered and after


@pytest.mark.fault('time and load', 'two arms, 100 goals a second, bursts of 2,000 at once, joint '
                   'states at 250 Hz', 'every goal has exactly one final answer, memory is '
                   'bounded; `make soak` does it for longer')
def test_every_goal_is_answered_once_and_memory_is_bounded(tmp_path):
    """Two nodes, some seconds of goals and a burst to each."""
    # So many trajectories are not judged one by one here.
    quiet = {name: value for name, value in os.environ.items() if name != 'IK_NODE_TEST_RECORD'}
    figures = tmp_path / 'soak.json'
    done = subprocess.run(
        [sys.executable, '-m', 'benchmarks.soak', '--minutes', '0.25', '--burst', '2000',
         '--burst-every', '8', '--rate', '100', '--state-rate', '250', '--json', figures],
        cwd=ROOT, capture_output=True, text=True, timeout=500, env=quiet)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    found = json.loads(figures.read_text())
    for side in (found['left'], found['right']):
        assert side['sent'] > 2000
        assert side['unanswered'] == side['answered_twice'] == side['answers_to_nothing'] == 0
        assert side['lost'] == 0
        assert side['superseded'] > 1000 and side['rejected'] > 0
        first, most, _ = side['memory_mb']
        assert most - first < GROWTH, side['memory_mb']
