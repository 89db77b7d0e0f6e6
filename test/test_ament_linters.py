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
    """By the rules of ament; ruff checks more."""
    main = pytest.importorskip('ament_flake8.main')
    code, errors = main.main_with_errors(argv=SOURCES)
    assert code == 0, '\n'.join(errors)


def test_pep257():
    """With the rules that pyproject.toml gives ruff, so that both ask for the same."""
    main = pytest.importorskip('ament_pep257.main')
    settings = (ROOT / 'pyproject.toml').read_text()
    rules, = re.findall(r'^ignore = (\[.*\])$', settings, re.MULTILINE)
    ignored = [rule for rule in ast.literal_eval(rules) if rule.startswith('D')]
    assert main.main(argv=['--convention', 'numpy', '--add-ignore', *ignored, 'D103', '--',
                           *SOURCES]) == 0


def test_xmllint():
    """The manifest and the policy of SROS2 are well-formed."""
    main = pytest.importorskip('ament_xmllint.main')
    assert main.main(argv=[str(ROOT / 'package.xml'), str(ROOT / 'config')]) == 0
