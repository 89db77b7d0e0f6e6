# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Recordings of goals: one file with all that the solver and the planners were given.

>>> recording = load('goal-mwy10y6f-3.json.gz')
>>> recorded = recording.requests[0]
>>> recorded.request.plan(recorded.solver)
Result(solved, success=True, ...)

A file is JSON, as a rule compressed by gzip, with these keys: ``format``, ``version``,
``robot`` (the text of the URDF, base and tip, position limits, and the bodies of the links as
convex parts), ``surroundings`` (objects, margin, and pairs of links that are not checked, as they
were for one or more of the calls), ``solvers`` (options and tool), ``id``, ``goal``, ``made_with``
(versions), ``parameters`` (for the reader), and ``calls``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
import gzip
import json
from pathlib import Path
import platform
from typing import Any, NamedTuple
import zlib

from llvmlite.binding import get_host_cpu_name
import numba
import numpy as np

import ik_node
from ik_node.base.errors import ParameterError, Reason
from ik_node.base.text import quote
from ik_node.collision.distances.model import CollisionModel, DISABLED_REASON
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import Tree
from ik_node.motion.direct.ruckig_motion import ruckig_version
from ik_node.motion.requests import (
    ArcPoses,
    ConstrainedRequest,
    DetourRequest,
    MotionRemedyRequest,
    PathRequest,
    RemedyRequest,
    Request,
    SequenceRequest,
    WithinRequest,
)
from ik_node.replay.answered import AnsweredRequest, Raised
from ik_node.replay.json_values import differences, Entry, json_text, outcome_values
from ik_node.replay.reading import (
    read_bodies,
    read_collisions,
    read_request,
    read_robot,
    read_solver,
)
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

FORMAT_NAME = 'recording of ik_node'
FORMAT_VERSION = 1
MAX_RECORDING_BYTES = 64 * 2**20  # of its text
MAX_RECORDING_VALUES = 4_000_000  # as many as numbers of 16 characters fit
GZIP_MAGIC = b'\x1f\x8b'
FAST_COMPRESSION = 3  # of zlib's levels
MADE_WITH_KEYS = 'ik_node', 'python', 'numpy', 'numba', 'ruckig', 'machine', 'processor'


class AnsweredGoal(NamedTuple):
    """A goal that has its final answer."""

    id: str                    # as in its answers
    values: Mapping[str, Any]  # number, kind, stamp, state, reason and message of the answer
    tree: Tree
    requests: Sequence[AnsweredRequest]  # one at least, all for one robot
    parameters: Mapping[str, Any]        # values of the node's parameters


@dataclass(frozen=True, eq=False)
class RecordedRequest:
    """A request of a recording."""

    request: Request
    # Of the arm among the objects that were there; it has more time than in the node.
    solver: Solver
    outcome: Mapping[str, Any]  # what came of it, by names: numbers, lists and sentences

    def repeated(self) -> dict[str, Any]:
        """Plan it again, and return what comes of it, as :attr:`outcome`."""
        try:
            return outcome_values(self.request.plan(self.solver))
        except Exception as error:  # noqa: BLE001 - so did the node's, perhaps
            return outcome_values(Raised.by(error))

    def differences(self) -> list[str]:
        """Plan it again, and return what differs, bit for bit; empty if nothing does."""
        return differences(self.outcome, self.repeated())


@dataclass(frozen=True, eq=False)
class Recording:
    """What a node recorded of one goal."""

    id: str  # as in the goal's answers
    goal: Mapping[str, Any]  # number, kind, stamp, state, reason and message of the answer
    made_with: Mapping[str, Any]  # versions and processor, by MADE_WITH_KEYS
    # Values of the node's parameters, as far as they are strings, numbers or lists.
    parameters: Mapping[str, Any]
    tree: Tree
    chain: Chain  # without a tool
    requests: tuple[RecordedRequest, ...]


# ---- to a file --------------------------------------------------------------

def recording_bytes(goal: AnsweredGoal) -> bytes:
    """
    Return the file of a goal.

    It is several members of gzip in sequence, of which readers see one text.  What goals have in
    common is compressed once.

    Raises
    ------
    ParameterError
        If it is larger than a reader takes.

    """
    models: list[CollisionModel] = []
    solvers: list[Solver] = []
    for each in goal.requests:
        if each.solver not in solvers:
            solvers.append(each.solver)
        if each.solver.collisions is not None and each.solver.collisions not in models:
            models.append(each.solver.collisions)
    chain = solvers[0].chain
    members = [_robot_member(goal.tree, chain.base_link, chain.tip_link, chain.lower.tobytes(),
                             chain.upper.tobytes(), models[0].bodies if models else None),
               _member(', "surroundings": [')]
    for k, model in enumerate(models):
        members += [_member(', ')] * (k > 0) + [_surroundings_member(model)]
    # Without its opening brace, which is that of the robot's member.
    members.append(_member('], ' + json_text({
        'solvers': [{'tool': solver.chain.T_link_tool, 'options': vars(solver.options),
                     'surroundings': None if solver.collisions is None
                     else models.index(solver.collisions)} for solver in solvers],
        'id': goal.id, 'goal': goal.values, 'made_with': made_with(),
        'parameters': goal.parameters,
        'calls': [{**_request_values(each.request), 'solver': solvers.index(each.solver),
                   'outcome': outcome_values(each.outcome)} for each in goal.requests]})[1:]))
    for what, most, count in (
            ('bytes', MAX_RECORDING_BYTES, sum(member.size for member in members)),
            ('values', MAX_RECORDING_VALUES, sum(member.values for member in members))):
        if count > most:
            raise ParameterError(f'the recording of goal {goal.id} would have {count} {what}, at '
                                 f'most {most} are read; it is not written')
    return b''.join(member.data for member in members)


class _Member(NamedTuple):
    """A member of gzip, and the size and the values of its text."""

    data: bytes
    size: int
    values: int


def _member(text: str) -> _Member:
    data = text.encode()
    return _Member(gzip.compress(data, FAST_COMPRESSION, mtime=0), len(data), _most_values(data))


def _most_values(text: bytes) -> int:
    """Return how many values a JSON text has at most."""
    return 1 + sum(map(text.count, (b',', b'[', b'{')))


@lru_cache(maxsize=1)
def _robot_member(tree: Tree, base_link: str, tip_link: str, lower: bytes, upper: bytes,
                  bodies: tuple | None) -> _Member:
    return _member(json_text({'format': FORMAT_NAME, 'version': FORMAT_VERSION, 'robot': {
        'urdf': tree.source.decode('utf-8', 'surrogateescape'), 'base_link': base_link,
        'tip_link': tip_link, 'lower': np.frombuffer(lower), 'upper': np.frombuffer(upper),
        'bodies': bodies}})[:-1])


@lru_cache(maxsize=2)
def _surroundings_member(model: CollisionModel) -> _Member:
    return _member(json_text({
        'margin': model.margin, 'disabled_pairs': [
            pair.links for pair in model.report if pair.reason == DISABLED_REASON],
        'touch_links': {name: sorted(links) for name, links in model.touch_links.items()},
        'objects': model.objects, 'others': {
            name: [*other] for name, other in model.others.items()}}))


def _request_values(request: Request) -> dict[str, Any]:
    """Return the name and the arguments of a request."""
    values = _with_goals(vars(request))
    if isinstance(request, (ConstrainedRequest, DetourRequest, MotionRemedyRequest,
                            RemedyRequest)):
        values['rounds'] = request.rounds.count if request.rounds.ended else None
    if isinstance(request, WithinRequest):
        values['request'] = _request_values(request.request)
    elif isinstance(request, MotionRemedyRequest):
        values['motion'] = _request_values(request.motion)
    elif isinstance(request, SequenceRequest):
        values['motions'] = [_with_goals(vars(motion)) for motion in request.motions]
    elif isinstance(request, PathRequest):
        values['poses'] = values.pop('path')
        values['arc'] = isinstance(request.path, ArcPoses)
    return {'call': request.name, **values}


def _with_goals(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with goals as they are read: without a tolerance if they are exact."""
    return {name: {'T_base_tip': value.T_base_tip, 'frame': value.frame,
                   'tolerance': None if value.is_exact else value.tolerance}
            if isinstance(value, Goal) else value for name, value in values.items()}


@lru_cache(maxsize=1)
def made_with() -> dict[str, str]:
    """Return the versions, the machine and the processor, from which the last bits follow."""
    values = (ik_node.__version__, platform.python_version(), np.__version__, numba.__version__,
              ruckig_version(), platform.machine(), numba.config.CPU_NAME or get_host_cpu_name())
    return dict(zip(MADE_WITH_KEYS, values))


# ---- from a file ------------------------------------------------------------

def load(path: str | Path) -> Recording:
    """
    Return the recording of a file.

    Raises
    ------
    IkNodeError
        If it is none, or of a later format, or has more than MAX_RECORDING_BYTES or
        MAX_RECORDING_VALUES.
    OSError
        If the file cannot be read.

    """
    try:
        return _recording(Entry(_json(_text(Path(path)))))
    except RecursionError:
        raise ParameterError('its values are nested too deep') from None


def _text(path: Path) -> bytes:
    """Return the text of a file; no more of it is read, and unpacked, than is allowed."""
    with path.open('rb') as file:
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        file.seek(0)
        try:
            text = (gzip.GzipFile(fileobj=file) if packed else file).read(MAX_RECORDING_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise ParameterError('it is cut short or damaged: gzip cannot unpack it') from None
    if len(text) > MAX_RECORDING_BYTES:
        raise ParameterError(f'it has more than {MAX_RECORDING_BYTES // 2**20} MiB; a recording '
                             'has less')
    return text


def _json(text: bytes) -> object:
    if _most_values(text) > MAX_RECORDING_VALUES:  # each takes some twenty times its text
        raise ParameterError(f'it has more than {MAX_RECORDING_VALUES} values; a recording has '
                             'less')
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise ParameterError(f'it is no JSON: {" ".join(str(error).split())[:100]}') from None


def _refuse(constant: str) -> None:
    raise ValueError(f'it has {constant}')


def _recording(entry: Entry) -> Recording:
    if entry['format'].value != FORMAT_NAME:
        raise ParameterError(f'its format is {quote(entry["format"].value)}, not '
                             f'{quote(FORMAT_NAME)}')
    if entry['version'].whole() != FORMAT_VERSION:
        raise ParameterError(f'it has version {entry["version"].whole()} of the format, this '
                             f'ik_node reads version {FORMAT_VERSION}; use the ik_node that '
                             'recorded it')
    tree, chain = read_robot(entry['robot'])
    bodies, models = entry['robot']['bodies'], []
    if not bodies.missing:
        arm = CollisionModel(chain, tree, read_bodies(bodies, tree.links))
        models = [read_collisions(each, arm) for each in entry['surroundings'].items()]
    solvers = [read_solver(each, chain, _of(models, each['surroundings']))
               for each in entry['solvers'].items()]
    requests = []
    for each in entry['calls'].items():
        solver = _of(solvers, each['solver'])
        if solver is None:
            raise ParameterError(f'{each.where}.solver must not be null')
        each['outcome'].keys()
        request = read_request(each, solver.chain)
        if isinstance(request, DetourRequest) and solver.collisions is None:
            raise ParameterError(f'{each.where} looks for a detour without a collision model')
        if isinstance(request, RemedyRequest) and request.status is Reason.COLLISION \
                and solver.collisions is None:
            raise ParameterError(f'{each.where} is about a collision without a collision model')
        requests.append(RecordedRequest(request, solver, each['outcome'].value))
    for name in ('goal', 'made_with', 'parameters'):
        entry[name].keys()
    return Recording(entry['id'].text(), entry['goal'].value, entry['made_with'].value,
                     entry['parameters'].value, tree, chain, tuple(requests))


def _of(things: Sequence[Any], entry: Entry) -> Any:
    """Return the one of a list that a number names; None for null."""
    if entry.missing:
        return None
    k = entry.whole()
    if k >= len(things):
        raise ParameterError(f'{entry.where} is {k}, there are {len(things)}')
    return things[k]
