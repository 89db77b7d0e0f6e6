# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration and the command line that it uses, as a user runs them."""

from contextlib import contextmanager, suppress
import json
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import urllib.request

from harness import ARM, DOWN, FINAL, latest, QUICK, tool
from nightly import usual_first
import numpy as np
from process_tree import ProcessTree
import pytest
import robots
from robots import GANTRY
import yaml

from ik_node.collision.distances.model import CollisionModel
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.tools.demo.command import demo_goal, GOAL_PAUSE_S
from ik_node.tools.demo.demo_goals import goals_for

ROOT = Path(__file__).parents[2]
RUN = 'from ik_node.tools.entry import {0}; {0}()'


def run(name, *arguments, timeout=300):
    """Run a program to its end; if it takes too long, nothing that it started is left."""
    tree = ProcessTree([sys.executable, '-c', RUN.format(name), *map(str, arguments)],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said, complaints = tree.root.communicate(timeout=timeout)
    finally:
        tree.kill()
    return subprocess.CompletedProcess(tree.root.args, tree.root.returncode, said, complaints)


@pytest.fixture(scope='module')
def quick(tmp_path_factory):
    """Return the option of a parameter file with which motions take half as long."""
    file = tmp_path_factory.mktemp('quick') / 'quick.yaml'
    file.write_text('/**/ik_node:\n  ros__parameters:\n' + ''.join(
        f'    {name}: {value}\n' for name, value in QUICK.items()))
    return '--config', str(file)


def test_demo_reaches_its_goals(tmp_path, quick, monkeypatch):
    """All example goals end as expected, measured from the joint states; no log is left."""
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    done = run('demo', *quick)
    assert not list(tmp_path.glob('ik_node_demo_*'))
    assert done.returncode == 0, done.stdout + done.stderr
    assert '13 of 13 goals ended as expected' in done.stdout
    assert done.stdout.count('measured error') >= 9 and 'OUT_OF_REACH' in done.stdout
    for option in ('--line', '--through', '--path'):
        assert f'send_goal {option} ' in done.stdout
    assert done.stdout.count('m of path, planned within') == 3
    assert "6 joints from the base 'base_link' to the tip 'tool0'" in done.stdout
    assert re.search(r'in the browser: ik_demo .*--keep$', done.stdout.splitlines()[-1])


def ended_well(said):
    """Return whether all goals ended as expected, and how many there were."""
    good, count = re.search(r'(\d+) of (\d+) goals ended as expected', said).groups()
    return good == count, int(count)


@pytest.mark.nightly
def test_demo_of_another_arm(quick):
    """Its goals are made from its chain, in its own base, and all end as expected."""
    done = run('demo', '--urdf', robots.ARMS['panda'].path, *quick)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ended_well(done.stdout) == (True, 11)
    assert "7 joints from the base 'panda_link0' to the tip 'panda_hand_tcp'" in done.stdout
    assert '--frame panda_link0' in done.stdout and 'base_link' not in done.stdout
    assert done.stdout.count('measured error') >= 8
    for words in ('--line', '--through', 'OUT_OF_REACH', 'FRAME_UNKNOWN'):
        assert words in done.stdout


@pytest.mark.nightly
def test_demo_of_a_xacro_file_between_named_links(tmp_path, quick):
    """
    An arm of four axes with an argument; base and tip are passed to all processes.

    A goal that does not end as expected makes the exit code 1.
    """
    text = robots.FOUR_AXES.replace('<robot', '<robot xmlns:xacro="http://ros.org/wiki/xacro"', 1)
    file = tmp_path / 'palletizer.xacro'
    file.write_text(text.replace('xyz="0.1 0 0"', 'xyz="$(arg tool_length) 0 0"'))
    tree = parse_urdf(text.replace('xyz="0.1 0 0"', 'xyz="0.15 0 0"').encode())
    chain = make_chain(tree, 'body', 'grip')
    first, *_ = goals_for(CollisionModel(chain, tree, ()))
    goals = tmp_path / 'goals.yaml'
    goals.write_text(yaml.safe_dump({'goals': [
        first, {**first, 'name': 'too far', 'xyz': [3.0, 0.0, 0.0]}]}))
    done = run('demo', '--urdf', file, '--base-link', 'body', '--tip-link', 'grip',
               '--xacro-args', 'tool_length:=0.15', '--goals', goals, *quick)
    assert done.returncode == 1, done.stdout + done.stderr
    assert ended_well(done.stdout) == (False, 2)
    assert 'NOT OK   too far' in done.stdout and 'expected REACHED' in done.stdout
    assert "3 joints from the base 'body' to the tip 'grip'" in done.stdout
    assert '--xacro-args tool_length:=0.15' in done.stdout.splitlines()[-1]
    assert done.stdout.splitlines()[-1].endswith(' --keep')


@pytest.fixture
def unlimited(tmp_path):
    """Return a URDF that has no velocity limit, and a file of one goal that it reaches."""
    urdf, goals = tmp_path / 'arm.urdf', tmp_path / 'goals.yaml'
    urdf.write_text(re.sub(r' velocity="[^"]*"', '', ARM.read_text()))
    goals.write_text('goals:\n  - {name: a, xyz: [0.4, 0.1, 0.4], rpy: [3.14, 0.0, 0.0], '
                     'expect: REACHED}\n')
    return '--urdf', urdf, '--goals', goals


@pytest.mark.nightly
def test_demo_without_velocity_limits(unlimited):
    """Careful ones are taken, and said so loudly; a parameter of the nodes is passed on."""
    done = run('demo', *unlimited, '-p', 'motion.acceleration_limits:=[10.0]', '-p',
               'motion.jerk_limits:=[200.0]')
    assert done.returncode == 0 and ended_well(done.stdout) == (True, 1), done.stdout + done.stderr
    loud, = (line for line in done.stdout.splitlines() if 'CAREFUL' in line)
    assert "no velocity limit for 'joint_1', 'joint_2'" in loud and '0.5 rad/s' in loud
    assert '--velocity' in loud
    slow = float(re.search(r'moved ([\d.]+) s', done.stdout)[1])
    given = run('demo', *unlimited, '-p', 'motion.acceleration_limits:=[10.0]', '-p',
                'motion.jerk_limits:=[200.0]', '--velocity', '2')
    assert given.returncode == 0 and 'CAREFUL' not in given.stdout, given.stdout
    assert float(re.search(r'moved ([\d.]+) s', given.stdout)[1]) < 0.6 * slow
    assert '--velocity 2 --keep' in given.stdout.splitlines()[-1]


@pytest.mark.nightly
def test_demo_of_an_arm_that_collides_in_the_middle(tmp_path, quick, monkeypatch):
    """It starts beside it, says so, and reaches its goals around what is there; no log is left."""
    folder, urdf = tmp_path / 'temporary', tmp_path / 'gantry.urdf'
    folder.mkdir()
    monkeypatch.setenv('TMPDIR', str(folder))
    urdf.write_text(GANTRY.format('0.42 0.32 0.52'))
    done = run('demo', '--urdf', urdf, *quick, '-p', 'collision.ground:=false')
    assert done.returncode == 0, done.stdout + done.stderr
    good, count = ended_well(done.stdout)
    assert good and count >= 8
    assert "does not start where it would collide ('base_link' and 'z' overlap" in done.stdout
    assert not list(folder.iterdir())


def refused(*arguments):
    """Return the exit code of a demo that does not start, and what it says."""
    demo = tool('demo', *arguments, errors=True)
    code, said = demo.wait(60.0), demo.stdout.read() + demo.stderr.read()
    assert 'Traceback' not in said
    return code, said


@pytest.mark.parametrize('arguments, words', usual_first(1, [
    (['-p', 'motion.velocity_scale=1'], 'is not NAME:=VALUE'),
    (['--velocity', '0'], 'must be positive'), (['--velocity', 'nan'], 'no')]))
def test_demo_refuses_what_it_cannot_pass_on(arguments, words):
    """One sentence, before anything starts."""
    code, said = refused(*arguments)
    assert code == 2 and words in said


@pytest.mark.parametrize('make', usual_first(1, [False, True]))
def test_demo_asks_for_base_and_tip(tmp_path, monkeypatch, make):
    """Of a robot with two arms, by the names that the caller knows."""
    if make:
        monkeypatch.setenv('MAKELEVEL', '1')
    code, said = refused('--urdf', ROOT / 'urdf/two_arms.urdf')
    assert code == 1 and "'left_flange'" in said and "'right_flange'" in said
    assert ('Give BASE=LINK and TIP=LINK' if make else '--tip-link LINK') in said


@pytest.mark.parametrize('stops', usual_first(1, [False, True]))
def test_a_goal_of_the_user_ends_those_of_the_demo(tmp_path, probe, stops):
    """Also without --keep, and so does a stop: the demo sends nothing more, and leaves the arm."""
    goals = tmp_path / 'goals.yaml'
    goals.write_text('goals:\n' + ''.join(
        f'  - {{name: {y}, xyz: [0.4, {y}, 0.4], rpy: [3.14, 0.0, 0.0], expect: REACHED}}\n'
        for y in 10 * (0.3, -0.3)))
    demo = subprocess.Popen([sys.executable, '-c', RUN.format('demo'), '--goals', str(goals)],
                            stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        probe.wait_for_node()
        probe.wait(lambda: any(each['state'] == 'accepted' for each in probe.statuses), 240.0)
        probe.spin_for(0.3)  # the arm moves
        if stops:
            assert probe.call(probe.stop).success
        else:
            stamp = probe.send((0.45, 0.0, 0.45), DOWN)
            assert probe.final(stamp)['state'] == 'reached'
        known = len(probe.statuses)
        probe.spin_for(2.0)
        assert len(probe.statuses) == known, probe.statuses[known:]
        interrupt(demo)
        said, _ = demo.communicate(timeout=20)
        assert demo.returncode == 0
        assert 'somebody else moves the arm' in said and 'left     ' in said
        assert 'NOT OK' not in said
    finally:
        with suppress(ProcessLookupError):
            os.killpg(demo.pid, signal.SIGKILL)


def test_small_negative_numbers_are_no_options():
    """In a command of send_goal, -1e-09 would be one."""
    goal = demo_goal({'name': 'a', 'xyz': [0.4, -1e-9, 0], 'quat': [1, -2e-7, 0.0, 0.0],
                      'expect': 'REACHED'}, Path(), 'base_link')
    assert goal.command == ['--xyz', '0.4', '-0.000000001', '0.0', '--quat', '1.0', '-0.0000002',
                            '0.0', '0.0', '--frame', 'base_link']


def test_make_passes_its_variables():
    """URDF, ROBOT, BASE, TIP, XACRO_ARGS and KEEP of make are options of ik_demo."""
    made = subprocess.run(
        ['make', '-n', 'demo', 'KEEP=1', 'URDF=an arm.urdf', 'ROBOT=ur5e', 'BASE=foot',
         'TIP=hand', 'VELOCITY=1 2', 'MESHES=one two', 'PARAMS=x.y:=1 z:=[1.0,2.0]',
         'XACRO_ARGS=a:=1 b:=2'], cwd=ROOT, capture_output=True, text=True)
    words = ' '.join(made.stdout.replace('\\\n', ' ').split())
    assert words.endswith("/ik_demo --keep --urdf 'an arm.urdf' --robot 'ur5e' --base-link 'foot' "
                          "--tip-link 'hand' --velocity 1 2 --mesh-paths one two -p 'x.y:=1' "
                          "-p 'z:=[1.0,2.0]' --xacro-args a:=1 b:=2"), words


def interrupt(demo):
    """Press Ctrl-C: a signal to the process group."""
    os.killpg(demo.pid, signal.SIGINT)


@contextmanager
def kept(goals, *options, end=interrupt):
    """
    Run the demo with --keep; give its process and what it said until it stayed up.

    After the block it is ended: with exit code 0, and nothing that it started is left.
    """
    demo = subprocess.Popen([sys.executable, '-c', RUN.format('demo'), '--goals', str(goals),
                             '--keep', *options], stdout=subprocess.PIPE, text=True,
                            start_new_session=True)
    try:
        said = ''
        for line in demo.stdout:
            said += line
            if 'staying up' in line:
                break
        yield demo, said
        end(demo)
        assert demo.wait(20) == 0
        with pytest.raises(ProcessLookupError):  # of the group of all that it started
            os.killpg(demo.pid, 0)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(demo.pid, signal.SIGKILL)


def sent(y, *options):
    """Send a goal from another terminal; return what is said of it."""
    sender = tool('send_goal', '--xyz', 0.4, y, 0.4, '--rpy', 3.14, 0, 0, *options)
    assert sender.wait(60.0) == 0
    return sender.stdout.read()


@pytest.mark.nightly
def test_demo_stays_up_until_it_is_ended(tmp_path, quick):
    """With --keep it takes more goals; SIGTERM ends all processes, with exit code 0."""
    goals = tmp_path / 'goals.yaml'
    goals.write_text('goals: []\n')
    with kept(goals, *quick, end=subprocess.Popen.terminate):
        assert sent(0.2).startswith('reached (REACHED)')


@pytest.fixture(scope='module')
def shown(tmp_path_factory, recorded, quick):
    """Run the demo with --keep and two goals; return what it said.  Ctrl-C ends all of it."""
    pytest.importorskip('viser', reason='viser is not installed (extra "viewer")')
    goals = tmp_path_factory.mktemp('goals') / 'goals.yaml'
    goals.write_text('goals:\n' + ''.join(
        f'  - {{name: {y}, xyz: [0.4, {y}, 0.4], rpy: [3.14, 0.0, 0.0], frame: base_link, '
        'expect: REACHED}\n' for y in (0.1, 0.2)))
    with kept(goals, *quick) as (_, said):
        yield said


def take_over(probe):
    """Send a goal, after which the demo sends none; it may have sent one in the same moment."""
    sender = tool('send_goal', '--xyz', 0.4, -0.2, 0.4, '--rpy', 3.14, 0, 0, '--json')
    answer = probe.final(json.loads(sender.stdout.read())['stamp'])
    assert answer['state'] in ('reached', 'superseded'), answer
    return answer if sender.wait(60.0) == 0 else \
        probe.final(json.loads(sent(-0.2, '--json'))['stamp'])


@pytest.mark.nightly
def test_demo_shows_the_arm_until_somebody_takes_over(shown, probe):
    """With --keep there is a page, and the goals are repeated until another one is sent."""
    page = re.search(r'see the arm, and drag it: (http://127\.0\.0\.1:\d+)\n', shown)[1]
    assert b'<html' in urllib.request.urlopen(page, timeout=30).read().lower()
    probe.wait(lambda: [status['state'] for status in probe.statuses].count('reached') > 3,
               60.0, 'the goals once more')
    answer = take_over(probe)
    probe.spin_for(3.0 * GOAL_PAUSE_S)
    assert probe.statuses[-1] == answer


@pytest.mark.nightly
def test_demo_follows_the_handle(shown, probe):
    """With --keep the box is checked from the start: the arm moves during the drag."""
    pytest.importorskip('playwright', reason='playwright is not installed')
    from browser import browser, new_context, Window

    from scripts.screenshot import CHROMIUM, HANDLE
    if CHROMIUM is None:
        pytest.skip('no Chromium is installed')
    probe.watch_motion()
    probe.wait_for_node()
    take_over(probe)
    assert 'it follows the hand' in shown
    port = int(re.search(r'http://127\.0\.0\.1:(\d+)', shown)[1])
    with browser() as chromium:
        context = new_context(chromium)
        window = Window(context.new_page(), port, probe)
        assert window.box('Follow while dragging').is_checked()
        window.reads('Drag the handle at the tip: the arm follows.')
        window.wait(lambda: probe.states and window.visible(HANDLE), 'the handle')
        start, known = np.array(latest(probe)), len(probe.statuses)
        origin, grip = (np.array(window.pixel(HANDLE, [0.0, 0.0, z])) for z in (0.0, 0.13))
        window.page.mouse.move(*grip)
        window.page.mouse.down()
        window.page.mouse.move(*(0.7 * grip + 0.3 * origin))
        window.wait(lambda: np.abs(latest(probe) - start).max() > 0.01, 'the arm')
        window.page.mouse.up()
        window.wait(lambda: probe.statuses[known:] and probe.statuses[-1]['state'] in FINAL,
                    'its end')
        assert probe.statuses[-1]['reason'] == 'STREAM_ENDED'
        assert not window.complaints
        context.close()


def test_demo_says_when_it_cannot_start(tmp_path, monkeypatch):
    """A bad URDF or file of goals ends the demo with one sentence and no delay; nothing stays."""
    folder = tmp_path / 'temporary'
    folder.mkdir()
    monkeypatch.setenv('TMPDIR', str(folder))
    goals = tmp_path / 'goals.yaml'
    goals.write_text('goals: [{pose: [0.4, 0.0, 0.4]}]')
    for arguments, words in ((('--urdf', tmp_path / 'none.urdf'), 'cannot read'),
                             (('--goals', goals), 'a goal in')):
        code, said = refused(*arguments)
        assert code == 1 and words in said
        assert not list(folder.glob('ik_node_demo_*'))


def test_send_goal_without_a_node():
    """One sentence and exit code 2."""
    done = tool('send_goal', '--xyz', 0.4, 0, 0.4, '--node', '/nobody', '--wait', 1, errors=True)
    assert done.wait(60.0) == 2
    said = done.stderr.read()
    assert '/nobody/goal_pose' in said and 'Traceback' not in said
