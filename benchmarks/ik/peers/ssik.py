# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""ssik: closed forms and eliminations for six and seven revolute joints."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import subprocess
import sys

import numpy as np

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import ALL, MIDDLE, Peer, POSE, Refused

BUILD_SECONDS = 300.0
_FAILED: dict[Path, str] = {}  # why there is no artifact, so that it is not tried again


def _build(model: Model, path: Path) -> str:
    """Write the artifact and return why that failed, or nothing."""
    command = [sys.executable, '-m', 'ssik.cli', 'build', str(model.windowed_urdf), '--base',
               model.base, '--ee', model.tip, '--out', str(path), '--no-validate']
    try:
        built = subprocess.run(command, capture_output=True, text=True, check=False,
                               timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        return f'its build takes more than {BUILD_SECONDS:.0f} s'
    if path.is_file():
        return ''
    return f'its build fails: {(built.stderr.strip().splitlines() or [""])[-1]}'[:120]


class Ssik(Peer):
    """
    The artifact that ``ssik build`` writes for an arm, with its native code.

    It is 25 times faster than ``Manipulator.from_urdf``.  One solution is asked
    for, inside the limits, without the variants by whole turns.
    """

    name = 'ssik'
    package = 'ssik'
    kind = 'closed form'
    call = 'artifact.solve(T, max_solutions=1, enumerate_windings=False)'
    tasks = (POSE, MIDDLE, ALL)

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        path = model.urdf.with_name(f'{model.name}_ssik.py')
        if not path.is_file():
            if path not in _FAILED:
                _FAILED[path] = _build(model, path)
            if _FAILED[path]:
                raise Refused(_FAILED[path])
        spec = spec_from_file_location(path.stem, path)
        self.artifact = module_from_spec(spec)
        spec.loader.exec_module(self.artifact)
        self.options = {'enumerate_windings': False}
        if task != ALL:
            self.options['max_solutions'] = 1

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        return np.asarray(self.artifact.fk(q))

    def solve(self, T: np.ndarray, seed: np.ndarray) -> object:
        """See :meth:`Peer.solve`."""
        return self.artifact.solve(T, **self.options)

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [self.model.wrap(np.asarray(solution.q)) for solution in returned]


class SsikSeeded(Ssik):
    """The same, asked for the solution nearest to the seed."""

    name = 'ssik nearest'
    call = 'artifact.solve(T, max_solutions=1, q_seed=q, enumerate_windings=False)'
    tasks = (POSE, MIDDLE)

    def solve(self, T: np.ndarray, seed: np.ndarray) -> object:
        """See :meth:`Peer.solve`."""
        return self.artifact.solve(T, q_seed=seed, **self.options)


PEERS = (Ssik, SsikSeeded)
