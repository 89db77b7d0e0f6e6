# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The peaks of quintics, by which a path is slowed down."""

import numpy as np
import pytest

from ik_node.motion.tool_path.pacing import peak_shares
from ik_node.motion.trajectory.limits import LimitRows


@pytest.mark.parametrize('k', range(20))
def test_the_peak_of_the_jerk_is_found_between_samples(k):
    """As among many samples of the third derivative, which numpy takes."""
    rng = np.random.default_rng(k)
    length, limit = rng.uniform(0.001, 0.1), rng.uniform(1.0, 50.0)
    # Jerks at the start, middle and end of the segment make the parabola.
    jerks = rng.uniform(-1.0, 1.0, 3)
    a, b, c = np.polyfit([0.0, 0.5 * length, length], jerks, 2)
    coefficients = np.array([0.0, 0.0, 0.0, c / 6.0, b / 24.0, a / 60.0]).reshape(6, 1, 1)
    one = np.ones(1)
    *_, share = peak_shares(np.array([length]), coefficients, LimitRows(
        -one, one, one, one, limit * one, np.full(4, np.inf)))
    third = np.polynomial.Polynomial(coefficients.ravel()).deriv(3)
    largest = np.abs(third(np.linspace(0.0, length, 10001))).max()
    assert share == pytest.approx(largest / limit, rel=1e-6)
