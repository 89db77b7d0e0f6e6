# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The code in the documents runs as it stands, and what is generated is up to date."""

import ast
from html.parser import HTMLParser
from importlib.util import find_spec
import os
import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET

from documents import (
    anchors,
    blocks,
    check,
    check_value,
    commands,
    documents,
    links,
    program_of,
    ROOT,
)
import faults
import numpy as np
import pytest
import yaml

from ik_node import load_urdf
from ik_node.collision.scene.scene_file import scene_from_yaml
from ik_node.collision.scene.tool_file import tools_from_yaml, TOOLS_KEY
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.model.user_files.named_poses import named_poses, PoseEntry, POSES_KEY
from ik_node.model.user_files.presets import read_arms_preset, read_preset
from ik_node.motion.joint_path.taught_path import PATH_KEY, path_of
from ik_node.motion.requests import SolveRequest
from ik_node.replay.answered import answered
from ik_node.replay.recording import AnsweredGoal, recording_bytes
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver
from scripts.reference import TABLES

OWN_TESTS = ('docs/explanation/motion.md', 'docs/how_to/workspace.md', 'docs/how_to/cluster.md',
             'docs/how_to/replay.md', 'docs/how_to/teach.md',  # test/ros/test_teach.py
             'docs/tutorials/python_client.md',  # test/ros/test_client.py
             'docs/how_to/goals.md', 'docs/how_to/motion_sequences.md',  # the same
             'docs/how_to/path_constraints.md',  # the same
             'docs/how_to/several_arms.md',  # test/ros/test_each_arm.py
             'docs/how_to/moveit_clients.md',  # test/ros/test_moveit_kinematics.py
             'docs/how_to/tool.md',  # test/ros/test_named_tools.py
             'docs/how_to/named_poses.md',  # test/ros/test_named_poses.py
             'docs/how_to/test_your_package.md')  # test/ros/test_pytest_fixtures.py


@pytest.mark.parametrize('document', sorted({block.document for block in blocks('python')}
                                            - {*OWN_TESTS}))
def test_python_blocks_run(document, monkeypatch):
    """One after the other, as a reader would type them into one session."""
    monkeypatch.chdir(ROOT)
    exec(compile(program_of(document), document, 'exec'), {})


def test_the_readme_solves_what_it_asks_for(monkeypatch):
    """Its example ends with a solution 5 cm below."""
    monkeypatch.chdir(ROOT)
    seen = {}
    exec(program_of('README.md'), seen)
    assert seen['result'].success
    assert np.abs(seen['arm'].fk(seen['result'].q) - seen['T']).max() < 1e-5
    assert seen['arm'].fk(seen['q0'])[2, 3] - seen['T'][2, 3] == pytest.approx(0.05)


def test_paths_in_python(monkeypatch):
    """Every way to make a path in the page on motion begins at the tip; the last is planned."""
    monkeypatch.chdir(ROOT)
    code = program_of('docs/explanation/motion.md')
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
    """What the page on workspaces samples is sampled, written and read."""
    (tmp_path / 'urdf').symlink_to(ROOT / 'urdf')
    monkeypatch.chdir(tmp_path)
    seen = {}
    exec(program_of('docs/how_to/workspace.md'), seen)
    assert seen['made'].share.shape == (7, 7, 1)
    assert np.array_equal(seen['again'].share, seen['made'].share)


@pytest.mark.nightly
def test_cluster_in_python(tmp_path):
    """The program of the page on clusters runs on two workers; with fewer poses here."""
    pytest.importorskip('distributed')
    code = program_of('docs/how_to/cluster.md')
    assert code.count('100_000') == 1 and code.count('5_000') == 1
    (tmp_path / 'urdf').symlink_to(ROOT / 'urdf')
    (tmp_path / 'study.py').write_text(code.replace('100_000', '400').replace('5_000', '100'))
    ran = subprocess.run([sys.executable, 'study.py'], cwd=tmp_path, capture_output=True,
                         text=True, timeout=300, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert ran.returncode == 0 and ran.stdout.endswith('100.00% solved\n'), ran


def test_replay_in_python(monkeypatch, tmp_path, capsys):
    """The program of the page on recordings repeats one, and solves its goal again."""
    tree = read_urdf(ROOT / 'urdf/six_axis_arm.urdf')
    solver, log = Solver(make_chain(tree)), []
    T = forward_kinematics(solver.chain, np.full(6, 0.3))
    solved = answered(SolveRequest(Goal(T), np.zeros((1, 6))), solver, log)
    code = program_of('docs/how_to/replay.md')
    [name] = re.findall(r"load\('(.+)'\)", code)
    (tmp_path / name).write_bytes(recording_bytes(AnsweredGoal(
        't0-1', {'message': 'reached'}, tree, log, {})))
    monkeypatch.chdir(tmp_path)
    seen = {}
    exec(code, seen)
    assert capsys.readouterr().out == 'reached\nsolve []\n'
    assert np.array_equal(seen['result'].q, solved.q)


def calls_python(text):
    """Return whether a text is a program that calls something."""
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except SyntaxError:
        return False
    return any(isinstance(node, (ast.Call, ast.Import, ast.ImportFrom)) for node in nodes)


def test_no_python_is_hidden_in_text():
    """A block that is marked `text` would not be run."""
    assert not [block for block in blocks('text') if calls_python(block.text)]


@pytest.mark.parametrize('block', blocks('bash'),
                         ids=lambda block: f'{block.document}:{block.line}')
def test_shell_blocks_name_what_there_is(block):
    """Programs, options, topics, message fields, parameters and their values, make targets."""
    found = commands(block.text)
    assert found
    for command in found:
        check(command)


@pytest.mark.parametrize('command', [
    'make dmo', 'make demo KEEPS=1', 'ros2 launch ik_node ik.launch.py urd:=x',
    'ros2 run ik_node send_gaol', 'ros2 run ik_node send_goal --xyz 1 2',
    'ros2 topic echo /ik_node/stati', 'ros2 service call /ik_node/stop std_srvs/srv/Empty',
    "ros2 topic pub /ik_node/goal_pose geometry_msgs/msg/PoseStamped '{heder: {}}'",
    "ros2 topic pub /ik_node/goal_pose geometry_msgs/msg/Pose '{}'",
    "ros2 action send_goal /ik_node/motions control_msgs/action/GripperCommand '{}'",
    'ros2 param set /ik_node motion.velocity_scale 2.0',
    'ros2 param set /ik_node motion.velocity_scale 1',
    'ros2 param set /ik_node output action',
    'ros2 run ik_node ik_node --ros-args -p motion.velocity:=1.0',
    'ik_node send_gaol --xyz 1 2 3', 'ik_node send_goal --xyz 1 2',
    'ros2 lifecycle set /ik_node start', 'python -m benchmarks.nothing', 'rm -r docs'])
def test_wrong_commands_are_found(command):
    """Otherwise the test above would mean nothing."""
    with pytest.raises((AssertionError, KeyError, SystemExit)):
        for words in commands(command):
            check(words)


def test_parameter_files_in_the_documents(tmp_path):
    """Names exist, and values are allowed; so are the objects of scenes, and presets."""
    found = [block for block in blocks('yaml')]
    assert found
    for block in found:
        if 'objects' in yaml.safe_load(block.text):
            tree = read_urdf(ROOT / 'urdf/six_axis_arm.urdf')
            scene_from_yaml(block.text, 'base_link', tree.links)
            continue
        if TOOLS_KEY in yaml.safe_load(block.text):
            tree = read_urdf(ROOT / 'urdf/six_axis_arm.urdf')
            assert tools_from_yaml(block.text, tree, make_chain(tree))
            continue
        if 'robot' in yaml.safe_load(block.text):
            (tmp_path / 'preset.yaml').write_text(block.text)
            node, read = ('ik_arms', read_arms_preset) \
                if 'arms' in yaml.safe_load(block.text)['robot'] else ('ik_node', read_preset)
            for name, value in read(tmp_path / 'preset.yaml').parameters.items():
                check_value({row.name: row for row in TABLES[node]}[name], value)
            continue
        if POSES_KEY in yaml.safe_load(block.text):
            filed = [PoseEntry(name, positions, block.document) for name, positions in
                     yaml.safe_load(block.text)[POSES_KEY].items()]
            assert not named_poses((), filed, load_urdf(ROOT / 'urdf/six_axis_arm.urdf')).notes
            continue
        if PATH_KEY in yaml.safe_load(block.text):
            assert path_of(block.text.encode(), block.document).of_joints(
                load_urdf(ROOT / 'urdf/six_axis_arm.urdf').joint_names).names
            continue
        for node, content in yaml.safe_load(block.text).items():
            name = node.removeprefix('/**/')  # that of an arm is a node as ik_node
            rows = {row.name: row for row in
                    TABLES['ik_node' if name.startswith('ik_arms/') else name]}
            for name, value in content['ros__parameters'].items():
                check_value(rows[name], value)


def test_every_block_has_a_language():
    """So that it is run, checked, or plain text by intention."""
    assert [block[:3] for block in blocks()
            if block.language not in ('bash', 'python', 'yaml', 'text')] == []


def test_links_lead_somewhere():
    """Files are there, and headings are in them; what is linked outside is https."""
    broken = []
    for document in documents():
        for link in links(document):
            path, _, anchor = link.partition('#')
            target = (document.parent / path).resolve() if path else document
            if '://' in link:
                good = link.startswith('https://')
            else:
                good = target.exists() and (not anchor or anchor in anchors(target))
            if not good:
                broken.append((document.name, link))
    assert broken == []


def test_every_page_can_be_found():
    """It is in the navigation of the site, and what the navigation names is there."""
    text = (ROOT / 'mkdocs.yml').read_text()
    named = re.findall(r': ([\w/]+\.md)$', text, re.MULTILINE)
    pages = [page.relative_to(ROOT / 'docs').as_posix() for page in (ROOT / 'docs').rglob('*.md')]
    assert sorted(named) == sorted(pages)


def test_the_api_pages_name_modules():
    """Each directive names a module of the package."""
    named = [name for page in (ROOT / 'docs/reference/api').glob('*.md')
             for name in re.findall(r'^::: (\S+)$', page.read_text(), re.MULTILINE)]
    assert len(named) > 20
    assert [name for name in named if find_spec(name) is None] == []


def test_paths_of_documents_in_the_code():
    """A page that a docstring or message names is there."""
    named = {(file.relative_to(ROOT).as_posix(), name)
             for folder in ('ik_node', 'scripts', 'benchmarks', 'launch')
             for file in (ROOT / folder).rglob('*.py')
             for name in re.findall(r'\bdocs/[\w/]+\.(?:md|png|gif)\b', file.read_text())}
    assert named and [each for each in sorted(named) if not (ROOT / each[1]).is_file()] == []


class Resources(HTMLParser):
    """What a page of the site loads."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        """Note scripts, styles and pictures."""
        given = dict(attributes)
        if tag in ('script', 'img', 'iframe'):
            self.found.append(given.get('src'))
        elif tag == 'link' and given.get('rel') in ('stylesheet', 'icon', 'preconnect'):
            self.found.append(given.get('href'))


@pytest.mark.skipif(find_spec('mkdocs') is None,
                    reason='mkdocs is not installed; `make docs` installs it')
def test_the_site_builds(tmp_path):
    """Strictly: no broken link, no missing page; and no page loads anything from elsewhere."""
    built = subprocess.run([sys.executable, '-m', 'mkdocs', 'build', '--strict', '--site-dir',
                            str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=600,
                           env={**os.environ, 'NO_MKDOCS_2_WARNING': '1'})
    assert built.returncode == 0, built.stderr
    pages = list(tmp_path.rglob('*.html'))
    assert len(pages) > 30
    for page in pages:
        resources = Resources()
        resources.feed(page.read_text())
        assert [url for url in resources.found if url and '//' in url] == [], page
    api = (tmp_path / 'reference/api/solver.html').read_text()
    assert 'solve_batch' in api and ':class:' not in api


@pytest.mark.parametrize('script', ['animation.py', 'screenshot.py'])
def test_scripts_of_pictures_find_what_they_import(script, monkeypatch):
    """They are run by hand and seldom; a name that moved would be noticed late."""
    if script == 'screenshot.py':
        pytest.importorskip('playwright')
    pytest.importorskip('trimesh')
    monkeypatch.syspath_prepend(ROOT / 'scripts')
    assert callable(runpy.run_path(str(ROOT / 'scripts' / script))['main'])


def test_faults_follow_from_the_tests():
    """docs/reference/faults.md names what the tests produce."""
    written = (ROOT / 'docs/reference/faults.md').read_text()
    assert written == faults.text(), 'run: python test/faults.py'


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


def test_the_table_of_presets():
    """It follows from the files."""
    from scripts.reference import with_robots
    page = (ROOT / 'docs/reference/robots.md').read_text()
    assert page == with_robots(page), 'run: python scripts/reference.py'


def test_the_launch_file_is_read_as_it_is():
    """The table of launch arguments comes from its text: every argument, with its default."""
    from scripts.reference import launch_arguments, with_launch_arguments
    source = (ROOT / 'launch/ik.launch.py').read_text()
    page = (ROOT / 'docs/reference/launch.md').read_text()
    assert page == with_launch_arguments(page, source), 'run: python scripts/reference.py'
    found = launch_arguments(source)
    assert found['simulate'][0] == 'true' and found['params_file'][0] == 'config/ik_node.yaml'
    names = {node.slice.value for node in ast.walk(ast.parse(source))
             if isinstance(node, ast.Subscript) and ast.unparse(node.value) == 'value'
             and isinstance(node.slice, ast.Constant)}
    assert len(names) > 8 and names <= {*found}


def test_the_changelog_can_be_released():
    """catkin_prepare_release reads it: the version of the manifest, with its date and kinds."""
    read = pytest.importorskip('catkin_pkg.changelog').get_changelog_from_path(ROOT)
    version, date, content = next(read.foreach_version())
    manifest = ET.parse(ROOT / 'package.xml').getroot()
    assert version == manifest.findtext('version') and date is not None
    assert [str(part) for part in content if str(part).startswith('**')] \
        == ['**Added**', '**Changed**', '**Fixed**']
    assert {url.get('type') for url in manifest.iter('url')} \
        == {'website', 'repository', 'bugtracker'}
