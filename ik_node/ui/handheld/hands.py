# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What several arms are called on a page, and which hand leads which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ik_node.base.errors import ParameterError

HANDS = 'left', 'right'  # as WebXR calls them


def named(targets: Sequence[str]) -> dict[str, str]:
    """
    Return the names of ik_nodes by what their arms are called: the last words that differ.

    Raises
    ------
    ParameterError
        If a name is there twice, or is empty.

    """
    if len({target.strip('/') for target in targets} - {''}) < len(targets):
        raise ParameterError(f'arms is {[*targets]}; it must have a different name for each arm')
    short = {target.rpartition('/')[2]: target for target in targets}
    return short if len(short) == len(targets) else {target: target for target in targets}


def hands_of(arms: Iterable[str], of_robot: bool = False) -> dict[str, str]:
    """
    Return which hand leads each arm, '' if none, or if both may: they may lead the only one.

    The left hand leads the first arm whose name has the word left.  Hands without such an arm
    lead those whose names have neither word, in their order.

    Parameters
    ----------
    of_robot : bool
        Whether they are the arms of an ik_arms that are known so far: one may not be the only one.

    """
    arms = [*arms]
    hands = dict.fromkeys(arms, '')
    if len(arms) < 2 and not of_robot:
        return hands
    words = {arm: set(arm.lower().replace('/', '_').split('_')) for arm in arms}
    others = [arm for arm in arms if not words[arm] & {*HANDS}]
    without = []
    for hand in HANDS:
        arm = next((arm for arm in arms if hand in words[arm]), None)
        if arm is None or hands[arm]:
            without.append(hand)
        else:
            hands[arm] = hand
    return {**hands, **dict(zip(others, without))}
