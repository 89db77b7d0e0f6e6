# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated arm as a fixture for the tests of others, in a session of pytest of its own."""

from contextlib import suppress
import os
from pathlib import Path
import subprocess
import sys

from documents import blocks
from harness import ARM, ROOT
import pytest

DOCUMENT = 'docs/how_to/test_your_package.md'
SIDE_BY_SIDE = f'''

def test_two_side_by_side(simulated_arm):
    left, right = (simulated_arm({str(ARM)!r}, namespace=side) for side in ('left', 'right'))
    goal = left.q + 0.1
    left.send(goal, seconds=0.2)
    left.wait(lambda: np.allclose(left.q, goal, atol=1e-6))
    assert not np.allclose(right.q, goal, atol=1e-6) and not right.trajectories


def test_a_wrong_expectation_fails(simulated_arm):
    arm = simulated_arm({str(ARM)!r})
    arm.wait(lambda: False, 0.2, 'a miracle')


def test_no_robot(simulated_arm):
    simulated_arm('/none.urdf')
'''


def commands_running():
    """Return the command lines of all processes."""
    for file in Path('/proc').glob('[0-9]*/cmdline'):
        with suppress(OSError):  # it has ended meanwhile
            yield file.read_bytes().replace(b'\0', b' ').decode(errors='replace')


@pytest.mark.fault('time and load', "a test of another package waits in vain for a simulated arm",
                   'it fails in time, with what the controller says; no process is left')
def test_the_document_and_more(tmp_path):
    """Its tests pass as they stand there; what does not hold fails with a sentence."""
    conftest, tests = (block.text for block in blocks('python') if block.document == DOCUMENT)
    (tmp_path / 'conftest.py').write_text(conftest)
    (tmp_path / 'test_others.py').write_text(tests + SIDE_BY_SIDE)
    (tmp_path / 'urdf').symlink_to(ROOT / 'urdf')
    ran = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'no:xdist',
         '--basetemp', str(tmp_path / 'temporary'), '.'],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, env={
            **{name: value for name, value in os.environ.items()
               if not name.startswith('PYTEST')}, 'PYTHONPATH': str(ROOT)})
    assert '2 failed, 4 passed' in ran.stdout, ran.stdout
    assert 'a miracle did not come within 0.2 s' in ran.stdout
    assert 'the simulated controller has ended' in ran.stdout and '/none.urdf' in ran.stdout
    assert not [command for command in commands_running() if 'sim_controller' in command
                and str(tmp_path) in command]
