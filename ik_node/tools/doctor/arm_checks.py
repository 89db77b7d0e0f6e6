# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the arm: robot description, joint states, limits, TF."""

from __future__ import annotations

import numpy as np

from ik_node.base.errors import ParameterError, Reason, StateError
from ik_node.base.text import listed, quote
from ik_node.model.chain import Chain
from ik_node.model.joints import one_per_joint
from ik_node.node.state.arm_state import VELOCITY_MARGIN
from ik_node.ros.messages.joint_states import JointStates
from ik_node.tools.doctor.node_checks import (
    Finding,
    Findings,
    Model,
    ok,
    problem,
    skipped,
    warning,
)
from ik_node.tools.doctor.observations import Observations

MIN_STATE_RATE_HZ = 10.0  # with fewer joint states a motion cannot be monitored well
# In a few seconds no joint travels so many times its range: two publishers contradict each other.
CONFLICT_TRAVEL_RATIO = 20.0
NOISE_RANGE = 0.01  # rad or m; smaller movements are noise
# Limits outside these bounds are probably in other units than rad, m and s.
PLAUSIBLE_LIMITS = {'velocity': (1e-3, 50.0), 'acceleration': (1e-2, 1e3), 'jerk': (0.1, 1e6)}
MIN_JOINT_RANGE = 1e-3  # rad or m
MAX_SLIDE_RANGE_M = 50.0


def check_description(seen: Observations, model: Model) -> Findings:
    """Check that there is a usable robot description, and tell which joints the arm has."""
    topic = seen.description_topic
    if model.complaint and model.source == topic.name and not seen.descriptions:
        if seen.target in seen.nodes and seen.values is None:
            yield skipped('the node has not told where its description comes from')
            return
        who = [end.node for end in topic.publishers]
        yield problem(f'no robot description on {topic.name}' + (
            f', though {listed(who)} may publish it' if who else ': nobody publishes it'),
            'publish it as reliable and transient local, see QoS' if who else
            'start robot_state_publisher, or the node with the parameter urdf_file')
        return
    if len(seen.descriptions) > 1:
        yield warning(f'{len(seen.descriptions)} different texts came on {topic.name}',
                      f'let one node publish it, of {listed([e.node for e in topic.publishers])}')
    if model.tree is None and model.source.startswith('the file'):
        yield skipped(f'{model.source} cannot be used here: {model.complaint}')
    elif model.chain is None:
        yield problem(f'{model.source} ({model.size} bytes) is not usable: {model.complaint}',
                      'correct the URDF, or base_link and tip_link')
    else:
        chain = model.chain
        yield ok(f'{quote(model.tree.name)} from {model.source} ({model.size} bytes): '
                 f'{quote(chain.base_link)} to {quote(chain.tip_link)} by '
                 f'{", ".join(map(quote, chain.joint_names))}')


def check_joint_states(seen: Observations, model: Model) -> Findings:
    """Check that joint states arrive, complete and recent."""
    topic = seen.states_topic
    publishers = listed(_publishers(seen))
    if not seen.states:
        if publishers:
            yield problem(f'nothing comes on {topic.name}, though {publishers} may publish it',
                          'activate joint_state_broadcaster, or see QoS')
        else:
            yield problem(f'nobody publishes {topic.name}', 'start the driver of the arm with '
                          'its joint_state_broadcaster, or remap joint_states of the node')
        return
    joints = JointStates()
    refused = [joints.complaint for heard in seen.states
               if not joints.take(heard.message, heard.arrival)]
    names = _names(model, joints)
    correct = f'correct what {publishers} publishes'
    if refused:
        yield warning(f'{len(refused)} of {len(seen.states)} messages on {topic.name} make no '
                      f'sense: {refused[-1]}', correct)
    try:
        joints.state(names, seen.end, seen.value('state.timeout'))
    except StateError as error:
        what, remedy = str(error), {
            Reason.STATE_INVALID: correct,
            Reason.STATE_STALE: 'look why they have stopped',
            Reason.STATE_INCOMPLETE: 'let every joint of the arm be published, not only '
                                     + listed([quote(name) for name in joints.positions]),
        }.get(error.reason)
        if remedy is None:  # it says what to do
            what, _, remedy = what.rpartition('; ')
        yield problem(f'{what} ({topic.name}, from {publishers})', remedy)
        return
    if not refused:
        yield ok(f'{len(names)} joints on {topic.name} from {publishers}')


def check_sources(seen: Observations, model: Model) -> Findings:
    """Check that joint states have one publisher, a sufficient rate, and stamps."""
    if not seen.states:
        yield skipped('no joint states')
        return
    topic, publishers = seen.states_topic, listed(_publishers(seen))
    names = _names(model, JointStates())
    if not any(name in names for heard in seen.states for name in heard.message.name):
        names = ()  # of another robot
    found = False
    if joint := _conflict(seen, names):
        found = True
        yield problem(f'joint {quote(joint)} jumps to and fro on {topic.name}, which {publishers} '
                      'publish', 'end joint_state_publisher, or who else contradicts the driver')
    elif len(topic.publishers) > 1:
        found = True
        yield warning(f'{len(topic.publishers)} publish {topic.name}: {publishers}',
                      'let each joint be published by one of them')
    rate = _rate(seen, names)
    if rate < MIN_STATE_RATE_HZ:
        found = True
        yield warning(f'joint states come {rate:.1f} times a second',
                      f'publish at least {MIN_STATE_RATE_HZ:g} a second, better 100')
    if not any(heard.message.header.stamp.sec or heard.message.header.stamp.nanosec
               for heard in seen.states):
        found = True
        yield warning(f'joint states on {topic.name} have no stamp',
                      'stamp them with the time of measurement')
    if not found:
        age = seen.behind(seen.states)
        yield ok(f'{publishers}, {rate:.0f} Hz'
                 + ('' if age is None else f', by their stamps {1e3 * age:.1f} ms old'))


def _publishers(seen: Observations) -> list[str]:
    return sorted({end.node for end in seen.states_topic.publishers})


def _names(model: Model, joints: JointStates) -> tuple[str, ...]:
    """Return the joints of the arm; of the joint states while the arm is unknown."""
    return model.chain.joint_names if model.chain else tuple(joints.positions)


def _rate(seen: Observations, names: tuple[str, ...]) -> float:
    """Return the rate (Hz) of messages with the first joint; of all messages without names."""
    arrivals = [heard.arrival for heard in seen.states
                if not names or names[0] in heard.message.name]
    return (len(arrivals) - 1) / (arrivals[-1] - arrivals[0]) if len(arrivals) > 1 else 0.0


def _conflict(seen: Observations, names: tuple[str, ...]) -> str:
    """Return a joint whose values come from two contradicting publishers; '' if there is none."""
    for name in names:
        told = np.array([position for heard in seen.states for known, position
                         in zip(heard.message.name, heard.message.position) if known == name])
        told = told[np.isfinite(told)]
        if len(told) and (width := np.ptp(told)) > NOISE_RANGE \
                and np.abs(np.diff(told)).sum() > CONFLICT_TRAVEL_RATIO * width:
            return name
    return ''


def check_limits(seen: Observations, model: Model) -> Findings:
    """Check that the limits are plausible, and that the joints are inside them."""
    chain = model.chain
    if chain is None:
        yield skipped('there is no usable description')
        return
    findings = [warning(note, 'look at the URDF') for note in model.tree.notes]
    for kind, (low, high) in PLAUSIBLE_LIMITS.items():
        findings += _implausible(seen, chain, kind, low, high)
    for name, width in zip(chain.joint_names, chain.upper - chain.lower):
        if 0.0 < width < MIN_JOINT_RANGE:
            findings.append(warning(f'joint {quote(name)} may move by {width:.2g} only',
                                    'correct its limits in the URDF'))
    for k in np.flatnonzero(~chain.revolute & (chain.upper - chain.lower > MAX_SLIDE_RANGE_M)):
        findings.append(warning(f'joint {quote(chain.joint_names[k])} slides from '
                                f'{chain.lower[k]:g} to {chain.upper[k]:g} m',
                                'give its limits in m, if they are in millimetres'))
    findings += _outside(seen, chain)
    yield from findings or [ok('position, velocity, acceleration and jerk are plausible, and the '
                               'arm is inside')]


def _implausible(seen: Observations, chain: Chain, kind: str, low: float,
                 high: float) -> list[Finding]:
    """Return the implausible velocity, acceleration or jerk limits."""
    name = f'motion.{kind}_limits'
    try:
        limits = _limits(seen, chain, kind)
    except ParameterError as error:
        return [problem(str(error), 'correct it')]
    unset = [quote(joint) for joint, limit in zip(chain.joint_names, limits) if np.isinf(limit)]
    findings = [problem(f'{listed(unset)} has no velocity limit in the URDF', f'set {name}')] \
        if unset else []
    return findings + [
        warning(f'the {kind} limit of joint {quote(joint)} is {limit:g}',
                f'give rad or m, and s: in the URDF or by {name}')
        for joint, limit in zip(chain.joint_names, limits)
        if np.isfinite(limit) and not low <= limit <= high]


def _limits(seen: Observations, chain: Chain, kind: str) -> np.ndarray:
    """Return the limits (n,) of the node for velocity, acceleration or jerk."""
    name = f'motion.{kind}_limits'
    return one_per_joint(chain, seen.value(name), f'the parameter {name}') \
        if seen.value(name) else chain.velocity


def _outside(seen: Observations, chain: Chain) -> list[Finding]:
    """Return the joints outside their position limits, or faster than their velocity limits."""
    joints = JointStates()
    for heard in seen.states:
        joints.take(heard.message, heard.arrival)
    try:
        q, qd = joints.state(chain.joint_names, seen.end, np.inf)
    except StateError:
        return []
    try:
        velocity = _limits(seen, chain, 'velocity')
    except ParameterError:  # reported by _implausible
        velocity = np.full(chain.n, np.inf)
    tolerance, findings = seen.value('motion.start_tolerance'), []
    for k, name in enumerate(chain.joint_names):
        excess = max(chain.lower[k] - q[k], q[k] - chain.upper[k])
        if excess > 0.0:
            tell = problem if excess > tolerance else warning
            findings.append(tell(
                f'joint {quote(name)} stands at {q[k]:.4g}, {excess:.3g} outside its limits '
                f'[{chain.lower[k]:.4g}, {chain.upper[k]:.4g}]', 'bring it back by hand, or '
                'look at the units and the zero of the joint states'))
        if abs(qd[k]) > VELOCITY_MARGIN * velocity[k]:
            findings.append(problem(
                f'joint {quote(name)} reports a velocity of {qd[k]:.4g}, its limit is '
                f'{velocity[k]:.4g}', 'look at the units of the joint states'))
    return findings


def check_collisions(seen: Observations, _: Model) -> Findings:
    """Repeat which links the node does not check for collisions, and where the arm collides."""
    told = {pair.key: pair.value for heard in seen.health[-1:] for status in heard.message.status
            if status.name.startswith(f'{seen.target}: ') for pair in status.values}
    if 'not_checked' not in told:
        yield skipped('the node has not told what it checks')
        return
    if told['not_checked']:
        yield skipped(told['not_checked']) if not seen.value('collision.check') else warning(
            told['not_checked'], 'correct the URDF, or set mesh_paths of the node')
    if told.get('contact'):
        yield problem(f'where the arm stands, {told["contact"]}, so goals there are refused',
                      'correct the URDF or the scene, or let them touch; else jog the arm out '
                      'of it')
    if not told['not_checked'] and not told.get('contact'):
        yield ok('every link that has geometry is checked')


def check_tf(seen: Observations, model: Model) -> Findings:
    """Check that TF knows the base link."""
    if seen.tf_knows is None:
        yield skipped(f'tf2_ros is not installed here, so TF is not looked at '
                      f'({seen.tf_publishers} publish it)')
        return
    base = model.chain.base_link if model.chain else seen.value('base_link')
    frame = seen.value('frame_prefix') + base
    if not base:
        yield skipped('the base link is not known')
    elif seen.tf_knows(frame):
        yield ok(f'knows {quote(frame)}')
    else:
        yield warning(f'TF does not know the base link {quote(frame)} ({seen.tf_publishers} '
                      'publish it), so goals are only taken in frames of the arm',
                      'start robot_state_publisher, or correct frame_prefix')
