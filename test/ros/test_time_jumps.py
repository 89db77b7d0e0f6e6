# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is a jump of simulated time, and what is a simulation that runs fast or was not heard."""

from time import monotonic, sleep

from harness import Probe
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from ik_node.node.state.clocks import TimeJumps


class Told:
    """A node by simulated time that is told the time message by message."""

    def __init__(self) -> None:
        self.probe = Probe()
        Node.set_parameters(self.probe, [Parameter('use_sim_time', value=True)])
        self._publisher = self.probe.create_publisher(Clock, '/clock', 10)
        self.probe.wait(self._publisher.get_subscription_count)
        self.jumps = TimeJumps(self.probe)
        self.time = 1000.0

    def advance(self, seconds: float, sample: bool = True) -> None:
        """Let the clock advance by one message."""
        self.time += seconds
        message = Clock(clock=Time(nanoseconds=round(1e9 * self.time)).to_msg())
        self._publisher.publish(message)
        self.probe.wait(lambda: abs(1e-9 * self.probe.get_clock().now().nanoseconds - self.time)
                        < 1e-6)
        if sample:
            self.jumps.sample()

    def run(self, seconds: float, rate: float) -> None:
        """Let the clock run at a rate for some time."""
        end = last = monotonic()
        end += seconds
        while monotonic() < end:
            sleep(0.01)
            now = monotonic()
            self.advance(rate * (now - last))
            last = now


@pytest.fixture
def told():
    """Return a node that is told the time."""
    made = Told()
    yield made
    made.jumps.close()
    made.probe.destroy_node()


def test_the_first_time_is_no_jump(told):
    """From 0 to whatever the simulation begins with."""
    began = monotonic()
    told.advance(0.0)
    told.advance(0.01)
    assert told.jumps.since(began - 1.0) == 0.0


@pytest.mark.parametrize('jump', [1.0, 5.0, 3600.0])
def test_a_jump(told, jump):
    """By how much, since when, and after which stamp."""
    told.advance(0.0)
    told.run(0.2, 1.0)
    before, stamp = monotonic(), round(1e9 * told.time)
    told.advance(jump)
    assert told.jumps.since(before) == pytest.approx(jump, abs=1e-6)
    assert told.jumps.since(monotonic()) == 0.0
    assert told.jumps.since_stamp(stamp) == pytest.approx(jump, abs=1e-6)
    assert told.jumps.since_stamp(round(1e9 * told.time)) == 0.0
    told.run(0.01, 1.0)
    told.advance(2.0 * jump)
    assert told.jumps.since(before) == pytest.approx(3.0 * jump, abs=1e-6)


@pytest.mark.parametrize('rate', [0.5, 10.0, 50.0])
def test_another_rate_is_no_jump(told, rate):
    """Also if nothing is heard of it for a while."""
    began = monotonic()
    told.advance(0.0)
    told.run(0.5, rate)
    paused = monotonic()
    sleep(0.3)
    told.advance(rate * (monotonic() - paused))
    assert told.jumps.since(began) == 0.0


def test_a_pause_just_before_which_time_was_not_looked_at_is_no_jump(told):
    """How long ago a message came is then not known, only since when it can have come."""
    began = monotonic()
    told.advance(0.0)
    told.run(0.5, 10.0)
    told.advance(0.1, sample=False)
    sleep(0.1)
    told.jumps.sample()
    told.advance(1.0)
    assert told.jumps.since(began) == 0.0


def test_time_that_is_set_back_is_no_jump_forward(told):
    """Neither then nor later."""
    began = monotonic()
    told.advance(0.0)
    told.run(0.1, 1.0)
    told.advance(-60.0)
    told.run(0.1, 1.0)
    assert told.jumps.since(began) == 0.0
