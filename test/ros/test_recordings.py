# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a node records of its goals, repeated in a process that has no ROS."""

import json
from pathlib import Path
import subprocess
import sys

from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped
from harness import DOWN, path_of, pose, QUICK, READY, tip, tool
import numpy as np
import pytest
from std_srvs.srv import SetBool

from ik_node.base.text import quote
from ik_node.motion.requests import (
    ArcPoses,
    DetourRequest,
    DirectRequest,
    MotionRemedyRequest,
    PathRequest,
    PauseRequest,
    RemedyRequest,
    ResumeRequest,
)
from ik_node.replay import load
from ik_node.ros.messages.status_messages import home_number

HERE = tip(READY)
SIDE = [1.2, *READY[1:]]  # of the post; READY is behind it
SCENE = """
objects:
  post: {cylinder: [0.05, 1.2], xyz: [0.35, 0.35, 0.6]}
"""
# As ik_replay, for several files, where no module of ROS can be imported.
WITHOUT_ROS = """
import sys
for name in ('rclpy', 'rcl_interfaces', 'std_msgs', 'geometry_msgs', 'diagnostic_msgs',
             'builtin_interfaces', 'ament_index_python', 'lifecycle_msgs', 'sensor_msgs'):
    sys.modules[name] = None
from ik_node.tools.replay import report
from ik_node.replay import load
print('differ', sum(report(load(file)) for file in sys.argv[1:]))
"""


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return where the shared node records; it is not there yet."""
    return tmp_path_factory.mktemp('recordings') / 'of/goals'


@pytest.fixture(scope='module')
def limits(tmp_path_factory, folder):
    """Have the node record, and see a post."""
    scene = tmp_path_factory.mktemp('scene') / 'scene.yaml'
    scene.write_text(SCENE)
    return {**QUICK, 'record.folder': folder, 'collision.scene_file': scene,
            'tool.position': '[0.0, 0.0, 0.05]'}


def record(system, folder, count=100):
    """Have the node record into a folder."""
    assert system.set_parameters('/ik_node', {'record.folder': str(folder),
                                              'record.count': count}).successful


def file_of(system, folder, answer):
    """Return the recording of a goal, once it is written, soon after the answer."""
    path = folder / f'goal-{answer["id"]}.json.gz'
    system.wait(path.exists, what=path.name)
    return path


def replayed(*paths):
    """Return what a process without ROS says of recordings."""
    ran = subprocess.run([sys.executable, '-c', WITHOUT_ROS, *map(str, paths)], text=True,
                         capture_output=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def send_all(system):
    """Send goals of every kind, some while the arm moves; return their final answers."""
    tcp = HERE.translation + HERE.rotation @ [0.0, 0.0, 0.05]
    finals = []

    def final(stamp, state='reached'):
        answer = system.final(stamp)
        assert answer['state'] == state, answer
        finals.append(answer)

    final(system.send(tcp + [0.0, 0.0, 0.06], HERE_QUATERNION))
    final(system.send([3.0, 0.0, 0.3], DOWN), 'rejected')
    final(system.send_joints(SIDE))  # round the post
    final(system.send_joints(READY))
    point = PointStamped()
    point.point.x, point.point.y, point.point.z = map(float, tcp + [0.0, -0.05, 0.0])
    final(system.send_goal('position', point))
    final(system.send_goal('pointing', PoseStamped(pose=pose(tcp))))
    end = pose(tcp + [0.0, -0.1, 0.0])
    final(system.send_goal('path', path_of(pose(tcp), end)))
    end.position.x = 4.0
    final(system.send_goal('path', path_of(pose(tcp), end)), 'rejected')
    final(system.send_goal('arc', PoseArray(poses=[pose(tcp + [0.03, -0.05, 0.0]), pose(tcp)])))
    # While the arm moves, and it pauses.
    assert system.set_parameters('/ik_node', {'motion.velocity_scale': 0.15}).successful
    away = system.send_joints([-1.2, *READY[1:]])
    system.wait(lambda: system.answers(away))
    instead = system.send_joints([-1.0, 0.2, *READY[2:]])
    final(away, 'superseded')
    pauser = system.create_client(SetBool, '/ik_node/pause')
    system.wait(lambda: system.answers(instead))
    assert system.call(pauser, SetBool.Request(data=True)).success
    assert system.call(pauser, SetBool.Request(data=False)).success
    system.destroy_client(pauser)
    assert system.set_parameters('/ik_node', {'motion.velocity_scale': 0.5}).successful
    final(instead)
    number = home_number(system.call(system.home).message)
    system.wait(lambda: any(answer['goal'] == number and answer['state'] == 'reached'
                            for answer in system.statuses))
    finals.append(next(answer for answer in system.statuses if answer['goal'] == number
                       and answer['state'] == 'reached'))
    return finals


HERE_QUATERNION = [getattr(pose([0.0] * 3).orientation, axis) for axis in 'xyzw']


def test_goals_of_every_kind_are_repeated(shared_system, folder, tmp_path):
    """Bit for bit, without ROS; what was planned is what was sent; one changed bit is seen."""
    system = shared_system
    record(system, folder)
    finals = send_all(system)
    assert len({answer['id'] for answer in system.statuses}) == len(finals)
    assert {answer['kind'] for answer in finals} == {
        'pose', 'joints', 'position', 'pointing', 'path', 'arc', 'home'}
    files = [file_of(system, folder, answer) for answer in finals]
    told = replayed(*files)
    assert told.endswith('differ 0\n') and told.count('bit for bit\n') == len(files), told
    recordings = [load(file) for file in files]
    for answer, recording in zip(finals, recordings):
        assert recording.id == answer['id'] and recording.goal == {
            key: int(answer['goal']) if key == 'number' else answer[key]
            for key in ('number', 'kind', 'stamp', 'state', 'reason', 'message')}
        assert recording.parameters['tool.position'] == [0.0, 0.0, 0.05]
        assert recording.requests[0].solver.chain.has_tool
    calls = [each.request for recording in recordings for each in recording.requests]
    assert {DirectRequest, DetourRequest, MotionRemedyRequest, PathRequest, PauseRequest,
            RemedyRequest,
            ResumeRequest} < set(map(type, calls))
    assert any(isinstance(call, PathRequest) and isinstance(call.path, ArcPoses) for call in calls)
    assert any(len(call.start.states) for call in calls if isinstance(call, DirectRequest))
    assert len(system.trajectories) >= 12
    for message in system.trajectories:
        assert any(was_sent(message, each.outcome) for recording in recordings
                   for each in recording.requests)
    # The program itself; and one bit.
    code, text = run_command(files[0])
    assert code == 0 and text.startswith(f'goal {finals[0]["id"]}, pose: reached (REACHED): ')
    content = json.loads(unpacked(files[0]))
    row = content['calls'][1]['outcome']['q'][0]
    row[1] = float(np.nextafter(row[1], 9.0))
    changed = tmp_path / 'changed.json'
    changed.write_text(json.dumps(content))
    code, text = run_command(changed)
    assert code == 1 and '1 of 2 calls differ\n' in text and ' q[0, 1] by ' in text


def unpacked(path):
    """Return the text of a recording, by the program gzip."""
    return subprocess.run(['gzip', '-dc', str(path)], capture_output=True, check=True).stdout


def run_command(path):
    """Return the exit code of ik_replay, and what it prints."""
    running = tool('replay', path)
    text = running.stdout.read()
    return running.wait(), text


def was_sent(message, outcome):
    """Return whether a published trajectory has the points of an outcome, bit for bit."""
    rows = outcome.get('q', [])
    points = [list(point.positions) for point in message.points]
    return any(points[k:k + len(rows)] == rows for k in range(3) if len(rows) > 1)


@pytest.mark.fault('start, end and middleware', 'the folder for recordings of goals cannot be '
                   'written', 'one warning; goals are answered as ever')
@pytest.mark.nightly
def test_how_many_are_kept_and_where(shared_system, folder, tmp_path):
    """The oldest are deleted, nothing else is; what cannot be written is said once."""
    system = shared_system
    other = folder / 'notes.txt'
    other.write_text('keep')
    count = 3
    record(system, folder, count)
    finals = [system.final(system.send_joints([0.1 * k, *READY[1:]])) for k in range(count + 2)]
    newest = {f'goal-{answer["id"]}.json.gz' for answer in finals[-count:]}
    system.wait(lambda: {path.name for path in folder.glob('goal-*')} == newest,
                what=f'{count} files')
    assert other.exists()
    # A goal for which nothing was asked of the solver has nothing to be repeated.
    nowhere = system.final(system.send([0.3, 0.0, 0.3], frame='nowhere'))
    assert nowhere['reason'] == 'FRAME_UNKNOWN' and nowhere['id']
    # A file is where the folder should be: all goals are answered as ever.
    blocked = tmp_path / 'blocked'
    blocked.write_text('')
    odd = str(blocked), f'{blocked}/\x1b[2J', '~nobody_here/goals', 'x' * 3000
    for k, text in enumerate(odd):
        record(system, text, count)
        for shift in (0.1, -0.1):
            answer = system.final(system.send_joints([shift * (k + 1), *READY[1:]]))
            assert answer['state'] == 'reached', answer
        system.wait(lambda text=text: complaint(text) in system.node.output, what='a warning')
    assert complaint(odd[0]) + ': File exists; set record.folder to ' in system.node.output
    assert '\x1b[2J' not in system.node.output
    record(system, '', count)
    off = system.final(system.send_joints(READY))
    # Those that follow are written after these would have been.
    record(system, folder, count)
    last = system.final(system.send_joints([0.3, *READY[1:]]))
    newest = {*sorted(newest, key=number_in)[1:], f'goal-{last["id"]}.json.gz'}
    system.wait(lambda: {path.name for path in folder.glob('goal-*')} == newest,
                what=f'{last["id"]} and the {count - 1} before')
    assert not any(f'-{answer["goal"]}.' in name for answer in (nowhere, off) for name in newest)
    assert [system.node.output.count(complaint(text)) for text in odd] == [1] * len(odd)
    assert not [*Path(folder).glob('*.part')]


def complaint(folder):
    """Return how a warning about a folder begins."""
    return f'goals cannot be recorded in {quote(folder, 200)}'


def number_in(name):
    """Return the number of a goal from the name of its recording."""
    return int(name.partition('.')[0].rpartition('-')[2])


def test_a_node_writes_its_pending_recordings_at_shutdown(shared_system, folder):
    """The recording of the last goal is there when the process has ended."""
    system = shared_system
    record(system, folder)
    assert system.set_parameters('/ik_node', {'motion.velocity_scale': 0.1}).successful
    stamp = system.send_joints([-1.2, *READY[1:]])
    system.wait(lambda: system.answers(stamp))
    assert system.node.stop() == 0
    answer = system.final(stamp)
    assert answer['state'] == 'stopped' and answer['reason'] == 'SHUTDOWN', answer
    recording = load(folder / f'goal-{answer["id"]}.json.gz')
    assert recording.goal['reason'] == 'SHUTDOWN'
