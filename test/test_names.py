# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Names of constants: two words or more, and one meaning in each group."""

from scripts import house


def test_constants_have_two_words():
    assert not house.one_word()


def test_no_constant_is_defined_twice_in_a_group():
    assert not house.repeated()


def test_both_rules_find_what_breaks_them(tmp_path):
    (tmp_path / 'model').mkdir()
    (tmp_path / 'model/chain.py').write_text('MOST = 3\nMAX_JOINTS, _Z = 7, 1\n')
    (tmp_path / 'model/urdf.py').write_text('MAX_JOINTS: int = 7\n')
    (tmp_path / 'solver.py').write_text('MAX_JOINTS = 7\nlower = 1\nclass A:\n    B = 2\n')
    assert house.one_word(tmp_path) == ['model/chain.py:1 MOST', 'model/chain.py:2 _Z']
    assert house.repeated(tmp_path) == ['MAX_JOINTS: model/chain.py:2, model/urdf.py:1']
