# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The view of RViz against the running nodes: topics, types, QoS and frames are those of both.

robot_state_publisher is not on PyPI.  The test stands for it, with what it is known to do:
``robot_description``, std_msgs/String, reliable and transient local; links in TF by
``frame_prefix`` and their name.
"""

from contextlib import ExitStack
from importlib.util import find_spec
import subprocess
import sys
from time import monotonic

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from harness import ARM, COLD_START, pose, process, READY, ROOT, tip
import pytest
import rclpy
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    LivelinessPolicy,
    qos_check_compatible,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
)
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import String
from visualization_msgs.msg import InteractiveMarkerFeedback, InteractiveMarkerUpdate, MarkerArray
from visualization_msgs.srv import GetInteractiveMarkers
import yaml

from ik_node.model.description.urdf import read_urdf
from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.ui.rviz_config import adapted

# What RViz's displays subscribe to, and where the topic stands.
DISPLAYS = {'RobotModel': (String, 'Description Topic'), 'Pose': (PoseStamped, 'Topic'),
            'Goal, path and ghost': (MarkerArray, 'Topic'),
            'Ground and objects': (MarkerArray, 'Topic'),
            'Bodies of the links': (MarkerArray, 'Topic'), 'Clearance': (MarkerArray, 'Topic'),
            'PointCloud2': (PointCloud2, 'Topic')}
TURNED_OFF = {'Bodies of the links', 'Clearance'}  # made only for who looks
WITHOUT_TOPIC = {'Grid', 'TF'}
# RViz has it fixed for interactive markers.
MARKER_QOS = QoSProfile(depth=100, durability=DurabilityPolicy.VOLATILE,
                        reliability=ReliabilityPolicy.RELIABLE,
                        liveliness=LivelinessPolicy.AUTOMATIC)
LINKS = list(read_urdf(ARM).links)


class View(Node):
    """Subscribes as RViz does with a view."""

    def __init__(self, config):
        super().__init__('rviz', start_parameter_services=False)
        manager = config['Visualization Manager']
        self.fixed_frame = manager['Global Options']['Fixed Frame']
        # By class, or by name those of a class that is there twice.
        self.displays = {display['Name'] if display['Name'] in DISPLAYS else
                         display['Class'].removeprefix('rviz_default_plugins/'): display
                         for display in manager['Displays']}
        assert len(self.displays) == len(manager['Displays'])
        self.last = {}

    def wait(self, condition, what, seconds=30.0):
        """Spin until a condition holds."""
        end = monotonic() + seconds
        while not condition():
            assert monotonic() < end, f'{what} did not come within {seconds} s'
            rclpy.spin_once(self, timeout_sec=0.05)

    def subscribe(self, kind):
        """Subscribe as a display does; return topic and QoS."""
        message, field = DISPLAYS[kind]
        topic = self.displays[kind][field]
        qos = QoSProfile(
            depth=topic['Depth'], liveliness=LivelinessPolicy.AUTOMATIC,
            durability={'Volatile': DurabilityPolicy.VOLATILE,
                        'Transient Local': DurabilityPolicy.TRANSIENT_LOCAL}[
                            topic['Durability Policy']],
            reliability={'Reliable': ReliabilityPolicy.RELIABLE,
                         'Best Effort': ReliabilityPolicy.BEST_EFFORT}[
                             topic['Reliability Policy']])
        self.create_subscription(message, topic['Value'],
                                 lambda heard: self.last.update({kind: heard}), qos)
        return topic['Value'], qos

    def check(self, topic, message, qos):
        """See that somebody publishes on a topic what a reader with `qos` gets."""
        kind = f'{message.__module__.split(".")[0]}/msg/{message.__name__}'
        self.wait(lambda: self.get_publishers_info_by_topic(topic), f'a publisher on {topic}')
        assert dict(self.get_topic_names_and_types())[topic] == [kind]
        for publisher in self.get_publishers_info_by_topic(topic):
            assert publisher.topic_type == kind
            fits, why = qos_check_compatible(publisher.qos_profile, qos)
            assert fits == QoSCompatibility.OK, (topic, why)


@pytest.fixture(scope='module', params=[('', ''), ('/cell/left', 'left/')],
                ids=['alone', 'in a namespace with a prefix'])
def view(request, tmp_path_factory, recorded):
    """Run all that is shown, show a preview, and only then start what stands for RViz."""
    namespace, prefix = request.param
    folder = tmp_path_factory.mktemp('view')
    remap = {'__ns': namespace} if namespace else {}
    publisher = Node('robot_state_publisher', namespace=namespace, start_parameter_services=False)
    publisher.create_publisher(String, 'robot_description', LATCHED_QOS).publish(
        String(data=ARM.read_text()))
    with ExitStack() as stack:
        stack.callback(publisher.destroy_node)
        stack.enter_context(process('sim_controller', folder, {'initial_positions': READY}, remap))
        stack.enter_context(process(
            'ik_node', folder, {'frame_prefix': prefix} if prefix else {}, remap))
        if find_spec('interactive_markers'):
            stack.enter_context(process('interactive_goal', folder, {}, remap))
        cloud = subprocess.Popen([
            sys.executable, '-c', 'from ik_node.tools.entry import workspace; workspace()',
            '--spacing', '0.5', '--orientations', '2', '--no-picture', '--publish',
            '--out', str(folder / 'workspace'), '--frame-prefix', prefix,
            '--ros-args', '-r', f'__ns:={namespace or "/"}'])
        stack.callback(cloud.wait, 20.0)
        stack.callback(cloud.terminate)
        shown = View(yaml.safe_load(adapted((ROOT / 'config/ik_node.rviz').read_text(), namespace,
                                            prefix, 'base_link')))
        stack.callback(shown.destroy_node)
        shown.prefix = prefix
        preview(shown, namespace)
        yield shown


def preview(view, namespace):
    """Have the node show something that can be reached."""
    asked = view.create_publisher(PoseStamped, f'{namespace}/ik_node/preview_pose', 1)
    answers = []
    heard = view.create_subscription(DiagnosticStatus, f'{namespace}/ik_node/preview',
                                     answers.append, 10)
    message = PoseStamped(pose=pose(tip([0.4, *READY[1:]]).translation))
    message.header.frame_id = f'{view.prefix}base_link'
    view.wait(lambda: asked.get_subscription_count()
              and view.count_publishers(heard.topic_name), 'the node', COLD_START)

    def reachable():
        asked.publish(message)
        end = monotonic() + 2.0
        while not answers and monotonic() < end:
            rclpy.spin_once(view, timeout_sec=0.05)
        return answers and answers.pop().level == DiagnosticStatus.OK

    view.wait(reachable, 'a preview', COLD_START)
    view.destroy_subscription(heard)


def test_every_display_is_known(view):
    """The view has no display that is not tested here."""
    assert view.displays.keys() == {*DISPLAYS, *WITHOUT_TOPIC, 'InteractiveMarkers'}
    assert {name for name, display in view.displays.items()
            if not display['Enabled']} == TURNED_OFF


@pytest.mark.parametrize('kind', DISPLAYS)
def test_display(view, kind):
    """A late subscriber gets the message of the display, in a frame known to TF."""
    topic, qos = view.subscribe(kind)
    view.check(topic, DISPLAYS[kind][0], qos)
    # What nobody has looked at is made once somebody does: markers may come after an empty scene.
    view.wait(lambda: kind in view.last and getattr(view.last[kind], 'markers', True), topic,
              COLD_START)
    message = view.last[kind]
    if kind == 'RobotModel':
        assert message.data == ARM.read_text()
        return
    headers = [marker.header for marker in message.markers] if DISPLAYS[kind][0] is MarkerArray \
        else [message.header]
    frames = {header.frame_id for header in headers}
    if kind == 'Bodies of the links':
        assert len(frames) > 1 and frames <= {view.prefix + link for link in LINKS}
        assert all(marker.frame_locked for marker in message.markers)
    else:
        assert frames == {view.fixed_frame}


def test_markers_are_the_whole_scene(view):
    """A late subscriber gets goal and ghost."""
    name = 'Goal, path and ghost'
    view.subscribe(name)
    view.wait(lambda: name in view.last and view.last[name].markers, 'markers')
    assert {'goal', 'ghost'} <= {marker.ns for marker in view.last[name].markers
                                 if marker.action == marker.ADD}


def test_frames(view):
    """TF has the fixed frame and the links of the robot by the names that RViz uses."""
    in_tf = {view.prefix + link for link in LINKS}
    prefix = view.displays['RobotModel']['TF Prefix']
    assert view.fixed_frame in in_tf
    assert {f'{prefix}/{link}' if prefix else link for link in LINKS} == in_tf


@pytest.mark.skipif(find_spec('interactive_markers') is None,
                    reason='interactive_markers is not on PyPI; it comes with ROS 2')
def test_handle(view):
    """RViz finds the handle in a frame known to TF, and its feedback is received."""
    topic = view.displays['InteractiveMarkers']['Interactive Markers Namespace']
    view.check(f'{topic}/update', InteractiveMarkerUpdate, MARKER_QOS)
    made = view.create_publisher(InteractiveMarkerFeedback, f'{topic}/feedback', MARKER_QOS)
    view.wait(made.get_subscription_count, 'who listens to the feedback')
    view.wait(lambda: view.get_publishers_info_by_topic(made.topic_name), 'the feedback')
    sent, = view.get_publishers_info_by_topic(made.topic_name)
    for listener in view.get_subscriptions_info_by_topic(made.topic_name):
        assert listener.topic_type == sent.topic_type
        fits, why = qos_check_compatible(sent.qos_profile, listener.qos_profile)
        assert fits == QoSCompatibility.OK, why
    client = view.create_client(GetInteractiveMarkers, f'{topic}/get_interactive_markers')
    assert client.wait_for_service(30.0)
    found = []

    def handle():
        future = client.call_async(GetInteractiveMarkers.Request())
        view.wait(future.done, 'the handle')
        found[:] = future.result().markers
        return found

    view.wait(handle, 'the handle')
    assert [marker.header.frame_id for marker in found] == [view.fixed_frame]
