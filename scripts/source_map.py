# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes the map of the source into docs/explanation/method.md.

It shows what a goal needs, and what rests on that.

Run in the source folder: ``python scripts/source_map.py``.
"""

from __future__ import annotations

from pathlib import Path
import re

PACKAGE = Path(__file__).parents[1] / 'ik_node'
GROUND = ''  # the files beside the groups

# Between the URDF and the answer to a goal pose, in the order of the flow.
WAY = {
    GROUND: 'errors goal_kinds se3 text',
    'model': 'file_paths urdf chain arm_search joint_values',
    'kinematics': 'kernels compilation arm',
    'collision': 'shapes parts check distance sweeps certificate model',
    'solver': 'goal choices options tables solver warm_up result compiled/layout compiled/entry '
              'arm_geometry compiled/subproblems compiled/closed_form compiled/nearest '
              'compiled/damped compiled/nullspace compiled/residual compiled/solution_search '
              'branches unreachable',
    'motion': 'trajectory limits quintic interpolation point_times constant_jerk start_state '
              'ruckig_motion point_to_point validate active_trajectory update_period '
              'monitor path_tolerance controller_rules tip_speed collision_free',
    'replay': 'calls',
    'ros': 'parameters description process qos clocks rotations messages joint_states '
           'status_messages',
    'node': 'node components node_parts created_entities settings collisions robot active_flag '
            'duplicate_names arm_state frames goal_subscriptions stamp_check work_queue '
            'goal_queue goal_status goal_conversion goal_kinds preparation goal_plans motion '
            'trajectory_sender torques '
            'outputs health',
}
REST = {
    GROUND: 'executables, shipped files, pictures',
    'command_line': 'arguments and help of each program, packages that are missing',
    'model': 'what the URDF draws, masses, named poses, presets, plain YAML',
    'kinematics': 'every link, the textbook Jacobians and their derivatives, singularities, '
                  'torques',
    'collision': 'bodies of links and objects, the scene, named tools, the search for detours',
    'solver': 'batches, offset wrists, names of branches, reachability by colour, remedies of a '
              'refusal',
    'motion': 'motions without ruckig, ends of motions, lists of postures, the goal of the '
              'action, effort limits, remedies of refused motions',
    'motion/tool_path': 'lines, arcs, paths',
    'motion/following': 'streams',
    'ros': 'action client, markers, handshake, QoS on the log',
    'node': 'stream, preview, display, scenes, names, MoveIt, jogging, callback delay',
    'simulation': 'the simulated controller, and MuJoCo\'s arm',
    'client': 'programs that move an arm',
    'ui': 'handle, RViz',
    'ui/viewer': 'the page in the browser',
    'ui/handheld': 'the page for a phone or a headset',
    'doctor': '`ik_doctor`',
    'textbook': 'the textbook methods, compared',
    'replay': 'recordings of goals, repeated',
    'workspace': 'where an arm reaches',
    'commands': '`send_goal`, `ik_demo`, `ik_jog`, `ik_teach`, `ik_replay`, `plot_trajectory`',
}


def lines_of(name: str) -> int:
    """Return how many lines a module has, by its path in the package."""
    return len((PACKAGE / f'{name}.py').read_text(encoding='utf-8').splitlines())


def modules() -> list[str]:
    """Return all modules that are more than the mark of a package."""
    return sorted(path.relative_to(PACKAGE).with_suffix('').as_posix()
                  for path in PACKAGE.rglob('*.py') if path.stat().st_size)


def on_the_way() -> list[str]:
    """Return the modules that a goal pose and the URDF need."""
    return [f'{group}/{name}'.lstrip('/') for group, names in WAY.items()
            for name in names.split()]


def group_of(name: str) -> str:
    """Return the group of a module, by the longest key of REST."""
    return max((group for group in REST if not group or name.startswith(f'{group}/')), key=len)


def rounded(lines: int) -> str:
    """Return a number of lines to tens, so that not each change of a file is one of the map."""
    return f'{10 * round(lines / 10):,}'


def table() -> str:
    """Return the map as Markdown."""
    way = on_the_way()
    rows = ['To hold, to work on a goal pose from the URDF to its answer:', '',
            '| group | lines | files |', '|---|---|---|']
    for group, names in WAY.items():
        own = [f'{group}/{name}'.lstrip('/') for name in names.split()]
        rows.append(f'| {group and f"`{group}/`"} | {rounded(sum(map(lines_of, own)))} | '
                    f'{", ".join(names.split())} |')
    rows += [f'| **all** | **{rounded(sum(map(lines_of, way)))}** | {len(way)} files |', '',
             'What rests on it, and can be left alone:', '', '| group | lines | what |',
             '|---|---|---|']
    rest = [name for name in modules() if name not in way]
    for group, what in REST.items():
        lines = sum(lines_of(name) for name in rest if group_of(name) == group)
        rows.append(f'| {group and f"`{group}/`"} | {rounded(lines)} | {what} |')
    rows.append(f'| **all** | **{rounded(sum(map(lines_of, rest)))}** | {len(rest)} files |')
    return '\n'.join(rows)


def with_map(document: str) -> str:
    """Return docs/explanation/method.md with the map between its markers renewed."""
    return re.sub(r'(<!-- map -->\n).*?(<!-- end -->)',
                  lambda match: match[1] + table() + '\n' + match[2], document, flags=re.DOTALL)


def main() -> None:
    """Write the file."""
    method = PACKAGE.parent / 'docs/explanation/method.md'
    method.write_text(with_map(method.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    main()
