# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The command plot_trajectory: joints and their limits, tool speed, manipulability over time.

The motion is planned to a goal, planned again from a recorded status, read from a file of
points, or received on the topic.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
import sys
from typing import Any, TYPE_CHECKING

import numpy as np
import yaml

from ik_node.base.errors import GoalError, IkNodeError, ParameterError
from ik_node.base.se3 import pose, rotation_from_rpy
from ik_node.base.system import how_to_install, require_matplotlib, share_file
from ik_node.base.text import quote
from ik_node.kinematics.arm import singular_values
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.model.joints import require_radians
from ik_node.model.user_files.plain_yaml import YAML_ERRORS
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.tool_path.plan import plan_path
from ik_node.motion.trajectory.interpolation import Point, Sampler
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.sampling import tip_rates
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.node.robot.settings import make_settings, Settings, start_options
from ik_node.solver.goal import Goal
from ik_node.tools.arguments.plot_trajectory import parse
from ik_node.tools.plots.figures import (
    add_legend,
    LINE_COLOURS,
    new_figure,
    rotation_from,
    save,
    style,
    unit,
)
from ik_node.tools.plots.trajectory_files import (
    make_recording,
    read_recording,
    read_status,
    Recording,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAMPLE_COUNT = 1000


@dataclass(frozen=True, eq=False)
class Curves:
    """Quantities of a motion at k times."""

    times: np.ndarray  # (k,), s
    # q, qd, qdd: (k, n), rad or m, per s, per s^2
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    # (k, n), distance of each joint to its nearer position limit, rad or m; negative outside,
    # infinite for a joint without limits
    margin: np.ndarray
    # velocity_share, acceleration_share: (k, n), divided by the limit
    velocity_share: np.ndarray
    acceleration_share: np.ndarray
    # tool_speed, tool_turn: (k,), m/s, rad/s
    tool_speed: np.ndarray
    tool_turn: np.ndarray
    # manipulability, smallest_singular_value: (k,), Yoshikawa (1985); linear rows in m, angular
    # rows in rad
    manipulability: np.ndarray
    smallest_singular_value: np.ndarray


def make_curves(chain: Chain, points: list[Point], limits: MotionLimits) -> Curves:
    """
    Return the quantities of a motion from its first point to its last.

    Between the points, positions are interpolated as a joint trajectory controller does:
    linear, cubic or quintic, by what the points contain.
    """
    sampler = Sampler(points[1:], points[0], np.zeros(chain.n, dtype=bool))
    begin, end = points[0].time, points[-1].time
    # At the last instant the sampler is at rest; just before, the final velocity is seen.
    last = np.nextafter(end, begin)
    times = np.unique(np.concatenate([
        np.linspace(begin, last, SAMPLE_COUNT), [p.time for p in points[:-1]]]))
    states = [sampler.sample(float(t)) for t in times]
    q, qd, qdd = (np.array([getattr(state, name) for state in states])
                  for name in ('q', 'qd', 'qdd'))
    speed, turn = tip_rates(chain, q, qd)
    sigma = np.array([singular_values(chain, row) for row in q])
    return Curves(times, q, qd, qdd, np.minimum(q - chain.lower, chain.upper - q),
                  np.abs(qd) / limits.velocity, np.abs(qdd) / limits.acceleration, speed, turn,
                  sigma.prod(axis=1), sigma[:, -1])


FIGURE_SIZE_INCHES = 11.0, 11.0
LEGEND_HEIGHT_INCHES = 0.5


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = parse(sys.argv[1:] if argv is None else argv)
    try:
        require_matplotlib()
        values = read_parameters(options.config or share_file('config/ik_node.yaml'))
        tree = read_urdf(options.urdf or share_file('urdf/six_axis_arm.urdf'))
        chain = start_options(values).position_limits.narrow(
            make_chain(tree, options.base_link, options.tip_link))
        settings = make_settings(values, chain)
        chain = settings.solver.chain  # with the tool
        if options.xyz:
            title, points = planned(options, chain, settings)
        elif options.status:
            status = read_status(options.status, chain.n)
            title = f'goal {status.number} of {options.status.name}'
            points = motion(chain, settings, status.start, status.q_goal)
        elif options.points:
            title, points = options.points.name, read_recording(options.points).of_chain(chain)
        else:
            title = options.topic
            points = listen(options.topic, options.timeout).of_chain(chain)
        curves = make_curves(chain, points, settings.limits)
        figure = draw(chain, curves, settings, title, options.show)
        if options.show:
            from matplotlib import pyplot
            pyplot.show()
        else:
            save(figure, options.output)
            print(f'written to {options.output}', file=sys.stderr)
    except (IkNodeError, OSError, ValueError) as error:
        print(f'plot_trajectory: {error}', file=sys.stderr)
        raise SystemExit(2) from None


def read_parameters(path: Path) -> dict[str, Any]:
    """Return the parameters of ik_node in a parameter file; those not set are ()."""
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
        values = next(node['ros__parameters'] for name, node in content.items()
                      if name.rpartition('/')[2] == 'ik_node')
    except (*YAML_ERRORS, TypeError, StopIteration):
        raise ParameterError(f'{path} has no ros__parameters of ik_node; the file '
                             'config/ik_node.yaml of this package shows how') from None
    defaults = {} if path == share_file('config/ik_node.yaml') else read_parameters(
        share_file('config/ik_node.yaml'))
    return defaultdict(tuple, {**defaults, **_flat(values)})


def _flat(values: dict[str, Any], prefix: str = '') -> dict[str, Any]:
    flat = {}
    for name, value in values.items():
        flat |= _flat(value, f'{prefix}{name}.') if isinstance(value, dict) else {
            prefix + name: tuple(value) if isinstance(value, list) else value}
    return flat


def planned(options: argparse.Namespace, chain: Chain,
            settings: Settings) -> tuple[str, list[Point]]:
    """Solve a goal and plan the motion to it, with the parameters of the node."""
    q = chain.middle if options.start is None else np.array(options.start)
    if len(q) != chain.n or not np.isfinite(q).all():
        raise ParameterError(f'--start has {len(q)} numbers; the arm has the {chain.n} joints '
                             f'{", ".join(map(quote, chain.joint_names))}')
    excess = np.maximum(chain.lower - q, q - chain.upper)
    k = int(excess.argmax())
    if excess[k] > settings.start_tolerance:
        raise ParameterError(
            f'--start has joint {quote(chain.joint_names[k])} at {q[k]:.4g}, outside its limits '
            f'[{chain.lower[k]:.4g}, {chain.upper[k]:.4g}]')
    require_radians(options.rpy or (), '--rpy')
    R = rotation_from(np.array(options.quat)) if options.quat else rotation_from_rpy(
        *(options.rpy or (0.0, 0.0, 0.0)))
    T_goal = pose(R, np.array(options.xyz))
    start = MotionState.at_rest(q)
    to = f'to {" ".join(f"{x:g}" for x in options.xyz)} m'
    if options.line:
        return f'straight {to}', _points(start, plan_path(
            settings.solver, StartState.from_state(start), [T_goal], settings.planning,
            settings.paths).trajectory)
    result = settings.solver.solve(Goal(T_goal), q)
    if not result.success:
        raise GoalError(result.message, result.status)
    return to, motion(chain, settings, start, chain.nearest_turns(result.q, q))


def motion(chain: Chain, settings: Settings, start: MotionState,
           q_goal: np.ndarray) -> list[Point]:
    """Plan from a state to rest at `q_goal` (n,); raise TrajectoryError if that fails."""
    return _points(start, plan_point_to_point(
        chain.joint_names, StartState.from_state(start), q_goal, settings.planning,
        settings.sample_period, chain))


def _points(start: MotionState, trajectory: Trajectory) -> list[Point]:
    return [Point(0.0, start.q, start.qd, start.qdd)] + [
        Point(float(t), *state) for t, *state in zip(
            trajectory.times, trajectory.q, trajectory.qd, trajectory.qdd)]


def listen(topic: str, timeout: float) -> Recording:
    """Return the next trajectory on a topic."""
    try:
        import rclpy
        from rclpy.wait_for_message import wait_for_message
        from trajectory_msgs.msg import JointTrajectory
    except ImportError as error:
        module = (error.name or 'rclpy').partition('.')[0]
        raise ParameterError(f'--listen needs {module}, which is not installed here: '
                             f'{how_to_install(module)}; or give recorded points (--points)'
                             ) from None
    rclpy.init()
    node = rclpy.create_node('plot_trajectory', start_parameter_services=False)
    print(f'plot_trajectory: waiting for {node.resolve_topic_name(topic)} ...', file=sys.stderr)
    heard, message = wait_for_message(JointTrajectory, node, topic, time_to_wait=timeout)
    if not heard:
        raise ParameterError(f'no trajectory came on {node.resolve_topic_name(topic)} within '
                             f'{timeout:g} s')
    rows = [(point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec,
             point.positions, point.velocities, point.accelerations) for point in message.points]
    return make_recording(message.joint_names, rows, topic)


# ---- the picture --------------------------------------------------------------------

def draw(chain: Chain, curves: Curves, settings: Settings, title: str, window: bool) -> Figure:
    """Draw eight panels over time and one legend."""
    figure = _window() if window else new_figure(*FIGURE_SIZE_INCHES, otherwise='')
    upper, lower = figure.subfigures(2, 1, height_ratios=(
        FIGURE_SIZE_INCHES[1] - LEGEND_HEIGHT_INCHES, LEGEND_HEIGHT_INCHES))
    grid = upper.subplots(4, 2, sharex=True)
    upper.suptitle(f'{quote(chain.base_link)} to {quote(chain.tip_link)}: {title}, '
                   f'{curves.times[-1] - curves.times[0]:.3g} s', fontsize=11)
    u = unit(chain)
    per_joint = {
        'position q': (f'{u}', curves.q, None),
        'distance to the nearer position limit': (u, _finite(curves.margin), 0.0),
        'velocity qd': (f'{u} / s', curves.qd, None),
        'share of the velocity limit': ('1 = all', curves.velocity_share, 1.0),
        'acceleration qdd': (f'{u} / s²', curves.qdd, None),
        'share of the acceleration limit': ('1 = all', curves.acceleration_share, 1.0)}
    for axes, (name, (label, values, bound)) in zip(grid.flat, per_joint.items()):
        _panel(axes, name, label)
        for k, column in enumerate(values.T):
            axes.plot(curves.times, column, label=chain.joint_names[k], linewidth=1.1,
                      color=LINE_COLOURS[k % len(LINE_COLOURS)], linestyle=_line(k))
        if bound is not None:
            axes.axhline(bound, color='black', linewidth=0.9, linestyle=':')
    speed, dexterity = grid.flat[6:]
    tip = settings.planning.tip
    _pair(speed, curves, 'tool', ('speed (m/s)', curves.tool_speed, tip.speed),
          ('turn (rad/s)', curves.tool_turn, tip.angular_speed))
    _pair(dexterity, curves, 'dexterity', ('manipulability', curves.manipulability, None),
          ('smallest singular value', curves.smallest_singular_value, None))
    upper.supxlabel('time  (s)', fontsize=9)
    add_legend(lower, [(LINE_COLOURS[k % len(LINE_COLOURS)], _line(k), name)
                       for k, name in enumerate(chain.joint_names)]
               + [('black', ':', 'limit')])
    return figure


def _window() -> Figure:
    new_figure(*FIGURE_SIZE_INCHES, otherwise='')  # says how to get matplotlib
    from matplotlib import pyplot
    if pyplot.get_backend().lower() in ('agg', 'template'):
        raise ParameterError('there is no display for a window; leave out --show to write a '
                             'picture')
    return pyplot.figure(figsize=FIGURE_SIZE_INCHES, layout='constrained')


def _panel(axes: Axes, name: str, label: str) -> None:
    style(axes).set_title(name, fontsize=9)
    axes.set_ylabel(label, fontsize=8)


def _pair(axes: Axes, curves: Curves, name: str, left: tuple, right: tuple) -> None:
    """Draw two curves of one panel on two axes, each in the colour of its label."""
    _panel(axes, name, left[0])
    for panel, (label, values, bound), colour in (
            (axes, left, LINE_COLOURS[0]), (axes.twinx(), right, LINE_COLOURS[1])):
        panel.plot(curves.times, values, color=colour, label=label, linewidth=1.1)
        panel.set_ylabel(label, fontsize=8, color=colour)
        panel.tick_params(labelsize=7)
        panel.set_ylim(bottom=0.0)
        if bound is not None and np.isfinite(bound):
            panel.axhline(bound, color=colour, linewidth=0.9, linestyle=':')


def _line(joint: int) -> str:
    return '-' if joint < len(LINE_COLOURS) else '--'


def _finite(values: np.ndarray) -> np.ndarray:
    """Replace infinite values by NaN: joints without limits have no line."""
    return np.where(np.isfinite(values), values, np.nan)
