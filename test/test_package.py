# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The package as colcon, pip, and a reviewer see it."""

import ast
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from zipfile import ZipFile

from kept import kept
import pytest
import yaml

from ik_node.entry import COMMAND_PROGRAMS

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SCRIPTS = {'ik_node', 'ik_arms', 'sim_controller', 'ik_viewer', 'interactive_goal', 'send_goal',
           'ik_demo',
           'ik_doctor', 'ik_handheld', 'ik_jog', 'ik_replay', 'ik_teach', 'compare_methods',
           'plot_trajectory', 'ik_workspace'}
# Import name -> rosdep key, where they differ; None: part of another key.
KEYS = {'PIL': 'python3-pil', 'matplotlib': 'python3-matplotlib', 'scipy': 'python3-scipy',
        'numpy': 'python3-numpy', 'numba': 'python3-numba', 'lxml': 'python3-lxml',
        'yaml': 'python3-yaml', 'urdf_parser_py': 'urdfdom_py', 'tf2_ros': 'tf2_ros_py',
        'transforms3d': None, 'ruckig': None, 'llvmlite': None, 'viser': None, 'trimesh': None,
        'websockets': None, 'qrcode': None, 'mujoco': None, 'playwright': None, 'xacro': 'xacro',
        'sklearn': None, 'threadpoolctl': None, 'pytest': 'python3-pytest'}


def run(*command, cwd=ROOT, **named):
    return subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True,
                          text=True, timeout=300, **named)


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """Build the package with colcon in an empty folder; return its install prefix."""
    workspace = tmp_path_factory.mktemp('ws')
    shutil.copytree(ROOT, workspace / 'src/ik_node', ignore=shutil.ignore_patterns(
        '.*', '__pycache__', 'build', 'install', 'log', '*.egg-info', 'test'))
    listed = run(BIN / 'colcon', 'list', cwd=workspace)
    assert '(ros.ament_python)' in listed.stdout, listed
    built = run(BIN / 'colcon', 'build', cwd=workspace,
                env={**os.environ, 'PATH': f'{BIN}:{os.environ["PATH"]}'})
    assert built.returncode == 0, built.stdout + built.stderr
    return workspace / 'install/ik_node'


def test_colcon_installs_every_file(installed):
    """Launch, config, URDF and example files, the manifest and the index marker are there."""
    share = installed / 'share/ik_node'
    for folder in ('launch', 'config', 'config/robots', 'urdf', 'examples'):
        files, found = ({path.name for path in (place / folder).iterdir() if path.is_file()}
                        for place in (ROOT, share))
        assert files and files == found
    assert (share / 'package.xml').is_file()
    assert (installed / 'share/ament_index/resource_index/packages/ik_node').is_file()


def test_installed_executables_run(installed):
    """The executables of ros2 run start."""
    folder, = installed.glob('lib/python*/site-packages')
    assert (folder / 'ik_node/py.typed').is_file()
    pages = {path.name for path in (ROOT / 'ik_node/ui/handheld/page').iterdir()}
    assert pages == {path.name for path in (folder / 'ik_node/ui/handheld/page').iterdir()}
    environment = {**os.environ, 'PYTHONPATH': str(folder)}
    assert {path.name for path in (installed / 'lib/ik_node').iterdir()} == SCRIPTS
    helped = run(installed / 'lib/ik_node/send_goal', '--help', cwd='/', env=environment)
    assert helped.returncode == 0 and '--xyz' in helped.stdout
    for name in ('ik_node', 'sim_controller'):
        refused = run(installed / 'lib/ik_node' / name, '--ros-args', '-p', 'urdf_file:=/none',
                      cwd='/', env=environment)
        assert refused.returncode == 1
        assert "cannot read the URDF file '/none'" in refused.stderr, refused


@pytest.fixture(scope='module')
def wheel(tmp_path_factory):
    """Return the wheel that pip makes of the source tree."""
    folder = tmp_path_factory.mktemp('wheel')
    done = run(sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps',
               '--no-build-isolation', '--disable-pip-version-check', '--wheel-dir', folder, ROOT)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(ROOT / 'build', ignore_errors=True)
    made, = folder.iterdir()
    return made


def test_the_wheel_has_what_the_commands_need(wheel):
    """All modules, all files that they ask for by name, a script each; and nothing else."""
    name = wheel.name.partition('-py3')[0]
    with ZipFile(wheel) as archive:
        files = {file for file in archive.namelist() if '.dist-info/' not in file}
        scripts = archive.read(f'{name}.dist-info/entry_points.txt').decode()
    data = f'{name}.data/data/share/'
    share = {file.removeprefix(f'{data}ik_node/') for file in files if file.startswith(data)}
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / 'ik_node').rglob('*')
               if path.is_file() and path.parent.name != '__pycache__'}
    assert {file for file in files if not file.startswith(data)} == modules
    assert share == {'package.xml', f'{data}ament_index/resource_index/packages/ik_node',
                     *(path.relative_to(ROOT).as_posix()
                       for folder in ('launch', 'config', 'urdf', 'examples')
                       for path in (ROOT / folder).rglob('*')
                       if path.is_file() and path.parent.name != '__pycache__')}
    asked = {name for path in (ROOT / 'ik_node').rglob('*.py')
             for name in re.findall(r"share_file\('([^']+)'\)", path.read_text())}
    assert len(asked) > 2 and asked <= share
    assert {line.partition(' = ')[0] for line in scripts.splitlines() if ' = ' in line} == SCRIPTS


@pytest.mark.nightly
def test_pip_install_gives_the_solver_without_ros(wheel, tmp_path):
    """The library works without ROS and ruckig, and finds the files of the wheel."""
    done = run(sys.executable, '-m', 'pip', 'install', '--quiet', '--no-deps', '--no-compile',
               '--disable-pip-version-check', '--target', tmp_path, wheel)
    assert done.returncode == 0, done.stderr
    # With what is compiled already; test_compilation.py compiles.
    for kernel in ROOT.glob('ik_node/**/__pycache__/*.nb?'):
        shutil.copy(kernel, tmp_path / kernel.parent.relative_to(ROOT))
    for source in ROOT.glob('ik_node/**/*.py'):
        shutil.copystat(source, tmp_path / source.relative_to(ROOT))
    code = '''
import sys
for name in ('rclpy', 'rcl_interfaces', 'std_msgs', 'geometry_msgs', 'ament_index_python',
             'ruckig'):
    sys.modules[name] = None
import numpy, ik_node
assert ik_node.__file__.startswith(sys.argv[1]), ik_node.__file__
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.direct.point_to_point import plan_point_to_point
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.base.system import share_file
urdf = share_file('urdf/six_axis_arm.urdf')
assert str(urdf).startswith(sys.argv[1]), urdf
chain = make_chain(read_urdf(urdf))
goal = Goal(forward_kinematics(chain, numpy.full(6, 0.3)))
result = Solver(chain).solve(goal, chain.middle)
limits = MotionLimits(chain.lower, chain.upper, chain.velocity, numpy.full(6, 2.0),
                      numpy.full(6, 20.0))
start = StartState.from_state(MotionState.at_rest(chain.middle))
motion = plan_point_to_point(chain.joint_names, start, result.q, limits, 0.1)
assert abs(motion.q[-1] - result.q).max() < 1e-12
print(result.message)
'''
    ran = run(sys.executable, '-c', code, tmp_path, cwd='/',
              env={**os.environ, 'PYTHONPATH': str(tmp_path)})
    assert ran.stdout.startswith('solved'), ran.stderr


WRONG_LINES = ("import ik_node.client", "ik_node.client.Arm().move(fast=True)",
               "there: int = ik_node.client.Arm().joints([0.1]).wait()",
               "ik_node.client.lin([0.0] * 7, velocty=0.1)",
               "arm: ik_node.Arm = ik_node.load_urdf(3)", "ik_node.Solver(arm).solv(arm.fk(0.0))",
               "length: str = arm.reach")


USER_SCRIPT = ROOT / 'test/user_script.py'
EXAMPLES = sorted((ROOT / 'examples').glob('arm_*.py'))


@pytest.fixture(scope='module')
def complaints(tmp_path_factory):
    """
    Return what mypy says of scripts of a user who has installed the package, by their names.

    In the strictest mode; of thirty good lines, the examples, and lines that are wrong.
    """
    wrong = tmp_path_factory.mktemp('mypy') / 'wrong.py'
    wrong.write_text('\n'.join(['import ik_node', *WRONG_LINES]) + '\n')
    ran = run(sys.executable, '-m', 'mypy', '--strict', '--cache-dir',
              kept('mypy'), USER_SCRIPT, *EXAMPLES, wrong, cwd=wrong.parent,
              env={**os.environ, 'PYTHONPATH': str(ROOT)})
    *lines, last = ran.stdout.splitlines()
    assert re.fullmatch(fr'Found .* \(checked {len(EXAMPLES) + 2} source files\)', last), ran
    found = {}
    for line in lines:
        found.setdefault(Path(line.partition(':')[0]).name, []).append(line)
    return found


def test_a_user_script_passes_mypy(complaints):
    """Thirty lines with arm, solver, goal and results, and the library itself; and they run."""
    others = complaints.keys() - {'wrong.py', *(example.name for example in EXAMPLES)}
    assert not others, [complaints[name] for name in others]
    ran = run(sys.executable, USER_SCRIPT, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert ran.returncode == 0 and 'joint_6: moved' in ran.stdout, ran.stderr


@pytest.mark.parametrize('example', EXAMPLES, ids=lambda path: path.stem)
def test_examples_of_the_client_pass_mypy(complaints, example):
    """As scripts of a user; they run in test/ros/test_client.py."""
    pytest.importorskip('rclpy')
    assert example.name not in complaints, complaints[example.name]


def test_mypy_sees_the_types(complaints):
    """Wrong calls of the library are found: it is not all Any."""
    found = '\n'.join(complaints['wrong.py'])
    for number in range(3, 2 + len(WRONG_LINES)):
        assert f'wrong.py:{number}: error: ' in found, found


@pytest.mark.parametrize('module, words', [
    ('lxml', 'pip install lxml'), ('rclpy', 'source your ROS 2'),
    ('numba', 'pip install numba'),
    ('trajectory_msgs', 'ros-jazzy-common-interfaces')])
def test_missing_dependency_is_one_sentence(module, words):
    """It is named, with the command that installs it."""
    ran = run(sys.executable, '-c', f'import sys; sys.modules[{module!r}] = None; '
              'from ik_node.entry import ik_node; ik_node()')
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


def test_import_rules():
    """Groups import only from groups below them, and the library does not import ROS."""
    ran = run(BIN / 'lint-imports', '--cache-dir', kept('imports'))
    assert ran.returncode == 0, ran.stdout


def test_style():
    """Ruff finds nothing."""
    ran = run(BIN / 'ruff', 'check', '--no-cache', '.')
    assert ran.returncode == 0, ran.stdout
