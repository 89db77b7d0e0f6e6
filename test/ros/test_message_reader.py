# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Messages that are read by Python are those that rclpy reads."""

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point
from hypothesis import given, strategies as st
import moveit_kit
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState, PointCloud2
from shape_msgs.msg import Mesh, MeshTriangle, Plane
from std_msgs.msg import ColorRGBA
from test_scene_messages import cloud_of
from visualization_msgs.msg import Marker, MarkerArray, UVCoordinate

from ik_node.node.scene.message_reader import read_message

TEXTS = st.text('abcé漢\n', max_size=6)
NUMBERS = st.floats(allow_nan=False, width=32)


def points(draw):
    """Return up to three points."""
    return [Point(x=x, y=y, z=z) for x, y, z in draw(st.lists(
        st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=3))]


@st.composite
def markers(draw):
    """Return markers whose texts and lists shift what follows them."""
    made = []
    for _ in range(draw(st.integers(0, 3))):
        each = Marker(ns=draw(TEXTS), id=draw(st.integers(-9, 9)), text=draw(TEXTS),
                      mesh_resource=draw(TEXTS), points=points(draw),
                      mesh_use_embedded_materials=draw(st.booleans()))
        each.header.frame_id = draw(TEXTS)
        each.pose.orientation.w = draw(NUMBERS)
        each.colors = [ColorRGBA(a=0.5)] * draw(st.integers(0, 2))
        each.uv_coordinates = [UVCoordinate(u=0.25)] * draw(st.integers(0, 2))
        each.texture.data = bytes(draw(st.binary(max_size=5)))
        made.append(each)
    return MarkerArray(markers=made)


def same(message):
    """Check that a message is read as rclpy reads it."""
    data = serialize_message(message)
    assert read_message(data, type(message)) == deserialize_message(data, type(message))


@given(markers())
def test_markers(message):
    """With texts, lists and bytes of any length."""
    same(message)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=3), st.lists(NUMBERS, max_size=3))
def test_other_types(pairs, values):
    """Bytes as fields, lists of texts, arrays of numbers."""
    same(DiagnosticStatus(level=DiagnosticStatus.WARN,
                          values=[KeyValue(key=key, value=value) for key, value in pairs]))
    same(JointState(name=[key for key, _ in pairs], position=values))
    same(Plane(coef=[1.0, 0.0, -2.0, 0.5]))
    same(Mesh(triangles=[MeshTriangle(vertex_indices=[0, 1, 2])] * len(pairs)))
    same(cloud_of(np.array(values * 3, dtype='f4').reshape(-1, 3)) if values else PointCloud2())


def test_messages_of_moveit():
    """Among them those with a matrix of truth values, and an operation, which is a byte."""
    msg = moveit_kit.msg
    thing = moveit_kit.collision_object('thing', moveit_kit.box(0.1, 0.2, 0.3),
                                        meshes=[moveit_kit.mesh()], operation=moveit_kit.APPEND)
    scene = moveit_kit.scene_of(thing, attached=[msg.AttachedCollisionObject(
        link_name='hand', object=thing, touch_links=['a', 'bcd'])])
    scene.allowed_collision_matrix.entry_names = ['a', 'b']
    scene.allowed_collision_matrix.entry_values = [
        msg.AllowedCollisionEntry(enabled=[True, False]),
        msg.AllowedCollisionEntry(enabled=[False, True])]
    same(thing)
    same(scene)


def test_bytes_of_no_message():
    """They end too early, or are written in an unknown way; rclpy says so."""
    data = serialize_message(MarkerArray(markers=[Marker(ns='cell')]))
    for wrong in (data[:40], b'\x09\x09' + data[2:], b'\x00\x01\x00\x00\xff\xff\xff\xff'):
        with pytest.raises(Exception) as told:
            read_message(wrong, MarkerArray)
        assert 'deserialize' in str(told.value) or isinstance(told.value, MemoryError), told.value
