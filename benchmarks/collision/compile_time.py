# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What it takes to compile the kernels of a node for the first time.

Processor time of a process without compiled functions on the disk: of the solver, then of the
check of postures and the proof of a motion, which is what the first goal needs, nearly; then of
all others.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from time import process_time

RUNS = 3


def compile_row() -> str:
    """Return the line of the table, s: solver, check, proof, and all others; each the least."""
    rows = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, '-m', 'benchmarks.collision.compile_time'],
                                  env={**os.environ, 'NUMBA_CACHE_DIR': folder},
                                  stdout=subprocess.PIPE, text=True, check=True)
        rows.append([float(number) for number in done.stdout.split()])
    return ' '.join(f'{min(column):7.1f}' for column in zip(*rows))


def main() -> None:
    """Compile, and print the processor time (s) of each."""
    from ik_node.base.compilation import compilation_told
    from ik_node.base.system import share_file
    from ik_node.collision.distances.certificate import certify_edge
    from ik_node.model.chain import make_chain
    from ik_node.model.description.urdf import read_urdf
    from ik_node.motion.direct.point_to_point import warm_up
    from ik_node.node.goals.preparation import Kernels, load_kernels
    from ik_node.node.robot.collisions import load_collisions
    from ik_node.node.robot.settings import make_settings, start_options
    from ik_node.ros.parameters.tables import IK_NODE
    from ik_node.solver.solver import Solver
    tree = read_urdf(share_file('urdf/six_axis_arm.urdf'))
    chain, values = make_chain(tree), {row.name: row.default for row in IK_NODE}
    marks = [process_time()]
    with compilation_told(lambda text: None):
        Solver(chain)
        marks.append(process_time())
        model = load_collisions(tree, chain, start_options(values), logging.getLogger())
        model.check_many(chain.middle[None])
        marks.append(process_time())
        certify_edge(model, chain.middle, chain.middle + 0.01)
        marks.append(process_time())
        settings = make_settings(values, chain, model)
        warm_up(chain, settings.limits)
        for kernels in Kernels:
            load_kernels(kernels, chain, settings)
        marks.append(process_time())
    print(*(after - before for before, after in zip(marks, marks[1:])))


if __name__ == '__main__':
    main()
