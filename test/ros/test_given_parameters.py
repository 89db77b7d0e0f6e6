# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that a node does not have are warned of; rcl says nothing of them."""

from harness import ARM, COLD_START, process
import pytest

from ik_node.ros.parameters.node_parameters import complaints
from ik_node.ros.parameters.tables import IK_NODE

KNOWN = [row.name for row in IK_NODE]
MEANT = "did you mean 'motion.velocity_scale'?"


def said(*arguments, node='/left/ik_node'):
    """Return what is said of arguments."""
    return [*complaints(['ik_node', *arguments], node, KNOWN)]


@pytest.mark.parametrize('given, expected', [
    ('velocity_scale:=0.2', ["/left/ik_node has no parameter 'velocity_scale', which the command "
                             f'line gives; {MEANT}']),
    ('zzz:=1', ["/left/ik_node has no parameter 'zzz', which the command line gives"]),
    ('motion.velocity_scale:=0.2', []), ('use_sim_time:=true', []),
    ('qos_overrides./clock.subscription.depth:=1', []),
    ('ik_node:speed:=1', []),  # of a node in the root namespace
    ('/left/ik_node:zzz:=1', ["/left/ik_node has no parameter 'zzz', which the command line "
                              'gives'])])
def test_command_line(given, expected):
    """What is unknown, and the name that is near; not what every node has, or another."""
    assert said('--ros-args', '-p', given) == expected
    assert said('-p', given, '--ros-args', '-r', 'a:=b', '--', '--param', given) == []
    assert said('--ros-args', '--param', given, '--') == expected


@pytest.mark.parametrize('section', [
    '/**/ik_node:', '/left/ik_node:', 'left/ik_node:', '/*/ik_node:', 'left: {ik_node:'])
def test_file(tmp_path, section):
    """Sections of the node, however it is named there; groups are joined with points."""
    end = '}' * section.count('{')
    file = tmp_path / 'own.yaml'
    file.write_text(f'{section} {{ros__parameters: {{motion: {{velocity_scal: 1.0}}, tip_link: a'
                    f'}}}}{end}\n')
    assert said('--ros-args', '--params-file', str(file)) == [
        f"/left/ik_node has no parameter 'motion.velocity_scal', which '{file}' gives; {MEANT}"]


def test_file_of_another_node(tmp_path):
    """If nothing in a file is for the node; one of several nodes is for each of them."""
    file = tmp_path / 'own.yaml'
    other = '/**/arm_node: {ros__parameters: {zzz: 1}}\n'
    file.write_text(other)
    assert said('--ros-args', '--params-file', str(file)) == [
        f"nothing in '{file}' is for /left/ik_node, but for /**/arm_node"]
    file.write_text(other + 'ik_node: {ros__parameters: {zzz: 1}}\n')
    assert 'but for /**/arm_node, /ik_node' in said('--ros-args', '--params-file', str(file))[0]
    file.write_text(other + '/**/ik_node: {ros__parameters: {tip_link: tool0}}\n')
    assert said('--ros-args', '--params-file', str(file)) == []


def test_file_for_all_nodes(tmp_path):
    """What is not like a parameter of the node may be for another one."""
    file = tmp_path / 'own.yaml'
    file.write_text('/**: {ros__parameters: {velocity_scale: 1, update_rate: 100}}\n')
    sentence, = said('--ros-args', '--params-file', str(file))
    assert MEANT in sentence


@pytest.mark.parametrize('text', ['[', '- a', 'a: 1', '/**: {ros__parameters: 3}', '\xff'])
def test_file_that_is_none(tmp_path, text):
    """It is left to rcl."""
    file = tmp_path / 'own.yaml'
    file.write_text(text, encoding='latin-1')
    assert said('--ros-args', '--params-file', str(file), '--params-file') == []


@pytest.mark.parametrize('name, given, near', [
    ('ik_node', {'velocity_scale': 0.2}, 'motion.velocity_scale'),
    ('sim_controller', {'initial_position': '[0.0]'}, 'initial_positions')])
def test_nodes_say_so(tmp_path, probe, name, given, near):
    """As a warning, at the start."""
    with process(name, tmp_path, {'urdf_file': ARM, **given}) as running:
        word, = given
        probe.wait(lambda: f"has no parameter '{word}', which the command line gives; did you "
                   f"mean '{near}'?" in running.output, COLD_START)
