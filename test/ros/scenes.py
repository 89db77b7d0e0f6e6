# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a viewer gets of a node: previews, markers, the ghost."""

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PointStamped, PoseStamped
from harness import ARM, LATCHED, MODEL, pose, READY, se3, stamped, tip
import numpy as np
import pinocchio as pin
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

ALWAYS = {('goal', 0), ('goal', 1), ('goal', 2), ('goal', 3), ('reason', 0), ('path', 0),
          ('limiting_joint', 0), ('limiting_joint', 1)}
HERE = tip(READY)
FAR_AWAY = pose((2.0, 0.0, 0.5))


def at(**joints):
    """Return the pose of the tip at READY but for some joints."""
    q = list(READY)
    for name, value in joints.items():
        q[int(name[-1]) - 1] = value
    T = tip(q)
    return pose(T.translation, T.rotation)


class Eyes:
    """Looks at a node through its topics, from now on or, without `look`, later."""

    def __init__(self, probe, target: str = '/ik_node', frame: str = 'base_link',
                 look: bool = True) -> None:
        self.probe = probe
        self.scenes: list[dict[tuple[str, int], Marker]] = []
        self.previews: list[DiagnosticStatus] = []
        self.ghosts: list[JointState] = []
        self._frame = frame
        self._target = target
        self._subscriptions = [probe.create_subscription(
            DiagnosticStatus, f'{target}/preview', self.previews.append, 100)]
        if look:
            self.look()
        self._publishers = {}
        self._plan = probe.create_client(Trigger, f'{target}/plan')

    def look(self) -> None:
        """See markers and ghost from now on."""
        self._subscriptions += [
            self.probe.create_subscription(MarkerArray, f'{self._target}/markers',
                                           self._on_markers, LATCHED),
            self.probe.create_subscription(JointState, f'{self._target}/ghost',
                                           self.ghosts.append, LATCHED)]

    def close(self) -> None:
        """Look away."""
        for subscription in self._subscriptions:
            self.probe.destroy_subscription(subscription)

    def _on_markers(self, message: MarkerArray) -> None:
        """Take a scene, which says of everything that it is there, or that it is not."""
        if not message.markers:
            return  # nobody looked before; the scene follows
        scene = {(each.ns, each.id): each for each in message.markers}
        assert len(scene) == len(message.markers) and ALWAYS <= scene.keys()
        assert {ns for ns, _ in scene.keys() - ALWAYS} <= {'ghost', 'path_constraint'}
        for each in message.markers:
            assert each.action in (Marker.ADD, Marker.DELETE)
            assert each.header.frame_id == self._frame
            assert (each.header.stamp.sec, each.header.stamp.nanosec) == (0, 0)
            if each.action == Marker.ADD:
                o = each.pose.orientation
                assert abs(np.linalg.norm([o.x, o.y, o.z, o.w]) - 1.0) < 1e-9
                assert each.color.a > 0.0 and each.scale.x + each.scale.z > 0.0
        self.scenes.append(scene)

    def there(self, ns: str, scene: int = -1) -> dict[int, Marker]:
        """Return what is there of a namespace, by id."""
        return {number: each for (name, number), each in self.scenes[scene].items()
                if name == ns and each.action == Marker.ADD}

    def preview(self, kind: str, goal, frame: str = 'base_link') -> DiagnosticStatus:
        """Preview a Pose or Point; return the answer."""
        if kind not in self._publishers:
            self._publishers[kind] = self.probe.publisher(
                PointStamped if kind == 'position' else PoseStamped, f'preview_{kind}')
            self.probe.wait(lambda: self.probe.count_publishers(f'{self._target}/preview'))
        message = PointStamped(point=goal) if kind == 'position' else PoseStamped(pose=goal)
        stamp = stamped(self.probe, message, frame)
        self._publishers[kind].publish(message)
        self.probe.wait(lambda: any(values(each)['stamp'] == stamp for each in self.previews),
                        what='the answer to a preview')
        return next(each for each in self.previews if values(each)['stamp'] == stamp)

    def see(self, condition, what: str = 'a scene') -> None:
        """Wait until what was shown last is as it should be."""
        self.probe.wait(lambda: self.scenes and condition(), what=what)

    def plan(self) -> Trigger.Response:
        """Ask for a plan."""
        return self.probe.call(self._plan)


def values(status: DiagnosticStatus) -> dict[str, str]:
    """Return the values of an answer."""
    return {pair.key: pair.value for pair in status.values}


def numbers(answer: DiagnosticStatus) -> np.ndarray:
    """Return the posture (n,) of an answer."""
    return np.array([float(word) for word in values(answer)['q'].split()])


def colour(marker: Marker) -> str:
    """Return the colour of a marker in words."""
    c = marker.color
    return 'green' if c.g > c.r else 'amber' if c.g > 0.5 else 'red'


def text(marker: Marker) -> str:
    """Return the text of a marker in one line."""
    return ' '.join(marker.text.split())


def place(marker: Marker) -> pin.SE3:
    """Return the pose of a marker."""
    return se3(marker.pose)


def line(marker: Marker) -> np.ndarray:
    """Return the points (N, 3) of a line."""
    return np.array([[p.x, p.y, p.z] for p in marker.points])


def shapes_at(q) -> list[tuple[pin.SE3, np.ndarray]]:
    """Return poses and boxes of all visuals of ARM's moving links, in its order, by Pinocchio."""
    data = MODEL.createData()
    geometry = pin.buildGeomFromUrdf(MODEL, str(ARM), pin.GeometryType.VISUAL)
    placed = pin.GeometryData(geometry)
    pin.updateGeometryPlacements(MODEL, data, geometry, placed, np.array(q))
    shapes = []
    for each, T in zip(geometry.geometryObjects, placed.oMg):
        if each.parentJoint:
            each.geometry.computeLocalAABB()
            box = each.geometry.aabb_local
            shapes.append((each.name, T.copy(), box.max_ - box.min_))
    # Pinocchio names them link_number.
    shapes.sort(key=lambda shape: [int(part) for part in shape[0].split('_')[1:]])
    return [shape[1:] for shape in shapes]
