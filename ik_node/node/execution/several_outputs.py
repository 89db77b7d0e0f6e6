# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Several controllers as one output."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ik_node.base.errors import IkNodeError, Reason, TrajectoryError
from ik_node.base.text import quote
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.motion.tree_motion import ControllerJoints, split_by_controller
from ik_node.node.execution.outputs import Late, TopicOutput

HELD_MOVE = 1e-9          # rad or m; what moves less is interpolated at rest


class SeveralOutputs:
    """
    Several controllers that share a clock: each gets its joints of a trajectory, with one stamp.

    Parameters
    ----------
    outputs : mapping of controller to TopicOutput
    controllers : mapping of controller to its joints

    """

    steady = True

    def __init__(self, outputs: Mapping[str, TopicOutput], controllers: ControllerJoints) -> None:
        self._outputs, self._controllers = outputs, controllers
        self.name, self.manager = ', '.join(outputs), self

    def listeners(self) -> int:
        """As :meth:`Output.listeners`; 0 if a controller does not listen."""
        return min(output.listeners() for output in self._outputs.values())

    def ready(self, now: float) -> bool:
        """As :meth:`Output.ready`."""
        deaf = [output.name for output in self._outputs.values() if not output.listeners()]
        if deaf:
            raise TrajectoryError(f'nobody listens on {", ".join(deaf)}; start the controllers, '
                                  'or correct the parameter controllers', Reason.NO_LISTENER)
        return all([output.ready(now) for output in self._outputs.values()])

    def send(self, trajectory: Trajectory, stamp: int | None = None,
             before: float = np.inf) -> None:
        """As :meth:`Output.send`; if a controller is not reached, the others still are."""
        missed = None
        for name, part in split_by_controller(trajectory, self._controllers).items():
            if np.ptp(part.q, axis=0).max() < HELD_MOVE:  # it rests, maybe not where it was to be
                part = part.without_lead()
            try:
                self._outputs[name].send(part, stamp, before)
            except IkNodeError as error:
                missed = TrajectoryError(f'the controller {quote(name)} was not reached: {error}',
                                         error.reason)
            except Late:
                missed = TrajectoryError('the node was too late for the controller '
                                         f'{quote(name)}', Reason.NODE_LATE)
        if missed is not None:
            raise missed

    def values(self) -> dict[str, str]:
        """Return nothing: there is no feedback."""
        return {}

    def flush(self, seconds: float) -> bool:
        """As :meth:`Output.flush`."""
        return all([output.flush(seconds) for output in self._outputs.values()])

    def ask(self) -> Callable[[], str | None]:
        """As :meth:`ControllerManager.ask`, of all controllers."""
        asked = [output.manager.ask() for output in self._outputs.values()]

        def said() -> str | None:
            told = [each() for each in asked]
            return None if None in told else '; '.join(dict.fromkeys(filter(None, told)))

        return said
