# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The rooms of the source: how large they are, and what their docstrings say is in them."""

import sys

import pytest

from scripts import house

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip('tomli')

MOST_MODULES = 12


@pytest.fixture(scope='module')
def rooms():
    """Return the rooms by their paths."""
    return {room.path: room for room in house.rooms()}


def test_rooms_list_their_modules(rooms):
    """In the docstring of its ``__init__``, one line each, folders last; and there are few."""
    for path, room in rooms.items():
        assert room.listed() == [*room.modules, *room.folders], path
        assert len(room.modules) <= MOST_MODULES, path


def test_each_room_keeps_its_budget(rooms):
    """Lines, in pyproject.toml; more is a commit of its own with a reason."""
    with open(house.ROOT / 'pyproject.toml', 'rb') as file:
        budgets = tomllib.load(file)['tool']['ik_node']['lines']
    assert budgets.keys() == rooms.keys()
    assert {name: room.lines for name, room in rooms.items() if room.lines > budgets[name]} == {}


def test_every_room_is_on_a_shelf(rooms):
    groups = ' '.join(house.SHELVES.values()).split()
    assert sorted(groups) == sorted({path.split('/')[0] for path in rooms})


def test_the_pages_show_the_rooms_of_today():
    """Lines are not compared: each change of a file would be one of the pages."""
    def names(text):
        return [line.split(' | ')[0] for line in text.splitlines()]

    page = house.MAP_PAGE.read_text()
    assert names(page) == names(house.with_table(page, 'map', house.source_map())), \
        'run: python scripts/house.py --write'
    written, now = house.NUMBERS_PAGE.read_text(), house.numbers_page(goal=None, tests=None)
    assert names(written) == names(now), 'run: python scripts/house.py --write'
