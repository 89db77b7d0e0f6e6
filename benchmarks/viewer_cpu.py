# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What the viewer costs while nobody looks: its share of one core.

    .venv/bin/python -m benchmarks.viewer_cpu [--rate 50] [--seconds 20]

A simulated controller sends joint states at the rate, an ik_node all that it publishes by
itself; no window is open.  The time is that of all threads of the viewer's process, as the
kernel counts it (/proc).
"""

import argparse
from contextlib import ExitStack
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from ik_node.base.system import share_file
from ik_node.tools.demo.command import running

PATIENCE = 300.0  # s; the first start of a machine compiles


def cpu_seconds(pid: int) -> float:
    """Return the time that a process has computed, s."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rate', type=float, default=50.0, help='joint states a second')
    parser.add_argument('--seconds', type=float, default=20.0)
    options = parser.parse_args()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    arguments = ['--ros-args', '-p', f'urdf_file:={share_file("urdf/six_axis_arm.urdf")}']
    with TemporaryDirectory() as folder, ExitStack() as stack:
        logs = Path(folder)
        stack.enter_context(running('sim_controller', [
            *arguments, '-p', f'rate:={options.rate}'], logs))
        stack.enter_context(running('ik_node', arguments, logs))
        viewer = stack.enter_context(running('viewer', arguments, logs))
        end = monotonic() + PATIENCE
        while not ('open http' in (logs / 'viewer.log').read_text()
                   and 'ready for goals' in (logs / 'ik_node.log').read_text()):
            if viewer.poll() is not None or monotonic() > end:
                raise SystemExit((logs / 'viewer.log').read_text())
            sleep(0.1)
        sleep(3.0)  # until all have found each other
        before, begin = cpu_seconds(viewer.pid), monotonic()
        sleep(options.seconds)
        share = (cpu_seconds(viewer.pid) - before) / (monotonic() - begin)
    print(f'viewer: {100.0 * share:.1f} % of one core at {options.rate:g} joint states a second, '
          'no window open')


if __name__ == '__main__':
    main()
