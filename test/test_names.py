# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Names of constants: two words or more, the unit, and one meaning in each group; plain words."""

import pytest

from scripts import house


def test_constants_have_two_words():
    assert not house.one_word()


def test_no_constant_is_defined_twice_in_a_group():
    assert not house.repeated()


def test_constants_end_in_their_unit():
    assert not house.without_unit()


def test_prose_is_plain():
    """Fewer than one idiom in 1,000 words of docstrings and comments."""
    phrases, words = house.idioms()
    assert len(phrases) < 1e-3 * words, '\n'.join(phrases)


@pytest.mark.parametrize('line, found', [
    ('MAX_REACH = 1.0  # m', True), ('MAX_REACH = 1.0  # m, of the arm', True),
    ('MAX_REACH_M = 1.0  # m', False), ('MAX_SPEED = 1.0  # rad/s of a joint', True),
    ('MAX_SPEED_RAD_S = 1.0  # rad/s', False), ('MAX_SPEED = 1.0  # rad/s or m/s', False),
    ('SAME_PLACE = 1.0  # m, or rad', False), ('MAX_RATIO = 1.0  # m per rad', False),
    ('MAX_LOAD_N = 1.0  # N', False), ('MAX_LOAD = 1.0  # N', True),
    ('MAX_COUNT = 3  # most of them', False)])
def test_a_constant_without_its_unit_is_found(tmp_path, line, found):
    (tmp_path / 'one.py').write_text(f'{line}\n')
    assert bool(house.without_unit(tmp_path)) is found


def test_both_rules_find_what_breaks_them(tmp_path):
    (tmp_path / 'model').mkdir()
    (tmp_path / 'model/chain.py').write_text('MOST = 3\nMAX_JOINTS, _Z = 7, 1\n')
    (tmp_path / 'model/urdf.py').write_text('MAX_JOINTS: int = 7\n')
    (tmp_path / 'solver.py').write_text('MAX_JOINTS = 7\nlower = 1\nclass A:\n    B = 2\n')
    assert house.one_word(tmp_path) == ['model/chain.py:1 MOST', 'model/chain.py:2 _Z']
    assert house.repeated(tmp_path) == ['MAX_JOINTS: model/chain.py:2, model/urdf.py:1']


def test_the_page_of_numbers_has_all_rows():
    """Each with a number of then, now or the target; the time of the tests stands there."""
    shown = house.PAGE.read_text().partition('<!-- numbers -->\n')[2].partition('<!-- end -->')[0]
    names = [line.split(' | ')[0].strip('| ') for line in shown.splitlines()[2:]]
    assert names == [*house.values(), house.TESTS_ROW], 'run: python scripts/house.py --write'
    assert {*house.THEN_AND_TARGET} <= {*names}
