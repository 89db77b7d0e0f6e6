# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""No process of a test is left behind, wherever it has gone."""

import subprocess
from time import monotonic

from process_tree import ProcessTree


def wait_for(tree, count):
    """Wait until so many sleep: for a moment, a new process has no environment."""
    end = monotonic() + 10.0
    while sum('sleep 60' in line for line in tree.members().values()) < count:
        assert monotonic() < end, tree.members()


def test_all_are_found_and_killed():
    """Also what has left the process group and lost its parent."""
    tree = ProcessTree(['sh', '-c', 'setsid sleep 600 & setsid sh -c "sleep 601" & echo; exit'],
                       stdout=subprocess.PIPE)
    tree.root.stdout.readline()
    tree.root.wait(10)
    wait_for(tree, 2)
    tree.kill()
    assert not tree.members()


def test_no_process_is_left_after_the_end():
    """It is not waited for longer than that takes."""
    tree = ProcessTree(['sleep', '600'])
    wait_for(tree, 1)
    tree.interrupt()
    assert not tree.left(20.0) and tree.root.wait(1) != 0
