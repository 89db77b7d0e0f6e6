# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""MoveIt's messages and services, as tests of them send and see them."""

from geometry_msgs.msg import Point
from harness import NOT_BUILT, pose
import numpy as np
import pytest
from shape_msgs.msg import Mesh, MeshTriangle, SolidPrimitive

msg = pytest.importorskip('moveit_msgs.msg', reason=NOT_BUILT)
srv = pytest.importorskip('moveit_msgs.srv', reason=NOT_BUILT)

ADD, REMOVE, APPEND, MOVE = (getattr(msg.CollisionObject, name)
                             for name in ('ADD', 'REMOVE', 'APPEND', 'MOVE'))
CODES = {value: name for name, value in vars(msg.MoveItErrorCodes).items()
         if isinstance(value, int)}
ELSEWHERE = [0.5, -0.2, 0.3, 0.4, 0.7, -0.6]
TETRAHEDRON = np.array([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1)])


def at(x, y, z, R=None):
    """Return a pose in m, by default not turned."""
    return pose((x, y, z), np.eye(3) if R is None else R)


def primitive(kind, *dimensions):
    """Return a solid primitive."""
    return SolidPrimitive(type=kind, dimensions=[*map(float, dimensions)])


def box(*size):
    """Return a box."""
    return primitive(SolidPrimitive.BOX, *size)


def mesh(vertices=TETRAHEDRON, faces=((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))):
    """Return a mesh."""
    return Mesh(vertices=[Point(x=x, y=y, z=z) for x, y, z in np.array(vertices).tolist()],
                triangles=[MeshTriangle(vertex_indices=face) for face in faces])


def collision_object(id, *primitives, place=(0.0, 0.0, 0.0), frame='base_link', **fields):
    """Return an object that is to be added."""
    made = msg.CollisionObject(id=id, primitives=[*primitives], pose=at(*place), operation=ADD)
    made.header.frame_id = frame
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def attached_object(link, thing, *touch_links):
    """Return an object that is to be attached, or by REMOVE to be detached."""
    return msg.AttachedCollisionObject(link_name=link, object=thing, touch_links=[*touch_links])


def scene_of(*objects, attached=(), diff=True, **fields):
    """Return a planning scene."""
    made = msg.PlanningScene(is_diff=diff, **fields)
    made.robot_state.is_diff = diff
    made.world.collision_objects = [*objects]
    made.robot_state.attached_collision_objects = [*attached]
    return made


class MoveIt:
    """Talks to the node as a client of MoveIt does."""

    def __init__(self, probe) -> None:
        self.probe = probe
        self._publishers = {kind: probe.create_publisher(kind, topic, 1000) for kind, topic in (
            (msg.CollisionObject, 'collision_object'),
            (msg.AttachedCollisionObject, 'attached_collision_object'),
            (msg.PlanningScene, 'planning_scene'))}
        self._get = probe.create_client(srv.GetPlanningScene, 'get_planning_scene')
        self._apply = probe.create_client(srv.ApplyPlanningScene, 'apply_planning_scene')
        for publisher in self._publishers.values():
            probe.wait(publisher.get_subscription_count, what=publisher.topic_name)

    def send(self, message) -> None:
        """Publish a message on the topic of its type."""
        self._publishers[type(message)].publish(message)

    def tell(self, message, condition, what='a change of the scene') -> None:
        """Publish a message, and wait until the scene is as it should be."""
        self.send(message)
        self.probe.wait(lambda: condition(self.scene()), what=what)

    def refused(self, message, *words) -> None:
        """Publish a message; it changes nothing, and one sentence says why."""
        output = self.probe.node.output
        before, lines = self.objects(), output.count('\n')

        def news():
            *whole, _ = self.probe.node.output.split('\n')[lines:]  # the last is being written
            return [line for line in whole if 'changed nothing' in line]

        self.send(message)
        self.probe.wait(news, what=f'a sentence with {words}')
        line, = news()
        assert all(word in line for word in words), line
        assert len(line) < 700
        assert self.objects() == before

    def scene(self, components=0):
        """Return the scene of the node."""
        request = srv.GetPlanningScene.Request()
        request.components.components = components
        return self.probe.call(self._get, request).scene

    def apply(self, scene) -> bool:
        """Apply a scene by the service."""
        return self.probe.call(self._apply, srv.ApplyPlanningScene.Request(scene=scene)).success

    def objects(self):
        """Return the objects of the world, and those attached, without what changes by itself."""
        scene = self.scene()
        return scene.world.collision_objects, scene.robot_state.attached_collision_objects

    def clear(self) -> None:
        """Remove all that came by messages."""
        assert self.apply(scene_of(diff=False))


def ids(scene):
    """Return the ids of the objects of the world."""
    return {each.id for each in scene.world.collision_objects}


def held(scene):
    """Return the link that holds each attached object, by id."""
    return {each.object.id: each.link_name
            for each in scene.robot_state.attached_collision_objects}
