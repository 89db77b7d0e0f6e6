# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The collision model of an arm and its surroundings: which pairs are checked, and the checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, takewhile

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.collision.bodies.ground import lowest_point
from ik_node.collision.bodies.links import (
    ALL_CHECKED,
    arm_bodies,
    ArmBodies,
    links_with_geometry,
    Unchecked,
)
from ik_node.collision.bodies.parts import Body
from ik_node.collision.bodies.shapes import PLANE_KIND, round_axis, shapes_of
from ik_node.collision.distances.beside import Beside
from ik_node.collision.distances.check import (
    check_postures,
    check_work,
    CheckWork,
    nearest_pair,
    paired,
    Pairs,
    pairs_from,
)
from ik_node.collision.distances.depth import least_shift
from ik_node.collision.distances.other_joints import (
    carriers_of,
    displacement,
    other_joints_of,
    OtherJoint,
    REST_ROOM,
)
from ik_node.collision.scene.scene import Scene
from ik_node.kinematics.arm import Arm
from ik_node.kinematics.tree.kinematic_tree import (
    beside_frames,
    KinematicTree,
    moving_frames,
    MovingFrames,
)
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import Tree

ADJACENT_REASON = 'one joint connects them'
DISABLED_REASON = 'disabled'
SAMPLED_POSTURES = 300
SAMPLE_SEED = 0
OTHER_SAMPLES = 4           # of where joints beside the arm are, for links that they carry
CONTACT_SHARE = 0.5         # of these, in which a pair of links is in contact that is left out
FAR_ENOUGH_M = 0.05         # beyond it the distance of two links does not matter
MAX_DEPTHS = 32             # pairs whose depth is computed: in about 5 ms
ASKED_M = 0.1               # farther is rarely asked of one pair
NONE_FREE = np.empty(0, dtype=bool)  # of no posture it is asked whether it is free
USED_DISTANCE_SHARE = 0.5   # of the usual distance of two links that they must keep at most
NEAR_LINKS_HINT = (' (if they pass each other so by design, leave out the pair by an SRDF, '
                   'collision.srdf_file, or lower collision.margin)')


@dataclass(frozen=True)
class PairReport:
    """Whether a pair of links is checked."""

    links: tuple[str, str]
    reason: str = ''
    """Why it is left out; '' if it is checked."""


@dataclass(frozen=True)
class WorstPair:
    """Two links or objects that lack most of their margin."""

    names: tuple[str, str]
    distance: float
    """m; below 0, the least shift that brings them apart."""
    required: float
    """m."""
    swept: bool = False
    """Whether that is for joints beside the arm that move."""
    by_design: bool = False
    """Whether both are links of one arm, which may pass each other so near by its design."""

    def __str__(self) -> str:
        """Return which two they are, and how near or how deep, in words."""
        both = ' and '.join(map(quote, self.names))
        if self.distance <= 0.0:
            return f'{both} overlap by {-1e3 * self.distance:.1f} mm'
        hint = ' while joints beside the arm move (wait until these rest)' if self.swept \
            else NEAR_LINKS_HINT if self.by_design and self.distance <= self.required else ''
        return f'{both} are {1e3 * self.distance:.1f} mm apart, and ' \
               f'{1e3 * self.required:.1f} mm are required{hint}'


@dataclass(frozen=True, eq=False)
class Clearance:
    """Two bodies that are nearest to each other in a posture."""

    distance: float
    """Between them, m; 0 or less if they touch."""
    names: tuple[str, str]
    """Of the two links or objects."""
    points: np.ndarray | None
    """(2, 3), the nearest points of both in the base link, m; None if they are drawn into each
    other."""
    kept: bool
    """Whether they keep their margin."""
    unchecked: Unchecked = ALL_CHECKED
    """The links of which it is not known how near they are."""


class CollisionModel:
    """
    Checks postures of an arm for collisions with itself and with objects.

    All pairs of links are checked but those that one joint connects, those that the caller
    names, and those that are in contact in half of SAMPLED_POSTURES postures or more.  Links that
    do not move with the arm are not checked against objects, on which they may stand.

    Links that are near each other by design need not keep the margin, but half of the distance
    that they have in the median of these postures.

    Parameters
    ----------
    chain : Chain or KinematicTree
        Of a tree, two arms are checked against each other as any links are.
    tree : Tree
    bodies : ArmBodies or iterable of Body
        Of the links.
    objects : iterable of Body, optional
        In the frames of links; '' is the base link.
    margin : float
        Distance (m) that a posture must keep to be free.
    disabled_pairs : iterable of (str, str), optional
        Links that are not checked against each other.
    positions : mapping of joint name to position, optional
        Of joints that are not of the chain, rad or m; default 0, or the nearest limit.

    Attributes
    ----------
    report : tuple of PairReport
    bodies, objects : tuples of Body
    unchecked : Unchecked
        Links that have geometry, and no body here.
    margins : (K,) array
        Distance (m) that each pair must keep; more than `margin` if other joints may be elsewhere.
    widest_margin : float
        The largest of them (m), and `margin`.
    swept : (K,) bool array
        Whether joints beside the arm that move carry one of the pair.
    other_joints : tuple of str
        Joints that are not of the chain and carry bodies of the links.
    others : mapping of joint name to OtherJoint
        Where other joints are, as far as that is given.
    touch_links : mapping of object to links and objects
        What each object may touch.

    Raises
    ------
    ParameterError
        If a frame is not a link, a plane is in a frame that moves, or the margin is negative or
        not finite.

    """

    def __init__(self, chain: Chain | KinematicTree, tree: Tree,
                 bodies: ArmBodies | Iterable[Body],
                 objects: Iterable[Body] = (), margin: float = 0.0,
                 disabled_pairs: Iterable[tuple[str, str]] = (),
                 positions: Mapping[str, float] | None = None) -> None:
        self.chain, self.margin = chain, _checked_margin(margin)
        self._tree = tree
        self._place_links({name: OtherJoint(value) for name, value in (positions or {}).items()})
        every = tuple(bodies.bodies if isinstance(bodies, ArmBodies) else bodies)
        self.bodies = tuple(body for body in every if body.frame in self._moving.places)
        known, placed = ({body.name for body in those} for those in (every, self.bodies))
        with_geometry = links_with_geometry(tree) | known
        faults = dict(bodies.faults) if isinstance(bodies, ArmBodies) else {}
        self.unchecked = Unchecked({link: faults.get(link) or (
            'a joint without a known position carries it' if link in known
            else 'no body of it is given') for link in tree.links if link in with_geometry
            and (link in faults or link not in placed)}, len(with_geometry))
        # Whether bodies in two frames are checked against each other.
        self._is_checked: Callable[[str, str], bool] | None = None
        self.other_joints = other_joints_of(tree, chain, [body.frame for body in self.bodies])
        self._found_report, self._found_pairs = self._pairs_of_links()
        self._disable(disabled_pairs)
        self._set_objects(tuple(objects), {})

    @classmethod
    def of(cls, robot: Arm | KinematicTree, scene: Scene | None = None, margin: float = 0.0,
           bodies: ArmBodies | None = None) -> CollisionModel:
        """
        Return the model of an arm, or of several, among the objects of a scene.

        Parameters
        ----------
        robot : Arm or KinematicTree
            From :func:`ik_node.load_urdf`, :func:`ik_node.load_robot` or
            :func:`ik_node.load_tree`.
        scene : Scene, optional
        margin : float
            Distance (m) that a posture must keep to be free.
        bodies : ArmBodies, optional
            Default: :func:`ik_node.collision.arm_bodies` of the robot.

        Raises
        ------
        ParameterError
            As the constructor.

        """
        model = cls(robot, robot.tree, bodies or arm_bodies(robot), margin=margin)
        if scene is None:
            return model
        there = scene.snapshot
        return (model.with_link_pairs(there.link_pairs) if there.link_pairs else model) \
            .with_objects(there.bodies, touch_links=there.touch_links)

    def with_disabled_pairs(self, disabled_pairs: Iterable[tuple[str, str]]) -> CollisionModel:
        """Return the model that has these disabled pairs in place of its own."""
        other = object.__new__(CollisionModel)
        other.__dict__.update(self.__dict__)
        other._disable(disabled_pairs)
        other._set_objects(self.objects, self.touch_links)
        return other

    def with_link_pairs(self, pairs: Mapping[frozenset[str], bool]) -> CollisionModel:
        """
        Return the model that leaves out other pairs of links.

        Parameters
        ----------
        pairs : mapping of frozenset of two links to bool
            Whether they may touch each other.  Of two that one joint connects, or that are in
            contact in most postures, only True counts.

        """
        disabled = {frozenset(each.links) for each in self.report
                    if each.reason == DISABLED_REASON}
        may = {pair for pair, value in pairs.items() if value}
        return self.with_disabled_pairs([(*pair,) for pair in disabled - pairs.keys() | may])

    def with_objects(self, objects: Iterable[Body], margin: float | None = None,
                     touch_links: Mapping[str, Iterable[str]] | None = None) -> CollisionModel:
        """
        Return the model of the same arm among other objects.

        Parameters
        ----------
        objects : iterable of Body
        margin : float, optional
            Default: that of this model.
        touch_links : mapping of object to links and objects, optional
            What each object may touch.

        """
        other = object.__new__(CollisionModel)
        other.__dict__.update(self.__dict__)
        other.margin = self.margin if margin is None else _checked_margin(margin)
        other._set_objects(tuple(objects), touch_links or {})
        return other

    def with_objects_of(self, arms: Iterable[CollisionModel]) -> CollisionModel:
        """
        Return the model among its objects and those that models of its arms have.

        Of an object that an arm has elsewhere there are two; the second one is named by the tip,
        too.  The margin is the widest.
        """
        objects = {body.name: body for body in self.objects}
        touching: dict[str, set[str]] = {}
        margin = self.margin
        for arm in arms:
            margin = max(margin, arm.margin)
            for body in arm.objects:
                body = replace(body, frame=body.frame or arm.chain.base_link)
                known = objects.get(body.name, body)
                same = (known.frame or self.chain.base_link) == body.frame \
                    and len(known.parts) == len(body.parts) and all(
                        np.allclose(one.T, other.T) for one, other in zip(known.parts, body.parts))
                name = body.name if same else f'{body.name} of {arm.chain.tip_link}'
                objects[name] = replace(body, name=name)
                touching.setdefault(name, set()).update(arm.touch_links.get(body.name, ()))
        return self.with_objects(objects.values(), margin, touching)

    def is_alike(self, other: CollisionModel) -> bool:
        """Return whether the two differ at most in where joints beside the chain are."""
        return self._kept_beside is other._kept_beside and self.chain is other.chain

    def with_others(self, others: Mapping[str, OtherJoint]) -> CollisionModel:
        """
        Return the model with joints that are not of the chain elsewhere.

        Which pairs of links are checked, and which of them need not keep the margin, stays.

        Parameters
        ----------
        others : mapping of joint name to OtherJoint
            Pairs keep as much more than their margin as the joints have room; joints that are not
            named are at 0, or at the nearest limit.

        """
        other = object.__new__(CollisionModel)
        other.__dict__.update(self.__dict__)
        other._place_links(others)
        if len(self.pairs.table) > len(self.chain.table):  # what mimics the chain may be carried
            other._set_objects(self.objects, self.touch_links)
            return other
        other.pairs, other.margins, other.swept = self._beside().placed(other.others)
        other._forget_postures()
        return other

    def _beside(self) -> Beside:
        """Return what joints beside the chain carry; all models that differ in these share it."""
        if not self._kept_beside:
            every = self.bodies + self.objects
            self._kept_beside.append(Beside(
                beside_frames(self.chain, self._tree), self._moving, self.pairs, every,
                self._owners, self._groups, self.chain.base_link, self._without_rooms))
        return self._kept_beside[0]

    def without(self, joints: Collection[str]) -> CollisionModel:
        """Return the model without what some of the joints beside the chain carry."""
        def is_checked(*frames: str) -> bool:
            return all(joint.name not in joints for frame in frames
                       for joint, _ in carriers_of(self._tree, self.chain, frame))

        return self._of_pairs(is_checked)

    def between(self, groups: Sequence[Collection[str]]) -> CollisionModel:
        """
        Return the model of what joints of different groups move against each other alone.

        Parameters
        ----------
        groups : sequence of collection of str
            Names of the joints of each arm, of those of the chain or tree.

        """
        group_of = {name: number for number, names in enumerate(groups) for name in names}
        numbers = [group_of.get(name, -1) for name in self.chain.joint_names]
        table, places = self._moving.table, self._moving.places

        def joints_of(frame: str) -> set[int]:
            carried = places[frame][0]
            # Of each row: column 13 is the coordinate, 14 its factor.
            return {int(table[each - 1, 13]) for each in (carried, *self._carriers(carried))
                    if each > 0 and table[each - 1, 14] != 0.0} if carried > 0 else set()

        def is_checked(one: str, other: str) -> bool:
            return len({numbers[k] for k in joints_of(one) ^ joints_of(other)} - {-1}) > 1

        return self._of_pairs(is_checked)

    def _of_pairs(self, is_checked: Callable[[str, str], bool]) -> CollisionModel:
        """Return the model of the pairs for the links or frames of which `is_checked` is true."""
        other = object.__new__(CollisionModel)
        other.__dict__.update(self.__dict__)
        other._is_checked = lru_cache(None)(is_checked)
        other._set_objects(self.objects, self.touch_links)
        return other

    def with_tool(self, T_link_tool: np.ndarray) -> CollisionModel:
        """Return the model whose chain has another tool, as :meth:`Chain.with_tool`; no body."""
        chain = self.chain.with_tool(T_link_tool)
        if chain is self.chain:
            return self
        other = object.__new__(CollisionModel)
        other.__dict__.update(self.__dict__)
        other.chain = chain
        return other

    @property
    def lowest_fixed_point(self) -> float:
        """Return the least height (m, base link) of links that do not move; infinity without."""
        return lowest_point(self.bodies, {link: T for link, (frame, T)
                                          in self._moving.places.items() if frame == 0})

    def pairs_from(self, Q: np.ndarray) -> Pairs:
        """Return the pairs for motions from postures Q (K, n), which may be outside the limits."""
        return pairs_from(self.pairs, self.chain, Q)

    def check_many(self, Q: np.ndarray) -> np.ndarray:
        """Return which of the postures (K, n) keep the margin, (K,) bool."""
        free = np.empty(len(Q), dtype=bool)
        work = self._take_work()
        # A copy: for an array that cannot be written another kernel would be compiled.
        check_postures(self.pairs, np.array(Q, dtype=float, order='C'), self.margins, free, np.inf,
                       np.empty((0, len(self.margins))), work)
        self._spare_work.append(work)
        return free

    def distances(self, q: np.ndarray, enough: float = np.inf,
                  work: CheckWork | None = None) -> np.ndarray:
        """
        Return the distance (m) of each pair at q (n,), (K,); above `enough` a lower bound.

        Below 0, minus a shift that brings them apart: the least is :meth:`signed_distances`.
        `work`: a workspace for these pairs, if there is one already.
        """
        return self._distances(np.array(q, dtype=float, ndmin=2), enough, work)[0]

    def signed_distances(self, q: np.ndarray, enough: float = np.inf,
                         work: CheckWork | None = None) -> np.ndarray:
        """
        As :meth:`distances`; below 0, minus the least shift that brings a pair apart.

        Of more than MAX_DEPTHS pairs only those that seem to overlap most.
        """
        own = work or self._take_work()
        distances = self.distances(q, enough, own)
        if distances.min(initial=np.inf) <= 0.0:
            deep = np.flatnonzero(self._cores_overlap(distances))
            for k in deep[np.argsort(distances[deep], kind='stable')[:MAX_DEPTHS]]:
                own.directions[k] = -least_shift(self.pairs.shapes, *self.pairs.pairs[k],
                                                 own.poses)
            distances = self.distances(q, enough, own)
        if work is None:
            self._spare_work.append(own)
        return distances

    def _distances(self, Q: np.ndarray, enough: float,
                   work: CheckWork | None = None) -> np.ndarray:
        """As :meth:`distances`, of postures (N, n), as (N, K)."""
        distances, own = np.empty((len(Q), len(self.pairs.pairs))), work or self._take_work()
        check_postures(self.pairs, Q, self.margins, NONE_FREE, enough, distances, own)
        if work is None:
            self._spare_work.append(own)
        return distances

    def _take_work(self) -> CheckWork:
        """Return a workspace as a new one; to make one takes longer than to check a posture."""
        try:
            work = self._spare_work.pop()  # by one thread at a time
        except IndexError:
            return check_work(self.pairs)
        work.directions[:] = 0.0
        return work

    def distance(self, q: np.ndarray) -> tuple[float, str, str]:
        """Return the least distance (m) at q (n,), and the two links or objects that have it."""
        distances = self.distances(q)
        if not len(distances):
            return np.inf, '', ''
        k = int(distances.argmin())
        return float(distances[k]), *self.names_of(k)

    def clearances(self, q: np.ndarray) -> tuple[Clearance, ...]:
        """
        Return which two links are nearest to each other at q (n,), and which link and object.

        Objects that move with a link count as objects; what has no pairs is left out.
        """
        q, work, found = np.ascontiguousarray(q, dtype=float), check_work(self.pairs), []
        for first, last in ((0, self._link_blocks), (self._link_blocks, len(self.pairs.blocks))):
            if first < last:
                points = np.empty((2, 3))
                k, distance, there = nearest_pair(self.pairs, q, first, last, points, work)
                found.append(Clearance(distance, self.names_of(k), points if there else None,
                                       bool(distance > self.margins[k]), self.unchecked))
        return tuple(found)

    def distance_of(self, k: int, q: np.ndarray) -> float:
        """Return the distance (m) of pair k at q (n,)."""
        near = float(self.distances(q, ASKED_M)[k])  # a third of the time of all distances
        return near if near <= ASKED_M else float(self.distances(q)[k])

    def tool_is_free(self, q: np.ndarray) -> bool:
        """
        Return whether what moves with the tip keeps its margins from what stands still.

        If it does not at q (n,), it does not in any posture that reaches the same pose.
        """
        frames = self.pairs.shapes.ints[self.pairs.pairs, 1]
        same = np.isin(frames, (0, len(self.chain.table) - 1)).all(axis=1)
        return bool((self.distances(q, self.widest_margin)[same] > self.margins[same]).all())

    def worst_pair(self, q: np.ndarray) -> WorstPair | None:
        """
        Return the pair that lacks most of its margin at q (n,); None without pairs.

        Among pairs that overlap, the one that overlaps most.  Of more than MAX_DEPTHS only those
        are looked at that seem to overlap most.
        """
        q = np.ascontiguousarray(q, dtype=float)
        if self._worst is None or self._worst[0] != q.tobytes():
            self._worst = q.tobytes(), self._worst_pair(q)
        return self._worst[1]

    def overlap(self, q: np.ndarray) -> WorstPair | None:
        """
        Return the two links or objects that overlap most at q (n,); None if none do.

        What only joints beside the arm that move may bring together does not count.
        """
        worst = None if self.check_many(q[None])[0] else self.worst_pair(q)
        return None if worst is None or worst.swept or worst.distance > 0.0 else worst

    def _worst_pair(self, q: np.ndarray) -> WorstPair | None:
        if not len(self.pairs.pairs):
            return None
        work = check_work(self.pairs)
        # Farther pairs do not matter, unless all is.
        for enough in (float(self.margins.max()), np.inf):
            distances = self.distances(q, enough, work)
            lacking = distances - self.margins
            if lacking.min() <= 0.0:
                break
        deep = np.flatnonzero(self._cores_overlap(distances))
        seeming, lacking[deep] = lacking[deep], np.inf
        for i in np.argsort(seeming, kind='stable')[:MAX_DEPTHS]:
            if seeming[i] >= lacking.min():  # none overlaps more than it seems
                break
            k = deep[i]
            distances[k] = -np.linalg.norm(
                least_shift(self.pairs.shapes, *self.pairs.pairs[k], work.poses))
            lacking[k] = distances[k] - self.margins[k]
        k = int(lacking.argmin())
        return WorstPair(self.names_of(k), float(distances[k]), float(self.margins[k]),
                         bool(self.swept[k]), self.one_carries_other(k))

    def _cores_overlap(self, distances: np.ndarray) -> np.ndarray:
        """Return of which pairs, (K,) bool, the distance is not known because they overlap."""
        shapes, pairs = self.pairs.shapes, self.pairs.pairs
        return (distances <= -shapes.sizes[pairs, 3].sum(axis=1)) \
            & (shapes.ints[pairs, 0] != PLANE_KIND).all(axis=1)

    def describe(self, q: np.ndarray) -> str:
        """
        Return which pair lacks most of its margin at q (n,), in words.

        If none does, and links are not checked, it says so.
        """
        worst = self.worst_pair(q)
        told = 'nothing that is checked can touch' if worst is None else str(worst)
        known = worst is not None and worst.distance <= worst.required
        return told if known or not self.unchecked else f'{told}; {self.unchecked}'

    def names_of(self, k: int) -> tuple[str, str]:
        """Return the names of the two bodies of a pair."""
        a, b = self.pairs.pairs[k]
        return self._names[a], self._names[b]

    def one_carries_other(self, k: int) -> bool:
        """Return whether both bodies of a pair are links, one of which carries the other."""
        parts = self.pairs.pairs[k]
        if parts.max() >= self._link_parts:
            return False
        one, other = self.pairs.shapes.ints[parts, 1].tolist()
        return one in self._carriers(other) or other in self._carriers(one)

    def _carriers(self, frame: int) -> list[int]:
        """Return the moving frames that carry another, down to the base."""
        found = [self._carrier(frame)]
        while found[-1] > 0:
            found.append(self._carrier(found[-1]))
        return found

    def _place_links(self, others: Mapping[str, OtherJoint]) -> None:
        self.others, self._placed = dict(others), None

    @property
    def _moving(self) -> MovingFrames:
        """Return the frames that move with the chain, and where links are; found when needed."""
        if self._placed is None:
            self._placed = moving_frames(self.chain, self._tree, {
                name: other.position for name, other in self.others.items()})
        return self._placed

    def _forget_postures(self) -> None:
        """Note that the pairs, or what they must keep, are others than before."""
        self._worst: tuple[bytes, WorstPair | None] | None = None  # of the last posture
        self._spare_work: list[CheckWork] = []
        self.widest_margin = float(self.margins.max(initial=self.margin))

    def _set_objects(self, objects: tuple[Body, ...],
                     touch_links: Mapping[str, Iterable[str]]) -> None:
        self.objects, self.touch_links, places = objects, touch_links, self._moving.places
        for body in objects:
            if (body.frame or self.chain.base_link) not in places:
                raise ParameterError(f'the object {quote(body.name)} is in the frame '
                                     f'{quote(body.frame)}, which is not a link of the robot')
            if places[body.frame or self.chain.base_link][0] > 0 and any(
                    part.kind == 'plane' for part in body.parts):
                raise ParameterError(f'the plane of {quote(body.name)} is in the frame '
                                     f'{quote(body.frame)}, which moves; use a box there')
        every = self.bodies + objects
        placed = [places[body.frame or self.chain.base_link] for body in every]
        shapes, owners = shapes_of(every, [frame for frame, _ in placed], [T for _, T in placed])
        self._names = [every[owner].name for owner in owners]
        parts: dict[int, list[int]] = {}
        for part, owner in enumerate(owners):
            parts.setdefault(owner, []).append(part)
        count = len(self.bodies)
        # By frame, those in other frames: of a thousand objects all are in one.
        apart = {frame: [i for i, (other, _) in enumerate(placed) if other != frame]
                 for frame in {frame for frame, _ in placed[count:]}}
        pairs = [*self._link_pairs, *(
            (i, j) for j in range(count, len(every))
            for i in takewhile(j.__gt__, apart[placed[j][0]])
            if every[i].name not in touch_links.get(every[j].name, ())
            and every[j].name not in touch_links.get(every[i].name, ()))]
        if self._is_checked is not None:
            base = self.chain.base_link
            pairs = [(i, j) for i, j in pairs
                     if self._is_checked(every[i].frame or base, every[j].frame or base)]
        table = [(a, b) for i, j in pairs for a in parts.get(i, ()) for b in parts.get(j, ())]
        # The links on one moving frame are rigid; an object may be large, and stays apart.
        keys = [('frame', placed[owner][0]) if owner < count and placed[owner][0] > 0 else owner
                for owner in owners]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        self._owners, self._groups = owners, [numbers[key] for key in keys]
        self.pairs = paired(self._moving, shapes, self._groups, table)
        ends = self.pairs.pairs[self.pairs.blocks[:, 2]].max(axis=1, initial=-1)
        self._link_parts = sum(owner < count for owner in owners)
        self._link_blocks = int(np.count_nonzero(ends < self._link_parts))
        usual = np.full(len(self.pairs.pairs), np.inf)
        both = np.sort(np.array(owners, dtype=np.int64)[self.pairs.pairs], axis=1)
        for k in np.flatnonzero(both[:, 1] < count):
            usual[k] = self._usual.get(tuple(both[k].tolist()), np.inf)
        self._without_rooms = np.minimum(self.margin, USED_DISTANCE_SHARE * usual)
        self._kept_beside: list[Beside] = []
        self.margins = self._without_rooms.copy()
        self.swept = np.zeros(len(self.margins), dtype=bool)
        rooms = {name: other.room for name, other in self.others.items() if other.room}
        if rooms:
            frames = [every[owner].frame for owner in owners]
            carried = {frame for frame in {*frames} if frame and carriers_of(
                self._tree, self.chain, frame)}

            def moved(rooms: Mapping[str, float]) -> np.ndarray:
                return np.array([
                    displacement(self._tree, self.chain, places, frame, shapes.balls[part],
                                 round_axis(shapes, part), rooms)
                    if frame in carried else 0.0 for part, frame in enumerate(frames)])

            self.margins += moved(rooms)[self.pairs.pairs].sum(axis=1)
            moving = {name: room for name, room in rooms.items() if room > REST_ROOM}
            self.swept = (moved(moving) > 0.0)[self.pairs.pairs].any(axis=1)
        self._forget_postures()

    def _disable(self, disabled_pairs: Iterable[tuple[str, str]]) -> None:
        """Leave out pairs of links, among those that were found worth a check."""
        disabled = {frozenset(pair) for pair in disabled_pairs}
        self.report = tuple(
            PairReport(pair.links, DISABLED_REASON)
            if pair.reason != ADJACENT_REASON and frozenset(pair.links) in disabled else pair
            for pair in self._found_report)
        self._link_pairs = [(i, j) for i, j in self._found_pairs if frozenset(
            (self.bodies[i].name, self.bodies[j].name)) not in disabled]

    def _pairs_of_links(self) -> tuple[tuple[PairReport, ...], list[tuple[int, int]]]:
        """Return the report without disabled pairs, and the pairs of bodies worth a check."""
        report, kept = [], []
        for i, j in combinations(range(len(self.bodies)), 2):
            links = self.bodies[i].name, self.bodies[j].name
            (one, _), (other, _) = (self._moving.places[self.bodies[k].frame] for k in (i, j))
            if one == other:
                continue  # rigid
            beside = any(carriers_of(self._tree, self.chain, self.bodies[k].frame)
                         for k in (i, j))
            if not beside and (one == self._carrier(other) or other == self._carrier(one)):
                report.append(PairReport(links, ADJACENT_REASON))
            else:
                kept.append((i, j))
        contacts = self._sample(kept)
        often = {pair: count for pair, count in contacts.items()
                 if count >= CONTACT_SHARE * SAMPLED_POSTURES}
        often = self._wherever_others_are(often)
        report += [PairReport((self.bodies[i].name, self.bodies[j].name),
                              f'in contact in {often[i, j]} of {SAMPLED_POSTURES} postures'
                              if (i, j) in often else '') for i, j in kept]
        return tuple(report), [pair for pair in kept if pair not in often]

    def _wherever_others_are(self, often: dict[tuple[int, int], int]) \
            -> dict[tuple[int, int], int]:
        """Return the pairs that are in contact as often with joints beside the chain elsewhere."""
        beside = [pair for pair in often if any(carriers_of(
            self._tree, self.chain, self.bodies[k].frame) for k in pair)]
        kept = often.keys() - {*beside}
        others, random = self.others, np.random.default_rng(SAMPLE_SEED)
        joints = {joint.name: joint for joint in self._tree.joints}
        usual = self._usual
        for _ in range(OTHER_SAMPLES):
            if not beside:
                break
            self._place_links({name: OtherJoint(float(random.uniform(*(
                limit if np.isfinite(limit) else free for limit, free in (
                    (joints[name].lower, -np.pi), (joints[name].upper, np.pi))))))
                for name in self.other_joints})
            contacts = self._sample(beside)
            beside = [pair for pair in beside
                      if contacts.get(pair, 0) >= CONTACT_SHARE * SAMPLED_POSTURES]
            usual |= {pair: value for pair, value in self._usual.items() if pair not in beside}
        self._place_links(others)
        self._usual = usual
        return {pair: count for pair, count in often.items() if pair in kept or pair in beside}

    def _carrier(self, frame: int) -> int:
        """Return the moving frame that carries another, 0 = base; -1 of the base."""
        return int(self._moving.parents[frame - 1]) + 1 if frame > 0 else -1

    def _sample(self, kept: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """
        Return in how many postures each pair of bodies is in contact.

        Notes the usual distance (m) of each pair, the median of those that are not in contact.
        """
        self._link_pairs, self._usual = kept, {}
        self._set_objects((), {})
        lower = np.where(np.isfinite(self.chain.lower), self.chain.lower, -np.pi)
        upper = np.where(np.isfinite(self.chain.upper), self.chain.upper, np.pi)
        Q = np.random.default_rng(SAMPLE_SEED).uniform(
            lower, upper, (SAMPLED_POSTURES, self.chain.n))
        D = self._distances(Q, FAR_ENOUGH_M)
        by_name = {body.name: i for i, body in enumerate(self.bodies)}
        columns: dict[tuple[int, int], list[int]] = {pair: [] for pair in kept}
        for k in range(len(self.pairs.pairs)):
            i, j = sorted(by_name[name] for name in self.names_of(k))
            columns[i, j].append(k)
        contacts = {}
        for pair, those in columns.items():
            if those:
                nearest = D[:, those].min(axis=1)
                contacts[pair] = int(np.count_nonzero(nearest <= 0.0))
                if (nearest > 0.0).any():
                    self._usual[pair] = float(np.median(nearest[nearest > 0.0]))
        return contacts


def _checked_margin(margin: float) -> float:
    if not 0.0 <= margin < np.inf:
        raise ParameterError(f'the margin is {margin} m; it must be 0 or more')
    return margin
