# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A path or sequence that was refused, and the search for what would make it possible."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from dataclasses import dataclass
from math import inf
from time import thread_time

from ik_node.base.errors import IkNodeError
from ik_node.motion.direct.start_state import StartState
from ik_node.motion.motion_remedies import MotionRemedy, REMEDIED_MOTION_REASONS
from ik_node.node.robot.settings import Settings
from ik_node.replay.calls import MadeCall, MotionRemedyCall, PathCall, Rounds, SequenceCall

MOTION_REMEDY_TIME_S = 0.1  # of the processor, in a thread beside the other callbacks


@dataclass(frozen=True, eq=False)
class RefusedPlan:
    """
    What was refused.

    Attributes
    ----------
    settings : Settings
        With which it was planned.
    start : StartState
        Where the arm was.
    call : PathCall or SequenceCall
        The path, or the motions of a sequence between two rests.
    error : IkNodeError
        Why it was refused.
    first : int
        Number of the first motion, of a sequence.

    """

    settings: Settings
    start: StartState
    call: PathCall | SequenceCall
    error: IkNodeError
    first: int = 1

    @property
    def may_have_remedies(self) -> bool:
        """Return whether remedies are sought: of a moving arm they would not hold afterwards."""
        return self.error.reason in REMEDIED_MOTION_REASONS \
            and self.start.splice.rests and not len(self.start.times)

    def remedies(self, log: MutableSequence[MadeCall], has_ended: Callable[[], bool]
                 ) -> tuple[MotionRemedy, ...]:
        """
        Return what would make it possible; for another thread.

        Parameters
        ----------
        log : sequence
            Where the search is noted, if goals are recorded.
        has_ended : callable
            Whether nobody wants to know any more.

        """
        end = inf

        def goes_on() -> bool:
            nonlocal end
            end = min(end, thread_time() + MOTION_REMEDY_TIME_S)  # after its motion was planned
            return not has_ended() and thread_time() < end

        try:
            return self.settings.made(
                MotionRemedyCall(self.call, self.first, Rounds(goes_on)), log)
        except IkNodeError:  # the refusal counts
            return ()
