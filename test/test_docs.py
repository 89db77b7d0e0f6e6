# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The code in the documents runs as it stands, and what is made from others is up to date."""

from pathlib import Path
import re

import faults
import numpy as np
import pytest

from scripts import source_map

ROOT = Path(__file__).parents[1]


def test_paths_in_python(monkeypatch):
    """Every way to make a path in docs/explanation/motion.md begins at the tip, and the last is planned."""
    monkeypatch.chdir(ROOT)
    code, = re.findall(r'```python\n(.*?)```', (ROOT / 'docs/explanation/motion.md').read_text(), re.DOTALL)
    assert code.count('\npath = ') == 4
    seen = {}
    for line in code.splitlines(keepends=True):
        if line.startswith('path = '):
            exec(line, seen)
            assert np.abs(seen['path'].poses([0.0])[0] - seen['T0']).max() < 1e-9, line
        elif 'limits = ' in line:
            break
        else:
            exec(line, seen)
    exec(code, seen)
    assert seen['plan'].fraction == 1.0 and max(seen['plan'].deviation) < 1e-4
    assert seen['poses'].shape == (100, 4, 4)


def test_workspace_in_python(monkeypatch, tmp_path):
    """What docs/how_to/workspace.md samples is sampled, written and read."""
    (tmp_path / 'urdf').symlink_to(ROOT / 'urdf')
    monkeypatch.chdir(tmp_path)
    code, = re.findall(r'```python\n(.*?)```', (ROOT / 'docs/how_to/workspace.md').read_text(), re.DOTALL)
    seen = {}
    exec(code, seen)
    assert seen['made'].share.shape == (7, 7, 1)
    assert np.array_equal(seen['again'].share, seen['made'].share)


def test_the_map_shows_every_file():
    """Each group is there, what is named is there, and the numbers are of today's order."""
    assert set(source_map.on_the_way()) <= set(source_map.modules())
    assert {source_map.group_of(name) for name in source_map.modules()} == {*source_map.REST}
    written = (ROOT / 'docs/explanation/method.md').read_text()

    def numbers(text):
        return [int(number.replace(',', ''))
                for number in re.findall(r'^\|.*?\| \**([\d,]+)\** \|', text, re.MULTILINE)]

    shown = written.partition('<!-- map -->')[2].partition('<!-- end -->')[0]
    assert re.sub(r'[\d,]+', '', shown).split() \
        == re.sub(r'[\d,]+', '', source_map.table()).split(), 'run: python scripts/source_map.py'
    assert numbers(shown) == pytest.approx(numbers(source_map.table()), rel=0.1, abs=50)


def test_faults_follow_from_the_tests():
    """docs/reference/faults.md names what the tests produce."""
    assert (ROOT / 'docs/reference/faults.md').read_text() == faults.text(), 'run: python test/faults.py'


def test_faults_say_which_packages_they_need():
    """However the test says it: by a mark above or below, by its module, or not at all."""
    needs = {'test_a_silent_server': ('control_msgs',),
             'test_any_feedback': ('interactive_markers',),
             'test_frame_that_comes_late_is_waited_for': ('tf2_ros',), 'test_many_lives': ()}
    found = {fault.test: fault.needs for fault in faults.faults() if fault.test in needs}
    assert found == needs


def test_tests_that_the_security_document_names():
    """They are there."""
    written = ''.join(file.read_text() for file in (ROOT / 'test').rglob('test_*.py'))
    names = re.findall(r'`(test_\w+)`', (ROOT / 'docs/how_to/security.md').read_text())
    assert len(names) > 10
    assert [name for name in names if f'def {name}(' not in written] == []


@pytest.mark.fault('goals', 'on its way the arm would touch itself, or anything else',
                   'not checked: the README says so first of all, and so does docs/how_to/workspace.md')
def test_the_documents_say_that_collisions_are_not_checked():
    """Nobody should find that out by the arm."""
    assert 'collisions are **not** checked' in (ROOT / 'README.md').read_text()[:2000]
    assert '**Joint limits are kept; collisions' in (ROOT / 'docs/how_to/workspace.md').read_text()
