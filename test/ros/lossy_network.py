# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Two hosts with a bad network between them: network namespaces, and packets dropped on arrival.

A program that is started `inside` one of them talks to the other over a pair of interfaces, of
whose packets a share is lost in both directions.  Nothing outside the namespaces changes.
"""

from contextlib import contextmanager
import os
import shutil
import subprocess

HOSTS = 'a', 'b'
ROUTED = '224.0.0.0/4'  # DDS finds others by multicast


class NoNetworkError(Exception):
    """The rig cannot be made here; says why."""


def inside(host: str) -> list[str]:
    """Return the command that runs another one on a host, 'a' or 'b'."""
    return ['ip', 'netns', 'exec', _name(host)]


def _name(host: str) -> str:
    return f'ik_{os.getpid()}_{host}'


def _run(*words: str, **named) -> None:
    done = subprocess.run(words, capture_output=True, text=True, **named)
    if done.returncode:
        raise NoNetworkError(f'"{" ".join(words)}" failed: {done.stderr.strip()}')


@contextmanager
def two_hosts():
    """
    Make both hosts for the time of a test; raise NoNetworkError where that is not possible.

    No packets are lost until :func:`lose`.
    """
    missing = [program for program in ('ip', 'nft') if shutil.which(program) is None]
    if missing:
        raise NoNetworkError(f'{" and ".join(missing)} is not installed')
    try:
        for host in HOSTS:
            _run('ip', 'netns', 'add', _name(host))
        _run('ip', 'link', 'add', 'left', 'netns', _name('a'), 'type', 'veth',
             'peer', 'name', 'right', 'netns', _name('b'))
        for host, device, number in zip(HOSTS, ('left', 'right'), (1, 2)):
            for words in (('addr', 'add', f'10.77.0.{number}/24', 'dev', device),
                          ('link', 'set', device, 'up'), ('link', 'set', 'lo', 'up'),
                          ('route', 'add', ROUTED, 'dev', device)):
                _run(*inside(host), 'ip', *words)
        lose(0)
        yield
    finally:
        for host in HOSTS:
            subprocess.run(['ip', 'netns', 'del', _name(host)], capture_output=True)


def lose(percent: int) -> None:
    """Drop so many of the packets that arrive at each host."""
    for host, device in zip(HOSTS, ('left', 'right')):
        rule = f'iifname {device} numgen random mod 100 < {percent} drop' if percent else ''
        _run(*inside(host), 'nft', '-f', '-', input=(
            'table inet bad\ndelete table inet bad\ntable inet bad {\n'
            f'chain input {{\ntype filter hook input priority 0;\n{rule}\n}}\n}}\n'))
