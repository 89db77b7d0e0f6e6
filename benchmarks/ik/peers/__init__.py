# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The solvers that are compared, each in its wrapper."""

from __future__ import annotations

from importlib import import_module

from benchmarks.ik.peers.base import Peer

MODULES = ('ours', 'rtb', 'closed_form', 'ssik', 'optik', 'kdl', 'trac_ik', 'clik',
           'differential', 'no_verdict')


def installed() -> tuple[list[type[Peer]], dict[str, str]]:
    """Return the solvers whose packages are here, and why the others are not."""
    peers: list[type[Peer]] = []
    missing: dict[str, str] = {}
    for name in MODULES:
        try:
            peers += import_module(f'benchmarks.ik.peers.{name}').PEERS
        except ImportError as error:
            missing[name] = str(error)
    return peers, missing
