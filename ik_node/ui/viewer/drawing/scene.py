# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The scene of the page: robot, ghost, markers, workspace, ground."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

import numpy as np
from sensor_msgs.msg import JointState, PointCloud2
import trimesh
import viser
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.kinematics.links import elsewhere, link_poses
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import Tree
from ik_node.ui.viewer.drawing.ground import Ground
from ik_node.ui.viewer.drawing.link_markers import LinkMarkers
from ik_node.ui.viewer.drawing.marker_view import colour_of, GHOST_NAMESPACE, MarkerView
from ik_node.ui.viewer.drawing.point_cloud import points_and_colours
from ik_node.ui.viewer.drawing.robot_view import Colour, place, RobotView

# Initial view: the point looked at and the place of the camera, times the reach of the arm.
LOOK_AT = np.array([0.12, 0.0, 0.42])
VIEW_FROM = np.array([1.3, 1.1, 0.85])
FIELD_OF_VIEW_RAD = 0.8  # vertical
MIN_ASPECT = 0.85        # of width to height of a canvas that shows the whole arm from there
VIEW_TOLERANCE_M = 1e-3
BASE_NODE = '/base'      # at the base link; goals and markers are below it
POINT_SIZE_M = 0.012
NEUTRAL_COLOUR = 0.55, 0.6, 0.7


class Scene:
    """The scene, which is the same in all windows."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server, self._camera = server, server.initial_camera
        self._camera.fov = FIELD_OF_VIEW_RAD
        self._scene = scene = server.scene
        scene.set_up_direction('+z')
        self._ground = Ground(scene)
        # Lights without shadows: with viser's own, a machine without a graphics card takes a
        # second for each picture.
        scene.configure_default_lights(False)
        scene.configure_environment_map(None)
        scene.add_light_hemisphere('/lights/sky', sky_color=(255, 255, 255),
                                   ground_color=(150, 150, 160), intensity=1.6)
        scene.add_light_directional('/lights/sun', intensity=2.2, position=(1.0, 0.4, 2.0))
        scene.add_light_directional('/lights/fill', intensity=0.7, position=(-1.0, 1.5, 0.5))
        self._base = scene.add_frame(BASE_NODE, show_axes=False)
        self._markers = MarkerView(scene, BASE_NODE)
        self._clearance = MarkerView(scene, BASE_NODE)
        self._objects, self._bodies = LinkMarkers(scene, '/objects'), LinkMarkers(scene, '/bodies')
        self._tree: Tree | None = None
        self._cloud: viser.PointCloudHandle | None = None
        # For each window the aspect and the place of the camera after its last framing.
        self._framed: dict[int, tuple[float, np.ndarray]] = {}
        self._ghost: dict[str, float] = {}
        # Of a ghost that was chosen on the page; None if it is that of the ik_node.
        self._chosen_colour: Colour | None = None
        self._ghost_colour: Colour = NEUTRAL_COLOUR
        self._drawn: tuple | None = None  # state that robot and ghost were last drawn in
        self._poses: dict[str, np.ndarray] = {}  # of the links of the robot, in its root
        self._shadow_due = False  # whether they have changed since the shadow was drawn

    def take_robot(self, tree: Tree, chain: Chain, bodies: Mapping[str, trimesh.Scene]) -> None:
        """Draw this robot instead of the previous one."""
        if self._tree is not None:
            self._robot.remove()
            self._ghost_view.remove()
        self._tree, self._chain = tree, chain
        self._camera.look_at = chain.reach * LOOK_AT
        self._camera.position = chain.reach * VIEW_FROM
        self._framed = {}
        self._robot = RobotView(self._scene, '/robot', bodies)
        self._ghost_view = RobotView(self._scene, '/ghost', bodies, ghost=True)
        self._ground.take_robot(bodies, chain.reach)
        self._ghost = {}
        for each in (self._objects, self._bodies):
            each.take_links(tree.links)
        self._drawn = None

    def frame(self, windows: Mapping[int, viser.ClientHandle]) -> None:
        """Fit the view of each window to its size, unless somebody has turned that view."""
        for number, window in windows.items():
            camera = window.camera
            was_aspect, was_at = self._framed.get(number, (None, self._camera.position))
            if camera.aspect != was_aspect and np.allclose(
                    camera.position, was_at, atol=VIEW_TOLERANCE_M):
                look_at = self._camera.look_at
                camera.position = look_at + max(1.0, MIN_ASPECT / camera.aspect) * (
                    self._camera.position - look_at)
                camera.look_at = look_at
                self._framed[number] = camera.aspect, camera.position

    def draw_robot(self, positions: Mapping[str, float]) -> None:
        """Draw the robot and its ghost; links whose joints have no known position are hidden."""
        seen = dict(positions), self._ghost, self._chosen_colour, self._ghost_colour
        if self._tree is None:
            return
        if self._shadow_due and self._ground.due():
            self._shadow_due = False
            self._ground.draw(self._poses)
        if seen == self._drawn:
            return
        self._drawn = seen
        poses = link_poses(self._tree, self._tree.root, positions)
        self._robot.place(poses)
        self._poses, self._shadow_due = poses, True
        if self._chain.base_link in poses:
            place(self._base, poses[self._chain.base_link])
        for each in (self._objects, self._bodies):
            each.place(poses)
        self._ghost_view.show(bool(self._ghost))
        if self._ghost:
            self._ghost_view.paint(self._chosen_colour or self._ghost_colour)
            ghost = link_poses(self._tree, self._tree.root, {**positions, **self._ghost})
            # Ghost links that coincide with links of the robot would flicker.
            self._ghost_view.place(elsewhere(ghost, poses))

    def take_ghost(self, message: JointState) -> None:
        """Show the ghost at the positions of a message; without names hide it."""
        self._ghost = {name: position for name, position in zip(message.name, message.position)
                       if isfinite(position)}
        self._chosen_colour = None

    def show_ghost(self, posture: dict[str, float], colour: Colour = NEUTRAL_COLOUR) -> None:
        """Show the ghost at positions that were chosen on the page; without any hide it."""
        self._ghost = posture
        self._chosen_colour = colour

    def take_markers(self, message: MarkerArray) -> None:
        """Draw the markers; the markers of the ghost only give its colour."""
        with self._server.atomic():  # no marker is seen before it is in its place
            self._markers.show(message.markers)
        self._ghost_colour = next(
            (colour_of(marker) for marker in message.markers
             if marker.ns == GHOST_NAMESPACE and marker.action == Marker.ADD), NEUTRAL_COLOUR)

    def take_objects(self, markers: Iterable[Marker]) -> None:
        """Draw the objects around the arm; one in the frame of a link moves with it."""
        with self._server.atomic():
            self._objects.show(markers)
        self._drawn = None

    def take_bodies(self, message: MarkerArray) -> None:
        """Draw the bodies of the links as they are checked."""
        with self._server.atomic():
            self._bodies.show(message.markers)
        self._drawn = None

    def take_clearance(self, message: MarkerArray) -> None:
        """Draw the line between the two that are nearest to each other, without the sentence."""
        with self._server.atomic():
            self._clearance.show(marker for marker in message.markers
                                 if marker.type != Marker.TEXT_VIEW_FACING)

    def take_cloud(self, message: PointCloud2, visible: bool) -> None:
        """
        Draw the workspace.

        Raises
        ------
        ParameterError
            If the message is not a valid cloud of points.

        """
        points, colours = points_and_colours(message)
        self._cloud = self._scene.add_point_cloud(
            f'{BASE_NODE}/workspace', points, colours, point_size=POINT_SIZE_M,
            point_shape='circle', precision='float32', visible=visible)

    def show_cloud(self, visible: bool) -> None:
        """Show or hide the workspace, if one was received."""
        if self._cloud is not None:
            self._cloud.visible = visible
