# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Collision checking: bodies of the links, the clearance, and boxes of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from html import escape
from itertools import chain, count
from math import cos, sin
from random import randrange
from time import monotonic

import numpy as np
from rclpy.node import Node
from rclpy.subscription import Subscription
import viser
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.base.errors import GoalError
from ik_node.base.se3 import pose, rotation_from_quaternion
from ik_node.ros.messages.conversion import fill_pose, matrix_from_pose
from ik_node.ros.messages.markers import OBJECT_ALPHA, OBJECT_COLOUR, PAGE_NAMESPACE, scale
from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.ui.node_client import Answer
from ik_node.ui.viewer.drawing.robot_view import place, send
from ik_node.ui.viewer.drawing.scene import BASE_NODE, Scene
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.style import CSS_AMBER, line, mark, PLAIN_STYLE

SCENE_DEPTH = 100         # messages that are kept for the node
MAX_BOXES = 50            # more from the node are only drawn
PAGE_IDS = 1000           # of markers, for each page: two that add a box at once give two ids
MAX_PAGES = 1_000_000     # of which each page is one by chance
SEND_PERIOD_S = 0.1       # between two poses of a box that is dragged
CONFIRM_TIME_S = 3.0      # after which a box is again as the node has it
FIRST_SIZE_M = 0.2        # of a new box, in each direction
SIZE_RANGE_M = 0.01, 10.0
SIZE_STEP_M = 0.01
FARTHEST_M = 100.0        # from the base, that can be typed
SHOWN_DIGITS = 4          # decimals
ARROW_END = 0.1           # by which the arrows stand out of a box, times the reach of the arm
FIRST_DISTANCE = 0.45     # of a new box from the base, times the reach of the arm
FIRST_ANGLE_RAD, NEXT_ANGLE_RAD = 1.3, 0.8  # of the first one about the base, and between two
SAME_BOX_M = 1e-6           # m, and of the elements of a rotation


class Box:
    """One box on the page."""

    def __init__(self, number: int, name: str, T: np.ndarray, size: np.ndarray) -> None:
        self.number = number  # the id of its marker
        self.name = name      # on the page
        self.T = T            # (4, 4), pose of its centre in the base link
        self.size = size      # (3,), lengths along its axes, m
        self.held = False     # whether somebody is dragging it
        self.changed = False  # whether its last change has not been sent
        self.sent = -np.inf  # when it was sent last (monotonic, s), until the node shows it so

    def is_at(self, T: np.ndarray, size: np.ndarray) -> bool:
        """Return whether it has this pose (4, 4) and this size (3,), m."""
        return bool(np.allclose(self.T, T, atol=SAME_BOX_M)
                    and np.allclose(self.size, size, atol=SAME_BOX_M))


class BoxView:
    """A box in the scene, with arrows and rings to move it, and its fields in the panel."""

    def __init__(self, server: viser.ViserServer, parent: str, box: Box, reach: float) -> None:
        name = f'{parent}/{box.number}'
        self._server = server
        self._arrow_end = ARROW_END * reach
        self.controls = server.scene.add_transform_controls(
            name, line_width=2.0, depth_test=False)
        self._solid = server.scene.add_box(
            f'{name}/solid', color=tuple(round(255 * part) for part in OBJECT_COLOUR),
            dimensions=tuple(box.size), opacity=OBJECT_ALPHA, cast_shadow=False)
        self.folder = server.gui.add_folder(box.name)
        with self.folder:
            self.position = server.gui.add_vector3(
                'Position (m)', _shown(box.T[:3, 3]), min=(-FARTHEST_M,) * 3,
                max=(FARTHEST_M,) * 3, step=SIZE_STEP_M, hint='Of its centre, in the base link.')
            low, high = SIZE_RANGE_M
            self.size = server.gui.add_vector3(
                'Size (m)', tuple(box.size), min=(low,) * 3, max=(high,) * 3, step=SIZE_STEP_M,
                hint='Lengths along its axes.')
            mark(server, PLAIN_STYLE)
            self.remove_button = server.gui.add_button('Remove')
        place(self.controls, box.T)
        self.draw_size(box)

    def draw_size(self, box: Box) -> None:
        """Draw the size of the box."""
        self._solid.dimensions = tuple(box.size)
        self.controls.scale = 0.5 * float(box.size.max()) + self._arrow_end

    def draw(self, box: Box) -> None:
        """Show pose and size of the box in all windows."""
        self.draw_pose(box)
        self.draw_size(box)
        self.size.value = _shown(box.size)

    def draw_pose(self, box: Box) -> None:
        """Show the pose of the box in all windows."""
        send(self._server, self.controls, box.T)
        self.position.value = _shown(box.T[:3, 3])

    def remove(self) -> None:
        """Take it off the page."""
        self.controls.remove()
        self.folder.remove()


class BoxPanel:
    """
    The boxes of the page, which it sends to ``~/scene`` of an ik_node.

    They are markers of PAGE_NAMESPACE.  What counts is what the node shows: CONFIRM_TIME_S after
    its last change on the page a box is as the node has it, and gone if the node has none.  So a
    page that is started later has the boxes of the one before, and two pages have the same ones.

    Parameters
    ----------
    parent : str
        Name of the node in the scene that is at the base link.
    frame : callable
        Returns the frame of the base link, '' as long as it is not known.
    say : callable
        Takes whether something went well, and a sentence.

    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 parent: str, frame: Callable[[], str], say: Answer) -> None:
        self._server, self._inbox, self._parent = server, inbox, parent
        self._target, self._frame, self._say = target, frame, say
        self._reach = 1.0
        self._first = PAGE_IDS * randrange(MAX_PAGES)  # id of this page
        self._boxes: dict[int, tuple[Box, BoxView]] = {}
        self._told: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # pose, size: as the node has it
        self._removed: dict[int, float] = {}  # when boxes were removed (monotonic, s)
        self._publisher = node.create_publisher(MarkerArray, f'{target}/scene', SCENE_DEPTH)
        self._place = server.gui.add_folder(None)
        with self._place:
            mark(server, PLAIN_STYLE)
            self._button = server.gui.add_button(
                'Add a box', hint='The arm keeps away from it. Drag it where it is to be.')
        inbox.on_click(self._button, self._add)

    def set_reach(self, reach: float) -> None:
        """Fit later boxes to an arm with this reach (m)."""
        self._reach = reach

    def show(self, visible: bool) -> None:
        """Show or hide the button."""
        self._button.visible = visible

    # ---- the hands of a person ----------------------------------------------

    def _add(self) -> None:
        if not self._frame():
            self._say(False, 'the pose of the tip is not known yet')
        elif len(self._boxes) >= MAX_BOXES:
            self._say(False, f'the page has {MAX_BOXES} boxes, which is the most; remove one')
        else:
            number = self._free_number()
            angle = FIRST_ANGLE_RAD + NEXT_ANGLE_RAD * len(self._boxes)
            place = FIRST_DISTANCE * self._reach * np.array([cos(angle), sin(angle), 0.0])
            place[2] = 0.5 * FIRST_SIZE_M
            self._make(Box(number, self._name(number), pose(np.eye(3), place),
                           np.full(3, FIRST_SIZE_M)))
            self._send(self._boxes[number][0])

    def _free_number(self) -> int:
        """Return the least id of this page that no box has, or had a moment ago."""
        used = {*self._boxes, *self._told, *self._removed}
        return next(number for number in range(self._first + 1, self._first + PAGE_IDS)
                    if number not in used)

    def _name(self, number: int) -> str:
        """Return a name for a box that no other has on this page."""
        plain, used = f'Box {number % PAGE_IDS}', {box.name for box, _ in self._boxes.values()}
        names = chain([plain], (f'{plain} ({k})' for k in count(2)))
        return next(name for name in names if name not in used)

    def _make(self, box: Box) -> None:
        with self._place:
            view = BoxView(self._server, self._parent, box, self._reach)
        self._boxes[box.number] = box, view
        self._inbox.on_change(view.position, partial(self._put, box.number))
        self._inbox.on_change(view.size, partial(self._resize, box.number))
        self._inbox.on_click(view.remove_button, partial(self._remove, box.number))

        async def dragged(event: viser.TransformControlsEvent) -> None:
            w, x, y, z = event.target.wxyz
            T = pose(rotation_from_quaternion((x, y, z, w)), np.array(event.target.position))
            self._inbox.put(partial(self._drag, box.number, event.phase, T))

        view.controls.on_update(dragged)

    def _drag(self, number: int, phase: str, T: np.ndarray) -> None:
        if number not in self._boxes:
            return
        box, view = self._boxes[number]
        if phase == 'update':
            box.T, box.held, box.changed = T, True, True
        elif phase == 'end':  # of the mouse button or the window
            box.held = False
            self._send(box)
            view.draw_pose(box)

    def _put(self, number: int, position: tuple[float, float, float]) -> None:
        if number in self._boxes:
            box, view = self._boxes[number]
            box.T, box.changed = pose(box.T[:3, :3], np.clip(
                np.array(position, dtype=float), -FARTHEST_M, FARTHEST_M)), True
            send(self._server, view.controls, box.T)

    def _resize(self, number: int, size: tuple[float, float, float]) -> None:
        if number in self._boxes:
            box, view = self._boxes[number]
            box.size, box.changed = np.clip(np.array(size, dtype=float), *SIZE_RANGE_M), True
            view.draw_size(box)

    def _remove(self, number: int) -> None:
        if number in self._boxes:
            self._forget(number)
            self._removed[number] = monotonic()
            self._publish(Marker(ns=PAGE_NAMESPACE, id=number, action=Marker.DELETE))

    def _forget(self, number: int) -> None:
        self._boxes.pop(number)[1].remove()

    # ---- messages -----------------------------------------------------------

    def _send(self, box: Box) -> None:
        box.changed, box.sent = False, monotonic()
        marker = Marker(ns=PAGE_NAMESPACE, id=box.number, type=Marker.CUBE, action=Marker.ADD)
        marker.header.frame_id = self._frame()
        fill_pose(marker.pose, box.T)
        scale(marker, *box.size)
        marker.color.a = 1.0
        self._publish(marker)

    def _publish(self, marker: Marker) -> None:
        if not self._publisher.get_subscription_count():
            self._say(False, f'nobody listens on {self._publisher.topic_name}; is {self._target} '
                      'running, in this ROS_DOMAIN_ID and namespace?')
        self._publisher.publish(MarkerArray(markers=[marker]))

    def take(self, markers: Iterable[Marker]) -> list[Marker]:
        """Take what the node shows of its scene; return the markers that are not boxes of ours."""
        told, others = {}, []
        for marker in markers:
            box = _box_of(marker) if marker.ns == PAGE_NAMESPACE else None
            if box is None or len(told) >= MAX_BOXES:
                others.append(marker)
            else:
                told[marker.id] = box
        self._told = told
        self.tick()
        return others

    def tick(self) -> None:
        """Send boxes that have changed, at most each SEND_PERIOD_S; follow the node in others."""
        now = monotonic()
        self._removed = {number: since for number, since in self._removed.items()
                         if now - since < CONFIRM_TIME_S}
        for number, (box, view) in list(self._boxes.items()):
            told = self._told.get(number)
            if box.changed:
                if now - box.sent >= SEND_PERIOD_S:
                    self._send(box)
            elif told is not None and box.is_at(*told):
                box.sent = -np.inf
            elif box.held or now - box.sent < CONFIRM_TIME_S:
                pass
            elif told is None:
                self._forget(number)
                if np.isfinite(box.sent):
                    self._say(False, f'{self._target} has not taken {box.name}; its log says '
                              'why')
            else:
                box.T, box.size = told
                view.draw(box)
        for number, told in self._told.items():
            if number not in self._boxes and number not in self._removed:
                self._make(Box(number, self._name(number), *told))


def _shown(lengths: np.ndarray) -> tuple[float, ...]:
    """Return lengths (3,) as they are shown, m."""
    return tuple(round(float(length), SHOWN_DIGITS) for length in lengths)


def _box_of(marker: Marker) -> tuple[np.ndarray, np.ndarray] | None:
    """Return pose (4, 4) and size (3,) of a box, m; None if the marker is none."""
    size = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
    if marker.action != Marker.ADD or marker.type != Marker.CUBE or marker.id < 0 \
            or not (np.isfinite(size).all() and (size > 0.0).all()):
        return None
    try:
        return matrix_from_pose(marker.pose), size
    except GoalError:
        return None


CLEARANCE_ROWS = 2
BOXES_NODE = f'{BASE_NODE}/boxes'


class Watch:
    """A topic of markers that is subscribed to only while it is looked at."""

    def __init__(self, node: Node, topic: str, take: Callable[[MarkerArray], None]) -> None:
        self._node, self._topic, self._take = node, topic, take
        self._subscription: Subscription | None = None

    def look(self, wanted: bool) -> None:
        """Begin or cease to look; the last markers go when nobody looks."""
        if wanted and self._subscription is None:
            self._subscription = self._node.create_subscription(
                MarkerArray, self._topic, self._take, LATCHED_QOS)
        elif not wanted and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            self._take(MarkerArray())


class CollisionPanel:
    """
    Shows what an ik_node keeps away from what.

    Nothing is asked of the node that no window shows.
    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 scene: Scene, frame: Callable[[], str], say: Answer) -> None:
        self._target, self._scene = target, scene
        self._checked = True  # whether the node checks collisions
        self._windows = False
        self._bodies = Watch(node, f'{target}/body_markers', scene.take_bodies)
        self._clearance = Watch(node, f'{target}/clearance_markers', self._take_clearance)
        with server.gui.add_folder('Collisions'):
            self._notice = server.gui.add_html(line(
                f'<span style="color:{CSS_AMBER}">Collisions are not checked: '
                f'{escape(target)} has collision.check false.</span>'), visible=False)
            self._lines = server.gui.add_html('')
            self._show_clearance = server.gui.add_checkbox(
                'Show clearance', True,
                hint='Which two links or objects are nearest to each other, and how near.')
            self._show_bodies = server.gui.add_checkbox(
                'Show what is checked', False,
                hint='The bodies of the links as they are checked for collisions.')
            self.boxes = BoxPanel(node, target, server, inbox, BOXES_NODE, frame, say)
        inbox.on_change(self._show_clearance, lambda _value: self._look())
        inbox.on_change(self._show_bodies, lambda _value: self._look())

    def take_windows(self, windows: bool) -> None:
        """Take whether a window is open."""
        self._windows = windows
        self._look()

    def take_check(self, checked: bool) -> None:
        """Take whether the node checks collisions; say it if it does not."""
        if checked == self._checked:
            return
        self._checked = checked
        self._notice.visible = not checked
        for control in (self._show_clearance, self._show_bodies):
            control.visible = checked
        self.boxes.show(checked)
        self._look()

    def _look(self) -> None:
        looks = self._windows and self._checked
        self._clearance.look(looks and self._show_clearance.value)
        self._bodies.look(looks and self._show_bodies.value)

    def take_objects(self, message: MarkerArray) -> None:
        """Take the objects around the arm; the boxes of the page are drawn by themselves."""
        self._scene.take_objects(self.boxes.take(message.markers))

    def _take_clearance(self, message: MarkerArray) -> None:
        self._scene.take_clearance(message)
        texts = [each.text for each in message.markers if each.type == Marker.TEXT_VIEW_FACING]
        self._lines.content = ''.join(line(escape(text), CLEARANCE_ROWS) for text in texts)
