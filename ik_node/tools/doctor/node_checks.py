# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Checks of the node, its environment, its controller, and the clock.

A check is a generator of findings, from the observations and the arm.  To add one, write it
here or in arm_checks.py, and name it in ``ALL_CHECKS`` of command.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from diagnostic_msgs.msg import DiagnosticStatus

from ik_node.base.errors import IkNodeError, Reason
from ik_node.base.system import how_to_install
from ik_node.base.text import COMPILATION_TIME, listed, quote
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import parse_urdf, read_urdf, Tree
from ik_node.node.state.clocks import FUTURE_SLACK_S
from ik_node.ros.action_client import ACTION_NAME
from ik_node.ros.controller_manager import ACTIVE_STATE, how_to_activate, prefix_of
from ik_node.ros.messages.status_messages import GoalState, values_of
from ik_node.ros.parameters.tables import IK_NODE
from ik_node.tools.doctor.observations import mismatch, Observations, seconds
from ik_node.tools.doctor.observer import environment

START_CONTROLLER = 'start or activate the controller, or name it by the parameter controller'


class Level(str, Enum):
    """Severity of a finding."""

    OK = 'ok'
    SKIPPED = 'skipped'
    WARNING = 'warning'
    PROBLEM = 'problem'


@dataclass(frozen=True)
class Finding:
    """What was found, and what to do about it."""

    level: Level
    what: str
    remedy: str = ''


@dataclass(frozen=True, eq=False)
class Model:
    """The arm that the node has, or would have."""

    tree: Tree | None = None    # None if there is none; `complaint` says why
    chain: Chain | None = None  # the same
    source: str = ''  # where the description came from
    size: int = 0     # bytes of the URDF
    complaint: str = ''


Findings = Iterator[Finding]


def ok(what: str) -> Finding:
    """Return the finding that nothing is wrong."""
    return Finding(Level.OK, what)


def skipped(what: str) -> Finding:
    """Return the finding that something cannot be checked, and why."""
    return Finding(Level.SKIPPED, what)


def warning(what: str, remedy: str) -> Finding:
    """Return a finding that may be intended."""
    return Finding(Level.WARNING, what, remedy)


def problem(what: str, remedy: str) -> Finding:
    """Return a finding that keeps goals from being reached."""
    return Finding(Level.PROBLEM, what, remedy)


def read_model(seen: Observations) -> Model:
    """Return the arm, from the same source as the node."""
    tree, source = None, seen.description_topic.name
    text = seen.descriptions[-1] if seen.descriptions else ''
    try:
        if path := seen.value('urdf_file'):
            source = f'the file {path}'
        if seen.value('robot_description'):
            source, text = 'the parameter robot_description', seen.value('robot_description')
            tree = parse_urdf(text)
        elif path:
            tree = read_urdf(path, expand=False)  # the node says which
        elif text:
            tree = parse_urdf(text)
        else:
            return Model(source=source, complaint='none has arrived')
        chain = make_chain(tree, seen.value('base_link'), seen.value('tip_link'))
        return Model(tree, chain, source, len(tree.source))
    except IkNodeError as error:
        size = len(tree.source) if tree else len(text.encode())
        return Model(tree, None, source, size, str(error))


# ---- the node ---------------------------------------------------------------

def check_environment(seen: Observations, _: Model) -> Findings:
    """Check that any node is discovered."""
    where = environment(seen.domain)
    if seen.nodes:
        others = len(set(seen.nodes))
        yield ok(f'{where}: {others} node{"s" * (others != 1)}')
        return
    elsewhere = [str(domain) for domain in seen.domains if domain != seen.domain]
    hint = f'; on this machine the domains {listed(elsewhere)} are in use' if elsewhere else ''
    yield problem(f'no node at all is heard ({where}){hint}',
                  'start the system, or give this shell the ROS_DOMAIN_ID, '
                  'ROS_AUTOMATIC_DISCOVERY_RANGE and RMW_IMPLEMENTATION that the system has')


def check_node(seen: Observations, _: Model) -> Findings:
    """Check that there is one node of this name, and that it answers."""
    count = seen.nodes.count(seen.target)
    alike = [name for name in seen.nodes if name.rpartition('/')[2] == 'ik_node']
    if not count and seen.health:
        yield problem(f'{seen.target} is heard on /diagnostics, but is not in the ROS graph: '
                      'it hears nobody', 'start it again; after a process was killed, its '
                      'successor may be deaf on the shared memory of Fast DDS: then end all ROS '
                      'programs and remove /dev/shm/fastrtps_*')
    elif not count:
        yield problem(f'there is no node {seen.target}',
                      f'name it: --node {listed(alike)}' if alike else 'start it: ros2 run '
                      'ik_node ik_node; or continue it, if its process is stopped')
    elif seen.values is None:
        yield problem(f'{seen.target} is there, but does not answer within {seen.timeout:g} s',
                      f'wait if it is starting (the first start on a machine compiles: '
                      f'{COMPILATION_TIME}); else look at its log, it hangs')
    for name, number in Counter(seen.nodes).items():
        if number > 1:
            twice = f'{number} nodes are named {name}'
            yield problem(twice, 'end one of them, or start one in another namespace or name '
                          '(one that was killed is gone after 20 s)') if name == seen.target \
                else warning(twice, 'end one of them, or give it another name')
    if count == 1 and seen.values is not None:
        yield ok(f'{seen.target} runs and answers')


def check_lifecycle(seen: Observations, _: Model) -> Findings:
    """Check that the node is active."""
    lead = f'ros2 lifecycle set {seen.target}'
    if not seen.state:
        yield skipped('the node has not told its state')
    elif seen.state == 'active':
        yield ok('active')
    elif seen.state == 'inactive':
        yield problem(f'{seen.target} is inactive: it refuses goals', f'{lead} activate')
    elif seen.state == 'unconfigured':
        yield problem(f'{seen.target} is unconfigured: it listens to nothing',
                      f'{lead} configure, then {lead} activate; or start it with the parameter '
                      'autostart true')
    else:
        yield problem(f'{seen.target} is {seen.state}', 'wait, if it is on its way to another '
                      'state; else end its process, and start it again')


def check_parameters(seen: Observations, _: Model) -> Findings:
    """Tell which parameters are not at their defaults."""
    if seen.values is None:
        yield skipped('the node has not told its parameters; defaults are assumed below')
        return
    changed = []
    for row in IK_NODE:
        default = list(row.default) if isinstance(row.default, tuple) else row.default
        value = seen.values.get(row.name, default)
        if (list(value) if isinstance(value, (list, tuple)) else value) != default:
            changed.append(f'{row.name} {quote(value, 40) if isinstance(value, str) else value}')
    yield ok('all are at their defaults' if not changed else 'not at their defaults: '
             + ', '.join(changed))


def check_health(seen: Observations, _: Model) -> Findings:
    """Repeat what the node publishes on /diagnostics."""
    if not seen.health:
        yield skipped('nothing from the node on /diagnostics') \
            if seen.values is None or seen.state == 'unconfigured' else problem(
            'nothing from the node on /diagnostics', 'wait, if it is preparing its solver; else '
            'look at its log')
        return
    for status in seen.health[-1].message.status:
        if not status.name.startswith(f'{seen.target}: '):
            continue
        said = f'{status.name.rpartition(": ")[2]}: {status.message}'
        if status.level == DiagnosticStatus.OK:
            yield ok(said)
        else:
            make = warning if status.level == DiagnosticStatus.WARN else problem
            yield make(said, 'see the other findings')


def check_goals(seen: Observations, _: Model) -> Findings:
    """Tell how the last goals ended."""
    finals = []
    for status in seen.statuses:
        values = values_of(status)
        if values.get('state') not in (None, GoalState.ACCEPTED.value):
            finals.append((values, status))
    if not finals:
        yield ok('none has ended yet')
        return
    states = Counter(values['state'] for values, _ in finals)
    counts = ', '.join(f'{number} {state}' for state, number in states.items())
    last, status = finals[-1]
    if last['state'] in (GoalState.REJECTED.value, GoalState.FAILED.value):
        known = last.get('reason') in Reason.__members__
        meaning = Reason(last['reason']).meaning if known else last.get('reason')
        yield warning(f'the last {len(finals)}: {counts}; the last was {last["state"]} '
                      f'({last.get("reason")}): {status.message}', f'it means: {meaning}')
    else:
        yield ok(f'the last {len(finals)}: {counts}')


# ---- the controller ---------------------------------------------------------

def check_controller(seen: Observations, _: Model) -> Findings:
    """Check that exactly one controller listens, that it is active, and that one node sends."""
    yield from _check_listeners(seen)
    yield from _check_manager(seen)


def _check_manager(seen: Observations) -> Findings:
    """Check that the controller manager, if there is one, says that the controller is active."""
    manager, states = seen.manager_service.rpartition('/')[0], seen.controller_states
    if seen.has_manager and not states:
        yield skipped(f'{manager} has not told its controllers, or controller_manager_msgs is not '
                      f'installed here: {how_to_install("controller_manager_msgs")}')
    named = prefix_of(seen.value('controller')).strip('/')
    for name in sorted({node.rpartition('/')[2] for node in [*seen.controllers, named]}
                       & states.keys()):
        if states[name] == ACTIVE_STATE:
            yield ok(f'{quote(name)} is active, says {manager}')
        else:
            yield problem(f'{quote(name)} is {states[name]}, says {manager}: it moves nothing',
                          how_to_activate(seen.manager_service, name, states[name]))


def _check_listeners(seen: Observations) -> Findings:
    topic = seen.trajectory_topic
    if seen.value('output') == 'action':
        if not seen.servers:
            what = f'nobody serves the action {seen.action}'
            for action in seen.other_actions:
                yield problem(f'{what}, but {action} is served', _redirect(seen, action))
            if not seen.other_actions:
                yield problem(what, START_CONTROLLER)
        elif seen.servers > 1:
            yield warning(f'{seen.servers} serve the action {seen.action}', 'end all but one')
        else:
            yield ok(f'the action {seen.action} is served')
        return
    listeners = sorted({end.node for end in seen.listeners})
    if not listeners:
        deaf = sorted({end.node for end in topic.listeners})
        what = f'nobody takes {_motions(seen)} on {topic.name}'
        if deaf or not seen.other_trajectory_topics:
            yield problem(what + (f'; {listed(deaf)} cannot, see QoS' if deaf else ''),
                          START_CONTROLLER)
        for other in seen.other_trajectory_topics:
            who = listed(sorted({end.node for end in other.listeners}))
            yield problem(f'{what}, but {who} listens on {other.name}',
                          _redirect(seen, other.name))
    elif len(seen.listeners) > 1:
        yield warning(f'{len(seen.listeners)} listen on {topic.name}: {listed(listeners)}',
                      'end all but one, if more than one of them moves the arm')
    else:
        yield ok(f'{listeners[0]} listens on {topic.name}')
    senders = [end.node for end in topic.publishers]
    if len(senders) > 1:
        yield warning(f'{len(senders)} may send to {topic.name}: {listed(sorted(senders))}',
                      'let one at a time move the arm: the newest trajectory takes the place of '
                      'the one before')


def _motions(seen: Observations) -> str:
    return 'positions' if seen.value('output') == 'position' else 'trajectories'


def _redirect(seen: Observations, name: str) -> str:
    """Return what to set so that motions go to a topic or action of another name."""
    namespace = f'{seen.namespace}/'
    prefix, _, last = name.removeprefix(namespace).rpartition('/')
    if last in ('joint_trajectory', 'commands', ACTION_NAME) and (
            prefix or name.startswith(namespace)):
        return f'set controller:={prefix}' if prefix else 'set controller to an empty string'
    ours = f'{prefix_of(seen.value("controller"))}{last}' if last == ACTION_NAME \
        else seen.trajectory_topic.name
    return f'{START_CONTROLLER}; if that one moves this arm, remap: -r {ours}:={name}'


def check_qos(seen: Observations, _: Model) -> Findings:
    """Check that QoS and types match on every topic of the node."""
    found = False
    for topic in seen.topics:
        for publisher in topic.publishers:
            for listener in topic.listeners:
                # One node may listen in several ways.
                heard = any(not mismatch(publisher, other) for other in topic.listeners
                            if other.node == listener.node)
                why = seen.target in (publisher.node, listener.node) and not heard \
                    and mismatch(publisher, listener)
                if why:
                    found = True
                    yield problem(f'nothing on {topic.name} gets from {publisher.node} to '
                                  f'{listener.node}: {why}', 'give both ends the same type, '
                                  'reliability and durability')
    if not found:
        yield ok(f'compatible on all {len(seen.topics)} topics of the node') if seen.topics \
            else skipped('the topics of the node are not known')


# ---- time -------------------------------------------------------------------

def check_clock(seen: Observations, _: Model) -> Findings:
    """Check that all clocks agree."""
    found = False
    if seen.simulated and len(seen.clock) < 2:
        found = True
        what = 'no time has arrived on /clock' if not seen.clock else '/clock has come only once'
        yield problem(f'{seen.target} has use_sim_time, and {what}', 'start the simulation or '
                      '`ros2 bag play --clock`, or set use_sim_time to false')
    elif seen.simulated and seen.clock[-1].message == seen.clock[0].message:
        found = True
        stands = seconds(seen.clock[-1].message.clock)
        yield problem(f'{seen.target} has use_sim_time, and /clock stands at {stands:g} s',
                      'let the simulation run')
    elif not seen.simulated and seen.clock_topic.publishers:
        found = True
        yield warning(f'{listed([end.node for end in seen.clock_topic.publishers])} publishes '
                      f'/clock, but {seen.target} does not use it', 'set use_sim_time of the node '
                      'to true, if the arm is simulated')
    for whose, stamps, tell in (
            ('the node', seen.health, problem),
            ('whoever stamps the joint states', seen.states, warning)):
        offset = seen.clock_offset(stamps)
        if offset is not None and abs(offset) > FUTURE_SLACK_S:
            found = True
            yield tell(f'the clock of {whose} is {abs(offset):.1f} s '
                       f'{"behind" if offset > 0 else "ahead of"} '
                       f'{"/clock" if seen.simulated else "ours"}', 'synchronise the '
                       'clocks of the machines (chrony), or set use_sim_time alike everywhere')
    if not found:
        yield ok(f'{"/clock" if seen.simulated else "system time"}, alike everywhere') \
            if seen.health or seen.states else skipped('nothing with a stamp was heard')
