# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The node in one network, the controller in another, and the cable between them is pulled.

Run by test_fault_network.py in a network namespace of its own: ``cut_off.py <folder>``.
"""

from pathlib import Path
import subprocess
import sys

from harness import ARM, FINAL, goes_on_from_here, latest, Probe, Process, READY, reasons
import numpy as np
import rclpy

AWAY = np.array([1.2, 0.1, -0.6, 0.3, 1.2, 0.5])


def run(command: str) -> None:
    """Run a command; an error if it fails."""
    subprocess.run(command.split(), check=True)


def join(far: subprocess.Popen) -> list[str]:
    """Lay a cable to the network of a process; return how to run a command there."""
    there = f'nsenter --target {far.pid} --net'
    run('ip link set lo up')
    run('ip link add near type veth peer name far')
    run(f'ip link set far netns {far.pid}')
    for inside, name, address in (('', 'near', '10.77.0.1'), (there, 'far', '10.77.0.2')):
        run(f'{inside} ip addr add {address}/24 dev {name}')
        run(f'{inside} ip link set {name} up')
    run(f'{there} ip link set lo up')
    return there.split()


def main(folder: Path, far: subprocess.Popen, processes: list[Process]) -> None:
    """Pull the cable in mid-motion, put it in again later, and reach the next goal."""
    there = join(far)
    rclpy.init()
    probe = Probe()
    probe.watch_motion()
    processes += [
        Process('sim_controller', folder / 'sim_controller.log',
                {'urdf_file': ARM, 'initial_positions': READY}, inside=there),
        Process('ik_node', folder / 'ik_node.log', {'urdf_file': ARM}, fresh=True)]
    probe.wait_for_node()
    probe.wait_until_ready()
    probe.wait(lambda: probe.states, what='joint states')
    stamp = probe.send_joints(AWAY)
    probe.wait(lambda: probe.states and probe.states[-1][1].velocity[0] > 0.5)
    run('ip link set near down')
    probe.wait(lambda: any(answer['state'] in FINAL for answer in probe.answers(stamp)))
    assert reasons(probe, stamp) == ['ACCEPTED', 'STATE_LOST'], probe.answers(stamp)
    heard = len(probe.states)
    refused = probe.final(probe.send_joints(READY))
    assert refused['reason'] == 'STATE_STALE', refused
    assert len(probe.states) == heard, 'the networks are not apart'
    probe.health.clear()
    run('ip link set near up')
    probe.wait_until_ready()
    assert np.abs(latest(probe) - AWAY).max() < 1e-6  # it went on to the end of its trajectory
    goes_on_from_here(probe, READY)
    assert processes[1].stop() == 0 and 'Traceback' not in processes[1].output


if __name__ == '__main__':
    started: list[Process] = []
    other = subprocess.Popen(['unshare', '--net', 'sh', '-c', 'echo; exec sleep 600'],
                             stdout=subprocess.PIPE)
    try:
        other.stdout.readline()  # it has its network now
        main(Path(sys.argv[1]), other, started)
    finally:
        for each in (*started, other):
            each.kill()
