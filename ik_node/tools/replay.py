# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The command ik_replay: repeat the calls of a recording, and say what differs."""

from __future__ import annotations

from collections.abc import Mapping
import logging
import sys

from ik_node.base.compilation import compilation_told
from ik_node.base.errors import IkNodeError, Reason
from ik_node.base.text import printable, quote
from ik_node.replay.json_values import summary
from ik_node.replay.recording import (
    load,
    made_with,
    MADE_WITH_KEYS,
    RecordedRequest,
    Recording,
)
from ik_node.tools.arguments.replay import parse

MAX_SHOWN_DIFFERENCES = 5  # of one call
NAME_WIDTH, OUTCOME_WIDTH = 16, 44  # columns of the table, letters
PRINTED_LENGTH = 300  # of a sentence
PACKAGE_NAMES = 'python', 'numpy', 'numba', 'ruckig'  # of MADE_WITH_KEYS


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = parse(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(format='ik_replay: %(message)s')
    with compilation_told(lambda text: print(f'ik_replay: {text}', file=sys.stderr)):
        try:
            recording = load(options.file)
        except (IkNodeError, OSError) as error:
            why = error.strerror or error if isinstance(error, OSError) else error
            print(printable(f'ik_replay: {quote(options.file)} cannot be used: {why}',
                            PRINTED_LENGTH), file=sys.stderr)
            raise SystemExit(2) from None
        raise SystemExit(report(recording))


def report(recording: Recording) -> int:
    """Repeat the calls, print what differs, and return the exit code: 0 if nothing does."""
    goal, count = recording.goal, 0
    said(f'goal {recording.id}, {goal.get("kind")}: {goal.get("state")} ({goal.get("reason")}): '
         f'{goal.get("message")}')
    said(versions(recording.made_with))
    for k, recorded in enumerate(recording.requests, 1):
        found = recorded.differences()
        count += bool(found)
        name, outcome = recorded.request.name, summary(recorded.outcome)
        said(f'{k:2} {name:{NAME_WIDTH}}{outcome:{OUTCOME_WIDTH}}'
             + ('differs' if found else 'the same'))
        for each in found[:MAX_SHOWN_DIFFERENCES]:
            said(f'      {each}')
        if len(found) > MAX_SHOWN_DIFFERENCES:
            said(f'      and {len(found) - MAX_SHOWN_DIFFERENCES} more')
        if found and (why := known_cause(recorded)):
            said(f'      {why}')
    calls = len(recording.requests)
    said(f'{count} of {calls} calls differ{"s" * (calls == 1)}' if count
         else f'all {calls} calls are the same, bit for bit' if calls > 1
         else 'the call is the same, bit for bit' if calls else 'there is no call to repeat')
    return int(bool(count))


def said(sentence: str) -> None:
    """Print a line of which parts come from the file."""
    print(printable(sentence, PRINTED_LENGTH))


def versions(recorded: Mapping[str, object]) -> str:
    """Return the versions that a recording was made with, and the others here."""
    there, here = {name: recorded.get(name) for name in MADE_WITH_KEYS}, made_with()
    other = [f'{name} {here[name]}' for name in here if there[name] != here[name]]
    packages = ', '.join(f'{name} {there[name]}' for name in PACKAGE_NAMES)
    return (f'recorded by ik_node {there["ik_node"]} ({packages}) on {there["machine"]} '
            f'{there["processor"]}'
            + (f'; here are {", ".join(other)}, and the last bits may differ' if other else
               ', as here'))


def known_cause(recorded: RecordedRequest) -> str:
    """Return why a call differs, if that is no wonder; else ''."""
    if recorded.outcome.get('status') == Reason.DEADLINE.value:
        return 'the time of solver.deadline was over there; here is more'
    return ''
