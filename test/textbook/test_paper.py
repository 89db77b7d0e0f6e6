# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The experiment of a paper, against the paper's own formulas, and what is written of it."""

import json

from nightly import NIGHTLY
import numpy as np
import pytest

from benchmarks.methods import paper, paper_plots
from benchmarks.methods.__main__ import main, paper_table
from ik_node.base.errors import ParameterError
from ik_node.tools.compare.command import ALL_METHODS

LENGTHS = np.array([90.0, 60.0, 90.0, 150.0, 150.0, 90.0])


def chain_in_mm(q):
    """Return the joints' places and the tip's, from (-230, 0), (7, 2)."""
    angles = np.cumsum(q)
    places = np.zeros((7, 2))
    places[0] = -230.0, 0.0
    for k in range(6):
        places[k + 1] = places[k] + LENGTHS[k] * np.array([np.cos(angles[k]), np.sin(angles[k])])
    return places


def jacobian_in_mm(q):
    away = chain_in_mm(q)[6] - chain_in_mm(q)[:6]
    return np.array([-away[:, 1], away[:, 0]])


def pairs_in_mm(q):
    rows = np.zeros((10, 6))
    for i in range(5):
        a, b = q[i], q[i] + q[i + 1]
        rows[2 * i, i] = -LENGTHS[i] * np.sin(a) - LENGTHS[i + 1] * np.sin(b)
        rows[2 * i + 1, i] = LENGTHS[i] * np.cos(a) + LENGTHS[i + 1] * np.cos(b)
        rows[2 * i:2 * i + 2, i + 1] = LENGTHS[i + 1] * np.array([-np.sin(b), np.cos(b)])
    return rows


def distances_in_mm(step, count):
    q, distances = np.zeros(6), [0.0]
    for k in range(1, count + 1):
        goal = np.array([400.0 * np.cos(np.radians(k)), 50.0 * np.sin(np.radians(k))])
        q = q + step(q, goal - chain_in_mm(q)[6])
        distances.append(np.linalg.norm(goal - chain_in_mm(q)[6]))
    return np.array(distances)


def test_the_chain_and_the_ellipse():
    chain = paper.planar_chain()
    assert np.isinf(chain.lower).all() and np.isinf(chain.upper).all()
    for q in (np.zeros(6), np.array([0.3, -0.5, 1.0, 0.2, -2.0, 0.7])):
        assert 1e3 * paper.links(chain, q) == pytest.approx(chain_in_mm(q), abs=1e-9)
    assert chain_in_mm(np.zeros(6))[6] == pytest.approx([400.0, 0.0])
    points = 1e3 * paper.ellipse(np.array([0.0, 30.0, 90.0, 180.0]))
    assert points[[0, 2, 3]] == pytest.approx(
        np.array([[400.0, 0.0], [0.0, 50.0], [-400.0, 0.0]]), abs=1e-9)
    assert (points[:, 0] / 400.0) ** 2 + (points[:, 1] / 50.0) ** 2 == pytest.approx(1.0)


def test_the_pseudo_inverse_jumps_out_of_the_singular_start():
    """235 mm at the second step, then back: figure 4 of the paper."""
    walk = paper.walk('pseudo_inverse', 1.0, 20)
    expected = distances_in_mm(lambda q, e: np.linalg.pinv(jacobian_in_mm(q)) @ e, 20)
    assert 1e3 * walk.distance == pytest.approx(expected, abs=1e-3)
    assert np.argmax(walk.distance) == 2 and expected[2] == pytest.approx(235.35, abs=0.01)
    assert np.argmax(walk.jumps) == 1 and walk.jumps[1] > 1.2
    assert walk.follows_from == 6


@pytest.mark.parametrize('name, weight', list(paper.WEIGHTS.items())[:2])
def test_the_pairwise_extended_jacobian_does_not_jump(name, weight):
    """Below 1 mm in the first ten steps, by the paper's own formulas."""
    def step(q, e):
        A = np.vstack([weight * pairs_in_mm(q), jacobian_in_mm(q)])
        return np.linalg.lstsq(A, np.concatenate([np.zeros(10), e]), rcond=None)[0]

    walk = paper.walk(name, 1.0, 10)
    assert 1e3 * walk.distance == pytest.approx(distances_in_mm(step, 10), abs=1e-2)
    assert walk.distance.max() < 1e-3 and walk.jumps.max() < 0.17


def test_the_pairwise_extended_jacobian_with_a_tiny_weight_jumps():
    """The normal equations square the condition: w = 1e-5 is already near rounding."""
    walk = paper.walk('extended_pairwise, w = 1e-5', 1.0, 10)
    assert 5e-3 < walk.distance.max() < 0.1 and walk.jumps.max() > 0.4


def test_the_rank_of_the_extended_jacobian():
    walk = paper.walk('extended_pairwise', 1.0, 5)
    values = paper.smallest_singular_values(walk.path, 0.5)
    expected = [np.linalg.svd(np.vstack([0.5 * pairs_in_mm(q), jacobian_in_mm(q)]),
                              compute_uv=False)[-1] for q in walk.path]
    assert 1e3 * values == pytest.approx(expected)
    assert min(expected) > 1.0


def test_methods_that_stay_at_the_start():
    walk = paper.walk('pseudo_inverse_lu', 1.0, 360)
    assert (walk.path == 0.0).all() and walk.steps_to_converge is None
    assert walk.follows_from is None  # though at the end the ellipse comes back to it
    assert walk.distance[180] == pytest.approx(0.8)


def test_the_path_to_the_top_of_the_ellipse():
    walk = paper.walk('damped_least_squares', 1.0, 1)
    assert walk.steps_to_converge < 20
    assert 0.0 < walk.jump_to_converge < 2.0


def test_all_suitable_methods_follow_the_ellipse():
    """But for those that learn the arm for 15 s before, which are left to the nightly run."""
    methods = [method for method in ALL_METHODS
               if NIGHTLY or method not in ('key_postures', 'neural_network')]
    done = paper.walks(methods, 1.0, 2)
    names = [walk.method for walk in done]
    assert names == [name for method in methods
                     if method not in ('left_pseudo_inverse', 'law_of_cosines')
                     for name in (paper.WEIGHTS if method == 'extended_pairwise'
                                  else [method])]
    with pytest.raises(ParameterError, match='2 rows'):
        paper.walks(['left_pseudo_inverse'], 1.0, 2)


# ---- pictures -----------------------------------------------------------------------------

@pytest.fixture
def figures(monkeypatch):
    """Keep what would be written."""
    kept = {}
    monkeypatch.setattr(paper_plots, 'save', lambda figure, file: kept.update({file: figure}))
    return kept


def panels_of(figure):
    return {axes.get_title(): axes for axes in figure.get_axes() if axes.get_visible()}


def test_the_plots_of_the_paper_show_the_runs(figures):
    walks = {walk.method: walk for walk in paper.walks(
        ['pseudo_inverse', 'extended_pairwise'], 1.0, 12)}
    paper_plots.figure_4(walks, 'a')
    paper_plots.all_methods(walks, 'b')
    paper_plots.chains(walks, 'c')
    paper_plots.whole_ellipse(walks, 'd')
    (axes,) = figures['a'].get_axes()
    for line in axes.get_lines():
        assert line.get_ydata() == pytest.approx(1e3 * walks[line.get_label()].distance[:11])
    assert [text.get_text() for text in axes.texts] == ['235 mm']
    for name, axes in panels_of(figures['b']).items():
        assert axes.get_lines()[1].get_ydata()[1:] == pytest.approx(1e3 * walks[name].distance[1:])
    first_row = figures['c'].get_axes()[:len(paper_plots.MOMENTS)]
    assert [axes.get_title() for axes in first_row][:2] == ['start', 'step 2']
    drawn = np.column_stack(first_row[1].get_lines()[2].get_data())
    assert drawn == pytest.approx(chain_in_mm(walks['pseudo_inverse'].path[2]), abs=1e-6)
    tips = np.column_stack(panels_of(figures['d'])['pseudo_inverse'].get_lines()[1].get_data())
    assert tips == pytest.approx(np.array([chain_in_mm(q)[6]
                                           for q in walks['pseudo_inverse'].path]), abs=1e-6)


# ---- the command -----------------------------------------------------------------------------

def test_the_table_of_the_paper():
    """A made-up run: one joint steps by 0.1, 0.2, ... rad, 5, 4, ... mm away, then 2 and 9."""
    path = np.zeros((14, 6))
    path[:, 2] = np.cumsum([0.0, *np.arange(0.1, 0.55, 0.1), *[0.0] * 6, 1.0, 0.0])
    distance = 1e-3 * np.array([0.0, 5.0, 4.0, 3.0, 2.0, 1.5, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 9.0,
                                0.1])
    table = paper_table([paper.Walk('made_up', path, distance, None, 0.3)])
    cells = [cell.strip() for cell in table.splitlines()[2].strip('|').split('|')]
    mean = f'{1e3 * distance.mean():.3g}'
    assert cells == ['made_up', '28.6', '5', '-', '57.3', '9', mean, '-', '17.2']
    settled = paper.Walk('made_up', path, np.where(distance > 8e-3, 0.0, distance), 7, 0.0)
    cells = [cell.strip() for cell in paper_table([settled]).splitlines()[2].strip('|').split('|')]
    assert cells[3] == '6' and cells[7] == '7'


@pytest.mark.nightly
def test_the_command_repeats_the_paper(tmp_path, capsys):
    main(['--methods', 'pseudo_inverse', 'extended_pairwise', '--degrees', '40',
          '--output', str(tmp_path)])
    printed = capsys.readouterr().out
    assert (tmp_path / 'paper.md').read_text() == printed
    assert '| extended_pairwise, w = 1e-5 |' in printed
    assert 'Smallest singular value of the pairwise extended Jacobian: 6.81 mm' in printed
    walks = json.loads((tmp_path / 'paper.json').read_text())
    assert [walk['method'] for walk in walks] == ['pseudo_inverse', *paper.WEIGHTS]
    assert len(walks[0]['distance_m']) == 10
    assert len(list(tmp_path.glob('paper_*.png'))) == 4


@pytest.mark.parametrize('arguments, sentence', [
    (['--degrees', '0'], 'above 0'),
    (['--methods', 'left_pseudo_inverse'], '2 rows'),
])
def test_arguments_that_the_command_refuses(tmp_path, capsys, arguments, sentence):
    with pytest.raises(SystemExit) as exit_:
        main([*arguments, '--no-pictures', '--output', str(tmp_path)])
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith('benchmarks.methods: ') and sentence in error
