# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How many times faster than the best of the others, arm by arm."""

from __future__ import annotations

import numpy as np

OURS, OURS_NUMERICAL = 'ik_node', 'ik_node numerical'
SURE = 99.0  # % right (or rightly refused) from which a solver counts as one that can do it


def best_of(results: dict, rows: dict[str, dict], kind: str, figure: str,
            solvable: bool) -> float | None:
    """Return the smallest `figure` among the solvers of a kind that are sure on this arm."""
    times = [row[figure] for name, row in rows.items()
             if name not in (OURS, OURS_NUMERICAL) and results['peers'][name]['kind'] == kind
             and (row['right'] >= SURE if solvable else row['wrong'] <= 100.0 - SURE)]
    return min(times, default=None)


def ratios(results: dict, arms: dict[str, dict], kind: str, figure: str,
           solvable: bool = True, own: str = OURS) -> np.ndarray:
    """Return the best of a kind divided by ours, one number for each arm that has both."""
    found = []
    for rows in arms.values():
        best = best_of(results, rows, kind, figure, solvable) if own in rows else None
        if best is not None:
            found.append(best / rows[own][figure])
    return np.array(found)


def ratio_text(found: np.ndarray) -> str:
    """Write the geometric mean and, in brackets, the smallest."""
    if not len(found):
        return ''
    return f'{np.exp(np.log(found).mean()):.2f} ({found.min():.2f})'
