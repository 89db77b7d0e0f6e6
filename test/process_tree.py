# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Processes of a test, with all that they start: found by a variable of their environment."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
from time import monotonic, sleep
from uuid import uuid4

MARK = 'IK_NODE_TEST_TREE'


class ProcessTree:
    """A command and everything that it starts, in whatever process group or session."""

    def __init__(self, command: list[str], **named: object) -> None:
        self._mark = f'{MARK}={uuid4()}'
        name, value = self._mark.split('=')
        self.root = subprocess.Popen(command, env={**os.environ, name: value},
                                     start_new_session=True, **named)

    def members(self) -> dict[int, str]:
        """
        Return the command lines of all that live, by pid.

        One that is just being replaced by another program has no environment for a moment.
        """
        found = {}
        for folder in Path('/proc').iterdir():
            if not folder.name.isdigit():
                continue
            try:
                if self._mark.encode() in (folder / 'environ').read_bytes().split(b'\0') \
                        and (folder / 'stat').read_text().rpartition(')')[2].split()[0] != 'Z':
                    found[int(folder.name)] = (folder / 'cmdline').read_text().replace('\0', ' ')
            except OSError:  # it has ended, or is another user's
                continue
        return found

    def left(self, seconds: float) -> dict[int, str]:
        """Return what still lives after a while; sooner if nothing does."""
        end = monotonic() + seconds
        looks_without = 0
        while looks_without < 2 and monotonic() < end:
            looks_without = 0 if (members := self.members()) else looks_without + 1
            sleep(0.05)
        return members

    def interrupt(self) -> None:
        """Press Ctrl-C: a signal to the process group."""
        if self.root.poll() is None:
            os.killpg(self.root.pid, signal.SIGINT)

    def kill(self) -> None:
        """End everything at once."""
        while members := self.members():  # they may start others meanwhile
            for pid in members:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            sleep(0.01)
        self.root.wait()
