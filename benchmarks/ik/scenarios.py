# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the solvers are asked: poses, seeds and paths, the same for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import MIDDLE, POSE, POSITION

NEAR = 0.1          # rad, largest joint difference of a near seed
PATH_STEPS = 100    # poses of a path
PATH_STEP = 2e-3    # of the reach, between two poses of a path
SMOOTH = 0.25       # rad, largest joint change of a step of a path that is offered
JUMP = 0.5          # rad, joint change between two poses that counts as a jump
SINGULAR = 1e-9     # smallest singular value (m, rad) of a posture that counts as singular
TRIES = 8           # postures by which it is judged whether a joint can make the arm singular


@dataclass(frozen=True, eq=False)
class Problem:
    """A pose with a seed; in a path the seed of all but the first is the last answer."""

    T: np.ndarray
    seed: np.ndarray
    continues: bool = False


@dataclass(frozen=True)
class Scenario:
    """
    A kind of question.

    Attributes
    ----------
    task : str
        What the solvers are set up for.
    make : function (model, count, random) -> list of Problem
    share : float
        Part of the number of problems that the run asks for.
    solvable : bool
        Whether each problem has a solution.
    slow_too : bool
        Whether solvers that take milliseconds take part.
    redundant : bool
        Only for arms of seven axes.

    """

    name: str
    title: str
    text: str
    make: Callable[[Model, int, np.random.Generator], list[Problem]]
    task: str = POSE
    share: float = 1.0
    solvable: bool = True
    slow_too: bool = False
    redundant: bool = False


def within(model: Model, random: np.random.Generator) -> np.ndarray:
    """Return joint positions evenly distributed inside the limits, (n,)."""
    return random.uniform(model.lower, model.upper)


def random_problems(model: Model, count: int, random: np.random.Generator) -> list[Problem]:
    """Return reachable poses with seeds that have nothing to do with them."""
    return [Problem(model.fk(within(model, random)), within(model, random))
            for _ in range(count)]


def near_problems(model: Model, count: int, random: np.random.Generator) -> list[Problem]:
    """Return reachable poses with seeds within `NEAR` of a solution."""
    problems = []
    for _ in range(count):
        q = within(model, random)
        seed = np.clip(q + random.uniform(-NEAR, NEAR, model.n), model.lower, model.upper)
        problems.append(Problem(model.fk(q), seed))
    return problems


def middle_problems(model: Model, count: int, random: np.random.Generator) -> list[Problem]:
    """Return reachable poses, seeded in the middle of the limits."""
    middle = 0.5 * (model.lower + model.upper)
    return [Problem(model.fk(within(model, random)), middle) for _ in range(count)]


def unreachable_problems(model: Model, count: int,
                         random: np.random.Generator) -> list[Problem]:
    """Return poses 1.1 to 2 times farther from the first joint than the arm is long."""
    problems = []
    for _ in range(count):
        T, direction = np.eye(4), random.normal(size=3)
        T[:3, :3] = _random_rotation(random)
        T[:3, 3] = model.frames[0, :3, 3] + direction / np.linalg.norm(direction) \
            * model.reach * random.uniform(1.1, 2.0)
        problems.append(Problem(T, within(model, random)))
    return problems


def singular_problems(model: Model, count: int, random: np.random.Generator) -> list[Problem]:
    """
    Return poses of postures at which the Jacobian has lost a rank, with random seeds.

    One joint of a random posture is turned to where the smallest singular value
    vanishes: the wrist or the elbow stands exactly straight, or the wrist
    centre is on the first axis.  Of those found, each joint gives equally many.
    """
    groups = []
    for joint in range(1, model.n - 1):
        found = _some_singular(model, joint, TRIES, TRIES, random)
        if found:
            groups.append((joint, found))
    for joint, found in groups:
        missing = -(-count // len(groups)) - len(found)
        found += _some_singular(model, joint, missing, 20 * count, random)
    postures = [q for group in zip(*(found for _, found in groups)) for q in group]
    return [Problem(model.fk(q), within(model, random)) for q in postures[:count]]


def line_problems(model: Model, count: int, random: np.random.Generator) -> list[Problem]:
    """Return straight lines of `PATH_STEPS` poses at constant orientation."""
    return _paths(model, count, random, _line)


def circle_problems(model: Model, count: int, random: np.random.Generator) -> list[Problem]:
    """Return full circles of `PATH_STEPS` poses at constant orientation."""
    return _paths(model, count, random, _circle)


SCENARIOS = (
    Scenario('random', 'Random poses, random seeds',
             'The pose of a random posture inside the limits; the seed is another one.',
             random_problems, slow_too=True),
    Scenario('near', 'Near seeds',
             'The pose of a random posture; each joint of the seed is within 0.1 rad of it.',
             near_problems, slow_too=True),
    Scenario('line', 'Following a straight line',
             'Lines of 100 poses, 0.2 % of the reach apart, that can be followed without a '
             'jump; each pose is seeded with the last answer. A jump is a joint change of more '
             'than 0.5 rad from one pose to the next.', line_problems),
    Scenario('circle', 'Following a circle',
             'The same on full circles.', circle_problems),
    Scenario('position', 'Position only',
             'The orientation is free, the seed random.', random_problems, task=POSITION,
             share=0.5, slow_too=True),
    Scenario('middle', 'Redundant arms: near the middle of the limits',
             'Seven axes, seeded in the middle of the limits; solvers that can aim at a posture '
             'aim at the middle. The column is the root mean square over the joints of the '
             'distance from the middle in half ranges, median over the poses.',
             middle_problems, task=MIDDLE, share=0.3, slow_too=True, redundant=True),
    Scenario('singular', 'Singular postures',
             'The pose of a posture with a lost rank: wrist or elbow exactly straight, or the '
             'wrist centre on the first axis; random seeds.', singular_problems, share=0.3),
    Scenario('unreachable', 'Out of reach',
             'Poses 1.1 to 2 times farther away than the arm is long: the right answer is no.',
             unreachable_problems, share=0.1, solvable=False),
)


def _random_rotation(random: np.random.Generator) -> np.ndarray:
    four = random.normal(size=4)
    return pin.Quaternion(four / np.linalg.norm(four)).matrix()


def _smallest(model: Model, q: np.ndarray, joint: int, value: float) -> float:
    at = q.copy()
    at[joint] = value
    return float(np.linalg.svd(model.jacobian(at), compute_uv=False)[-1])


def _some_singular(model: Model, joint: int, wanted: int, tries: int,
                   random: np.random.Generator) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for _ in range(tries):
        if len(found) >= wanted:
            break
        q = singular_along(model, within(model, random), joint)
        if q is not None:
            found.append(q)
    return found


def singular_along(model: Model, q: np.ndarray, joint: int) -> np.ndarray | None:
    """Turn one joint to a zero of the smallest singular value, or return None."""
    values = np.linspace(model.lower[joint], model.upper[joint], 60)
    sizes = [_smallest(model, q, joint, value) for value in values]
    for k in np.argsort(sizes)[:3]:
        low, high = values[max(k - 1, 0)], values[min(k + 1, 59)]
        while high - low > 1e-12:  # thirds: the smallest singular value is a V there
            a, b = low + (high - low) / 3.0, high - (high - low) / 3.0
            if _smallest(model, q, joint, a) < _smallest(model, q, joint, b):
                high = b
            else:
                low = a
        if _smallest(model, q, joint, low) < SINGULAR:
            found = q.copy()
            found[joint] = low
            return found
    return None


def _line(random: np.random.Generator, step: float) -> Iterator[np.ndarray]:
    direction = random.normal(size=3)
    direction *= step / np.linalg.norm(direction)
    for k in range(1, PATH_STEPS):
        yield k * direction


def _circle(random: np.random.Generator, step: float) -> Iterator[np.ndarray]:
    R, radius = _random_rotation(random), step * PATH_STEPS / (2.0 * np.pi)
    for angle in np.linspace(0.0, 2.0 * np.pi, PATH_STEPS)[1:]:
        yield radius * R @ np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])


def _paths(model: Model, count: int, random: np.random.Generator,
           shape: Callable[[np.random.Generator, float], Iterator[np.ndarray]]) -> list[Problem]:
    """Draw paths until enough of them can be followed from their start without a jump."""
    problems: list[Problem] = []
    for _ in range(100 * max(count // PATH_STEPS, 1)):
        start = within(model, random)
        T = model.fk(start)
        path, q = [Problem(T, start)], start
        for shift in shape(random, PATH_STEP * model.reach):
            goal = T.copy()
            goal[:3, 3] += shift
            after = _follow(model, q, goal)
            if after is None or model.distance(after, q) > SMOOTH:
                break
            path.append(Problem(goal, start, continues=True))
            q = after
        else:
            problems += path
            if len(problems) >= count:
                break
    return problems


def _follow(model: Model, q: np.ndarray, T: np.ndarray) -> np.ndarray | None:
    """Return the posture at a pose close by, by Newton's method on Pinocchio's Jacobian."""
    for _ in range(10):
        e = model.deviation(q, T)
        if np.linalg.norm(e) < 1e-9:
            return q if model.inside(q) else None
        q = q + np.linalg.lstsq(model.jacobian(q), e, rcond=1e-6)[0]
    return None
