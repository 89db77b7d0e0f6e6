# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What came of a call, as values that can be written and compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ik_node.base.errors import Reason
from ik_node.motion.change.path_rate import PathRate
from ik_node.motion.change.path_stop import PathStop
from ik_node.motion.joint_path.motion_sequence import SequencePlan
from ik_node.motion.joint_path.plan import JointPathPlan
from ik_node.motion.motion_remedies import MotionRemedy
from ik_node.motion.tool_path.plan import PathPlan
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.replay.calls import Raised
from ik_node.solver.result import Result

TIMED_SENTENCES = Reason.SOLVED, Reason.DEADLINE  # they tell how long the solver took


def outcome_values(outcome: Result | tuple[MotionRemedy, ...] | Trajectory | PathPlan
                   | JointPathPlan | SequencePlan | PathStop | PathRate | Raised
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
    if isinstance(outcome, PathPlan):
        why = outcome.interruption
        return {**outcome_values(outcome.trajectory), 'fraction': outcome.fraction,
                'deviation': outcome.deviation,
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
