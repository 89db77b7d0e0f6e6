# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Odd parameters, by service and by file: taken and there, or refused with a sentence."""

from harness import ARM, process, READY
from hypothesis import given, strategies as st
import pytest
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter, parameter_value_to_python
from test_fuzz_messages import ONCE, sound
import yaml

from ik_node.ros.parameters.tables import IK_NODE, SIM_CONTROLLER

TABLES = {'ik_node': IK_NODE, 'sim_controller': SIM_CONTROLLER}
NUMBERS = st.sampled_from((0.0, -0.0, 1.0, -1.0, 0.05, 0.5, 3.0, 1e9, -1e300, 1.7e308, 5e-324,
                           2.2e-308, float('inf'), float('-inf'), float('nan')))
WHOLE = st.sampled_from((0, 1, -1, 2, 6, 10**6, 2**63 - 1, -2**63))
TEXTS = st.sampled_from(('', 'x', 'joint_1', 'nearest', 'damped', 'null_space', 'action',
                         '\x1b[2J', 'a\nb', '${x}', 'x' * 3000, 'Ä', '/', '~', 'true', '1.0'))
VALUES = st.one_of(
    NUMBERS, WHOLE, TEXTS, st.booleans(), st.binary(max_size=3).map(lambda data: [*map(
        lambda byte: bytes([byte]), data)]),
    *(st.lists(each, max_size=7) for each in (NUMBERS, WHOLE, TEXTS, st.booleans())),
    NUMBERS.map(lambda number: [number] * 6))


def plain(row):
    """Return a strategy for values of the type of a parameter, in its range or not."""
    if isinstance(row.default, tuple):
        each = TEXTS if row.strings else NUMBERS
        return st.one_of(each.map(lambda value: [value]), st.lists(each, min_size=6, max_size=6),
                         st.just([]))
    return {str: TEXTS, float: NUMBERS, int: WHOLE, bool: st.booleans()}[type(row.default)]


def changes(table):
    """Return a strategy for some parameters, known or not, and values, possible or not."""
    # What is written into folders is tested in test_recordings.py.
    rows = [row for row in table if row.name != 'record.folder']
    known = st.sampled_from(rows).flatmap(lambda row: st.tuples(
        st.just(row.name), st.one_of(plain(row), plain(row), VALUES)))
    unknown = st.tuples(st.sampled_from(('nothing', 'solver', 'solver.', '.', 'use_sim_tim',
                                         'motion.velocity_scale ', 'qos_overrides.x')), VALUES)
    return st.lists(st.one_of(known, known, known, unknown), min_size=1, max_size=4,
                    unique_by=lambda pair: pair[0])


def message(table, name, value):
    """Return a parameter; an empty list of the type that `name` has, if that is a list."""
    kinds = {row.name: Parameter.Type.STRING_ARRAY if row.strings else Parameter.Type.DOUBLE_ARRAY
             for row in table if isinstance(row.default, tuple)}
    # rclpy takes an empty list for bytes.
    kind = kinds.get(name) if value == [] else None
    return Parameter(name, kind, value).to_parameter_msg()


def same(a, b):
    """Return whether two values are the same, NaN included."""
    return repr(list(a) if isinstance(a, (list, tuple)) or hasattr(a, 'tolist') else a) \
        == repr(list(b) if isinstance(b, (list, tuple)) or hasattr(b, 'tolist') else b)


@pytest.mark.fault('parameters', 'any names and values, alone or together',
                   'refused with a sentence, or taken and there')
@pytest.mark.parametrize('node', TABLES)
def test_services(shared_system, node):
    """Each alone, or all together; a plain goal is reached when the defaults are back."""
    probe, table = shared_system, TABLES[node]
    one = probe.create_client(SetParameters, f'/{node}/set_parameters')
    all_or_none = probe.create_client(SetParametersAtomically,
                                      f'/{node}/set_parameters_atomically')
    get = probe.create_client(GetParameters, f'/{node}/get_parameters')
    running = {'ik_node': probe.node, 'sim_controller': probe.sim}[node]
    for client in (one, all_or_none, get):
        assert client.wait_for_service(20.0)

    def call(client, request):
        future = client.call_async(request)
        probe.wait(future.done, 60.0, f'the answer to {request}')
        return future.result()

    def check(name, value, result):
        if not result.successful:
            assert result.reason, (name, value)
            return
        there = call(get, GetParameters.Request(names=[name])).values
        assert same(parameter_value_to_python(there[0]), value), (name, value, there)

    @ONCE
    @given(changes(table), st.booleans())
    def send(pairs, together):
        messages = [message(table, name, value) for name, value in pairs]
        if together:
            result = call(all_or_none, SetParametersAtomically.Request(parameters=messages)).result
            results = [result] * len(pairs)
        else:
            results = call(one, SetParameters.Request(parameters=messages)).results
        for (name, value), result in zip(pairs, results):
            check(name, value, result)
        if node == 'ik_node':
            probe.final(probe.send_joints(READY), 60.0)
        sound(running)

    send()
    defaults = {row.name: row.default for row in table if row.live}
    strings = {row.name for row in table if row.strings}
    lists = {name: list(value) or [''] * (name in strings) for name, value in defaults.items()
             if isinstance(value, tuple)}
    for name in ('solver.preferred_positions', 'motion.velocity_limits'):
        lists.pop(name, None)
        defaults.pop(name, None)
    kept = {'solver.preferred_positions': READY, 'motion.velocity_limits': [1.0]} \
        if node == 'ik_node' else {}
    result = probe.set_parameters(f'/{node}', {**defaults, **lists, **kept})
    assert result.successful, result.reason
    probe.wait_until_ready()
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'


def document(table):
    """Return a strategy for parameter files: their text."""
    tree = changes(table).map(dict)
    return st.one_of(
        tree.map(lambda values: yaml.safe_dump({'/**': {'ros__parameters': values}})),
        tree.map(lambda values: yaml.safe_dump({'ik_node': {'ros__parameters': values}})),
        st.sampled_from(('', '- 1', '{', 'ik_node:', 'ik_node: {ros__parameters: 1}', '\t',
                         'a: &a\n - *a', '/**: {ros__parameters: {solver: {method: [1, x]}}}',
                         '/**: {ros__parameters: {solver.method: {a: {b: 1}}}}', '\x00', 'ä: 1')))


FILES = st.builds(lambda text: text, document(IK_NODE))


@pytest.mark.fault('parameters', 'any parameter file',
                   'the node starts, or ends with code 1 and one sentence')
def test_files(tmp_path, probe):
    """The node starts, or ends with code 1 and one sentence."""
    outcomes = set()

    @ONCE.__class__(ONCE, max_examples=8)
    @given(FILES)
    def start(text):
        file = tmp_path / 'parameters.yaml'
        file.write_text(text)
        with process('ik_node', tmp_path, {'urdf_file': ARM},
                     arguments=['--params-file', str(file)]) as node:
            probe.wait(lambda: not node.running() or 'ready for goals' in node.output
                       or 'waiting for /robot_description' in node.output, 120.0)
            if node.running():
                assert node.stop() == 0, node.output
            else:
                assert node.wait() == 1 and node.output, (text, node.output)
                assert '[FATAL]' in node.output or '[ERROR]' in node.output, (text, node.output)
            sound_end(node)
            outcomes.add(node.wait())

    start()
    assert outcomes == {0, 1}


def sound_end(node):
    """Check that what was said is no traceback."""
    assert 'Traceback' not in node.output and 'terminate called' not in node.output, node.output
