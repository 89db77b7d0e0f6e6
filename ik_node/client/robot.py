# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A robot with several arms, for programs in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
import os
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple

import rclpy
from rclpy.node import Node

from ik_node.base.text import quote
from ik_node.client.answers import Answer, ClientError
from ik_node.client.arm import Arm
from ik_node.client.handles import GoalHandle, Handle
from ik_node.client.transport.discovery import find_arms, next_number, shared_context


class GoalHandles(NamedTuple):
    """Goals of several arms that were sent together."""

    handles: dict[str, GoalHandle]

    @property
    def done(self) -> bool:
        """Return whether all have ended."""
        return all(handle.done for handle in self.handles.values())

    def wait(self, timeout: float | None = None) -> dict[str, Answer]:
        """
        Wait until all have ended; return the answers by the names of the arms.

        Parameters
        ----------
        timeout : float, optional
            For all of them, s.

        Raises
        ------
        GoalNotReachedError, AnswerTimeoutError
            The first, once the other goals have ended, too.

        """
        answers, errors = {}, []
        end = None if timeout is None else monotonic() + timeout
        for name, handle in self.handles.items():
            try:
                answers[name] = handle.wait(
                    None if end is None else max(0.0, end - monotonic()))
            except ClientError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return answers

    def __await__(self) -> Iterator[Any]:
        """Return the answers in a coroutine, as :meth:`wait`."""
        answers, errors = {}, []
        for name, handle in self.handles.items():
            try:
                answers[name] = yield from handle.__await__()
            except ClientError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return answers

    def cancel(self) -> None:
        """Bring the arms to rest whose goal has no final answer yet."""
        for handle in self.handles.values():
            handle.cancel()


class Robot:
    """
    A robot whose arms a running ik_arms moves; ``robot['left']`` is an :class:`Arm`.

    Each arm has goals, streams, jogs and a scene of its own, all at the same time.  The node keeps
    them apart from each other.

    Parameters
    ----------
    name : str
        Of the ik_arms.
    node : rclpy.node.Node, optional
        As for :class:`Arm`.
    timeout : float
        How long to look for the arms, s.

    Raises
    ------
    NodeUnreachableError
        If there are none in time.

    """

    def __init__(self, name: str = '/ik_arms', *, node: Node | None = None,
                 timeout: float = 10.0) -> None:
        self.name = f'/{name.strip("/")}'
        looks = node or rclpy.create_node(
            f'robot_client_{os.getpid()}_{next_number()}', context=shared_context(),
            enable_rosout=False, start_parameter_services=False)
        try:
            found = find_arms(looks, self.name, timeout)
        finally:
            if node is None:
                looks.destroy_node()
        self.arms: dict[str, Arm] = {}
        with ExitStack() as made:
            for each in found:
                self.arms[each.rpartition('/')[2]] = made.enter_context(
                    Arm(each, node=node, timeout=timeout))
            self._stack = made.pop_all()

    def __repr__(self) -> str:
        return f'Robot({self.name!r}: {", ".join(self.arms)})'

    def __getitem__(self, name: str) -> Arm:
        """Return an arm by its name."""
        if name not in self.arms:
            raise ClientError(f'{self.name} has no arm {quote(name)}; it has '
                              f'{", ".join(map(quote, self.arms))}')
        return self.arms[name]

    def move(self, poses: Mapping[str, Any], **given: Any) -> GoalHandles:
        """
        Move tips to poses, each as :meth:`Arm.move`, with what else is given.

        Parameters
        ----------
        poses : mapping of arm to pose
            Arms that are not named stay.

        """
        return self._sent(poses, lambda arm, pose: arm.move(pose, **given))

    def joints(self, positions: Mapping[str, Any], **given: Any) -> GoalHandles:
        """Move arms to joint positions, each as :meth:`Arm.joints`."""
        return self._sent(positions, lambda arm, q: arm.joints(q, **given))

    def home(self) -> GoalHandles:
        """Move all arms to their preferred joint positions."""
        return GoalHandles({name: arm.home() for name, arm in self.arms.items()})

    def stop(self) -> dict[str, Handle[str]]:
        """Bring all arms to rest; return a handle for each."""
        return {name: arm.stop() for name, arm in self.arms.items()}

    def _sent(self, goals: Mapping[str, Any],
              send: Callable[[Arm, Any], GoalHandle]) -> GoalHandles:
        arms = {name: self[name] for name in goals}
        sent = GoalHandles({})
        try:
            for name, arm in arms.items():
                sent.handles[name] = send(arm, goals[name])
        except BaseException:
            sent.cancel()
            raise
        return sent

    def close(self) -> None:
        """Leave ROS.  Motions go on, but open handles end with an error."""
        self._stack.close()

    def __enter__(self) -> Robot:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, trace)
