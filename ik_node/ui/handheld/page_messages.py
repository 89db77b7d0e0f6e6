# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The messages between page and node: JSON objects, told apart by ``type``.

The page sends

``sample``
    time (s), position (x, y, z, m), orientation (quaternion x, y, z, w), held, tracked; arm, the
    name of the one that the hand leads, which may be left out if there is one only
``settings``
    scale, turns
``heading``
    orientation of the device that now looks forward
``stop``

and gets PageState.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
import json
from math import sqrt
from typing import Any

import numpy as np

from ik_node.base.checks import is_plain_number, near_one
from ik_node.base.errors import GoalError
from ik_node.base.se3 import rotation_from_quaternion
from ik_node.base.text import shown
from ik_node.ui.handheld.clutch import HandSample, SCALE_RANGE

MAX_MESSAGE_BYTES = 1000
MAX_MESSAGE_RATE = 500.0  # messages per second, of one page: of two hands, 120 times a second
MAX_MESSAGE_BURST = 250   # that are taken at once, after a pause
FARTHEST_HAND_M = 100.0   # from where the session began


@dataclass(frozen=True)
class FollowSettings:
    """Settings of ClutchOptions that are chosen on the page."""

    scale: float
    turns: bool


@dataclass(frozen=True)
class Heading:
    """Forward is where a device looks: its rotation (3, 3) in the frame of WebXR."""

    rotation: np.ndarray


@dataclass(frozen=True)
class Stop:
    """Bring all arms to rest."""


PageMessage = HandSample | FollowSettings | Heading | Stop


@dataclass(frozen=True)
class ArmState:
    """What the page shows of an arm."""

    holding: bool = False  # whether this page holds its clutch
    notice: str = ''       # what the user has to know; '' if all is well
    refusal: str = ''      # why a press would be refused now, '' if it would not
    answer: str = ''       # the last answer of its ik_node
    colour: str = ''       # of the answer: green, amber or red; '' without an answer
    hand: str = ''         # whose controller leads it: left, right or, if both may or none, ''


@dataclass(frozen=True)
class PageState:
    """What the page shows."""

    arms: dict[str, ArmState] = field(default_factory=dict)  # by their names

    def text(self) -> str:
        """Return the message."""
        return json.dumps(asdict(self))


def read_message(text: str | bytes) -> PageMessage:
    """Return the message of a page."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise GoalError('a message of the page is no JSON; load the page again') from None
    if not isinstance(message, dict):
        raise GoalError(f'a message of the page is {shown(message, 40)}, not an object')
    kind = message.get('type')
    if kind == 'sample':
        return HandSample(_number(message, 'time'), _position(message), _rotation(message),
                          _flag(message, 'held'), _flag(message, 'tracked'), _arm(message))
    if kind == 'settings':
        scale = _number(message, 'scale')
        if not SCALE_RANGE[0] <= scale <= SCALE_RANGE[1]:
            raise GoalError(f'scale is {scale:g}; it must be from {SCALE_RANGE[0]:g} to '
                            f'{SCALE_RANGE[1]:g}')
        return FollowSettings(scale, _flag(message, 'turns'))
    if kind == 'heading':
        return Heading(_rotation(message))
    if kind == 'stop':
        return Stop()
    raise GoalError(f'a message of the page has the type {shown(kind, 40)}, which is unknown; it '
                    'must be sample, settings, heading or stop')


def _flag(message: Mapping[str, Any], name: str) -> bool:
    value = message.get(name)
    if not isinstance(value, bool):
        raise GoalError(f'{name} is {shown(value, 40)}; it must be true or false')
    return value


def _arm(message: Mapping[str, Any]) -> str:
    name = message.get('arm', '')
    if not isinstance(name, str):
        raise GoalError(f'arm is {shown(name, 40)}; it must be the name of one')
    return name


def _number(message: Mapping[str, Any], name: str) -> float:
    return _numbers([message.get(name)], name, 1)[0]


def _numbers(values: Any, name: str, count: int) -> list[float]:
    if not isinstance(values, list) or len(values) != count or not all(
            is_plain_number(value) and -1e15 < value < 1e15 for value in values):
        raise GoalError(f'{name} is {shown(values, 60)}; it must be finite, and '
                        f'{"one number" if count == 1 else f"{count} numbers"}')
    return [float(value) for value in values]


def _position(message: Mapping[str, Any]) -> np.ndarray:
    position = _numbers(message.get('position'), 'position', 3)
    if max(map(abs, position)) > FARTHEST_HAND_M:
        raise GoalError(f'the hand is {max(map(abs, position)):.3g} m away; it must be within '
                        f'{FARTHEST_HAND_M:g} m of where the session began')
    return np.array(position)


def _rotation(message: Mapping[str, Any]) -> np.ndarray:
    x, y, z, w = _numbers(message.get('orientation'), 'orientation', 4)
    norm = sqrt(x * x + y * y + z * z + w * w)
    if not near_one(norm):
        raise GoalError(f'the quaternion of the hand has norm {norm:.4g}; it must be 1')
    return rotation_from_quaternion(np.array([x, y, z, w]) / norm)


class MessageLimit:
    """Counts the messages of one page: MAX_MESSAGE_RATE, and bursts of MAX_MESSAGE_BURST."""

    def __init__(self) -> None:
        self._left, self._last = float(MAX_MESSAGE_BURST), 0.0

    def allows(self, now: float) -> bool:
        """Count a message that came `now` (s, steady); return whether it is within the limit."""
        self._left = min(self._left + MAX_MESSAGE_RATE * (now - self._last),
                         float(MAX_MESSAGE_BURST))
        self._last = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
