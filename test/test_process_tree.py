# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""No process of a test is left behind, wherever it has gone."""

import subprocess

from process_tree import ProcessTree


def test_all_are_found_and_killed():
    """Also what has left the process group and lost its parent."""
    tree = ProcessTree(['sh', '-c', 'setsid sleep 600 & setsid sh -c "sleep 601" & echo; exit'],
                       stdout=subprocess.PIPE)
    tree.root.stdout.readline()
    tree.root.wait(10)
    assert sum('sleep 60' in line for line in tree.left(0.5).values()) >= 2
    tree.kill()
    assert not tree.members()


def test_nothing_is_left_of_what_ends():
    """It is not waited for longer than that takes."""
    tree = ProcessTree(['sleep', '600'])
    assert tree.members()
    tree.interrupt()
    assert not tree.left(20.0) and tree.root.wait(1) != 0
