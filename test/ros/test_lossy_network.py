# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A stop is a stop where packets are lost: two hosts, and 30 % of what arrives is dropped."""

from contextlib import contextmanager
from dataclasses import dataclass
import json
from pathlib import Path
import re
import subprocess
import sys
from time import monotonic, time

from harness import ARM, process, PROFILES_VARIABLE, READY
from lossy_network import inside, lose, NoNetworkError, two_hosts
from nightly import samples, usual_first
import numpy as np
import pytest

pytestmark = pytest.mark.real_time

PROGRAMS = Path(__file__).with_name('lossy_programs.py')
LOST_PERCENT = 30
LOST_OF_CLOUDS_PERCENT = 10  # of the 25 packets of a cloud, all of which have to come
MOVING_SPEED = 1e-3  # rad/s
BEGIN_S = 0.15       # from a stop until its ramp has begun, but for one in a thousand
STILL = 1e-3         # rad


@dataclass(frozen=True)
class Try:
    """
    What became of a goal and the stop after it.

    `rested` (s) is how long after the stop the arm last moved, `ramp` (s) how long the stop was
    announced to take, and `moved` (rad) how far a joint went after the stop was answered and its
    ramp over.
    """

    goal: str
    sentence: str
    rested: float
    ramp: float
    answered: float
    moved: float

    @property
    def late(self):
        """Return by how much (s) the stop took longer than its ramp."""
        return self.rested - self.ramp


@pytest.fixture
def apart(monkeypatch):
    """Two hosts that talk by the protocol as it is delivered."""
    # What is sent need not come, as the judge of all trajectories takes for granted.
    monkeypatch.delenv('IK_NODE_TEST_RECORD')
    monkeypatch.delenv(PROFILES_VARIABLE)
    monkeypatch.setenv('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')  # shared memory passes by
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    try:
        with two_hosts():
            yield
    except NoNetworkError as error:
        pytest.skip(f'no two hosts can be made here: {error}')


@contextmanager
def program(host, *arguments, **named):
    """Run one of the programs on a host."""
    running = subprocess.Popen([*inside(host), sys.executable, '-u', PROGRAMS, *arguments],
                               text=True, **named)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def tried(folder, tries, controller, patience):
    """Return what became of so many goals that were stopped, by programs on different hosts."""
    with process('sim_controller', folder, {'urdf_file': ARM, 'rate': 200.0,
                                            'initial_positions': READY},
                 inside=inside(controller)), \
            process('ik_node', folder, {'urdf_file': ARM}, inside=inside('b')), \
            (folder / 'seen').open('w') as seen, \
            program(controller, 'witness', stdout=seen), \
            program('a', 'client', str(tries), '1', str(patience), stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE) as client:
        assert json.loads(client.stdout.readline()) == 'ready'
        lose(LOST_PERCENT)
        client.stdin.write('go\n')
        client.stdin.flush()
        asked = [json.loads(line) for line in client.stdout]
        lose(0)
    assert len(asked) == tries
    rows = np.loadtxt(folder / 'seen')
    ends = [each['sent'] for each in asked[1:]] + [rows[-1, 0]]
    ramps = announced((folder / 'ik_node.log').read_text())
    return [outcome(each, rows, end, ramps) for each, end in zip(asked, ends)]


def announced(log):
    """Return when (s, monotonic) ramps were sent and how long they take (s), by the log."""
    since = time() - monotonic()
    return [(float(stamp) - since, float(ramp)) for stamp, ramp in re.findall(
        r'\[([0-9.]+)\] \[ik_node\]: goal \d+ stopped .*; at rest in ([0-9.]+) s', log)]


def outcome(asked, rows, end, ramps):
    """Return what became of one goal, by what was seen until the next was sent."""
    after = rows[(rows[:, 0] > asked['stop']) & (rows[:, 0] < end)]
    moving = after[after[:, 1] > MOVING_SPEED]
    ramp = max((ramp for at, ramp in ramps if asked['stop'] < at < end), default=0.0)
    over = after[after[:, 0] > asked['answered'] + ramp][:, 2:]
    return Try(asked['state'], asked['sentence'],
               moving[-1, 0] - asked['stop'] if len(moving) else 0.0, ramp,
               asked['answered'] - asked['stop'],
               float(np.ptp(over, axis=0).max()) if len(over) else 0.0)


@pytest.mark.parametrize('controller', usual_first(1, ['b', 'a']))
def test_a_stop_is_a_stop(apart, tmp_path, controller):
    """No goal moves the arm after a stop, and no stop waits until DDS sends it again."""
    tries = tried(tmp_path, int(samples(usual=6, nightly=1000)), controller,
                  int(samples(usual=2, nightly=1)))
    moved = [each for each in tries if each.moved > STILL]
    late = [each for each in tries if each.late > BEGIN_S]
    print(*tries, sep='\n')
    print(f'{len(moved)} moved after the stop was answered, {len(late)} stops were late')
    assert not moved, moved
    assert len(late) <= len(tries) / 1000, late


@pytest.mark.parametrize('reliability, clouds', usual_first(1, [
    ('RELIABLE', 1), ('BEST_EFFORT', 6)]))
def test_large_clouds(apart, tmp_path, reliability, clouds):
    """A reliable one comes, of several that are best effort the loss is told."""
    with process('ik_node', tmp_path, {'urdf_file': ARM}, inside=inside('b')), \
            program('a', 'camera', reliability, str(clouds), stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE) as camera:
        assert json.loads(camera.stdout.readline()) == 'ready'
        lose(LOST_OF_CLOUDS_PERCENT)
        camera.stdin.write('go\n')
        camera.stdin.flush()
        seen = json.loads(camera.stdout.readline())
        lose(0)
    if reliability == 'RELIABLE':
        assert seen['came'], seen
    else:
        assert seen['lost'] > 0, seen
