# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Kinematics of an arm, for Python callers: poses, Jacobians, singularities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_node.base.checks import numbers
from ik_node.base.errors import ParameterError, Reason, StateError
from ik_node.base.text import quote
from ik_node.kinematics import kernels
from ik_node.kinematics.arguments import (
    COMPILED_FORM,
    did_you_mean,
    FRAME_NAMES,
    indices,
    JACOBIAN_FORMS,
    joint_vector,
    one_of,
    TASK_ROWS,
    tip_jacobian,
    View,
    ViewOptions,
)
from ik_node.kinematics.jacobians import analyse, Singularity
from ik_node.kinematics.links import link_path, link_pose, link_poses, LinkPath
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import MULTI_DOF_TYPES, parse_urdf, read_urdf, Tree
from ik_node.model.user_files.presets import description_file, description_text, read_preset

if TYPE_CHECKING:
    from typing import Unpack


def forward_kinematics(chain: Chain, q: np.ndarray) -> np.ndarray:
    """
    Return ``T_base_tip`` (4, 4) at joint positions `q` (n,), rad or m.

    Raises
    ------
    ParameterError
        If `q` has not n finite numbers.

    """
    return kernels.pose_matrix(_frames(chain.table, joint_vector(chain, q))[-1])


def jacobian(chain: Chain, q: np.ndarray) -> np.ndarray:
    """
    Return the geometric Jacobian (6, n) of the tip in the base frame.

    Rows: linear (m), angular (rad) velocity of the tip per unit of joint velocity.

    Raises
    ------
    ParameterError
        If `q` has not n finite numbers.

    """
    return tip_jacobian(chain.table, _frames(chain.table, joint_vector(chain, q)), chain.n)


def singular_values(chain: Chain, q: np.ndarray) -> np.ndarray:
    """
    Return the singular values of the Jacobian at `q`, largest first, (min(6, n),).

    Linear rows in m, angular rows in rad.  Their product is the manipulability (Yoshikawa 1985).
    """
    return np.linalg.svd(jacobian(chain, q), compute_uv=False)


def load_urdf(path_or_text: str | bytes | PathLike, base_link: str | None = None,
              tip_link: str | None = None) -> Arm:
    """
    Load an arm from a URDF file or from URDF text.

    Parameters
    ----------
    path_or_text : path, str or bytes
        Bytes are URDF text; so is a string that begins with ``<`` after blanks or has
        more than one line.  Any other string is a path, or a ``package://`` or
        ``file://`` URI.
    base_link, tip_link : str, optional
        First and last link of the arm; found by
        :func:`ik_node.model.arm_search.find_arm` if not given.

    Raises
    ------
    UrdfError
        If the file cannot be read or is not a usable URDF.
    ChainError
        If there is no usable chain between the links, or if no link is given and the
        URDF has no arm or several.  The sentence lists the candidates.
    ParameterError
        If it is neither a path nor text.

    """
    return Arm.from_tree(given_tree(path_or_text), base_link or '', tip_link or '')


def given_tree(path_or_text: str | bytes | PathLike, caller: str = 'load_urdf') -> Tree:
    """Return the tree of a URDF file or text; errors as :func:`load_urdf`, or its `caller`."""
    if isinstance(path_or_text, PathLike):
        return read_urdf(Path(path_or_text))
    if isinstance(path_or_text, str) and not _is_text(path_or_text):
        return read_urdf(path_or_text)
    if isinstance(path_or_text, (str, bytes)):
        return parse_urdf(path_or_text)
    raise ParameterError(f'{caller} got {quote(type(path_or_text).__name__)}; give the path '
                         'of a URDF file, or the text of a URDF')


def load_robot(name: str | PathLike, folders: Sequence[str | PathLike] = ()) -> Arm:
    """
    Load an arm by the name of a preset, between the links that this names.

    Parameters
    ----------
    name : str or path
        A preset of this package, e.g. ``'ur5e'``, or the path of a YAML file of the same form.
        A .xacro file that it names is run as a program.
    folders : sequence of paths
        Folders that have the package of the description, searched before the folders of the
        variable IK_NODE_DESCRIPTIONS and the ament index.

    Raises
    ------
    ParameterError
        If there is no such preset, or its file cannot be used; the sentence lists those
        there are.
    UrdfError
        If its description is not installed, or cannot be used.
    ChainError
        If the description has no usable chain between the links.

    """
    preset = read_preset(Path(name) if isinstance(name, PathLike) else name)
    searched = [Path(folder) for folder in folders]
    tree = parse_urdf(description_text(preset, searched),
                      description_file(preset, searched).parent)
    return Arm.from_tree(tree, preset.base_link, preset.tip_link)


@dataclass(frozen=True, eq=False)
class Arm(Chain):
    """
    A chain and the tree of links that contains it, from :func:`load_urdf`.

    Notes
    -----
    The methods share these parameters; `rows`, `locked` and `others` are given by keyword.

    * `q`, (n,) array: positions of `joint_names`, rad or m.
    * `link`, str: any link of the tree; by default the tip, which is the tool centre point if
      the arm has a tool (:meth:`Chain.with_tool`).
    * `point`, (3,) array: a point fixed to the link, in the link's frame (m); by default its
      origin.
    * `frame`, str: axes of the rows: 'base' (default), 'tool' (the axes of the tip) or
      'link'.
    * `rows`, sequence of str: rows to return, in this order, of 'x', 'y', 'z', 'rx', 'ry',
      'rz'; by default all.
    * `locked`, sequence of str: joints that do not move: their columns are zero.
    * `others`, mapping of joint name to position: positions of joints between the base and
      the link that are not in the chain.

    A joint that does not move the link relative to the base has a zero column.  All
    methods raise ParameterError if an argument does not match this description, and
    StateError if the position of a joint outside the chain is needed and missing.

    """

    tree: Tree

    @classmethod
    def from_tree(cls, tree: Tree, base_link: str = '', tip_link: str = '') -> Arm:
        """Return the arm between two links; links that are not given are found."""
        chain = make_chain(tree, base_link, tip_link)
        return cls(*(getattr(chain, name) for name in Chain.__dataclass_fields__), tree=tree)

    def __repr__(self) -> str:
        """Return robot name, base, tip and number of joints in one line."""
        return super().__repr__().replace('(', f'({quote(self.tree.name)}: ', 1)

    def fk(self, q: np.ndarray) -> np.ndarray:
        """Return ``T_base_tip`` (4, 4), or (N, 4, 4) for the rows of `q` (N, n)."""
        if np.ndim(q) != 2:
            return forward_kinematics(self, q)
        q = joint_vector(self, q, many=True)
        poses = np.empty((len(q), 12))
        kernels.tip_poses(self.table, q, poses)
        T = np.zeros((len(q), 4, 4))
        T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = poses[:, :9].reshape(-1, 3, 3), poses[:, 9:], 1.0
        return T

    def link_pose(self, q: np.ndarray, link: str,
                  others: Mapping[str, float] | None = None) -> np.ndarray:
        """Return ``T_base_link`` (4, 4) of any link."""
        return link_pose(self.tree, link, self.base_link, self._positions(q, others))

    def link_poses(self, q: np.ndarray,
                   others: Mapping[str, float] | None = None) -> dict[str, np.ndarray]:
        """Return ``T_base_link`` (4, 4) of each link whose pose is known."""
        return link_poses(self.tree, self.base_link, self._positions(q, others))

    def jacobian(self, q: np.ndarray, link: str | None = None, point: np.ndarray | None = None,
                 frame: str = 'base', *, form: str = COMPILED_FORM,
                 **options: Unpack[ViewOptions]) -> np.ndarray:
        """
        Return the geometric Jacobian (r, n) of a point of a link: ``[v; w] = J qd``, m and rad.

        Parameters
        ----------
        form : str
            How it is computed: 'cross_products' (compiled), or 'product_derivative',
            'exponentials' or 'adjusted_adjoint', the readable references in
            :mod:`ik_node.kinematics.jacobians`.

        """
        one_of(form, (COMPILED_FORM, *JACOBIAN_FORMS), 'the form of the Jacobian')
        return self.view(q, link, point, frame, **options).jacobian(form)

    def jacobian_derivative(
            self, q: np.ndarray, qd: np.ndarray, link: str | None = None,
            point: np.ndarray | None = None, frame: str = 'base',
            **options: Unpack[ViewOptions]) -> np.ndarray:
        """
        Return the time derivative (r, n) of the Jacobian at joint rates `qd` (n,), rad/s or m/s.

        It is the derivative of the matrix that :meth:`jacobian` returns, so the
        acceleration of the point is ``J qdd + Jd qd``; in moving axes this is the rate
        of the coordinates of its twist.  Locked joints must have the rate 0; joints in
        `others` are at rest.
        """
        qd = joint_vector(self, qd, 'qd')
        view = self.view(q, link, point, frame, **options)
        if qd[view.locked].any():
            raise ParameterError(f'the locked joints {", ".join(map(quote, options["locked"]))} '
                                 f'have the rates {qd[view.locked].tolist()}; give 0 or unlock '
                                 'them')
        return view.derivative(qd)

    def hessian(self, q: np.ndarray, link: str | None = None, point: np.ndarray | None = None,
                frame: str = 'base', **options: Unpack[ViewOptions]) -> np.ndarray:
        """Return ``H[:, i, j]``, the derivative by q_j of column i of :meth:`jacobian`."""
        return self.view(q, link, point, frame, **options).hessian()

    def singularity(self, q: np.ndarray, link: str | None = None,
                    point: np.ndarray | None = None, frame: str = 'base', *,
                    metres_per_radian: float = 1.0,
                    **options: Unpack[ViewOptions]) -> Singularity:
        """
        Return singular values, manipulability with its gradient, and the weakest motion.

        Parameters
        ----------
        metres_per_radian : float
            Weight of the angular rows; with 1, one rad counts as one m.

        """
        if not numbers(metres_per_radian, (), 'metres_per_radian') > 0.0:
            raise ParameterError(f'metres_per_radian is {metres_per_radian}; it must be positive')
        view = self.view(q, link, point, frame, **options)
        free = np.ones(self.n, dtype=bool)
        free[view.locked] = False
        if not free.any():
            raise ParameterError('every joint is locked; leave one free')
        return analyse(view.jacobian(), view.hessian(), view.rows, free, frame, metres_per_radian)

    def view(self, q: np.ndarray, link: str | None = None, point: np.ndarray | None = None,
             frame: str = 'base', rows: Sequence[str] | None = None,
             locked: Sequence[str] = (), others: Mapping[str, float] | None = None) -> View:
        """Return the view of a point, from which Jacobian and derivatives are computed."""
        path = self._tip_path if link is None else self.path_to(link)
        q = joint_vector(self, q)
        others = self._checked(others)
        missing = [name for name in path.others if name not in others]
        if missing:
            raise StateError(f'the pose of the link {quote(path.link)} depends on the joint '
                             f'{quote(missing[0])}, which is not in the chain and has no known '
                             f'position; give others={{{quote(missing[0])}: position}}',
                             Reason.STATE_INCOMPLETE)
        coordinates = np.concatenate([q, [others[name] for name in path.others]]) \
            if path.others else q
        frames = _frames(path.table, coordinates)
        axes = angular = None
        if one_of(frame, FRAME_NAMES, 'the frame') != 'base':
            table, seen, count = path.table, frames, len(coordinates)
            if frame == 'tool' and path is not self._tip_path:
                table, seen, count = self.table, _frames(self.table, q), self.n
            axes = seen[-1, :9].reshape(3, 3)
            angular = tip_jacobian(table, seen, count)[3:, :self.n]
        position = frames[-1, 9:].copy()
        if point is not None:
            position += frames[-1, :9].reshape(3, 3) @ numbers(point, (3,), 'the point')
        if rows is not None and not len(rows):
            raise ParameterError('rows is empty; name at least one of ' + ', '.join(TASK_ROWS))
        return View(path.table, coordinates, frames, self.n, position, axes, angular,
                    list(range(6)) if rows is None else indices(rows, TASK_ROWS, 'row'),
                    indices(locked, self.joint_names, 'locked joint'))

    def path_to(self, link: str) -> LinkPath:
        """Return the path from the base to a link, as a table for the kernels."""
        if link not in self._paths:
            self._paths[link] = link_path(self.tree, self.base_link, link, self.joint_names)
        return self._paths[link]

    @cached_property
    def _tip_path(self) -> LinkPath:
        return LinkPath(self.tip_link, self.table, ())

    @cached_property
    def _paths(self) -> dict[str, LinkPath]:
        return {} if self.has_tool else {self.tip_link: self._tip_path}

    def _positions(self, q: np.ndarray, others: Mapping[str, float] | None) -> dict[str, float]:
        """Return all given joint positions by name."""
        return {**dict(zip(self.joint_names, joint_vector(self, q).tolist())),
                **self._checked(others)}

    def _checked(self, others: Mapping[str, float] | None) -> Mapping[str, float]:
        """Return `others`; refuse unknown joints and joints whose position is known already."""
        joints = {joint.name: joint for joint in self.tree.joints} if others else {}
        for name, value in (others or {}).items():
            if name not in joints:
                raise ParameterError(f'others has the joint {quote(name)}, which is not in the '
                                     f'URDF{did_you_mean(name, tuple(joints))}')
            if name in self.joint_names:
                raise ParameterError(f'others has the joint {quote(name)}, whose position is in '
                                     'q; leave it out')
            if joints[name].mimic is not None:
                raise ParameterError(f'others has the joint {quote(name)}, which mimics '
                                     f'{quote(joints[name].mimic.joint)}; leave it out')
            if not joints[name].moves or joints[name].type in MULTI_DOF_TYPES:
                raise ParameterError(f'others has the joint {quote(name)}, which is '
                                     f'{joints[name].type.value} and has no position; '
                                     'leave it out')
            numbers(value, (), f'the position of {quote(name)} in others')
        return others or {}


def _frames(table: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the joint frames and the tip frame, (m + 1, 12), at checked coordinates."""
    frames = np.empty((len(table), 12))
    kernels.joint_frames(table, q, frames)
    return frames


def _is_text(text: str) -> bool:
    """Return whether a string is URDF text rather than a path."""
    text = text.strip().lstrip('\ufeff').lstrip()
    return not text or text.startswith('<') or '\n' in text
