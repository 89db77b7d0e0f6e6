# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The textbook methods by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ik_node.textbook import (
    iterations,
    iterations as minimisers,
    steps,
    steps as extended_jacobian,
)
from ik_node.textbook.by_example.key_postures import key_postures
from ik_node.textbook.by_example.neural_network import neural_network
from ik_node.textbook.ccd import ccd
from ik_node.textbook.iterations import by_steps, Iteration
from ik_node.textbook.lagrange import lagrange
from ik_node.textbook.options import Limits
from ik_node.textbook.task import Task
from ik_node.textbook.two_link import law_of_cosines

Guess = Callable[[Task, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Method:
    """A method of inverse kinematics."""

    iterate: Iteration
    """Takes problem, start point and options; yields points."""
    summary: str
    """The step in one line."""
    source: str
    """Authors and year."""
    limits: tuple[Limits, ...] = (Limits.CLAMP, Limits.PENALTY, Limits.VARIABLES)
    """Supported ways to keep joint limits, the default first."""
    max_iterations: int = 100
    """Default number of steps of one attempt."""
    patience: int = 10
    """Number of steps without progress of 1 % after which an attempt ends."""
    least_spare: int = -1000
    """The least number of joints minus the number of task rows that it supports."""
    most_spare: int = 1000
    """The most that it supports."""
    rests: bool = False
    """Whether it continues after the goal is reached, until it comes to rest."""
    arms: str = ''
    """For which arms it is; empty: for any."""
    guess: Guess | None = None
    """Takes the task and the seed (n,); returns the posture (n,) that the first step goes to, an
    answer learned beforehand.  The steps of `iterate` improve it."""


TEXTBOOK_METHODS: dict[str, Method] = {
    'pseudo_inverse': Method(
        by_steps(steps.pseudo_inverse), 'V S^+ U^T e by singular values',
        'Whitney 1969; Golub and Kahan 1965', tuple(Limits)),
    'right_pseudo_inverse': Method(
        by_steps(steps.right_pseudo_inverse), 'J^T (J J^T)^-1 e',
        'Whitney 1969; Parent 2012, eq. 5.21', (Limits.CLAMP, Limits.VARIABLES),
        least_spare=0),
    'left_pseudo_inverse': Method(
        by_steps(steps.left_pseudo_inverse), '(J^T J)^-1 J^T e',
        'Parent 2012, eq. 5.20', most_spare=0),
    'pseudo_inverse_lu': Method(
        by_steps(steps.pseudo_inverse_lu), '(J J^T) beta = e by LU, then J^T beta',
        'Parent 2012, eq. 5.22-5.23', (Limits.CLAMP, Limits.VARIABLES),
        least_spare=0),
    'damped_least_squares': Method(
        by_steps(steps.damped_least_squares), 'J^T (J J^T + lambda^2 I)^-1 e, lambda adapted',
        'Wampler 1986; Nakamura and Hanafusa 1986; Maciejewski and Klein 1988', tuple(Limits)),
    'null_space': Method(
        iterations.null_space, 'J^+ e + (J^+ J - I) z, z towards a preferred posture',
        'Liegeois 1977; Parent 2012, eq. 5.28', (Limits.CLAMP,), 200, 200, rests=True),
    'transpose': Method(
        iterations.transpose, 'alpha J^T e, alpha by line search',
        'Wolovich and Elliott 1984; Buss 2004', max_iterations=5000, patience=200),
    'alternative_jacobian': Method(
        by_steps(steps.alternative_jacobian), 'pseudo-inverse, the goal pulled to the tip',
        'Parent 2012, section 5.3.3'),
    'adjusted_adjoint': Method(
        by_steps(steps.adjusted_adjoint),
        'J^T (J J^T + lambda I)^-1 e, J of adjoint blocks adjusted to Euler angles',
        "Rabbani's notes on the Jacobian, Procedure 3"),
    'extended_square': Method(
        by_steps(extended_jacobian.extended_square), '[J; d(N^T grad g)/dq]^-1 [e; 0]',
        'Baillieul 1985', (Limits.CLAMP,)),
    'extended_pairwise': Method(
        by_steps(extended_jacobian.extended_pairwise),
        'rows for each pair of links, normal equations',
        'Soch and Lorencz 2005, section 2', (Limits.CLAMP,), 1000, 50),
    'lagrange': Method(
        lagrange, 'best posture at the goal by multipliers, 2 n smaller problems at limits',
        'Korein and Badler 1982; Soch and Lorencz 2005, section 1.4', (Limits.CLAMP,), 5000, 5000,
        rests=True),
    'law_of_cosines': Method(
        law_of_cosines, 'two links in a plane, in closed form', 'Parent 2012, section 5.3.1',
        (Limits.CLAMP,), arms='two revolute joints with parallel axes'),
    'key_postures': Method(
        by_steps(steps.damped_least_squares),
        'interpolated between key postures solved beforehand, then damped least squares',
        'Parent 2012, section 5.2; Rose, Sloan and Cohen 2001', (Limits.CLAMP,), patience=20,
        guess=key_postures),
    'neural_network': Method(
        by_steps(steps.damped_least_squares),
        'by a network trained on the spot, then damped least squares',
        'Guez and Ahmad 1988', (Limits.CLAMP,), patience=20, guess=neural_network),
    'ccd': Method(
        ccd, 'each joint in turn to its own best, tip to base',
        'Wang and Chen 1991; Welman 1993', (Limits.CLAMP,), 2000, 100),
    'levenberg_marquardt': Method(
        minimisers.levenberg_marquardt, '(J^T J + mu I)^-1 J^T e, mu by the gain',
        'Levenberg 1944; Marquardt 1963; Nielsen 1999', tuple(Limits), patience=20),
    'bfgs': Method(
        minimisers.by_scipy('BFGS', 'L-BFGS-B'), 'quasi-Newton on |e|^2 / 2, by scipy',
        'Nocedal and Wright 2006, chapter 6',
        (Limits.VARIABLES, Limits.PENALTY, Limits.CLAMP), 500, 100),
    'conjugate_gradient': Method(
        minimisers.by_scipy('CG'), 'conjugate gradients on |e|^2 / 2, by scipy',
        'Polak and Ribiere 1969; Nocedal and Wright 2006, chapter 5',
        (Limits.VARIABLES, Limits.PENALTY), 2000, 200),
}
