# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What befalls a process: stopped, starved, interrupted, its clock set back, broken code."""

from contextlib import contextmanager, suppress
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
from time import monotonic

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped
from harness import (
    ARM,
    COLD_START,
    DOWN,
    goes_on_from_here,
    latest,
    path_of,
    pose,
    Process,
    process,
    QUICK,
    READY,
    reasons,
    run_system,
    stamped,
    tip,
)
import numpy as np
import pytest
from scenes import Eyes, FAR_AWAY, values
from std_srvs.srv import Trigger

AWAY = np.array([1.2, 0.1, -0.6, 0.3, 1.2, 0.5])
WHOLE = 'REACHED', 'ALREADY_THERE'
# On a machine that gives no time; a motion may come too late for the controller.
LATE = 'GOAL_STALE', 'STATE_STALE', 'STATE_LOST', 'NODE_LATE', 'NOT_MOVING', 'OFF_TARGET'
SET_BACK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t)
{
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, t);
  if (id == CLOCK_REALTIME && access(getenv("SET_BACK_IF"), F_OK) == 0) t->tv_sec -= 3600;
  return result;
}
"""


def under_way(probe, q=AWAY) -> str:
    """Send a goal, and wait until the arm is fast; return the stamp."""
    stamp = probe.send_joints(q)
    probe.wait(lambda: probe.states and probe.states[-1][1].velocity[0] > 0.5)
    return stamp


# ---- time -------------------------------------------------------------------

@pytest.mark.fault('time and load', 'the process is stopped for seconds (SIGSTOP) in motion',
                   'the arm goes on to its goal; goals that came meanwhile are refused as stale, '
                   'with and without a stamp; later ones are reached')
def test_the_process_is_stopped(system):
    """It does not know how long it was away, and runs nothing old."""
    assert system.set_parameters('/ik_node', {'goal.max_age': 2.0}).successful
    stamp = under_way(system)
    system.node.send(signal.SIGSTOP)
    system.wait(lambda: system.states and not any(system.states[-1][1].velocity))
    stale = system.send((0.4, 0.2, 0.4), DOWN)
    unstamped = system.send((0.4, 0.1, 0.4), DOWN, stamp=Time())
    system.spin_for(3.0)
    system.node.send(signal.SIGCONT)
    for old in stale, unstamped:
        answer = system.final(old)
        assert (answer['state'], answer['reason']) == ('rejected', 'GOAL_STALE'), answer
    assert reasons(system, stamp)[-1] == 'REACHED'
    assert len(system.trajectories) == 1
    system.health.clear()
    system.wait_until_ready()  # it has joint states again
    goes_on_from_here(system, READY)

    def taken_without_a_stamp() -> bool:
        system.statuses.clear()
        return system.final(system.send((0.4, 0.1, 0.4), DOWN, stamp=Time()))['state'] == 'reached'

    system.wait(taken_without_a_stamp, 30.0, 'a goal without a stamp')


@pytest.mark.fault('time and load', 'the process is stopped for two seconds (SIGSTOP) at rest',
                   'it says that it was late itself, and does not blame the joint states; goals '
                   'of that time are as old as they are, and are taken if goal.max_age allows it')
def test_a_node_that_was_late_says_so(system):
    """Goals without a stamp are as old as the middleware says."""
    messages = []
    system.create_subscription(DiagnosticArray, '/diagnostics', lambda array: messages.extend(
        status.message for status in array.status if status.name == '/ik_node: health'), 10)
    system.wait(lambda: messages)
    goals = {}
    for max_age in (5.0, 1.0):
        assert system.set_parameters('/ik_node', {'goal.max_age': max_age}).successful
        system.statuses.clear()
        messages.clear()
        system.node.send(signal.SIGSTOP)
        sent = monotonic()
        goals[max_age] = [system.send((0.4, 0.2, 0.4 - 0.01 * max_age), DOWN, stamp=stamp)
                          for stamp in (None, Time(nanosec=0))]
        system.spin_for(2.0)
        system.node.send(signal.SIGCONT)
        answers = [system.final(stamp) for stamp in goals[max_age]]
        system.wait(lambda: any('late' in message for message in messages), what='late')
        assert not any('joint states are' in message for message in messages), messages
        if max_age > 2.0:
            assert [answer['reason'] for answer in answers] == ['SUPERSEDED', 'REACHED'], \
                [answer['message'] for answer in answers]
        else:
            assert [answer['reason'] for answer in answers] == ['GOAL_STALE'] * 2, answers
            age = float(re.search(r'was sent ([\d.]+) s', answers[1]['message'])[1])
            assert 1.9 < age < monotonic() - sent + 0.1
    assert not any(answer['reason'].startswith('STATE') for answer in system.statuses)
    assert 'joint state of' not in system.node.output


@pytest.fixture
def clocks(tmp_path, monkeypatch):
    """Let the time of day of all processes started from now on be set back by a file."""
    compiler = shutil.which('cc')
    if compiler is None:
        pytest.skip('needs a C compiler, to set back the clock of a process')
    source, library, switch = (tmp_path / name for name in ('back.c', 'back.so', 'set_back'))
    source.write_text(SET_BACK)
    subprocess.run([compiler, '-shared', '-fPIC', '-o', library, source, '-ldl'], check=True)
    monkeypatch.setenv('LD_PRELOAD', str(library))
    monkeypatch.setenv('SET_BACK_IF', str(switch))
    return switch


@pytest.mark.fault('time and load', 'the time of day is set back an hour in motion',
                   'the motion goes on to its goal, and the next goal is reached')
@pytest.mark.nightly
def test_the_time_of_day_is_set_back(tmp_path, probe, recorded, clocks):
    """Of node and controller; only stamps have to do with it."""
    with run_system(tmp_path, probe):
        stamp = under_way(probe)
        clocks.touch()
        assert reasons(probe, stamp) == ['ACCEPTED', 'REACHED']
        probe.states.clear()
        probe.wait(lambda: len(probe.states) > 10)
        behind = probe.get_clock().now().nanoseconds * 1e-9 - probe.states[-1][1].header.stamp.sec
        assert behind > 3500.0, 'the clock was not set back'
        answer = probe.final(probe.send(tip(READY).translation, DOWN, stamp=Time()))
        assert answer['state'] == 'reached', answer


@contextmanager
def busy():
    """Keep all processors busy."""
    burners = [subprocess.Popen([sys.executable, '-c', 'while True: pass'])
               for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for each in burners:
            each.kill()
            each.wait()


def set_niceness(pid, niceness):
    """Give all threads of a process a niceness, 19 for the least of the processor."""
    for task in Path(f'/proc/{pid}/task').iterdir():
        os.setpriority(os.PRIO_PROCESS, int(task.name), niceness)


@pytest.mark.fault('time and load', 'all processors are busy with what is more important',
                   'slower: each goal has one final answer, every trajectory keeps its limits; '
                   'afterwards all is as before')
def test_starved(system):
    """It runs on what the others leave."""
    set_niceness(system.node.pid, 19)
    with busy():
        stamps = [system.send_joints(AWAY * share) for share in (1.0, 0.5, 0.2, 0.8)]
        assert system.final(stamps[-1], 60.0)['reason'] in (*WHOLE, *LATE)
    for stamp in stamps[:-1]:
        assert reasons(system, stamp)[-1] in ('SUPERSEDED', *WHOLE, *LATE)
    with suppress(PermissionError):  # only root may take it back
        set_niceness(system.node.pid, 0)
    system.health.clear()
    system.wait_until_ready()
    system.wait(lambda: system.states and not any(system.states[-1][1].velocity))
    goes_on_from_here(system, 1.1 * AWAY)  # where none of these goals was


LISTEN = """
from numba.core.dispatcher import Dispatcher
compile = Dispatcher.compile
def told(self, signature):
    print('compiles', self.py_func.__qualname__, flush=True)
    return compile(self, signature)
Dispatcher.compile = told
"""


@pytest.mark.fault('time and load', 'the first goal, preview or stream of a kind after the start',
                   'nothing is compiled or loaded for it: that was done before')
def test_nothing_is_compiled_after_the_start(tmp_path, probe):
    """As the compiler itself tells."""
    with run_system(tmp_path, probe, QUICK, script=LISTEN, fresh=True):
        node = probe.node
        probe.wait(lambda: 'all kernels are compiled' in node.output, 60.0)
        before = node.output.count('compiles')
        assert before > 20
        here = tip(READY)
        point = PointStamped()
        point.point.x, point.point.y, point.point.z = here.translation + [0.0, 0.1, 0.0]
        line = path_of(pose(here.translation), pose(here.translation + [0.0, 0.0, -0.1]))
        arc = PoseArray(poses=[pose(here.translation + step) for step in (
            [0.0, 0.03, -0.1], [0.0, 0.1, -0.1], [0.0, 0.1, 0.0])])
        for xyz, state in (((5.0, 0.0, 0.0), 'rejected'), ((0.4, 0.2, 0.4), 'reached')):
            assert probe.final(probe.send(xyz, DOWN))['state'] == state
        for kind, message in (('position', point), ('path', line), ('arc', arc),
                              ('pointing', PoseStamped(pose=pose(here.translation)))):
            assert probe.final(probe.send_goal(kind, message))['state'] == 'reached'
        probe.send_joints(AWAY)
        probe.wait(lambda: np.abs(latest(probe) - READY).max() > 0.3, what='a motion')
        assert probe.final(probe.send(here.translation, DOWN))['state'] == 'reached'
        assert probe.final(probe.send_joints(READY))['state'] == 'reached'
        eyes = Eyes(probe)
        for kind, goal in (('pose', pose(here.translation)), ('pointing', FAR_AWAY),
                           ('position', point.point)):
            eyes.preview(kind, goal)
            eyes.plan()
        eyes.preview('pose', pose(here.translation))
        lists = []
        probe.create_subscription(DiagnosticArray, '/ik_node/postures', lists.append, 1)
        listed = probe.call(probe.create_client(Trigger, '/ik_node/list_postures'))
        assert listed.success, listed.message
        probe.wait(lambda: lists, what='the postures')
        eyes.see(lambda: True)
        stream = probe.publisher(PoseStamped, 'goal_stream')
        target = PoseStamped(pose=pose(here.translation + [0.0, 0.05, 0.0]))
        stamp = stamped(probe, target)
        for _ in range(20):
            stream.publish(target)
            probe.spin_for(0.02)
        assert probe.final(stamp)['reason'] == 'STREAM_ENDED'
        compiled = [line for line in node.output.splitlines() if 'compiles' in line][before:]
        assert not compiled


COMPILES_LONG = """
import os, time
from ik_node.node.goals import preparation
load = preparation.load_kernels
def load_later(*given):
    while not os.path.exists('{}'):
        time.sleep(0.05)
    load(*given)
preparation.load_kernels = load_later
"""


@pytest.mark.fault('time and load', 'goals while the node still compiles, at its first start',
                   'goals to poses are reached; others wait, streams and previews are told')
@pytest.mark.nightly
def test_goals_while_the_node_still_compiles(tmp_path, probe):
    """Each gets its answer, and none holds up another."""
    done = tmp_path / 'done'
    with run_system(tmp_path, probe, script=COMPILES_LONG.format(done)):
        node, here = probe.node, tip(READY)
        assert probe.final(probe.send(here.translation + [0.0, 0.05, 0.0], DOWN))['state'] \
            == 'reached'
        target = PoseStamped(pose=pose(here.translation))
        assert probe.final(probe.send_goal('stream', target))['reason'] == 'COMPILING'
        point = PointStamped()
        point.point.x, point.point.y, point.point.z = here.translation + [0.0, 0.1, 0.0]
        eyes = Eyes(probe)
        assert values(eyes.preview('position', point.point))['reason'] == 'COMPILING'
        line = path_of(pose(here.translation), pose(here.translation + [0.0, 0.0, -0.1]))
        stamps = []
        for kind, message in (('path', line), ('position', point)):
            stamps.append(probe.send_goal(kind, message))
            probe.wait(lambda: f'goal {len(stamps) + 2} waits until the node' in node.output
                       or len(stamps) == 2)
        assert probe.final(stamps[0])['reason'] == 'SUPERSEDED'
        assert not probe.answers(stamps[1])
        done.touch()
        assert probe.final(stamps[1])['state'] == 'reached'


@pytest.mark.fault('time and load', 'threads of the linear algebra',
                   'there are none: for matrices of this size they would only wait')
@pytest.mark.nightly
def test_no_threads_of_blas(tmp_path, probe, monkeypatch):
    """As many threads as with one that is asked for."""
    if os.cpu_count() == 1:
        pytest.skip('one processor has one thread of BLAS anyway')
    counts = []
    for asked in (None, '1'):
        if asked:
            monkeypatch.setenv('OPENBLAS_NUM_THREADS', asked)
        else:
            monkeypatch.delenv('OPENBLAS_NUM_THREADS', raising=False)
        with process('ik_node', tmp_path, {'urdf_file': ARM}, fresh=True) as node:
            probe.wait(lambda node=node: 'ready for goals' in node.output, COLD_START)
            counts.append(len(list(Path(f'/proc/{node.pid}/task').iterdir())))
    assert counts[0] == counts[1]


# ---- signals ----------------------------------------------------------------

@pytest.mark.fault('start, end and middleware', 'SIGINT twice, in motion',
                   'as once: the arm ramps down, the goal is answered, exit code 0')
def test_interrupted_twice(system):
    """An impatient user."""
    stamp = under_way(system)
    system.node.send(signal.SIGINT)
    system.spin_for(0.05)
    assert system.node.stop() == 0
    assert reasons(system, stamp) == ['ACCEPTED', 'SHUTDOWN']
    system.wait(lambda: system.states and not any(system.states[-1][1].velocity))
    assert latest(system)[0] < AWAY[0] - 0.1 and len(system.trajectories) == 2


@pytest.mark.fault('start, end and middleware', 'SIGINT while it solves, with goals in the queue',
                   'exit code 0 after the present solve; the others are answered SHUTDOWN')
@pytest.mark.nightly
def test_interrupted_while_it_solves(tmp_path, probe):
    """Goals that take as long as the deadline lets them."""
    with run_system(tmp_path, probe, {'solver.deadline': 0.4, 'solver.max_restarts': 10_000}):
        stamps = [probe.send((0.0, 0.0, 0.02)) for _ in range(60)]
        probe.wait(lambda: any(answer['state'] == 'rejected' for answer in probe.statuses))
        assert probe.node.stop() == 0
        probe.wait(lambda: len(probe.statuses) >= 60)
        assert {*stamps} == {answer['stamp'] for answer in probe.statuses}
        outcomes = [answer['reason'] for answer in probe.statuses]
        assert len(outcomes) == 60 and outcomes.count('SHUTDOWN') > 30, outcomes


# ---- faults of the code -----------------------------------------------------

BREAK = """
from ik_node.node.goals import conversion
from ik_node.ros.messages import joint_states
take = joint_states.JointStates.take
def fail(*_):
    raise ZeroDivisionError('made by the test')
def fail_at_times(self, message, *others):
    return fail() if 'unlucky' in message.name else take(self, message, *others)
conversion.GoalConversion.solve = fail
joint_states.JointStates.take = fail_at_times
"""


@pytest.mark.fault('start, end and middleware', 'an exception in the code that takes a message',
                   'a goal is refused: INTERNAL, and counted; of another message the log tells; '
                   'the node lives')
def test_exception_in_a_callback(tmp_path, probe):
    """Broken on purpose in its process: solves, and joint states with an unlucky name."""
    with process('sim_controller', tmp_path, {'urdf_file': ARM, 'initial_positions': READY}):
        node = Process('ik_node', tmp_path / 'ik_node.log', {'urdf_file': ARM}, script=BREAK)
        try:
            probe.watch_motion()
            probe.wait_for_node()
            probe.wait_until_ready()
            answer = probe.final(probe.send((0.4, 0.2, 0.4), DOWN))
            assert (answer['state'], answer['reason']) == ('rejected', 'INTERNAL')
            assert 'made by the test' in answer['message']
            # Of joint states the latest is kept, which may be the controller's.
            again = probe.create_timer(0.005, lambda: probe.publish_state(['unlucky'], [0.0]))
            probe.wait(lambda: 'a callback failed' in node.output)
            probe.destroy_timer(again)
            goes_on_from_here(probe, AWAY)
            probe.wait(lambda: {pair.key: pair.value for pair in probe.health[
                '/ik_node: health'].values}.get('INTERNAL') == '1')
            assert node.stop() == 0
        finally:
            node.kill()
