# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The linters of ROS; skipped where PyPI alone is, which lacks them.

ament_copyright is not among them: it knows a licence by its text, not by its SPDX name.
"""

import ast
from pathlib import Path
import re

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = [str(ROOT / name) for name in ('ik_node', 'launch', 'scripts', 'benchmarks', 'test',
                                         'examples', 'setup.py')]


def test_flake8():
    """By the rules of ament, but for those that ament_flake8.ini names."""
    main = pytest.importorskip('ament_flake8.main')
    code, errors = main.main_with_errors(argv=[
        '--config', str(ROOT / 'test/ament_flake8.ini'), *SOURCES])
    assert code == 0, '\n'.join(errors)


def test_pep257():
    """With the rules that ruff has, but for those which pydocstyle takes more strictly."""
    main = pytest.importorskip('ament_pep257.main')
    settings = (ROOT / 'pyproject.toml').read_text()
    rules, = re.findall(r'^ignore = (\[.*\])$', settings, re.MULTILINE)
    ignored = [*ast.literal_eval(rules), 'D103', 'D400', 'D402', 'D403']
    assert main.main(argv=['--convention', 'numpy', '--add-ignore', *ignored, '--', *SOURCES]) == 0


def test_xmllint():
    """The manifest agrees with its schema, which is loaded; the policy of SROS2 is well-formed."""
    main = pytest.importorskip('ament_xmllint.main')
    assert main.main(argv=[str(ROOT / 'package.xml'), str(ROOT / 'config')]) == 0
