# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The panels beside the scene: controls to the right, plots and goals to the left."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from time import monotonic

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
from rclpy.node import Node
import viser

from ik_node.kinematics.arm import singular_values
from ik_node.model.chain import Chain
from ik_node.ros.messages.status_messages import values_of
from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.ui.handle import Handle
from ik_node.ui.node_client import Answer
from ik_node.ui.viewer.drawing.robot_view import Colour
from ik_node.ui.viewer.drawing.scene import Scene
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.panels.collision_panel import CollisionPanel
from ik_node.ui.viewer.panels.handle_view import (
    BALL_COLOURS,
    COLOUR_CSS,
    HandleView,
    UNKNOWN_COLOUR,
)
from ik_node.ui.viewer.panels.joint_sliders import JogPanel, JointPanel, shown_range
from ik_node.ui.viewer.panels.settings_panel import SettingsPanel
from ik_node.ui.viewer.style import (
    add_page_style,
    add_title,
    CSS_AMBER,
    CSS_GREEN,
    CSS_RED,
    line,
    mark,
    PLAIN_STYLE,
    title_html,
)

PLOT_SPAN_S = 60.0
PLOT_PERIOD_S = 0.1
SAMPLED_POSTURES = 200
PLOT_LAYOUT = {'height': 200, 'padding': (10, 20, 0, 0), 'legend': {'live': False}}
LINE_COLOURS = ('#1f77b4', '#e07b00', '#2b9d4f', '#d33a2f',
                '#8a5cc2', '#8c564b', '#c757a3', '#7f7f7f')


class Plots:
    """
    Two plots of the last PLOT_SPAN_S.

    Parameters
    ----------
    chain : Chain

    """

    def __init__(self, server: viser.ViserServer, chain: Chain) -> None:
        self._chain = chain
        self._lower, upper = shown_range(chain)
        self._width = upper - self._lower
        self._points: deque[tuple[float, np.ndarray, float, float]] = deque(
            maxlen=round(PLOT_SPAN_S / PLOT_PERIOD_S))
        x = {'time': False}
        self._joints = server.gui.add_uplot(
            self._joint_data(0.0), title='Joint positions (% of their range)',
            series=({'label': 'time (s)'}, *(
                {'label': name, 'stroke': LINE_COLOURS[k % len(LINE_COLOURS)], 'width': 1.5}
                for k, name in enumerate(chain.joint_names))),
            scales={'x': x, 'y': {'range': (0.0, 100.0)}}, **PLOT_LAYOUT)
        self._dexterity = server.gui.add_uplot(
            self._dexterity_data(0.0), title='Distance to singularities',
            series=({'label': 'time (s)'},
                    {'label': 'smallest singular value', 'stroke': LINE_COLOURS[0], 'width': 1.5},
                    {'label': 'manipulability', 'stroke': LINE_COLOURS[1], 'width': 1.5}),
            scales={'x': x, 'y': {'range': (0.0, _highest_dexterity(chain))}}, **PLOT_LAYOUT)

    def due(self, now: float) -> bool:
        """Return whether the next point is due at a time (monotonic, s)."""
        return not self._points or now - self._points[-1][0] >= PLOT_PERIOD_S

    def record(self, q: np.ndarray, now: float) -> None:
        """Record joint positions (n,), rad or m, at a time (monotonic, s)."""
        values = singular_values(self._chain, q)
        self._points.append((now, q, float(values[-1]), float(np.prod(values))))

    def draw(self, now: float) -> None:
        """Show the recorded points at a time (monotonic, s)."""
        self._joints.data = self._joint_data(now)
        self._dexterity.data = self._dexterity_data(now)

    def _joint_data(self, now: float) -> tuple[np.ndarray, ...]:
        q = np.array([point[1] for point in self._points]).reshape(-1, self._chain.n)
        return self._columns(now, *(100.0 * (q - self._lower) / self._width).T)

    def _dexterity_data(self, now: float) -> tuple[np.ndarray, ...]:
        values = np.array([point[2:] for point in self._points]).reshape(-1, 2)
        return self._columns(now, *values.T)

    def _columns(self, now: float, *values: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return times and values, between points without values at both ends of the time axis."""
        times = np.array([point[0] - now for point in self._points])
        shown = (times > -PLOT_SPAN_S) & (times < 0.0)
        return (np.concatenate(([-PLOT_SPAN_S], times[shown], [0.0])),
                *(np.concatenate(([np.nan], column[shown], [np.nan])) for column in values))

    def remove(self) -> None:
        """Take the plots off the page."""
        self._joints.remove()
        self._dexterity.remove()


def _highest_dexterity(chain: Chain) -> float:
    """Return the highest smallest singular value or manipulability of random postures."""
    lower, upper = shown_range(chain)
    postures = np.random.default_rng(0).uniform(lower, upper, (SAMPLED_POSTURES, chain.n))
    values = [singular_values(chain, q) for q in postures]
    return float(max(max(each[-1], np.prod(each)) for each in values))


SHOWN_GOALS = 5
LEVEL_COLOURS = {DiagnosticStatus.OK: CSS_GREEN, DiagnosticStatus.WARN: CSS_AMBER,
                 DiagnosticStatus.ERROR: CSS_RED}
# Reasons that are told with a distance: how far the nearest posture is from the goal.
DISTANCE_WORDS = {
    'OUT_OF_REACH': ('out of reach by', 'position_error_m', 'm'),
    'INNER_VOID': ('too close to the base by', 'position_error_m', 'm'),
    'ORIENTATION_OUT_OF_REACH': ('orientation out of reach by', 'orientation_error_rad', 'rad')}
DETAIL_LABELS = (
    ('solve_time_ms', 'solved in', 'ms'), ('duration_s', 'motion', 's'),
    ('measured_position_error_m', 'position error', 'm'),
    ('measured_orientation_error_rad', 'orientation error', 'rad'))
LIST_CSS = 'font-size:0.85em;line-height:1.5;padding:0.1em 0.75em'
LINE_CSS = 'cursor:pointer;white-space:nowrap;overflow:hidden;text-overflow:ellipsis'
DETAIL_CSS = 'opacity:0.75;padding:0 0 0.3em 1.2em;overflow-wrap:anywhere'


class GoalList:
    """Lists the last goals; a click on a line shows the details of that goal."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._html = server.gui.add_html(line('Goals are listed here.'))
        self._latest: dict[tuple[str, str], DiagnosticStatus] = {}

    def take(self, message: DiagnosticStatus) -> None:
        """Take a message of ~/answers."""
        key = message.hardware_id, values_of(message).get('stamp', '')
        # The final answer moves a goal to the top of the list.
        self._latest.pop(key, None)
        self._latest[key] = message
        while len(self._latest) > SHOWN_GOALS:
            self._latest.pop(next(iter(self._latest)))
        entries = ''.join(map(_entry, reversed(self._latest.values())))
        self._html.content = f'<div style="{LIST_CSS}">{entries}</div>'


def summary(message: DiagnosticStatus) -> str:
    """Return one line of plain text about a goal, as "✓ reached in 1.5 s"."""
    values = values_of(message)
    state, reason = values.get('state', ''), values.get('reason', '')
    duration = _rounded(values, 'duration_s', '.1f')
    if state == 'accepted':
        return '… moving' + (f', takes {duration} s' if duration else '')
    if state == 'reached':
        if reason == 'ALREADY_THERE':
            return '✓ already there'
        what = 'nearest pose reached' if reason == 'NEAREST' else 'reached'
        return f'✓ {what}' + (f' in {duration} s' if duration else '')
    if state == 'superseded':
        return '– replaced by a newer goal'
    if state == 'stopped':
        return '– stream ended' if reason == 'STREAM_ENDED' else '– stopped'
    return f'✗ {state}: {_why(message.message, reason, values)}'


def _why(sentence: str, reason: str, values: Mapping[str, str]) -> str:
    if reason in DISTANCE_WORDS:
        words, key, unit = DISTANCE_WORDS[reason]
        distance = _rounded(values, key, '.2f')
        if distance:
            return f'{words} {distance} {unit}'
    return sentence.partition(';')[0]


def _rounded(values: Mapping[str, str], key: str, form: str) -> str:
    """Return a number of the message in another format, '' without one."""
    try:
        return format(float(values[key]), form)
    except (KeyError, ValueError):
        return ''


def _entry(message: DiagnosticStatus) -> str:
    values = values_of(message)
    text = escape(summary(message))
    colour = LEVEL_COLOURS.get(message.level, '')
    details = ', '.join(f'{what} {values[key]} {unit}' for key, what, unit in DETAIL_LABELS
                        if key in values)
    lines = '<br>'.join(escape(text) for text in (
        f'goal {message.hardware_id}: {message.message}', values.get('reason', ''), details)
        if text)
    return (f'<details><summary style="{LINE_CSS};color:{colour}" title="{text}">{text}</summary>'
            f'<div style="{DETAIL_CSS}">{lines}</div></details>')


COLOUR_SIGNS = {'green': '✓', 'amber': '!', 'red': '✗'}
BRANCH_KEY = 'branch_'  # with which the keys of labels begin
MAX_POSTURE_BUTTONS = 16
ABOUT_ROWS = 3
LIST_HINT = 'Lists all postures that reach the pose of the handle; nothing moves.'


class PosturePanel:
    """
    Lists the postures of a preview; a chosen one is shown, and set on the joint sliders.

    Parameters
    ----------
    target : str
        Name of the ik_node.
    handle : Handle
        Asks for the list.
    say : callable
        Takes whether something went well, and a sentence.
    choose : callable
        Takes the joint positions in the order of the chain, rad or m, and the colour of the
        ghost that shows them.

    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 handle: Handle, say: Answer, choose: Callable[[list[float], Colour], None]
                 ) -> None:
        self._server, self._inbox, self._handle = server, inbox, handle
        self._say, self._choose = say, choose
        self._listed = ''  # stamp of the list that is shown
        self._folder = server.gui.add_folder('Postures', expand_by_default=False)
        with self._folder:
            mark(server, PLAIN_STYLE)
            ask = server.gui.add_button('List postures', hint=LIST_HINT)
            self._about = server.gui.add_html('')
        self._entries: list[viser.GuiInputHandle | viser.GuiHtmlHandle] = []
        inbox.on_click(ask, self._ask)
        node.create_subscription(DiagnosticArray, f'{target}/postures', self._take, LATCHED_QOS)

    def _ask(self) -> None:
        self._clear('')
        if self._handle.frame:
            self._handle.list_postures()
        else:
            self._say(False, 'the pose of the tip is not known yet')

    def refresh(self) -> None:
        """Take the list off the page once the handle has another pose."""
        if self._listed and self._listed != self._handle.listed:
            self._clear('')

    def _take(self, message: DiagnosticArray) -> None:
        found = [(values_of(status), status.message) for status in message.status]
        stamp = found[0][0].get('stamp', '') if found else ''
        if not stamp or stamp != self._handle.listed:
            return  # another program has asked for it
        more = len(found) - MAX_POSTURE_BUTTONS
        self._clear(f'{len(found)} posture{"s" * (len(found) > 1)}, the nearest first'
                    + (f'; the last {more} are not shown' if more > 0 else '')
                    + '. Choose one: the sliders take its joints.')
        self._listed = stamp
        with self._folder:
            for number, (values, sentence) in enumerate(found[:MAX_POSTURE_BUTTONS], 1):
                self._add(number, values, sentence)

    def _add(self, number: int, values: dict[str, str], sentence: str) -> None:
        colour = values.get('colour', '')
        sides = ', '.join(f'{key.removeprefix(BRANCH_KEY)} {value}'
                          for key, value in values.items() if key.startswith(BRANCH_KEY))
        self._entries.append(mark(self._server, PLAIN_STYLE))
        button = self._server.gui.add_button(
            f'{COLOUR_SIGNS.get(colour, "")} {number}: {sides or "posture"}', hint=sentence)
        self._entries.append(button)
        try:
            q = [float(position) for position in values.get('q', '').split()]
        except ValueError:
            return  # an ik_node sends numbers
        self._inbox.on_click(button, partial(self._show, q, colour, f'{number}: {sentence}'))

    def _show(self, q: list[float], colour: str, sentence: str) -> None:
        dot = f'<span style="color:{COLOUR_CSS.get(colour, "")}">&#9679;</span> '
        self._about.content = line(dot + escape(sentence), ABOUT_ROWS)
        red, green, blue = BALL_COLOURS.get(colour, UNKNOWN_COLOUR)
        self._choose(q, (red / 255, green / 255, blue / 255))

    def _clear(self, about: str) -> None:
        """Take the entries off the page, and show a text about them."""
        for entry in self._entries:
            entry.remove()
        self._entries.clear()
        self._listed = ''
        self._about.content = line(escape(about), ABOUT_ROWS) if about else ''


PANEL_WIDTH_PX = 300
PROGRAM_NAME = 'ik_node'
NOTICE_CSS = (f'margin:0.4em 0.75em;padding:0.4em 0.6em;border-left:4px solid {CSS_AMBER};'
              f'background:{CSS_AMBER}20;font-size:0.85em;overflow-wrap:anywhere')


class Panels:
    """All panels of the page."""

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 scene: Scene) -> None:
        self._server, self._inbox, self._scene = server, inbox, scene
        add_page_style(server)
        self._title = add_title(server)
        self._notice = server.gui.add_html('', visible=False)
        self.handle = HandleView(node, target, server, inbox)
        self.jog = JogPanel(node, target, server, inbox, lambda: self.handle.handle.frame,
                            self.handle.say)
        self.postures = PosturePanel(node, target, server, inbox, self.handle.handle,
                                     self.handle.say, self._choose)
        self._joints_place = server.gui.add_folder(None)
        self.settings = SettingsPanel(node, target, server, inbox, self.handle.handle,
                                      self.handle.say)
        self.collisions = CollisionPanel(node, target, server, inbox, scene,
                                         lambda: self.handle.handle.frame, self.handle.say)
        workspace = server.gui.add_checkbox(
            'Show workspace', True, visible=False,
            hint='Points that the tip can reach; their colour says in how many orientations.')
        inbox.on_change(workspace, scene.show_cloud)
        self._workspace = workspace
        side = server.gui.add_panel()
        with side.add_tab('Motion and goals'):
            self._plots_place = server.gui.add_folder(None)
            with server.gui.add_folder('Last goals'):
                self.goals = GoalList(server)
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(PANEL_WIDTH_PX)
        side.dock_left()
        side.set_width(PANEL_WIDTH_PX)
        self._chain: Chain | None = None
        self.joints: JointPanel | None = None
        self.plots: Plots | None = None  # None before there is a robot

    def take_chain(self, chain: Chain, robot_name: str) -> None:
        """Show the controls and plots of these joints, and the name of the robot."""
        self._chain = chain
        self._title.content = title_html(f'{robot_name} - {PROGRAM_NAME}')
        self._server.gui.set_panel_label(robot_name)
        self.handle.set_reach(chain.reach)
        self.collisions.boxes.set_reach(chain.reach)
        for old in (self.joints, self.plots):
            if old is not None:
                old.remove()
        with self._joints_place:
            self.joints = JointPanel(self._server, self._inbox, chain, self._scene.show_ghost,
                                     self.handle.handle.commands.joints, self.handle.say)
        with self._plots_place:
            self.plots = Plots(self._server, chain)
        self.settings.take_chain(chain)
        self.jog.take_chain(chain)

    def _choose(self, q: Sequence[float], colour: Colour) -> None:
        """Set the joint sliders to a posture (n,), rad or m, and show it in a colour."""
        if self._chain is not None and self.joints is not None and len(q) == self._chain.n:
            self.joints.choose(q)
            self._scene.show_ghost(dict(zip(self._chain.joint_names, q)), colour)

    def take_status(self, message: DiagnosticStatus) -> None:
        """Take a message of ~/answers: an answer to a goal."""
        values = values_of(message)
        self.goals.take(message)
        self.handle.say(message.level != DiagnosticStatus.ERROR, summary(message))
        if self.joints is not None:
            self.joints.take_answer(values.get('stamp', ''), values.get('state', ''))

    def show_workspace(self) -> bool:
        """Show the check box for the workspace; return whether it is checked."""
        self._workspace.visible = True
        return self._workspace.value

    def draw(self, missing: list[str], positions: Mapping[str, float]) -> None:
        """
        Update the panels.

        Parameters
        ----------
        missing : list of str
            A sentence for each thing that is missing.
        positions : mapping of joint name to position
            Measured, rad or m.

        """
        self.settings.refresh()
        self.collisions.take_check(self.settings.collision_check)
        self.jog.take_unit(self.settings.command_in_type)
        self.handle.hide_old_answer()
        self.postures.refresh()
        if self.joints is not None and self.plots is not None:
            self.joints.take_positions(positions)
            self.plots.draw(monotonic())
        self._note([*missing, *self.settings.missing()])

    def _note(self, sentences: list[str]) -> None:
        self._notice.visible = bool(sentences)
        self._notice.content = ''.join(f'<div style="{NOTICE_CSS}">{escape(sentence)}</div>'
                                       for sentence in sentences)
