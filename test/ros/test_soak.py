# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The short form of `make soak`: counts are exact, memory is bounded."""

import json
import os
from pathlib import Path
import subprocess
import sys

from nightly import samples
import numpy as np
import pytest

from benchmarks.soak import after_bursts, complaints, course

ROOT = Path(__file__).parents[2]
BURST = samples(usual=1000, nightly=2000)
SECONDS = samples(usual=5.0, nightly=15.0)
KEPT = 2e-3 * BURST  # MB, from burst to burst, as if each goal left 2 kB; 1.4 MB were seen
FEW = 3  # open files or threads, which DDS may have for a while
GOOD = {'unanswered': 0, 'answered_twice': 0, 'answers_to_nothing': 0, 'lost': 0,
        'memory_mb': [238.0, 243.0, 262.0, 268.0], 'open_files': [18.0, 18.0, 19.0, 18.0],
        'threads': [14.0, 14.0, 14.0, 14.0]}


@pytest.mark.nightly
@pytest.mark.fault('time and load', 'two arms, 100 goals a second, bursts of 2,000 at once, joint '
                   'states at 100 Hz', 'every goal has exactly one final answer, memory, '
                   'open files and threads are bounded; `make soak` does it for longer')
def test_every_goal_is_answered_once_and_memory_is_bounded(tmp_path):
    """Two nodes, some seconds of goals and two bursts to each."""
    # So many trajectories are not judged one by one here.
    quiet = {name: value for name, value in os.environ.items() if name != 'IK_NODE_TEST_RECORD'}
    figures = tmp_path / 'soak.json'
    done = subprocess.run(
        [sys.executable, '-m', 'benchmarks.soak', '--minutes', f'{SECONDS / 60.0}',
         '--burst', f'{BURST}', '--burst-every', f'{SECONDS / 4.0}', '--rate', '100',
         '--state-rate', '100', '--json', figures],
        cwd=ROOT, capture_output=True, text=True, timeout=500, env=quiet)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    found = json.loads(figures.read_text())
    for side in (found['left'], found['right']):
        assert side['sent'] >= 2 * BURST
        assert side['unanswered'] == side['answered_twice'] == side['answers_to_nothing'] == 0
        assert side['lost'] == 0
        assert side['superseded'] > BURST / 2 and side['rejected'] > 0
        first, second = side['memory_after_bursts_mb']
        assert second - first < KEPT, side['memory_after_bursts_mb']
        for name in ('open_files', 'threads'):
            first, _, most, _ = side[name]
            assert most - first <= FEW, (name, side[name])


@pytest.mark.parametrize('broken, words', [
    ({}, None),
    ({'unanswered': 2}, '2 goals have no answer'),
    ({'answered_twice': 1}, '1 answers came again'),
    ({'answers_to_nothing': 3}, '3 answers are to no goal'),
    ({'lost': 4}, '4 goals were lost'),
    ({'memory_mb': [238.0, 243.0, 270.0, 268.1]}, 'memory grew by 25.1 MB after the first third'),
    ({'open_files': [18.0, 18.0, 19.0, 19.0]}, 'open files were 18 after the first third, 19 at'),
    ({'threads': [14.0, 14.0, 14.0, 13.0]}, 'threads were 14 after the first third, 13 at'),
], ids=['good', 'unanswered', 'twice', 'to nothing', 'lost', 'memory', 'files', 'threads'])
def test_each_limit_has_a_sentence(broken, words):
    """For what is broken, and for nothing else."""
    told = complaints('left', {**GOOD, **broken})
    assert [sentence.startswith(f'left: {words}') for sentence in told] == [True] * bool(broken)


def test_limits_of_the_comparison():
    """After a third of the time; and before the second burst, if there is one."""
    times, values = np.arange(10.0), np.arange(100.0, 110.0)
    assert course(times, values[::-1]) == [109.0, 106.0, 109.0, 100.0]
    assert after_bursts([2.0, 5.5, 8.0], times, values) == [105.0, 109.0]
    assert after_bursts([2.0], times, values) == [109.0, 109.0]
