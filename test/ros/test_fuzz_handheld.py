# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Odd messages to the node of the page for a phone or a headset, while a page is open."""

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from fuzz.messages import like
from geometry_msgs.msg import PoseStamped
from harness import free_port, LATCHED, pose, process
from hypothesis import given, strategies as st
import numpy as np
import pytest
from test_fuzz_messages import ONCE, sound
from test_handheld import Headset

ANSWER = DiagnosticStatus(name='x', message='words', hardware_id='1', values=[
    KeyValue(key=key, value=value) for key, value in (
        ('stamp', '1.0'), ('last_stamp', '2.0'), ('kind', 'stream'), ('state', 'stopped'),
        ('reason', 'STOPPED'))])
GOOD = {'odd/answers': ANSWER, 'odd/tip_pose': PoseStamped(pose=pose([0.3, 0.0, 0.3]))}
GOOD['odd/tip_pose'].header.frame_id = 'base_link'


@pytest.mark.nightly
def test_messages(tmp_path, probe):
    """The node lives, and sends only poses that are; then its page works."""
    port, streamed = free_port(), []
    with process('handheld', tmp_path, {'port': port, 'ik_node': '/odd'}) as running:
        probe.wait(lambda: 'open http' in running.output, 60.0)
        made = {name: probe.create_publisher(type(good), name, LATCHED)
                for name, good in GOOD.items()}
        listening = probe.create_subscription(PoseStamped, 'odd/goal_stream', streamed.append, 10)
        probe.wait(lambda: all(each.get_subscription_count() for each in made.values()))
        headset = Headset(probe, f'ws://127.0.0.1:{port}/socket')

        @ONCE
        @given(st.lists(st.sampled_from(list(GOOD)).flatmap(
            lambda name: st.tuples(st.just(name), like(GOOD[name]))), min_size=8, max_size=8))
        def send(batch):
            for name, message in batch:
                made[name].publish(message)
            headset.frames(1, False)
            headset.frames(2, True)
            headset.look()
            sound(running)

        send()
        numbers = np.array([(p.x, p.y, p.z, o.x, o.y, o.z, o.w) for p, o in (
            (message.pose.position, message.pose.orientation) for message in streamed)])
        assert np.isfinite(numbers).all()

        def shows(words):
            for name, message in GOOD.items():
                made[name].publish(message)
            headset.frames(1, False)
            headset.frames(2, True)
            return words in headset.look()['notice'] or words in headset.state['answer']

        streamed.clear()
        probe.wait(lambda: shows('words') and streamed, what='a good answer, and a stream')
        probe.destroy_subscription(listening)
        probe.wait(lambda: shows('nobody listens on'), what='a stream that nobody takes')
