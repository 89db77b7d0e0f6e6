# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The pages that are open, one of which may hold the clutch of an arm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ik_node.base.errors import GoalError
from ik_node.ui.handheld.clutch import Clutch, HandSample, heading_of, SAMPLE_TIMEOUT_S
from ik_node.ui.handheld.page_messages import ArmState, FollowSettings, Heading


@dataclass
class OpenPage:
    """One page."""

    name: str  # for the users of other pages
    clutch: Clutch


class OpenPages:
    """
    All pages, by their numbers, with the clutches by which they lead one arm.

    Parameters
    ----------
    timeout : float
        Of their clutches, s.

    """

    def __init__(self, timeout: float = SAMPLE_TIMEOUT_S) -> None:
        self._timeout = timeout
        self._pages: dict[int, OpenPage] = {}

    def open(self, number: int, name: str) -> None:
        """Add a page."""
        self._pages[number] = OpenPage(name, Clutch(timeout=self._timeout))

    def close(self, number: int) -> None:
        """Remove a page; its clutch is released."""
        self._pages.pop(number, None)

    @property
    def holder(self) -> int | None:
        """Return the page that holds the clutch."""
        return next((number for number, page in self._pages.items() if page.clutch.holding), None)

    def presses(self, number: int, sample: HandSample) -> bool:
        """Return whether a sample would take the clutch."""
        return self._pages[number].clutch.presses(sample)

    def take(self, number: int, sample: HandSample, now: float,
             T_base_tip: np.ndarray | None = None,
             refusal: str = '') -> tuple[np.ndarray, float] | None:
        """
        Take a sample of a page, as Clutch.take, and return the target.

        Returns
        -------
        (4, 4) array, float
            Pose of the tip in the base, and how late the sample was, s.  None while this page
            does not hold the clutch.

        """
        clutch = self._pages[number].clutch
        target = clutch.take(sample, now, T_base_tip, self._taken(number) or refusal)
        return None if target is None else (target, clutch.delay)

    def _taken(self, number: int) -> str:
        """Return which other page holds the clutch, '' if none does."""
        holder = self.holder
        return '' if holder in (None, number) \
            else f'{self._pages[holder].name} moves the arm; wait until it lets go'

    def set(self, number: int, message: FollowSettings | Heading) -> None:
        """Take the choices of a page, for its next press."""
        clutch = self._pages[number].clutch
        if isinstance(message, FollowSettings):
            clutch.options = replace(clutch.options, scale=message.scale, turns=message.turns)
            return
        try:
            clutch.options = replace(clutch.options, heading=heading_of(message.rotation))
            clutch.notice = ''
        except GoalError as error:
            clutch.notice = str(error)

    def check(self, now: float) -> None:
        """Release the clutch if samples have stopped, at a time (s)."""
        for page in self._pages.values():
            page.clutch.check(now)

    def release(self, why: str) -> None:
        """Release the clutch until the next press; say why."""
        for page in self._pages.values():
            page.clutch.release(why)

    def note(self, number: int, sentence: str, instead_of: str | None = None) -> None:
        """Show a sentence on a page, if it is still open; only in place of another, if given."""
        page = self._pages.get(number)
        if page is not None and instead_of in (None, page.clutch.notice):
            page.clutch.notice = sentence

    def states(self, refusal: str, answer: str, colour: str) -> dict[int, ArmState]:
        """
        Return what each page shows of the arm.

        Parameters
        ----------
        refusal : str
            Why a press of any page would be refused now; '' if it would not.
        answer, colour : str
            The last answer of the ik_node, and its colour.

        """
        return {number: ArmState(page.clutch.holding, page.clutch.notice,
                                 self._taken(number) or refusal, answer, colour)
                for number, page in self._pages.items()}
