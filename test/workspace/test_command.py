# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The command workspace, without ROS."""

import io
import signal
import subprocess
import sys

from nightly import usual_first
import numpy as np
from PIL import Image
import pinocchio as pin
import pytest
import robots

from ik_node.tools.plots import figures as plotting
from ik_node.tools.workspace.command import main, Progress
from ik_node.tools.workspace.plots import draw, SHARE_COLOURS, share_colours
from ik_node.tools.workspace.sampling import even_orientations, sample_workspace, Workspace

COARSE = ['--spacing', '0.25', '--orientations', '6']
COMMAND = [sys.executable, '-c', 'from ik_node.tools.entry import workspace; workspace()']
NO_ROS = [sys.executable, '-c', 'import sys; sys.modules["rclpy"] = None; '
          'from ik_node.tools.entry import workspace; workspace()']


def refused(capsys, *words, code=2):
    """Run what must be refused; return the sentence."""
    with pytest.raises(SystemExit) as caught:
        main([*words])
    assert caught.value.code == code
    return capsys.readouterr().err


def test_writes_picture_and_numbers(tmp_path, capsys):
    """In a new folder, under the given name; one line reports the result."""
    main([*COARSE, '--out', str(tmp_path / 'new/ws.v1')])
    said = capsys.readouterr()
    made = Workspace.load(tmp_path / 'new/ws.v1.npz')
    assert (made.base_link, made.tip_link) == ('base_link', 'tool0')
    assert made.spacing == 0.25 and len(made.orientations) == 6
    assert f'{made.reachable.sum()} of {made.share.size} cells' in said.out
    assert f'in all of them {made.dexterous.sum()} cells' in said.out
    assert 'written to' in said.err
    with Image.open(tmp_path / 'new/ws.v1.png') as picture:
        assert picture.size == (1200, 760)


@pytest.mark.parametrize('words, R, pointing', [
    (['--rpy', '3.14159265358979', '0', '0.5'], pin.rpy.rpyToMatrix(np.pi, 0.0, 0.5), False),
    (['--pointing', '0', '0', '-2'], None, True), (['--pointing', '3', '4', '0'], None, True)])
def test_one_orientation(tmp_path, words, R, pointing):
    """The tool points down: each cell is reached or not."""
    main(['--urdf', str(robots.ARMS['ur5'].path), '--tip-link', 'tool0', '--box', '-0.9', '0.9',
          '-0.9', '0.9', '0.1', '0.1', '--spacing', '0.1', *words, '--no-picture', '--out',
          str(tmp_path / 'w')])
    assert not (tmp_path / 'w.png').exists()
    made = Workspace.load(tmp_path / 'w.npz')
    assert made.pointing is pointing and len(made.orientations) == 1
    assert set(np.unique(made.share)) == {0.0, 1.0}
    turned = pin.Quaternion(made.orientations[0]).matrix()
    if R is None:
        axis = np.array(words[1:], dtype=float)
        assert turned[:, 2] == pytest.approx(axis / np.linalg.norm(axis), abs=1e-9)
    else:
        assert turned == pytest.approx(R, abs=1e-9)


def test_directions(tmp_path):
    """Directions with free rotation about them are reached more often than orientations."""
    shares = []
    for word in ('--directions', '--orientations'):
        main(['--box', '0.5', '0.9', '0', '0', '0.2', '0.8', '--spacing', '0.1', word, '20',
              '--no-picture', '--out', str(tmp_path / 'w')])
        shares.append(Workspace.load(tmp_path / 'w.npz').share.mean())
    assert shares[0] > shares[1] > 0.0


@pytest.mark.nightly
def test_solid_regions(tmp_path, capsys):
    """The ground, a scene and the arm itself; each lowers the share, and the line says so."""
    scene = tmp_path / 'cell.yaml'
    scene.write_text('objects:\n  wall: {box: [0.1, 2.0, 2.0], xyz: [0.4, 0.0, 0.5]}\n')
    shares = []
    for words in (['--no-collisions'], [], ['--ground', '-0.2'], ['--ground'],
                  ['--ground', '--scene', str(scene)],
                  ['--ground', '--scene', str(scene), '--margin', '0.05']):
        main([*COARSE, *words, '--no-picture', '--out', str(tmp_path / 'w')])
        said = capsys.readouterr().out
        assert ('not considered' if '--no-collisions' in words else 'free of collisions') in said
        shares.append(Workspace.load(tmp_path / 'w.npz').share.sum())
    assert shares == sorted(shares, reverse=True) and len({*shares}) == 6, shares


def test_bad_arguments(tmp_path, capsys):
    """One sentence, exit code 2, no traceback."""
    other = tmp_path / 'other.npz'
    np.savez(other, a=1)
    for words, sentence in (
            (['--urdf', '/none.urdf'], 'cannot read'), (['--spacing', '-1'], 'spacing'),
            (['--tip-link', 'tool1'], 'tool1'), (['--load', str(other)], 'not a workspace'),
            (['--load', '/none.npz'], 'No such file'), (['--limit-margin', '9'], 'no room'),
            (['--out', str(other / 'w')], 'exists'), (['--orientations', '0'], 'from 1 to'),
            (['--pointing', '0', '0', '0'], 'direction'),
            (['--no-collisions', '--ground'], 'leaves out'), (['--scene', '/none.yaml'], 'none'),
            (['--margin', '-1'], 'margin'),
            (['--load', str(other), '--spacing', '1'], '--load')):
        said = refused(capsys, *words)
        assert sentence in said and 'Traceback' not in said, said


def test_without_ros(tmp_path):
    """Files are written; only --publish needs ROS, and its error says so."""
    out = str(tmp_path / 'w')
    done = subprocess.run([*NO_ROS, *COARSE, '--no-picture', '--out', out], timeout=300,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([*NO_ROS, '--load', f'{out}.npz', '--publish'], timeout=60,
                          capture_output=True, text=True)
    assert done.returncode == 2 and 'needs rclpy' in done.stderr
    assert 'Traceback' not in done.stderr


def test_ctrl_c(tmp_path):
    """Exit code 130, nothing is written, and the rest is not waited for."""
    running = subprocess.Popen(
        [*COMMAND, '--spacing', '0.05', '--orientations', '100', '--out', str(tmp_path / 'w')],
        stderr=subprocess.PIPE, text=True)
    try:
        said = ''
        while 'poses' not in said:
            line = running.stderr.readline()
            assert line, said
            said += line
        running.send_signal(signal.SIGINT)
        said += running.communicate(timeout=60)[1]
    finally:
        running.kill()
    assert running.returncode == 130 and 'interrupted' in said and 'Traceback' not in said
    assert not list(tmp_path.iterdir())


# ---- progress ---------------------------------------------------------------

class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        """Say so."""
        return True


def test_progress_on_a_terminal_and_elsewhere():
    """A bar in one line; elsewhere the end of each stage, and few lines between."""
    for stream in (Terminal(), io.StringIO()):
        progress = Progress(stream)
        for what in ('positions', 'orientations'):
            for done in range(0, 5001, 10):
                progress(what, done, 5000)
        progress.end()
        said = stream.getvalue()
        assert 'positions: 5000 of 5000 poses' in said and 'orientations: 5000 of 5000' in said
        assert ' per second, ' in said and said.endswith('\n')
        if stream.isatty():
            assert said.count('\n') == 1 and '\r[' + 30 * '#' + '] orientations' in said
        else:
            assert '\r' not in said and '\033' not in said and said.count('\n') == 2


# ---- picture ----------------------------------------------------------------

def test_colours():
    """The ends of the scale and a value between."""
    assert share_colours(np.array([0.0, 0.2, 0.3, 1.0])) == pytest.approx(
        np.array([SHARE_COLOURS[0], SHARE_COLOURS[1],
                  (SHARE_COLOURS[1] + SHARE_COLOURS[2]) / 2.0, SHARE_COLOURS[-1]]))


@pytest.fixture
def small(monkeypatch):
    """Draw pictures of half the width and height, which are written sooner."""
    monkeypatch.setattr(plotting, 'FIGURE_DPI', 50)


@pytest.mark.nightly
def test_the_picture_shows_the_share(tmp_path, small):
    """Cells out of reach are white; reached cells have the colour of their share."""
    chain = robots.chain('six_axis_arm')
    made = sample_workspace(chain, spacing=0.2, orientations=even_orientations(20))
    blank = Workspace(**{**vars(made), 'reachable': np.zeros_like(made.reachable),
                         'share': np.zeros_like(made.share)})
    full = Workspace(**{**vars(made), 'share': np.ones_like(made.share),
                        'reachable': np.ones_like(made.reachable)})
    counts = {}
    for name, workspace in (('made', made), ('blank', blank), ('full', full)):
        draw(workspace, chain, tmp_path / f'{name}.png')
        with Image.open(tmp_path / f'{name}.png') as picture:
            pixels = np.asarray(picture.convert('RGB')).astype(int)[:, :545]  # no colour bar
        blue = np.abs(pixels - np.rint(255 * SHARE_COLOURS[-1])).max(axis=2) <= 6
        coloured = np.ptp(pixels, axis=2) > 12
        counts[name] = blue.mean(), coloured.mean()
    assert counts['blank'][1] < 0.005
    assert counts['full'][0] > 0.5 and counts['full'][1] > 0.6
    assert 0.1 < counts['made'][1] < 0.6 and counts['made'][0] < 0.05


@pytest.mark.parametrize('box', usual_first(1, [
    [0.3, 0.3, 0.0, 0.0, 0.4, 0.4], [5, 6, 5, 6, 5, 6], [0.3, 0.3, -0.5, 0.5, 0.0, 1.0]]))
def test_odd_boxes_are_drawn(tmp_path, small, box):
    """A single cell, nothing reached, one layer."""
    plotting.new_figure(1.0, 1.0)
    chain = robots.chain('six_axis_arm')
    draw(sample_workspace(chain, box, 0.25), chain, tmp_path / 'a.png')
    assert (tmp_path / 'a.png').stat().st_size > 1000
