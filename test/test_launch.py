# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""ros2 launch, where there is one: on a ROS machine, after colcon build and source."""

import shutil
import subprocess
from time import monotonic

from process_tree import ProcessTree
import pytest

pytest.importorskip('launch_ros', reason='launch_ros is not on PyPI; it comes with ROS 2')
from ament_index_python.packages import get_package_share_directory, PackageNotFoundError  # noqa: E402

try:
    get_package_share_directory('ik_node')
except PackageNotFoundError:
    pytest.skip('ik_node is not built and sourced here', allow_module_level=True)
if shutil.which('ros2') is None:
    pytest.skip('the ros2 command is not installed', allow_module_level=True)

LAUNCH = ['ros2', 'launch', 'ik_node', 'ik.launch.py']
ARGUMENTS = ('robot', 'urdf', 'base_link', 'tip_link', 'controller', 'simulate', 'state_publisher',
             'rviz', 'viewer', 'handheld', 'autostart', 'namespace', 'frame_prefix', 'named_poses',
             'tools', 'use_sim_time', 'params_file')


def send(*arguments):
    return subprocess.run(['ros2', 'run', 'ik_node', 'send_goal', *arguments],
                          capture_output=True, text=True, timeout=120)


def wait_for_state(label, seconds=240.0):
    """Wait until the node is there and in a state of its life."""
    end, shown = monotonic() + seconds, None
    while shown is None or label not in shown.stdout:
        assert monotonic() < end, shown
        shown = subprocess.run(['ros2', 'lifecycle', 'get', '/ik_node'], capture_output=True,
                               text=True, timeout=60)


@pytest.fixture
def launched(tmp_path):
    """Run a launch, and end it by Ctrl-C; it must end cleanly, and nothing is left of it."""
    running = []

    def start(*arguments):
        with (tmp_path / 'launch.log').open('w') as log:
            running.append(ProcessTree([*LAUNCH, *arguments], stdout=log,
                                       stderr=subprocess.STDOUT))

    yield start
    try:
        for launch in running:
            launch.interrupt()
            assert launch.root.wait(30) == 0
            left = launch.left(10.0)
            assert not left, left
    finally:
        for launch in running:
            launch.kill()
    text = (tmp_path / 'launch.log').read_text()
    assert 'Traceback' not in text, text
    for name in ('ik_node', 'sim_controller'):
        for line in text.splitlines():
            assert not (f'[{name}-' in line and 'process has died' in line), text


def test_show_args():
    """Each argument is listed with its description and default."""
    shown = subprocess.run([*LAUNCH, '--show-args'], capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0
    for name in ARGUMENTS:
        assert f"'{name}'" in shown.stdout
    assert 'six_axis_arm, so101, ur10e' in shown.stdout  # the presets
    assert 'no description' not in shown.stdout.lower()


def test_bare_launch_takes_goals(launched):
    """Without arguments but rviz:=false the arm moves."""
    launched('rviz:=false')
    done = send('--xyz', '0.4', '0.2', '0.4', '--rpy', '3.14', '0', '0')
    assert done.returncode == 0, done


def test_a_preset(launched):
    """The arm starts at its home, and reaches a goal."""
    launched('robot:=parallel_axes_arm', 'rviz:=false')
    home = send('--joints', '0.0', '1.5708', '-1.5708', '1.5708', '0.0', '0.0')
    assert home.returncode == 0 and 'ALREADY_THERE' in home.stdout, home
    done = send('--xyz', '0.0', '0.0', '-0.05', '--frame', 'tool0')
    assert done.returncode == 0, done


def test_without_autostart(launched):
    """The node is configured and activated by ros2 lifecycle."""
    launched('rviz:=false', 'autostart:=false')
    wait_for_state('unconfigured')
    for transition in ('configure', 'activate'):
        done = subprocess.run(['ros2', 'lifecycle', 'set', '/ik_node', transition],
                              capture_output=True, text=True, timeout=240)
        assert 'successful' in done.stdout, done
    done = send('--xyz', '0.4', '0.2', '0.4', '--rpy', '3.14', '0', '0')
    assert done.returncode == 0, done


def test_namespace(launched):
    """All nodes and their parameters are in the namespace."""
    launched('rviz:=false', 'namespace:=left')
    done = send('--xyz', '0.4', '0.2', '0.4', '--node', '/left/ik_node', '--rpy', '3.14', '0', '0')
    assert done.returncode == 0, done


def test_frame_prefix(launched):
    """The frames of TF and of goals have the prefix."""
    launched('rviz:=false', 'frame_prefix:=left/')
    done = send('--xyz', '0.4', '0.2', '0.4', '--frame', 'left/base_link', '--rpy', '3.14', '0',
                '0')
    assert done.returncode == 0, done
    echoed = subprocess.run(['ros2', 'topic', 'echo', '--once', '/tf'], capture_output=True,
                            text=True, timeout=60)
    assert 'child_frame_id: left/link_1' in echoed.stdout, echoed


@pytest.mark.parametrize('arguments, words', [
    (['urdf:=/none.urdf', 'rviz:=false'], 'there is no file'),
    (['urdf:=package://no_such_package/a.urdf', 'rviz:=false'], 'not installed'),
    (['robot:=ur6'], 'there are'),
    (['frame_prefix:=left_'], 'does not end with /')])
def test_bad_arguments_are_one_sentence(arguments, words):
    """Files, packages and prefixes that cannot be used are named."""
    done = subprocess.run([*LAUNCH, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and words in done.stdout + done.stderr
