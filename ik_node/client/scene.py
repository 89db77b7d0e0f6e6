# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Objects around the arm, as the node checks them for collisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import fspath, PathLike
from typing import Any, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, Vector3
import numpy as np
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.base.text import printable, shown
from ik_node.client.answers import ClientError
from ik_node.client.handles import Handle
from ik_node.client.poses import PoseLike, stamped_pose
from ik_node.ros.messages.status_messages import stamp_text, values_of
from ik_node.ros.middleware.qos import KEEP_ALL_QOS

if TYPE_CHECKING:
    from builtin_interfaces.msg import Time
    from numpy.typing import ArrayLike

    from ik_node.client.transport.connection import Connection

IDENTITY_QUATERNION = (0.0, 0.0, 0.0, 1.0)


class SceneClient:
    """
    Adds objects to the scene of the node, and removes them.

    Each method returns a handle at once.  Its ``wait()`` returns when the object counts for the
    goals that follow, and raises a ClientError if the node did not take it, with its sentence.

    Notes
    -----
    The methods share these parameters:

    * `name`, str: of the object; one of the same name is replaced.
    * `pose`: of the centre of the object, as in :meth:`ik_node.client.Arm.move`; three numbers
      alone are its position, m, not turned.
    * `frame`, str, optional: frame of the pose.  An object in the frame of a link moves with
      it.  By default the base link.
    """

    def __init__(self, connection: Connection, frame: Callable[[], str],
                 stamp: Callable[[Any], Time]) -> None:
        self._connection = connection
        self._frame = frame
        self._stamp = stamp
        self._expected: dict[str, Handle[str]] = {}
        self.publisher = connection.node.create_publisher(
            MarkerArray, f'{connection.target}/scene', KEEP_ALL_QOS)
        connection.node.create_subscription(
            DiagnosticStatus, f'{connection.target}/scene_answers', self._on_status, KEEP_ALL_QOS)

    def add_box(self, name: str, size: Sequence[float], pose: PoseLike, *,
                frame: str | None = None) -> Handle[str]:
        """Add a box; `size` are its lengths along x, y, z, m."""
        return self._add(name, Marker.CUBE, size, pose, frame)

    def add_sphere(self, name: str, radius: float, position: ArrayLike, *,
                   frame: str | None = None) -> Handle[str]:
        """Add a sphere; `radius` in m."""
        return self._add(name, Marker.SPHERE, [2.0 * radius] * 3, position, frame)

    def add_cylinder(self, name: str, radius: float, length: float, pose: PoseLike, *,
                     frame: str | None = None) -> Handle[str]:
        """Add a cylinder about the z axis of its pose; `radius` and `length` in m."""
        return self._add(name, Marker.CYLINDER, [2.0 * radius, 2.0 * radius, length], pose, frame)

    def add_mesh(self, name: str, mesh: str | PathLike[str] | ArrayLike, pose: PoseLike, *,
                 scale: Sequence[float] = (1.0, 1.0, 1.0),
                 frame: str | None = None) -> Handle[str]:
        """
        Add a mesh.

        Parameters
        ----------
        mesh : path, str or (N, 3, 3) array
            A file that the node can read, as ``package://NAME/PATH``, ``file:///PATH`` or an
            absolute path on its machine; or the corners of triangles, m.
        scale : 3 floats
            By which its numbers are multiplied.

        """
        if isinstance(mesh, (str, PathLike)):
            path = fspath(mesh)
            resource = path if '://' in path else f'file://{path}'
            return self._add(name, Marker.MESH_RESOURCE, scale, pose, frame,
                             mesh_resource=resource)
        corners = np.asarray(mesh, dtype=float)
        if corners.ndim != 3 or corners.shape[1:] != (3, 3):
            raise ClientError(f'the triangles have the shape {corners.shape}; give an array '
                              '(N, 3, 3): N triangles of three corners x, y, z, m')
        points = [Point(x=x, y=y, z=z) for x, y, z in corners.reshape(-1, 3).tolist()]
        return self._add(name, Marker.TRIANGLE_LIST, scale, pose, frame, points=points)

    def remove(self, name: str) -> Handle[str]:
        """Remove an object; it is no error if it is not there, but the result says so."""
        return self._send(Marker(ns=name, action=Marker.DELETE))

    def clear(self) -> Handle[str]:
        """Remove all objects that came by markers, also of other programs."""
        return self._send(Marker(action=Marker.DELETEALL))

    def _add(self, name: str, kind: int, size: Sequence[float], pose: Any, frame: str | None,
             **fields: Any) -> Handle[str]:
        if not name:
            raise ClientError('the object has no name; give it one')
        if np.shape(size) != (3,):
            raise ClientError(f'the size {shown(size)} is not three numbers x, y, z')
        turned = IDENTITY_QUATERNION if np.shape(pose) == (3,) else None
        placed = stamped_pose(pose, frame, self._frame, turned)
        x, y, z = map(float, size)
        marker = Marker(ns=name, type=kind, pose=placed.pose, scale=Vector3(x=x, y=y, z=z),
                        **fields)
        marker.header.frame_id = placed.header.frame_id
        return self._send(marker)

    def _send(self, marker: Marker) -> Handle[str]:
        self._connection.greet_again()
        handle: Handle[str] = Handle(self._connection, 'the change of the scene')
        marker.header.stamp = self._stamp(None)
        stamp = stamp_text(marker.header.stamp)
        self._expected[stamp] = handle
        handle.on_end(lambda: self._expected.pop(stamp, None))
        self.publisher.publish(MarkerArray(markers=[marker]))
        return handle

    def _on_status(self, message: DiagnosticStatus) -> None:
        handle = self._expected.get(values_of(message).get('stamp', ''))
        if handle is not None:
            sentence = printable(message.message)
            if message.level == DiagnosticStatus.OK:
                handle.finish(sentence)
            else:
                handle.finish(error=ClientError(sentence))
