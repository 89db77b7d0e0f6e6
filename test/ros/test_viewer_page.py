# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The page of the viewer in a real browser, with a simulated arm.

What the handle does with a drag and its commands is tested in test/ui/test_handle.py.
"""

from contextlib import closing, contextmanager, ExitStack
from importlib.util import find_spec
import re
from urllib.parse import urlparse

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Vector3
from harness import (
    ARM,
    DATA,
    FINAL,
    free_port,
    latest,
    lent,
    MODEL,
    PATIENCE_S,
    pose,
    Process,
    process,
    QUICK,
    READY,
    stamped,
    tip,
)
import numpy as np
import pinocchio as pin
import pytest
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import String
from test_named_poses import ASIDE, group_state
from test_viewer_collisions import add, agrees, cube, node_of, Scene
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.ui.handle import LEVEL

pytest.importorskip('playwright', reason='playwright is not installed')

from browser import browser, new_context, Window  # noqa: E402

from scripts.screenshot import CHROMIUM, drag, HANDLE  # noqa: E402

pytestmark = [
    pytest.mark.skipif(find_spec('viser') is None,
                       reason='viser is not installed (extra "viewer")'),
    pytest.mark.skipif(CHROMIUM is None, reason='no Chromium is installed')]
AT_TIP = 0.015  # m and rad; the handle returns to the tip just before the arm is at rest
SPEED = 'Speed (% of limits)'
PHONE_SIZE = {'width': 400, 'height': 800}


@pytest.fixture(scope='module')
def limits(tmp_path_factory):
    """Give the node of the module two tools."""
    file = tmp_path_factory.mktemp('tools') / 'tools.yaml'
    file.write_text('tools: {probe: {position: [0.0, 0.0, 0.1]}, brush: {}}')
    return {**QUICK, 'tools_file': file}


@pytest.fixture(scope='module')
def chromium():
    """Run one browser for the module."""
    with browser() as running:
        yield running


@contextmanager
def opened(chromium, port, probe):
    """Open a window; it must log no errors and send requests to this machine only."""
    with closing(new_context(chromium)) as context:
        window = Window(context.new_page(), port, probe)
        yield window
    assert not window.complaints
    assert {urlparse(url.removeprefix('blob:')).hostname for url in window.requests} == {
        '127.0.0.1'}


@pytest.fixture(scope='module')
def port(shared_system, tmp_path_factory):
    """Serve the page of the shared arm; return its port."""
    port = free_port()
    with process('viewer', tmp_path_factory.mktemp('viewer'),
                 {'urdf_file': ARM, 'port': port}) as running:
        shared_system.wait(lambda: f'open http://127.0.0.1:{port}' in running.output, 60.0)
        yield port


@pytest.fixture(scope='module')
def one_window(chromium, port, shared_system):
    """Open one window for the module."""
    with opened(chromium, port, shared_system) as window:
        yield window


@pytest.fixture
def arm(shared_system, one_window):
    """Lend the arm, at READY, with the handle at its tip."""
    with lent(shared_system):
        # A browser without a graphics card leaves little of the machine to the others.
        shared_system.change('/ik_node', state__timeout=10.0, watch__start_timeout=10.0)
        at_tip(one_window, shared_system)
        shared_system.statuses.clear()
        yield shared_system
        one_window.page.mouse.up()
        one_window.check('Position only', False)
        one_window.check('Free about the tool axis', False)
        one_window.check('Follow while dragging', False)
        one_window.press('Reset sliders to the arm')
        one_window.press('Handle to tip')


@pytest.fixture
def window(one_window, arm):
    """Return the window before the arm at READY."""
    return one_window


def at_tip(window, probe):
    """Wait until the handle is where the tip is."""
    def there() -> bool:
        pose = window.pose(HANDLE)
        return (pose is not None and window.visible(HANDLE)
                and off(pose, tip(latest(probe))) < AT_TIP)

    window.wait(there, 'the handle at the tip')


def off(pose, T):
    """Return how far a pose (7,) of the page is from one of Pinocchio, m and rad."""
    R = T.rotation
    w, x, y, z = pose[3:]
    turn = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
    angle = np.arccos(np.clip((np.trace(R.T @ turn) - 1.0) / 2.0, -1.0, 1.0))
    return np.linalg.norm(pose[:3] - T.translation) + angle


def pull(window, axis=2, pixels=45.0):
    """Drag the handle by one of its arrows, towards its origin; return the pose before."""
    before = window.pose(HANDLE)
    origin, grip = (np.array(window.pixel(HANDLE, share * np.eye(3)[axis]))
                    for share in (0.0, 0.13))
    drag(window.page, grip, pixels * (origin - grip) / np.linalg.norm(origin - grip))
    window.wait(lambda: not np.allclose(window.pose(HANDLE), before, atol=0.01), 'a drag')
    return before


def next_end(window, probe, known):
    """Wait for the end of the goal that comes after `known` answers; return its answer."""
    def ends():
        return [answer for answer in probe.statuses[known:] if answer['state'] in FINAL]

    window.wait(ends, 'the end of a goal')
    return ends()[-1]


# ---- the scene --------------------------------------------------------------

def test_arm_is_drawn_at_its_joint_positions(window, arm):
    """Each link is drawn at its pose, where it can be seen."""
    for q in ([0.9, -0.2, 0.3, 0.0, 0.5, 0.0], READY):
        assert arm.final(arm.send_joints(q))['state'] == 'reached'
        window.wait(lambda: links_off(window, latest(arm)) < 2e-3, 'each link where it is')


def links_off(window, q):
    """Return how far the drawn links (m and rad) are from where Pinocchio has them at q."""
    tip(q)
    frames = [T for frame, T in zip(MODEL.frames, DATA.oMf) if frame.type == pin.FrameType.BODY]
    drawn = [window.pose(f'/robot/{k}') for k in range(7)]  # base_link to link_6
    assert all(window.visible(f'/robot/{k}') for k in range(7))
    return max(min(off(pose, T) for T in frames) for pose in drawn)


def test_the_tip_is_jogged_while_a_button_is_held(window, arm):
    """Along z of the base, then of the tool; the arm rests when the button is released."""
    # Slow: on a busy machine the button is held for longer, and the line has an end.
    arm.change('/ik_node', stream__timeout=0.5, jog__scale__linear=0.1)
    window.page.get_by_text('Jog', exact=True).click()
    for label, tool in (('+z', False), ('\N{MINUS SIGN}z', True)):
        window.check('Axes of the tool', tool)
        begin, known = tip(latest(arm)), len(arm.statuses)
        window.hold(label)
        window.wait(lambda begin=begin: np.linalg.norm(
            tip(latest(arm)).translation - begin.translation) > 0.02, 'a motion')
        window.page.mouse.up()
        answer = next_end(window, arm, known)
        assert (answer['kind'], answer['reason']) == ('jog', 'STREAM_ENDED'), answer
        way = tip(latest(arm)).translation - begin.translation
        axis = -begin.rotation[:, 2] if tool else np.array([0.0, 0.0, 1.0])
        assert way @ axis > 0.02 and np.linalg.norm(way - (way @ axis) * axis) < 5e-3
    window.check('Axes of the tool', False)
    window.page.get_by_text('Jog', exact=True).click()


@pytest.mark.nightly
def test_page_waits_for_the_robot(chromium, shared_system, tmp_path):
    """Without a robot description the page is empty and says so; then it shows the robot."""
    port = free_port()
    with process('viewer', tmp_path, {'port': port}) as running:
        shared_system.wait(lambda: 'open http://' in running.output, 60.0)
        with opened(chromium, port, shared_system) as window:
            window.reads('waiting for robot_description: none has arrived')
            shared_system.descriptions.publish(String(data='<robot'))
            window.reads('the last one was refused')
            missing = ARM.read_text().replace(
                '<link name="tool0"/>', '<link name="tool0"><visual><geometry><mesh '
                'filename="package://nowhere/tool.stl"/></geometry></visual></link>')
            shared_system.descriptions.publish(String(data=missing))
            window.wait(lambda: window.visible('/robot/7') and window.visible(HANDLE),
                        'a primitive for the missing mesh')
            assert "package://nowhere/tool.stl" in running.output
            # A robot that comes later takes its place.
            other = ARM.read_text().replace('joint_6', 'wrist')
            shared_system.descriptions.publish(String(data=other))
            window.wait(lambda: window.number('wrist (rad)').count(), 'the other robot')
            window.reads("the joint states lack 'wrist'")


@pytest.mark.nightly
def test_arm_on_a_pedestal(chromium, shared_system, tmp_path):
    """If the base link is not the root, robot and handle are still drawn at the same place."""
    urdf = tmp_path / 'raised.urdf'
    urdf.write_text(ARM.read_text().replace('</robot>', (
        '<link name="world"/><joint name="pedestal" type="fixed"><parent link="world"/>'
        '<child link="base_link"/><origin xyz="0.2 0.1 0.5" rpy="0 0 1.5707963267948966"/>'
        '</joint></robot>')))
    port = free_port()
    with process('viewer', tmp_path, {'urdf_file': urdf, 'base_link': 'base_link',
                                      'port': port}) as running:
        shared_system.wait(lambda: 'open http://' in running.output, 60.0)
        with opened(chromium, port, shared_system) as window:
            at_tip(window, shared_system)
            half = 0.5**0.5
            assert np.allclose(window.pose('/base'), [0.2, 0.1, 0.5, half, 0.0, 0.0, half],
                               atol=1e-6)
            assert np.allclose(window.pose('/robot/0'), window.pose('/base'), atol=1e-6)


# ---- the handle -------------------------------------------------------------

def test_drag_previews_and_move_goes_there(window, arm):
    """Dragging shows a ghost and moves nothing; Move brings the tip to the handle."""
    pull(window)
    window.wait(lambda: window.visible('/ghost'), 'the ghost')
    assert not arm.statuses
    wanted = window.pose(HANDLE)
    window.press('Move')
    assert next_end(window, arm, 0)['state'] == 'reached'
    assert off(wanted, tip(latest(arm))) < 1e-4
    window.reads('✓ reached in')


def dragged(window, share):
    """Drag the handle by its arrow, by a share of its length inwards; return the mouse, held."""
    origin, grip = (np.array(window.pixel(HANDLE, [0.0, 0.0, z])) for z in (0.0, 0.13))
    mouse = window.page.mouse
    mouse.move(*grip)
    mouse.down()
    for part in np.linspace(0.2, 1.0, 5):
        mouse.move(*(grip + part * share * (origin - grip)))
    return mouse


def test_follow_while_dragging(window, arm):
    """The arm follows the handle, waits while it is held still, and stops on release."""
    arm.change('/ik_node', stream__timeout=2.0)  # a busy machine may let the hand tremble
    window.check('Follow while dragging')
    mouse = dragged(window, 0.6)
    window.wait(lambda: off(window.pose(HANDLE), tip(READY)) > 0.02, 'a drag')
    window.wait(lambda: off(window.pose(HANDLE), tip(latest(arm))) < 2e-3, 'the arm')
    assert not any(answer['state'] in FINAL for answer in arm.statuses)
    mouse.up()
    assert next_end(window, arm, 0)['reason'] == 'STREAM_ENDED'


# ---- buttons ----------------------------------------------------------------

def test_postures_of_the_handle(window, arm):
    """Each is a button, which shows it and sets the sliders to it; a drag takes the list away."""
    lists, panel = [], window.page.get_by_text('Postures', exact=True)
    arm.create_subscription(DiagnosticArray, '/ik_node/postures', lists.append, 1)
    entries = window.page.get_by_role('button', name=re.compile(r'^[✓!✗] \d+: '))
    pull(window)
    panel.click()
    window.press('List postures')
    window.wait(lambda: lists and entries.count() == len(lists[-1].status), 'the list')
    assert not overflowing(window)
    found = [{pair.key: pair.value for pair in status.values} for status in lists[-1].status]
    free = [values['colour'] != 'red' for values in found]
    assert len(found) > 1 and free.count(True) > 1
    number = len(free) - 1 - free[::-1].index(True)  # the last free one: not the nearest
    q = np.array(found[number]['q'].split(), dtype=float)
    entries.nth(number).click()
    window.wait(lambda: abs(slider_value(window, 'joint_2') - q[1]) < 1e-3
                and window.visible('/ghost'), 'the sliders')
    window.reads(f'{number + 1}: {lists[-1].status[number].message}')
    assert not arm.statuses
    wanted = window.pose(HANDLE)
    window.press('Move to these joints')
    assert next_end(window, arm, 0)['state'] == 'reached'
    assert np.abs(latest(arm) - q).max() < 1e-6 and off(wanted, tip(latest(arm))) < 1e-4
    pull(window)
    window.wait(lambda: entries.count() == 0, 'no list')
    panel.click()


def test_home_stop_and_pause(window, arm):
    """Stop ends the motion to home; the next one rests on its way, goes on, and arrives."""
    arm.change('/ik_node', motion__velocity_scale=0.02)  # a busy browser is slow to press
    window.press('Home')
    window.wait(lambda: arm.statuses, 'a goal')
    window.press('Stop')
    assert next_end(window, arm, 0)['reason'] == 'STOPPED'
    known = len(arm.statuses)
    window.press('Home')
    window.wait(lambda: arm.states and any(arm.states[-1][1].velocity), 'the way')
    window.press('Pause')
    window.wait(lambda: arm.statuses[-1]['reason'] == 'PAUSED', 'the pause')
    window.press('Go on')
    arm.wait(lambda: any(arm.states[-1][1].velocity), what='the rest of the way')
    arm.change('/ik_node', motion__velocity_scale=0.5)
    assert next_end(window, arm, known)['state'] == 'reached'


def test_a_named_pose(window, arm):
    """The list and its button are there while there are named poses; the choice is reached."""
    button = window.page.get_by_role('button', name='Move to the named pose')
    assert not button.count()
    semantics = arm.create_publisher(String, 'robot_description_semantic', LATCHED_QOS)
    arm.wait(semantics.get_subscription_count, what='the SRDF')
    semantics.publish(String(data='<robot name="r">' + group_state('ready', READY)
                             + group_state('aside', ASIDE) + '</robot>'))
    window.wait(button.count, 'the button')
    window.choose('Named pose', 'aside')
    button.click()
    answer = next_end(window, arm, 0)
    assert (answer['state'], answer['named_pose']) == ('reached', 'aside'), answer
    assert np.abs(latest(arm) - ASIDE).max() < 1e-5
    semantics.publish(String(data='<robot name="r"/>'))
    window.wait(lambda: not button.count(), 'no button')
    arm.destroy_publisher(semantics)


@pytest.mark.nightly
def test_a_tool(window, arm):
    """The list shows which is mounted, mounts another, and does not lie where that is refused."""
    chosen = window.page.get_by_label('Tool', exact=True)
    assert chosen.input_value() == '(none)'
    window.choose('Tool', 'probe')
    window.reads('the tool is probe')
    window.wait(lambda: arm.tip_poses and abs(
        arm.tip_poses[-1].pose.position.z - tip(READY).act(np.array([0.0, 0.0, 0.1]))[2]) < 1e-3,
        'the pose of the tool')
    arm.change('/ik_node', tool__name='brush')
    window.wait(lambda: chosen.input_value() == 'brush', 'the other tool')
    arm.change('/ik_node', motion__velocity_scale=0.02)  # it is still on its way then
    stamp = arm.send_joints(ASIDE)
    window.wait(lambda: any(answer['state'] == 'accepted' for answer in arm.answers(stamp)), 'it')
    window.choose('Tool', '(none)')
    window.reads('the tool cannot be changed while the arm moves')
    arm.change('/ik_node', motion__velocity_scale=0.5)
    window.wait(lambda: chosen.input_value() == 'brush', 'the tool as it is')
    assert arm.final(stamp)['state'] == 'reached'


def test_keep_level(window, arm):
    """The switch sets motion.keep, and shows what others set; what is kept is drawn meanwhile."""
    turned = [*READY[:4], READY[4] + 0.3, READY[5]]
    window.check('Keep level')
    window.wait(lambda: parameter(arm, 'motion.keep').string_value == LEVEL, 'a level')
    window.reads(f'motion.keep is {LEVEL}')
    assert arm.final(arm.send_joints(turned))['reason'] == 'CONSTRAINT'
    window.reads('✗ rejected: the goal is outside of the path constraint')
    window.check('Keep level', False)
    window.wait(lambda: not parameter(arm, 'motion.keep').string_value, 'no level')
    arm.change('/ik_node', motion__velocity_scale=0.05,
               motion__keep='{frame: start, position: [0.3, 0.3, 0.3]}')
    window.wait(window.box('Keep level').is_checked, 'the check of others')
    window.box('Keep level').hover()
    window.reads("Every motion keeps '{frame: start, position: [0.3, 0.3, 0.3]}'")
    stamp = arm.send_joints(turned)
    window.wait(lambda: window.visible('/base/markers/path_constraint_0'), 'the box')
    assert np.allclose(window.pose('/base/markers/path_constraint_0')[:3],
                       tip(READY).translation, atol=1e-3)
    arm.change('/ik_node', motion__velocity_scale=0.5)
    assert arm.final(stamp)['state'] == 'reached'
    window.wait(lambda: not window.visible('/base/markers/path_constraint_0'), 'no box')
    window.check('Keep level', False)
    window.wait(lambda: not parameter(arm, 'motion.keep').string_value, 'nothing kept')


def on_top(window, label):
    """Return whether the middle of a button can be clicked as it is, without scrolling."""
    return window.page.get_by_role('button', name=label, exact=True).evaluate("""button => {
        const box = button.getBoundingClientRect();
        const x = box.x + box.width / 2, y = box.y + box.height / 2;
        return button.contains(document.elementFromPoint(x, y));
    }""")


def scroll_panel(window, to_end):
    """Scroll the panel of the buttons to its end, or to its top."""
    window.page.get_by_role('button', name='Stop', exact=True).evaluate("""(button, toEnd) => {
        let panel = button;
        while (!(panel.scrollHeight > panel.clientHeight + 1
                 && /auto|scroll/.test(getComputedStyle(panel).overflowY)))
            panel = panel.parentElement;
        panel.scrollTop = toEnd ? panel.scrollHeight : 0;
    }""", to_end)


@pytest.mark.nightly
def test_stop_stays_in_view(window):
    """The button stays visible when the panel is scrolled to its end."""
    scroll_panel(window, to_end=False)
    window.wait(lambda: on_top(window, 'Move'), 'the top of the panel')
    assert on_top(window, 'Stop')
    scroll_panel(window, to_end=True)
    window.wait(lambda: not on_top(window, 'Move'), 'a scrolled panel')
    assert on_top(window, 'Stop')


# ---- sliders ----------------------------------------------------------------

def slider_value(window, joint):
    """Return the number beside the slider of a joint."""
    return float(window.number(f'{joint} (rad)').input_value())


def test_sliders_follow_the_arm_until_they_are_touched(window, arm):
    """A touched slider shows a ghost; only its joint is sent; then all sliders follow again."""
    assert arm.final(arm.send_joints([0.5, *READY[1:]]))['state'] == 'reached'
    window.wait(lambda: slider_value(window, 'joint_1') == 0.5, 'the slider of a moved joint')
    window.enter('joint_2 (rad)', 0.4)
    window.wait(lambda: window.visible('/ghost'), 'the ghost')
    # The arm moves meanwhile: what the page knew of joint_1 is outdated.
    assert arm.final(arm.send_joints([0.1, *READY[1:]]))['state'] == 'reached'
    window.wait(lambda: slider_value(window, 'joint_1') == 0.1, 'the untouched slider')
    window.wait(lambda: slider_value(window, 'joint_2') == 0.4, 'the touched slider')
    known = len(arm.statuses)
    window.press('Move to these joints')
    assert next_end(window, arm, known)['state'] == 'reached'
    assert np.allclose(latest(arm), [0.1, 0.4, *READY[2:]], atol=1e-3)
    assert arm.final(arm.send_joints(READY))['state'] == 'reached'
    window.wait(lambda: slider_value(window, 'joint_2') == READY[1], 'the slider of joint_2')


@pytest.mark.nightly
def test_speed_is_that_of_the_node(window, arm):
    """The slider sets the parameter, and shows values that others have set."""
    arm.change('/ik_node', motion__velocity_scale=0.31)
    window.wait(lambda: float(window.number(SPEED).input_value()) == 31.0, 'their value')
    window.enter(SPEED, 17)
    window.wait(lambda: parameter(arm, 'motion.velocity_scale').double_value == 0.17, 'ours')


@pytest.mark.nightly
def test_null_space_gains_are_those_of_the_node(window, arm):
    """A common gain is shown for each joint; each joint can get its own."""
    arm.change('/ik_node', solver__null_space_gains=[2.0])
    window.page.get_by_text('Null-space gains').click()
    window.wait(lambda: float(window.number('joint_4').input_value()) == 2.0, 'their value')
    window.enter('joint_4', 0.5)
    window.wait(lambda: list(parameter(arm, 'solver.null_space_gains').double_array_value)
                == [2.0, 2.0, 2.0, 0.5, 2.0, 2.0], 'ours')
    window.page.get_by_text('Null-space gains').click()


def parameter(probe, name):
    """Return a parameter of the node."""
    client = probe.create_client(GetParameters, '/ik_node/get_parameters')
    assert client.wait_for_service(PATIENCE_S)
    future = client.call_async(GetParameters.Request(names=[name]))
    probe.wait(future.done)
    probe.destroy_client(client)
    return future.result().values[0]


# ---- texts and plots --------------------------------------------------------

def test_objects_are_drawn(window, arm):
    """What comes by topic appears where it is, moves with its link, and goes."""
    topic = arm.publisher(MarkerArray, 'scene')
    marker = Marker(type=Marker.CUBE, pose=pose((0.6, 0.5, 0.1), np.eye(3)),
                    scale=Vector3(x=0.2, y=0.2, z=0.2))
    marker.header.frame_id = 'base_link'
    topic.publish(MarkerArray(markers=[marker]))
    name = '/objects/0/markers/objects_0'
    window.wait(lambda: window.visible(name), 'the object')
    assert np.allclose(window.pose(name)[:3], (0.6, 0.5, 0.1))
    topic.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    window.wait(lambda: not window.visible(name), 'no object')


def test_goals_are_listed_below_the_plots_in_one_line_each(window, arm):
    """Newest first, at most five; a reason has a number with its unit."""
    for turn in (0.1, 0.2, 0.1, 0.2, 0.1):
        assert arm.final(arm.send_joints([turn, *READY[1:]]))['state'] == 'reached'
    assert arm.final(arm.send([3.0, 0.0, 0.5]))['reason'] == 'OUT_OF_REACH'
    lines = window.page.locator('summary')
    window.wait(lambda: 'rejected' in lines.first.inner_text(), 'the rejected goal')
    assert re.fullmatch(r'✗ rejected: out of reach by \d\.\d\d m', lines.first.inner_text())
    assert lines.count() == 5
    assert re.fullmatch(r'✓ reached in \d\.\d s', lines.nth(1).inner_text())
    boxes = [lines.nth(k).bounding_box() for k in range(5)]
    assert max(box['height'] for box in boxes) < 30.0
    plots = window.page.locator('.uplot')
    assert max(plots.nth(k).bounding_box()['y'] for k in range(plots.count())) < boxes[0]['y']
    lines.first.click()
    window.reads('OUT_OF_REACH')


@pytest.mark.nightly
def test_phone(chromium, port, arm):
    """The arm is drawn above the panel, Stop and Move are visible, no text is cut off."""
    with closing(new_context(chromium, PHONE_SIZE)) as context:
        window = Window(context.new_page(), port, arm)
        at_tip(window, arm)

        def arm_is_seen():
            panel = window.page.locator('.mantine-ScrollArea-root').first.bounding_box()
            points = [window.pixel(HANDLE, [0.0, 0.0, 0.0]), window.pixel('/base', [0.0] * 3)]
            return all(0.0 < x < PHONE_SIZE['width'] and 0.0 < y < panel['y'] for x, y in points)

        window.wait(arm_is_seen, 'the arm above the panel')
        window.wait(lambda: on_top(window, 'Stop') and on_top(window, 'Move'), 'the buttons')
        assert not overflowing(window)


def overflowing(window):
    """Return the texts of buttons, labels and panels that are wider than their place."""
    return window.page.evaluate("""() => [...document.querySelectorAll(
        'button, label, .mantine-ScrollArea-viewport')].filter(
        each => each.clientWidth > 0 && each.scrollWidth > each.clientWidth + 1).map(
        each => each.innerText)""")


def test_plots_follow_the_joints(window, arm):
    """The last point of a joint is its position in percent of its range."""
    assert arm.final(arm.send_joints([0.6, *READY[1:]]))['state'] == 'reached'
    want = 100.0 * (0.6 + 2.96) / 5.92

    def last():
        charts = window.page.evaluate('Object.values(window.__viserTestpoints.uplots).map('
                                      'each => each.chart.data.map(row => [...row].at(-2)))')
        return next(values for values in charts if len(values) == 7)[1]

    window.wait(lambda: abs(last() - want) < 0.5, 'the plot')
    assert window.page.evaluate('Object.values(window.__viserTestpoints.uplots).every('
                                'each => each.chart.scales.y.min === 0'
                                ' && each.chart.scales.y.max > 0)')


def test_missing_joint_states_are_reported(window, arm):
    """Without joint states the page says for how long they have been missing."""
    arm.change('/sim_controller', measuring__dropped=1.0)
    window.reads('the arm is not shown as it is: the joint state of')


def test_workspace_can_be_shown_and_hidden(window, arm):
    """A point cloud is drawn if the box is checked; an invalid one is refused."""
    cloud = PointCloud2(height=1, width=2, point_step=16, row_step=32, data=np.array(
        [[0.5, 0.0, 0.5, 0.0], [0.0, 0.5, 0.5, 0.0]], np.float32).tobytes(), fields=[
            PointField(name=name, offset=4 * k, datatype=PointField.FLOAT32, count=1)
            for k, name in enumerate(('x', 'y', 'z', 'rgb'))])
    stamped(arm, cloud)
    publisher = arm.create_publisher(PointCloud2, 'workspace', arm.descriptions.qos_profile)
    publisher.publish(PointCloud2(width=5, height=5))
    publisher.publish(cloud)
    window.wait(lambda: window.visible('/base/workspace'), 'the workspace')
    window.check('Show workspace', False)
    window.wait(lambda: not window.visible('/base/workspace'), 'no workspace')
    arm.destroy_publisher(publisher)


# ---- boxes; how they are added and dragged is in test_viewer_collisions.py ----

@pytest.fixture
def scene(arm):
    """Return the objects of the node; none is left."""
    arm.scene = Scene(arm)
    yield arm.scene
    arm.scene.clear()
    arm.scene.close()


def test_a_box_blocks_the_arm(window, scene, arm):
    """It counts as any other object: a goal in it is refused."""
    arm.change('/ik_node', motion__detour_time=0.0)
    number = add(window, arm)
    place = scene.boxes()[number][0]
    answer = arm.final(arm.send(place, (0.0, 1.0, 0.0, 0.0)))
    assert answer['reason'] == 'COLLISION' and f"'page/{number}'" in answer['message'], answer


def test_changes_by_other_programs_are_shown(window, scene, arm):
    """A box that another program has changed is shown as it is now."""
    number = add(window, arm)
    moved = cube((0.0, 2.0, 0.3), (0.4, 0.5, 0.6), number, ns='page')
    scene.topic.publish(MarkerArray(markers=[moved]))
    window.wait(lambda: agrees(window, arm, number)
                and abs(window.pose(node_of(number))[1] - 2.0) < 1e-6,
                'the box where another program has put it')
    lengths = window.row('Size (m)').get_by_role('textbox')
    window.wait(lambda: [float(lengths.nth(k).input_value()) for k in range(3)]
                == [0.4, 0.5, 0.6], 'its size')


# ---- several windows, restarts, strangers -----------------------------------

class TestTwoWindows:
    """Two windows of one page, the second of which is closed by the last test."""

    @pytest.fixture(scope='class')
    def other_window(self, chromium, port, shared_system):
        """Open another window, which the last test closes."""
        with ExitStack() as stack:
            window = stack.enter_context(opened(chromium, port, shared_system))
            window.close = stack.close
            yield window

    @pytest.fixture
    def other(self, other_window, arm):
        """Return the other window, with the handle at the tip."""
        at_tip(other_window, arm)
        return other_window

    def test_they_agree(self, window, other, arm):
        """Drags, checks and sliders of one window appear in the other."""
        pull(other)
        window.wait(lambda: np.allclose(window.pose(HANDLE), other.pose(HANDLE)), 'the drag')
        other.check('Position only')
        window.wait(window.box('Position only').is_checked, 'the check')
        other.enter('joint_3 (rad)', 0.25)
        window.wait(lambda: slider_value(window, 'joint_3') == 0.25, 'the slider')
        window.press('Move')
        assert next_end(window, arm, 0)['state'] == 'reached'
        other.reads('✓ reached in')

    @pytest.mark.nightly
    def test_handle_is_not_held_by_a_window_that_is_gone(self, window, other, arm):
        """Closing a window releases the handle it dragged; another window can take over."""
        arm.change('/ik_node', stream__timeout=2.0)
        window.check('Follow while dragging')
        origin, grip = (np.array(other.pixel(HANDLE, [0.0, 0.0, z])) for z in (0.0, 0.13))
        other.page.mouse.move(*grip)
        other.page.mouse.down()
        other.page.mouse.move(*(0.7 * grip + 0.3 * origin))
        window.wait(lambda: arm.statuses, 'a stream')
        assert not any(answer['state'] in FINAL for answer in arm.statuses)
        other.close()
        assert next_end(window, arm, 0)['reason'] == 'STREAM_ENDED'
        at_tip(window, arm)
        window.check('Follow while dragging', False)
        pull(window)
        known = len(arm.statuses)
        window.press('Move')
        assert next_end(window, arm, known)['state'] == 'reached'


@pytest.mark.nightly
def test_page_comes_back_with_its_server(chromium, shared_system, tmp_path):
    """Open windows reconnect to a viewer that is killed and started again on its port."""
    port = free_port()
    parameters = {'urdf_file': ARM, 'port': port}
    first = Process('viewer', tmp_path / 'first.log', parameters)
    context = new_context(chromium)
    try:
        shared_system.wait(lambda: 'open http://' in first.output, 60.0)
        window = Window(context.new_page(), port, shared_system)
        at_tip(window, shared_system)
        first.kill()
        # The page still shows what it last saw; what comes now it can only see from the new one.
        end = shared_system.final(shared_system.send_joints([0.4, *READY[1:]]))
        assert end['state'] == 'reached', end
        with process('viewer', tmp_path, parameters):
            at_tip(window, shared_system)
            known = len(shared_system.statuses)
            window.press('Home')
            assert next_end(window, shared_system, known)['state'] == 'reached'
            context.close()
    finally:
        first.kill()
