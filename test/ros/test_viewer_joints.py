# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the sliders of the page show of a posture."""

from importlib.util import find_spec
from math import pi
from types import SimpleNamespace

import pytest

from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf

pytestmark = pytest.mark.skipif(find_spec('viser') is None,
                                reason='viser is not installed (extra "viewer")')
LIMIT = '<limit lower="{}" upper="{}" velocity="1" effort="1"/>'
JOINTS = (('turns', 'revolute', LIMIT.format(-3.3, 3.3)), ('goes on', 'continuous', ''),
          ('slides', 'prismatic', LIMIT.format(0, 5)))
CHAIN = make_chain(parse_urdf(
    '<robot name="r"><link name="l0"/>' + ''.join(
        f'<link name="l{k + 1}"/><joint name="{name}" type="{kind}"><parent link="l{k}"/>'
        f'<child link="l{k + 1}"/><axis xyz="0 0 1"/>{limit}</joint>'
        for k, (name, kind, limit) in enumerate(JOINTS)) + '</robot>'), 'l0', 'l3')


@pytest.mark.parametrize('name, position, shown', [
    ('turns', 3.2004, 3.2), ('turns', 3.31, 3.3), ('turns', -3.31, -3.3),
    ('goes on', 2.0 * pi + 1.0, 1.0), ('goes on', -4.0, 2.283), ('slides', 5.01, 5.0),
    ('slides', -0.01, 0.0)])
def test_only_joints_without_limits_lose_turns(name, position, shown):
    """A joint just outside its limit is shown at that limit, not at the other one."""
    from ik_node.ui.viewer.panels.joint_sliders import shown_posture
    assert shown_posture(CHAIN, {name: position}) == {name: pytest.approx(shown, abs=1e-9)}


class Panel:
    """A panel whose page is played: handlers of its controls, ghosts and goals."""

    def __init__(self, server):
        from ik_node.ui.viewer.panels.joint_sliders import JointPanel
        self.changes, self.clicks, self.shown, self.goals = {}, [], [], []
        inbox = SimpleNamespace(
            on_change=lambda slider, do: self.changes.update({slider.label: do}),
            on_click=lambda _button, do: self.clicks.append(do))
        self.panel = JointPanel(server, inbox, CHAIN, self.shown.append, self.go, print)

    def go(self, names, positions):
        """Take a goal."""
        self.goals.append(dict(zip(names, positions)))
        return 'stamp'


def test_a_joint_state_does_not_undo_a_touch():
    """It may come between the change of a slider and its event: what was chosen is kept."""
    from viser import ViserServer
    server = ViserServer(host='127.0.0.1', port=0, verbose=False)
    try:
        played = Panel(server)
        played.panel.take_positions({'turns': 1.0, 'slides': 2.0})
        played.panel.take_positions({'turns': 1.1, 'slides': 2.0})
        played.changes['turns (rad)'](0.25)
        assert played.panel._sliders['turns'].value == 0.25
        played.panel.take_positions({'turns': 1.1, 'slides': 2.1})
        move, _ = played.clicks
        move()
        assert played.shown[-1] == played.goals[-1] == {'turns': 0.25}
        assert played.panel._sliders['turns'].value == 0.25
        played.panel.take_answer('stamp', 'reached')
        assert played.panel._sliders['turns'].value == 1.1 and played.shown[-1] == {}
    finally:
        server.stop()
