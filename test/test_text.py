# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How values stand in sentences."""

import numpy as np
import pytest

from ik_node.base.text import length_text, listed, shown


@pytest.mark.parametrize('metres, text', [
    (1.03, '1.03 m'), (0.0123456, '12.3 mm'), (0.9999, '1 m'), (0.9994, '999 mm'), (0.0, '0 mm'),
    (-2.0, '-2 m'), (2.3e-7, '0.00023 mm')])
def test_length(metres, text):
    """In mm below a metre, also after rounding: never 1.03e+03 mm."""
    assert length_text(metres) == text


@pytest.mark.parametrize('value, text', [
    ([np.float64(1.5), np.float64(-2e-9)], '[1.5, -2e-09]'), ((np.int64(3), 'np'), "(3, 'np')"),
    ([np.bool_(True)], '[True]'), (np.array([1.0, 2.0]), 'array([1., 2.])'),
    ({'a': np.float32(0.5)}, "{'a': 0.5}")])
def test_numbers_of_numpy(value, text):
    """As numbers, without their types."""
    assert shown(value) == text


def test_list_of_names():
    """The first five, and how many more."""
    assert listed(list('abcde')) == 'a, b, c, d, e'
    assert listed(list('abcdefg')) == 'a, b, c, d, e and 2 more'
