# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Two more questions: all solutions of a pose, and many poses at once."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import Peer, TOLERANCE
from benchmarks.ik.scenarios import within

SAME = 1e-3  # rad, largest joint difference, whole turns taken off, of the same solution
REFERENCES = ('EAIK', 'ssik')  # the first that serves the arm says what there is to find


def compare_sets(peers: list[Peer], model: Model, count: int,
                 random: np.random.Generator) -> dict[str, dict]:
    """
    Ask for all solutions and compare the sets, whole turns taken off.

    Returns
    -------
    dict
        For each solver: poses, median and mean time (us), `answers` and right
        ones without turns, `branches`, per pose, `spurious` (% of the answers
        that are wrong or outside the limits), and against the reference
        `recall` (% of its branches found) and `extra` (right branches per pose
        that it lacks).

    """
    reference = next((name for name in REFERENCES
                      if any(peer.name == name for peer in peers)), None)
    seed = within(model, random)
    poses = [model.fk(within(model, random)) for _ in range(count)]
    times: dict[str, list[float]] = {peer.name: [] for peer in peers}
    answered = dict.fromkeys(times, 0)
    spurious = dict.fromkeys(times, 0)
    branches: dict[str, list[list[np.ndarray]]] = {name: [] for name in times}
    for T in poses:
        for peer in peers:
            inputs = peer.inputs(T, seed)
            began = perf_counter()
            returned = peer.solve(*inputs)
            times[peer.name].append(perf_counter() - began)
            answers = peer.answers(returned)
            good = [q for q in answers if model.right(q, T, TOLERANCE)]
            # Closed forms know no limits: what they say outside of them is not spurious.
            counted = [q for q in answers if peer.kind != 'closed form' or model.inside(q)]
            answered[peer.name] += len(counted)
            spurious[peer.name] += len(counted) - len(good)
            hints = [q for q in peer.hints(returned) if model.right(q, T, TOLERANCE)]
            branches[peer.name].append(distinct(good + hints))
    figures = {}
    for name in times:
        own, them = branches[name], branches[reference] if reference else []
        there = sum(len(b) for b in them)
        found = sum(any(same(q, p) for p in a) for a, b in zip(own, them) for q in b)
        extra = sum(not any(same(q, p) for p in b) for a, b in zip(own, them) for q in a)
        micro = 1e6 * np.array(times[name])
        figures[name] = {
            'n': count, 'median': float(np.median(micro)), 'mean': float(micro.mean()),
            'answers': answered[name] / count, 'reference': reference,
            'branches': sum(map(len, own)) / count,
            'spurious': 100.0 * spurious[name] / max(answered[name], 1),
            'recall': 100.0 * found / there if there else None,
            'extra': extra / count if reference else None}
    return figures


def solve_batches(peers: list[Peer], model: Model, count: int,
                  random: np.random.Generator) -> dict[str, dict]:
    """Time one call for many random poses: poses per second and share solved (%)."""
    seeds = np.array([within(model, random) for _ in range(count)])
    poses = np.array([model.fk(within(model, random)) for _ in range(count)])
    figures = {}
    for peer in peers:
        inputs = peer.inputs(poses, seeds)
        began = perf_counter()
        returned = peer.solve(*inputs)
        seconds = perf_counter() - began
        right = sum(any(model.right(q, T, TOLERANCE) for q in answers)
                    for answers, T in zip(peer.answers(returned), poses))
        figures[peer.name] = {'n': count, 'per_second': count / seconds,
                              'right': 100.0 * right / count}
    return figures


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two postures (n,) are one solution, whole turns taken off."""
    return bool(np.abs((a - b + np.pi) % (2.0 * np.pi) - np.pi).max() < SAME)


def distinct(answers: list[np.ndarray]) -> list[np.ndarray]:
    """Return the postures without those that are the same as one before."""
    kept: list[np.ndarray] = []
    for q in answers:
        if not any(same(q, other) for other in kept):
            kept.append(q)
    return kept
