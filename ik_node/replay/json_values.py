# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Values of a recording as JSON: written so that each number is exact, and read with checks.

JSON has neither infinity nor NaN; they are the strings ``"inf"``, ``"-inf"`` and ``"nan"``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
import json
from math import isfinite
from typing import Any

import numpy as np

from ik_node.base.errors import ParameterError, Reason
from ik_node.base.text import shown
from ik_node.motion.change.path_pace import PathRate, PathStop
from ik_node.motion.chunk import ChunkPlan
from ik_node.motion.joint_path.motion_sequence import SequencePlan
from ik_node.motion.joint_path.plan import JointPathPlan
from ik_node.motion.motion_remedies import MotionRemedy
from ik_node.motion.tool_path.plan import PathPlan
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.replay.answered import Raised
from ik_node.solver.result import Result

MAX_MAGNITUDE = 1e12  # of a number that is read, in any unit


def json_text(value: Any) -> str:
    """Return a value as JSON; arrays and tuples as lists, dataclasses by their fields."""
    return ''.join(_pieces(value))


def _pieces(value: Any) -> Iterator[str]:
    """Return the text in pieces: each is made while no other thread of Python runs."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and np.isfinite(value).all():
        yield json.dumps(value.tolist())
    elif isinstance(value, Enum):
        yield json.dumps(value.value)
    elif isinstance(value, (float, np.floating)):
        yield json.dumps(float(value) if isfinite(value) else str(float(value)))
    elif isinstance(value, (list, tuple, np.ndarray)):
        if isinstance(value, np.ndarray) and value.ndim == 1:
            value = value.tolist()
        yield '['
        for k, each in enumerate(value):
            yield ', ' * (k > 0)
            yield from _pieces(each)
        yield ']'
    elif isinstance(value, Mapping):
        yield '{'
        for k, (name, each) in enumerate(value.items()):
            yield ', ' * (k > 0) + json.dumps(str(name)) + ': '
            yield from _pieces(each)
        yield '}'
    elif is_dataclass(value):
        yield from _pieces({field.name: getattr(value, field.name) for field in fields(value)})
    else:
        yield json.dumps(value)


class Entry:
    """
    A value that was read, and where it stands.

    Parameters
    ----------
    value : object
        As :mod:`json` gives it.
    where : str
        Begins the sentence of an error, e.g. ``calls[2].start``.

    """

    def __init__(self, value: object, where: str = 'it') -> None:
        self.value, self.where = value, where

    def __getitem__(self, key: str) -> Entry:
        """Return the entry of an object that has this key."""
        self._require(isinstance(self.value, dict) and key in self.value,
                      f'an object with the key "{key}"')
        return Entry(self.value[key], key if self.where == 'it' else f'{self.where}.{key}')

    def items(self) -> list[Entry]:
        """Return the entries of a list; raise ParameterError if it is none."""
        self._require(isinstance(self.value, list), 'a list')
        return [Entry(each, f'{self.where}[{k}]') for k, each in enumerate(self.value)]

    def keys(self) -> list[str]:
        """Return the keys of an object; raise ParameterError if it is none."""
        self._require(isinstance(self.value, dict), 'an object')
        return list(self.value)

    @property
    def missing(self) -> bool:
        """Return whether it is null."""
        return self.value is None

    def text(self) -> str:
        """Return a string; raise ParameterError if it is none."""
        self._require(isinstance(self.value, str), 'a string')
        return self.value

    def truth(self) -> bool:
        """Return true or false; raise ParameterError if it is neither."""
        self._require(isinstance(self.value, bool), 'true or false')
        return self.value

    def whole(self) -> int:
        """Return a whole number, 0 or more; raise ParameterError if it is none."""
        self._require(isinstance(self.value, int) and not isinstance(self.value, bool)
                      and 0 <= self.value <= MAX_MAGNITUDE, 'a whole number, 0 or more')
        return self.value

    def number(self, low: float = -MAX_MAGNITUDE, high: float = MAX_MAGNITUDE) -> float:
        """Return a number within bounds; raise ParameterError if it is none."""
        value = float(self.array(infinite=True))
        self._require(low <= value <= high, f'a number from {low:g} to {high:g}')
        return value

    def array(self, *shape: int | None, infinite: bool = False,
              unchecked: bool = False) -> np.ndarray:
        """
        Return an array of floats.

        Parameters
        ----------
        *shape : int or None
            None stands for any length.
        infinite : bool
            Whether its numbers may be infinite.
        unchecked : bool
            Whether they may be anything, because the call is what checks them.

        Raises
        ------
        ParameterError
            If it has another shape, or a number is NaN, infinite, or beyond MAX_MAGNITUDE.

        """
        try:
            array = np.array(self.value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            array, unchecked = np.array(np.nan), False
        if array.size == 0 and None in shape:  # [] for (0, 4, 4)
            array = array.reshape([length or 0 for length in shape])
        big = np.abs(array)
        self._require(
            array.ndim == len(shape)
            and all(wanted in (None, length) for wanted, length in zip(shape, array.shape))
            and (unchecked or bool(((big <= MAX_MAGNITUDE) | infinite & np.isinf(big)).all())),
            (f'{" x ".join("n" if length is None else str(length) for length in shape)} numbers'
             if shape else 'a number') + f', each of at most {MAX_MAGNITUDE:g}')
        return array

    def _require(self, good: bool, wanted: str) -> None:
        if not good:
            raise ParameterError(f'{self.where} must be {wanted}, got {shown(self.value, 60)}')


TIMED_SENTENCES = Reason.SOLVED, Reason.DEADLINE  # they tell how long the solver took


def outcome_values(outcome: Result | tuple[MotionRemedy, ...] | Trajectory | PathPlan
                   | ChunkPlan | JointPathPlan | SequencePlan | PathStop | PathRate | Raised
                   ) -> dict[str, Any]:
    """Return numbers, arrays and sentences of an outcome that another run has to give, too."""
    if isinstance(outcome, Raised):
        return {'raised': outcome._asdict()}
    if isinstance(outcome, Result):
        return {'status': outcome.status.value, 'q': outcome.q,
                'position_error': outcome.position_error,
                'orientation_error': outcome.orientation_error,
                'iterations': outcome.iterations, 'restarts': outcome.restarts,
                'message': None if outcome.status in TIMED_SENTENCES else outcome.message}
    if type(outcome) is tuple:  # not a named one
        return {'remedies': [{'sentence': remedy.sentence, **remedy.values}
                             for remedy in outcome]}
    if isinstance(outcome, SequencePlan):
        return {**outcome_values(outcome.trajectory), 'ends': outcome.ends}
    if isinstance(outcome, JointPathPlan):
        return {**outcome_values(outcome.trajectory), 'passed': outcome.passed}
    if isinstance(outcome, PathStop):
        return {**outcome_values(outcome.trajectory), 'place': outcome.place}
    if isinstance(outcome, PathRate):
        return {**outcome_values(outcome.trajectory), 'ratio': outcome.ratio}
    if isinstance(outcome, (PathPlan, ChunkPlan)):
        why = outcome.interruption
        share = {'fraction': outcome.fraction} if isinstance(outcome, PathPlan) else {}
        return {**outcome_values(outcome.trajectory), **share, 'deviation': outcome.deviation,
                'interruption': None if why is None else Raised.by(why)._asdict()}
    return {'times': outcome.times, 'q': outcome.q, 'qd': outcome.qd, 'qdd': outcome.qdd,
            'lead_points': outcome.lead_points}


def summary(values: Mapping[str, Any]) -> str:
    """Return the values of an outcome in a few words."""
    raised = values.get('raised')
    if isinstance(raised, Mapping):
        return str(raised.get('reason', 'an error'))
    if 'status' in values:
        return str(values['status'])
    if isinstance(values.get('remedies'), list):
        return f'{len(values["remedies"])} found'
    times = _array(values.get('times'))
    if times is None or times.ndim != 1 or not len(times):
        return 'no points'
    part = values.get('fraction', 1.0)
    share = f', {100.0 * part:.1f} % of the path' \
        if isinstance(part, float) and part < 1.0 else ''
    return f'{times[-1]:.3f} s, {len(times)} points{share}'


def differences(recorded: Any, repeated: Any, where: str = '') -> list[str]:
    """
    Compare the values of two outcomes bit for bit.

    Parameters
    ----------
    recorded, repeated : object
        Mappings, lists, arrays, numbers and strings.

    Returns
    -------
    list of str
        For each value that differs, where and by how much.

    """
    if isinstance(recorded, Mapping) and isinstance(repeated, Mapping):
        return [each for key in dict.fromkeys((*recorded, *repeated))
                for each in differences(recorded.get(key), repeated.get(key),
                                        f'{where}.{key}'.lstrip('.'))]
    before, after = _array(recorded), _array(repeated)
    if before is None or after is None:
        return [] if _plain(recorded) == _plain(repeated) else [
            f'{where} was {_shortened(recorded)}, is {_shortened(repeated)}']
    if before.shape != after.shape:
        return [f'{where} had the shape {before.shape}, has {after.shape}']
    other = ~((before == after) | (np.isnan(before) & np.isnan(after)))
    if not other.any():
        return []
    away = np.where(other, np.abs(after - before), 0.0)
    place = np.unravel_index(int(np.nanargmax(away)), away.shape)
    index = f'[{", ".join(map(str, place))}]' if place else ''
    count = int(np.count_nonzero(other))
    return [f'{where}{index} by {away[place]:.3g}'
            + (f', the most of {count} numbers' if count > 1 else '')]


def _array(value: Any) -> np.ndarray | None:
    """Return a number or numbers as an array; None if it is something else."""
    if value is None or isinstance(value, (str, bool)):
        return None
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _shortened(value: Any, length: int = 100) -> str:
    try:
        text = repr(_plain(value))
    except RecursionError:
        return 'nested too deep'
    return text if len(text) <= length else text[:length - 3] + '...'
