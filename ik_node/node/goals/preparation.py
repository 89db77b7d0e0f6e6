# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Loads or compiles, beside the first goals to poses, what other goals need."""

from __future__ import annotations

from concurrent.futures import Future
from enum import Enum
import gc
from threading import Thread
import traceback

from rclpy.node import Node

from ik_node.base.compilation import compilation_told
from ik_node.base.errors import IkNodeError, Reason
from ik_node.model.chain import Chain
from ik_node.motion.constrained_motion import some_constraint, warm_up as load_constraints
from ik_node.motion.detour import warm_up as load_detours
from ik_node.motion.following.follower import Follower
from ik_node.motion.posture_report import warm_up as load_posture_reports
from ik_node.motion.tool_path.plan import warm_up as load_paths
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.robot.settings import Settings
from ik_node.solver.warm_up import warm_up_bias, warm_up_search


class Kernels(Enum):
    """Compiled code that goals to poses do not need."""

    PATHS = 'paths'
    STREAMS = 'streams'
    FREE_AXES = 'goals with free axes'
    DETOURS = 'detours'
    CLEARANCES = 'the clearances'
    POSTURES = 'lists of postures'
    CONSTRAINTS = 'path constraints'


def load_kernels(kernels: Kernels, chain: Chain, settings: Settings) -> None:
    """Load compiled code, or compile it, which takes up to a minute of processor time."""
    if kernels is Kernels.PATHS:
        load_paths(settings.solver)
    elif kernels is Kernels.STREAMS:
        Follower(chain, settings.planning, settings.following, settings.solver.collisions)
    elif kernels is Kernels.FREE_AXES:
        warm_up_search()
        if settings.solver.tables.biased:
            warm_up_bias()
    elif kernels is Kernels.POSTURES:
        load_posture_reports(settings.solver, settings.planning)
    elif kernels is Kernels.CONSTRAINTS:
        load_constraints(chain, settings.solver.collisions, settings.planning)
        Follower(chain, settings.planning, settings.following, settings.solver.collisions,
                 (some_constraint(chain),))
    elif settings.solver.collisions is not None:
        if kernels is Kernels.DETOURS:
            load_detours(settings.solver.collisions, settings.planning)
        else:
            settings.solver.collisions.clearances(chain.middle)


class CompilingError(IkNodeError):
    """
    Something needs compiled code that is not loaded yet.

    Parameters
    ----------
    kernels : Kernels
        The code.

    """

    reason = Reason.COMPILING

    def __init__(self, kernels: Kernels) -> None:
        super().__init__(f'the node still compiles what {kernels.value} need, once on this '
                         'machine; its log says how far it is')
        self.kernels = kernels


class Preparation:
    """Loads or compiles code in a thread of its own, once per process."""

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._thread: Thread | None = None
        self._loaded: dict[Kernels, Future] = {kernels: Future() for kernels in Kernels}

    def begin(self, chain: Chain, settings: Settings) -> None:
        """Begin when the first robot is known; any other uses the same code."""
        if self._thread is None:
            self._thread = Thread(target=self._load, args=(chain, settings), daemon=True)
            self._thread.start()

    def is_ready(self, kernels: Kernels) -> bool:
        """Return whether this code is loaded."""
        return self._loaded[kernels].done()

    def loaded(self, kernels: Kernels) -> Future:
        """Return a future that is done when this code is loaded."""
        return self._loaded[kernels]

    def require(self, kernels: Kernels) -> None:
        """
        Check that this code is loaded.

        Raises
        ------
        CompilingError
            If it is not.

        """
        if not self.is_ready(kernels):
            raise CompilingError(kernels)

    def until_loaded(self, task: GoalTask, kernels: Kernels) -> Steps:
        """Have a goal wait until this code is loaded."""
        while not self.is_ready(kernels):
            self._logger.info(f'goal {task.number} waits until the node has compiled what '
                              f'{kernels.value} need', throttle_duration_sec=10.0)
            yield

    def _load(self, chain: Chain, settings: Settings) -> None:
        with compilation_told(self._logger.info):
            for kernels in Kernels:
                try:
                    load_kernels(kernels, chain, settings)
                except Exception:  # noqa: BLE001 - a goal that needs it reports it
                    self._logger.error(traceback.format_exc())
                self._loaded[kernels].set_result(None)
        gc.freeze()  # so that later collections skip the compiler
        self._logger.info('all kernels are compiled')
