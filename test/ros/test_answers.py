# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Who joins late gets the newest answer first on ~/status, and those before it on ~/answers."""

from types import SimpleNamespace

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from harness import READY
import pytest
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.base.errors import Reason
from ik_node.node.goals.answers import StatusReporter
from ik_node.node.goals.goal import GoalTask
from ik_node.ros.answer_publisher import AnswerPublisher
from ik_node.ros.messages.status_messages import GoalState, values_of
from ik_node.ros.middleware.qos import MANY_ANSWERS_QOS

# As ros2 topic echo asks of a latched topic.
ECHO = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def heard(system):
    """Return what a late joiner hears of a topic of the node until it has a message."""
    made = []

    def hear(topic, enough, qos=ECHO):
        messages = []
        made.append(system.create_subscription(DiagnosticStatus, f'/ik_node/{topic}',
                                               messages.append, qos))
        system.wait(lambda: enough(messages), what=f'{topic} to a late joiner')
        return messages

    yield hear
    for subscription in made:
        system.destroy_subscription(subscription)


def test_the_newest_answer_comes_first(system, heard):
    """Of goals, and of messages about the scene."""
    stamps = [system.send_joints([turned, *READY[1:]]) for turned in (0.05, 0.1)]
    assert system.final(stamps[1])['state'] == 'reached'
    newest = heard('status', len)[0]
    assert (values_of(newest)['stamp'], values_of(newest)['state']) == (stamps[1], 'reached')
    every = heard('answers', lambda found: found and values_of(found[-1]) == values_of(newest))
    assert {*stamps} <= {values_of(each)['stamp'] for each in every}
    scene, told = system.publisher(MarkerArray, 'scene'), []
    system.create_subscription(DiagnosticStatus, '/ik_node/scene_answers', told.append, ECHO)
    for number in range(3):
        scene.publish(MarkerArray(markers=[Marker(action=Marker.DELETE, id=number)]))
        system.wait(lambda number=number: len(told) > number, what=f'the answer {number}')
    assert heard('scene_status', len)[0].message == told[-1].message
    assert len(heard('scene_answers', lambda found: len(found) >= 3)) == 3


def test_what_both_topics_keep(probe):
    """The one all, in their order, and the other one the last."""
    node = rclpy.create_node('answerer')
    answers = AnswerPublisher(node, '~/every', MANY_ANSWERS_QOS, '~/newest')
    for number in range(300):
        answers.publish(DiagnosticStatus(message=str(number)))
    every, newest = [], []
    for topic, heard in (('every', every), ('newest', newest)):
        probe.create_subscription(DiagnosticStatus, f'/answerer/{topic}', heard.append,
                                  QoSProfile(depth=1000,
                                             durability=DurabilityPolicy.TRANSIENT_LOCAL))
    probe.wait(lambda: len(every) == 300 and newest)
    assert [each.message for each in every] == [*map(str, range(300))]
    assert [each.message for each in newest] == ['299']
    probe.wait(lambda: answers.flush(0.0) and answers.keeps_up())
    node.destroy_node()


def test_a_planner_that_goes_on_during_an_answer(probe):
    """What it adds meanwhile, in another thread, costs no answer."""
    node = rclpy.create_node('answerer')
    reporter, task = StatusReporter(node), GoalTask(1, Time())
    task.values = {'q': lambda: task.values.update(path_m='1.0') or '0.0'}
    reporter.report(task, GoalState.STOPPED, Reason.STOPPED, 'stopped by request')
    assert task.final and task.values['q'] == '0.0' and reporter.outcomes == {'STOPPED': 1}
    node.destroy_node()


@pytest.mark.parametrize('stuck, flushed', [('status', True), ('answers', False)])
def test_who_is_waited_for_at_the_end(stuck, flushed):
    """Readers of all answers; one of the newest that is stuck does not count."""
    asked = []

    class Publisher:
        def __init__(self, _kind, topic, _qos):
            self.topic = topic

        def wait_for_all_acked(self, _timeout):
            asked.append(self.topic)
            return self.topic != stuck

    publisher = AnswerPublisher(SimpleNamespace(create_publisher=Publisher), 'answers',
                                MANY_ANSWERS_QOS, 'status')
    assert publisher.flush(0.1) == flushed
    assert {*asked} == {'answers', 'status'}
