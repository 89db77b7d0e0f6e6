# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The package as a reviewer sees it.

Style, import rules and types are checked by `make lint`, what is built of it by `make builds`.
"""

import ast
import json
import os
from pathlib import Path
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
import yaml

from ik_node.tools.entry import COMMAND_PROGRAMS

ROOT = Path(__file__).parents[1]
# Import name -> rosdep key, where they differ; None: part of another key.
KEYS = {'PIL': 'python3-pil', 'matplotlib': 'python3-matplotlib', 'scipy': 'python3-scipy',
        'numpy': 'python3-numpy', 'numba': 'python3-numba', 'lxml': 'python3-lxml',
        'yaml': 'python3-yaml', 'urdf_parser_py': 'urdfdom_py', 'tf2_ros': 'tf2_ros_py',
        'transforms3d': None, 'ruckig': None, 'llvmlite': None, 'viser': None, 'trimesh': None,
        'websockets': None, 'qrcode': None, 'mujoco': None, 'playwright': None, 'xacro': 'xacro',
        'sklearn': None, 'threadpoolctl': None, 'pytest': 'python3-pytest'}


@pytest.mark.parametrize('module, words', [
    ('numba', 'pip install numba'), ('trajectory_msgs', 'ros-jazzy-common-interfaces')])
def test_missing_dependency_is_one_sentence(module, words):
    """It is named, with the command that installs it."""
    ran = subprocess.run(
        [sys.executable, '-c', f'import sys; sys.modules[{module!r}] = None; '
         'from ik_node.tools.entry import ik_node; ik_node()'],
        cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert f'needs {module}' in ran.stderr and words in ran.stderr
    assert 'Traceback' not in ran.stderr and len(ran.stderr.splitlines()) == 1


def test_manifest_declares_every_import():
    """Each package that is imported is a dependency in package.xml, by a key that exists."""
    manifest = ET.parse(ROOT / 'package.xml').getroot()
    declared = {element.text for element in manifest if element.tag.endswith('depend')}
    imported = set()
    for path in [*(ROOT / 'ik_node').rglob('*.py'), *(ROOT / 'launch').glob('*.py')]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {name.name.split('.')[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.split('.')[0])
    outside = imported - set(sys.stdlib_module_names) - {'ik_node'}
    needed = {KEYS.get(name, name) for name in outside} - {None}
    assert needed <= declared, needed - declared
    used_by_launch = {'robot_state_publisher', 'rviz2'}
    for_tests = {'python3-pytest', 'python3-hypothesis', 'ament_flake8', 'ament_pep257',
                 'ament_xmllint'}
    extra = declared - needed - used_by_launch - for_tests
    assert not extra, extra


def test_manifest_agrees_with_setup():
    """Version and licence are the same in both; catkin_prepare_release changes both versions."""
    manifest = ET.parse(ROOT / 'package.xml').getroot()
    setup = (ROOT / 'setup.py').read_text()
    assert f"version='{manifest.findtext('version')}'," in setup
    assert f"license='{manifest.findtext('license')}'" in setup
    assert f"\n{manifest.findtext('version')} (" in (ROOT / 'CHANGELOG.rst').read_text()
    assert f"\nversion: {manifest.findtext('version')}\n" in (ROOT / 'CITATION.cff').read_text()
    assert manifest.findtext('export/build_type') == 'ament_python'
    assert 'Apache License' in (ROOT / 'LICENSE').read_text()


def test_every_source_file_names_its_licence():
    """In its first lines, by its SPDX name."""
    files = [path for folder in ('ik_node', 'launch', 'scripts', 'benchmarks', 'test')
             for path in (ROOT / folder).rglob('*.py') if path.stat().st_size]
    heading = '# Copyright 2026 The ik_node authors\n# SPDX-License-Identifier: Apache-2.0\n'
    assert len(files) > 500
    assert [path for path in files if not path.read_text().startswith(heading)] == []


WORKFLOWS = sorted((ROOT / '.github/workflows').glob('*.yml'))


@pytest.mark.parametrize('workflow', WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_what_there_is(workflow):
    """Targets of make, scripts, files of pip's cache; actions have versions, jobs a time limit."""
    makefile = (ROOT / 'Makefile').read_text()
    jobs = yaml.safe_load(workflow.read_text())['jobs']
    steps = [step for job in jobs.values() for step in job['steps']]
    assert all('timeout-minutes' in job for job in jobs.values())
    for step in steps:
        if 'uses' in step:
            assert re.search(r'@(v\d+(\.\d+)*|[0-9a-f]{40})$', step['uses']), step
            pinned = step.get('with', {}).get('cache-dependency-path')
            assert pinned is None or [*ROOT.glob(pinned)], pinned
        for program, name in re.findall(r'\b(make|bash|rosenv) ([\w./]+)', ' '.join(
                map(str, [step.get('run', ''), *step.get('env', {}).values()]))):
            if program == 'make':
                assert re.search(fr'^{name}:', makefile, re.MULTILINE), name
            else:
                assert os.access(ROOT / name, os.X_OK) or program == 'bash', name
                assert (ROOT / name).is_file(), name
    assert any('run' in step for step in steps)


def test_the_wheel_is_checked_on_each_python():
    """Those of the workflow are those that the package names."""
    matrix = yaml.safe_load((ROOT / '.github/workflows/ci.yml').read_text())['jobs'][
        'wheel']['strategy']['matrix']['python']
    setup = (ROOT / 'setup.py').read_text()
    first, end = map(int, re.search(r'minor in range\((\d+), (\d+)\)', setup).groups())
    assert matrix == [f'3.{minor}' for minor in range(first, end)]
    assert f"python_requires='>=3.{first}'" in setup


def test_other_installers_name_what_there_is():
    """Dockerfile and .devcontainer copy files that exist; pixi runs commands of the package."""
    docker = (ROOT / 'Dockerfile').read_text()
    for names in re.findall(r'^COPY (.+) \S+$', docker, re.MULTILINE):
        assert all((ROOT / name).exists() for name in names.split())
    container = json.loads((ROOT / '.devcontainer/devcontainer.json').read_text())
    assert (ROOT / '.devcontainer' / container['build']['dockerfile']).is_file()
    tasks = re.findall(r'^\w+ = "ik_node( \w+)?"$', (ROOT / 'pixi.toml').read_text(), re.MULTILINE)
    assert len(tasks) > 1 and all(command.strip() in {'', *COMMAND_PROGRAMS} for command in tasks)


def test_pins_are_whole():
    """Every package that is installed is pinned to one version."""
    for name in ('demo', 'test', 'docs'):
        for line in (ROOT / f'requirements/{name}.txt').read_text().splitlines():
            assert re.match(r'[\w.-]+(\[[\w,]+\])?==[\w.]+( ;.*)?$', line), line
