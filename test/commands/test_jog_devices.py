# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is held on a device, as a twist."""

import pytest

from ik_node.tools.arguments.jog import axis_table, parse
from ik_node.tools.jog import DEVICE_HOLD_S, Joystick, KEY_HELP, KEY_HOLD_S, KEY_MOTIONS, Keyboard


def gamepad(**more):
    """Return a gamepad of the usual layout, as by default, that moves at full speed."""
    options = parse(['joy', '--speed', '1.0'])
    given = {name: getattr(options, name)
             for name in ('axes', 'dead_man', 'tool_button', 'dead_zone', 'speed')}
    return Joystick(**{**given, **more})


def test_a_key_moves_while_it_repeats():
    """For a moment after each press; every other key stops."""
    keys = Keyboard(speed=0.5)
    assert keys.held(0.0).still
    for now in (1.0, 1.03, 1.06):
        keys.press('w', now)
        assert keys.held(now + 0.03).twist == (0.5, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert keys.held(1.06 + KEY_HOLD_S + 0.001).still
    keys.press('W', 2.0)
    keys.press(' ', 2.01)
    assert keys.held(2.02).still
    keys.press('o', 3.0)
    assert keys.held(3.0).twist == (0.0, 0.0, 0.0, 0.0, 0.0, -0.5)


def test_every_motion_has_two_keys_and_they_are_shown():
    """Along and about each axis, to and fro."""
    motions = {(axis, sign) for axis in ('x', 'y', 'z', 'rx', 'ry', 'rz') for sign in (1.0, -1.0)}
    assert {*KEY_MOTIONS.values()} == motions and len(KEY_MOTIONS) == 12
    assert all(f' {key}' in KEY_HELP for key in KEY_MOTIONS)


def test_frame_speed_and_end():
    """By keys of their own, which move nothing."""
    keys = Keyboard(speed=0.5)
    keys.press('t', 1.0)
    assert keys.held(1.0).in_tool and keys.held(1.0).still
    for _ in range(10):
        keys.press('+', 1.0)
    assert keys.speed == 1.0
    for _ in range(100):
        keys.press('-', 1.0)
    assert 0.0 < keys.speed < 0.05 and not keys.ended
    keys.press('q', 1.0)
    assert keys.ended


def test_a_gamepad_moves_while_its_dead_man_is_held():
    """Both sticks and the pad; nothing without the button, or when no message comes."""
    pad = gamepad()
    axes, held, released = [0.1, 1.0, 1.0, -1.0, 0.0, 1.0, 0.0, -1.0], [0] * 11, [0] * 11
    held[4] = 1
    pad.take(axes, released, 1.0)
    assert pad.held(1.0).still
    pad.take(axes, held, 1.0)
    x, y, z, rx, ry, rz = pad.held(1.01).twist
    assert (x, z, rx, ry, rz) == (1.0, 0.0, 0.0, -1.0, -1.0)
    assert y == pytest.approx(0.05 / 0.95)
    assert pad.held(1.0 + DEVICE_HOLD_S + 0.01).still
    held[5] = 1
    pad.take(axes, held, 2.0)
    assert pad.held(2.0).in_tool and not gamepad().held(2.0).in_tool


def test_axes_and_buttons_a_device_lacks():
    """Fewer axes or buttons than the table has: said, and nothing moves."""
    pad = gamepad()
    pad.take([1.0] * 4, [1] * 11, 1.0)
    assert pad.held(1.0).still and 'has 4 axes, and none with number 7' in pad.missing()
    pad.take([1.0] * 8, [1] * 3, 1.0)
    assert pad.held(1.0).still and 'has 3 buttons, and none with number 5' in pad.missing()
    pad.take([float('nan')] * 8, [1] * 11, 1.0)
    assert pad.held(1.0).still


def test_a_spacemouse_and_a_table_of_axes():
    """Six axes without a dead-man button; a table may name few, with signs."""
    options = parse(['spacenav'])
    mouse = Joystick(options.axes, options.dead_man, options.tool_button, options.dead_zone, 1.0)
    mouse.take([0.0, 0.0, 1.0, 0.0, 0.0, -1.0], [0, 0], 1.0)
    assert mouse.held(1.0).twist == (0.0, 0.0, 1.0, 0.0, 0.0, -1.0) and not mouse.missing()
    few = gamepad(axes=axis_table('x=-1, rz=0'), dead_man=-1, tool_button=-1)
    few.take([0.0, 1.0], [], 1.0)
    assert few.held(1.0).twist == (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize('arguments, words', [
    (['joy', '--axes', 'x=1,q=2'], 'is no table of axes'),
    (['joy', '--axes', 'x=1,x=2'], 'at most once'),
    (['keyboard', '--speed', '1.5'], '1.5 is not above 0 and up to 1'),
    ([], 'DEVICE')])
def test_wrong_usage(arguments, words, capsys):
    """Is refused in a sentence."""
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2 and words in capsys.readouterr().err
