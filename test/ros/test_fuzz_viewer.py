# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Odd messages, descriptions and meshes to the viewer, while a window of its page is open."""

from importlib.util import find_spec

import pytest

pytest.importorskip('playwright', reason='playwright is not installed')

from browser import browser, new_context, Window  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue  # noqa: E402
from fuzz.messages import like  # noqa: E402
from geometry_msgs.msg import Point, PoseStamped  # noqa: E402
from graph import all_of  # noqa: E402
from harness import ARM, free_port, LATCHED, pose, process, READY  # noqa: E402
from hypothesis import example, given, strategies as st  # noqa: E402
from sensor_msgs.msg import JointState, PointCloud2, PointField  # noqa: E402
from test_fuzz_messages import NAMES, ONCE, sound  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

from scripts.screenshot import CHROMIUM  # noqa: E402

pytestmark = pytest.mark.skipif(find_spec('viser') is None,
                                reason='viser is not installed (extra "viewer")')

SCRIPT = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">'


def marker(kind, number, ns='goal'):
    """Return a marker with three points."""
    made = Marker(ns=ns, id=number, type=kind, text='words', pose=pose([0.3, 0.0, 0.3]),
                  points=[Point(x=0.1), Point(y=0.2), Point(z=0.1)])
    made.header.frame_id = 'base_link'
    made.scale.x = made.scale.y = made.scale.z = 0.1
    made.color.r = made.color.a = 1.0
    return made


def cloud():
    """Return two points."""
    return PointCloud2(height=1, width=2, point_step=12, row_step=24, data=bytes(24), fields=[
        PointField(name=name, offset=4 * k, datatype=PointField.FLOAT32, count=1)
        for k, name in enumerate('xyz')])


def values(**pairs):
    """Return an answer as an ik_node gives it."""
    return DiagnosticStatus(name='x', message='words', hardware_id='1', values=[
        KeyValue(key=key, value=value) for key, value in pairs.items()])


GOOD = {
    'joint_states': JointState(name=NAMES, position=READY, velocity=[0.0] * 6),
    'ik_node/ghost': JointState(name=NAMES, position=READY),
    'ik_node/markers': MarkerArray(markers=[
        marker(kind, kind) for kind in (Marker.ARROW, Marker.CUBE, Marker.SPHERE, Marker.CYLINDER,
                                        Marker.LINE_STRIP, Marker.LINE_LIST,
                                        Marker.TEXT_VIEW_FACING, Marker.MESH_RESOURCE)]),
    'ik_node/scene_markers': MarkerArray(markers=[
        marker(kind, kind, 'objects') for kind in (Marker.CUBE, Marker.CYLINDER,
                                                   Marker.TRIANGLE_LIST)]
        + [marker(Marker.CUBE, 1, 'page')]),
    'ik_node/body_markers': MarkerArray(markers=[
        marker(kind, kind, 'bodies') for kind in (Marker.CUBE, Marker.TRIANGLE_LIST)]),
    'ik_node/clearance_markers': MarkerArray(markers=[
        marker(kind, kind, 'clearance') for kind in (Marker.LINE_LIST, Marker.SPHERE,
                                                     Marker.TEXT_VIEW_FACING)]),
    'ik_node/answers': values(stamp='1.0', state='reached', reason='REACHED'),
    'ik_node/preview': values(stamp='1.0', colour='green'),
    'ik_node/postures': DiagnosticArray(status=[
        values(stamp='1.0', colour='green', q='0.0 0.3 -0.4 0.0 1.0 0.0', branch_elbow='up')]),
    'ik_node/named_poses': DiagnosticArray(status=[values(joint_1='0.0', joint_2='0.3')]),
    'ik_node/tools': DiagnosticArray(status=[values(pose='0.0 0.0 0.1 0.0 0.0 0.0 1.0')]),
    'ik_node/tip_pose': PoseStamped(pose=pose([0.3, 0.0, 0.3])),
    'workspace': cloud(),
    '/diagnostics': DiagnosticArray(status=[DiagnosticStatus(
        name='/ik_node: health', values=[KeyValue(key='not_checked', value='tool0')])]),
}


def found():
    """Return what was found before: values that are not finite, and a name that comes twice."""
    painted, sized = marker(Marker.CUBE, 1), marker(Marker.SPHERE, 2)
    painted.color.r, painted.color.g, sized.scale.x = float('nan'), float('inf'), float('inf')
    return [('ik_node/markers', MarkerArray(markers=[painted, sized])),
            ('ik_node/ghost', JointState(name=NAMES, position=[float('inf')] * 6)),
            ('ik_node/named_poses', DiagnosticArray(status=[values(joint_1='0.0')] * 2))]


@pytest.mark.skipif(not CHROMIUM, reason='there is no Chromium')
@pytest.mark.nightly
def test_messages(tmp_path, probe):
    """The viewer keeps running and drawing; markup is shown as text."""
    port = free_port()
    with process('viewer', tmp_path, {'urdf_file': ARM, 'port': port}) as viewer, \
            browser() as chromium:
        probe.wait(lambda: 'open http://' in viewer.output, 60.0)
        window = Window(new_context(chromium).new_page(), port, probe)
        window.check('Show what is checked')
        made = {name: probe.create_publisher(type(good), name, LATCHED)
                for name, good in GOOD.items()}
        probe.wait(lambda: all(each.get_subscription_count() for each in made.values()))
        heard = {name for kind, name in all_of(probe, 'viewer') if kind == 'subscriber'}
        assert heard <= {*(each.topic_name for each in made.values()), '/parameter_events',
                         '/clock'}, heard

        @ONCE
        @example(found())
        @given(st.lists(st.sampled_from(list(GOOD)).flatmap(
            lambda name: st.tuples(st.just(name), like(GOOD[name]))), min_size=8, max_size=8))
        def send(batch):
            for name, message in batch:
                made[name].publish(message)
            window.page.wait_for_timeout(150)
            sound(viewer)

        send()
        made['ik_node/answers'].publish(DiagnosticStatus(
            message=SCRIPT, hardware_id=SCRIPT, values=[
                KeyValue(key=key, value=SCRIPT) for key in ('stamp', 'state', 'reason')]))
        window.reads('<script>window.hacked')
        assert window.page.evaluate('window.hacked') is None
        for name, good in GOOD.items():
            made[name].publish(good)
        window.wait(lambda: window.visible('/robot'), 'the robot')
        sound(viewer)
