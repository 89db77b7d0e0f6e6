# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is seen on the page: robot, ghost, markers, workspace."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np
from sensor_msgs.msg import JointState, PointCloud2
import trimesh
import viser
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.kinematics.links import link_poses
from ik_node.model.chain import Chain
from ik_node.model.urdf import Tree
from ik_node.ui.viewer.marker_view import colour_of, GHOST, MarkerView
from ik_node.ui.viewer.point_cloud import points_and_colours
from ik_node.ui.viewer.robot_view import Colour, place, RobotView

LOOK_AT = np.array([0.12, 0.0, 0.42])  # where a window looks to at first, in reaches of the arm,
VIEW_FROM = np.array([1.3, 1.1, 0.85])  # and where from
FIELD_OF_VIEW = 0.8                    # rad, vertical
ASPECT = 0.85  # of a canvas, width by height, in which the arm is seen well from there
ON_RAY = 1e-3  # m
BASE = '/base'  # node of the scene at the base link; goals and markers are below it
POINT_SIZE = 0.012  # m
APART = 1e-3  # m and rad, about; a ghost nearer to the robot is not drawn
NEUTRAL = 0.55, 0.6, 0.7


class Scene:
    """The scene of all windows."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._camera = server.initial_camera
        self._camera.fov = FIELD_OF_VIEW
        self._scene = scene = server.scene
        scene.set_up_direction('+z')
        scene.add_grid('/grid', width=4.0, height=4.0, cell_size=0.1, section_size=0.5)
        # Plain lights: with viser's own, machines without a graphics card draw one picture a
        # second.
        scene.configure_default_lights(False)
        scene.configure_environment_map(None)
        scene.add_light_hemisphere('/lights/sky', sky_color=(255, 255, 255),
                                   ground_color=(150, 150, 160), intensity=1.6)
        scene.add_light_directional('/lights/sun', intensity=2.2, position=(1.0, 0.4, 2.0))
        scene.add_light_directional('/lights/fill', intensity=0.7, position=(-1.0, 1.5, 0.5))
        self._base = scene.add_frame(BASE, show_axes=False)
        self._markers = MarkerView(scene, BASE)
        self._tree: Tree | None = None
        self._cloud: viser.PointCloudHandle | None = None
        self._aspects: dict[int, float] = {}  # of windows, when they were last framed
        self._ghost: dict[str, float] = {}
        self._chosen = False  # by the sliders, not by the ik_node
        self._ghost_colour: Colour = NEUTRAL
        self._drawn: tuple | None = None  # of what the robot and its ghost were drawn

    def take_robot(self, tree: Tree, chain: Chain, bodies: Mapping[str, trimesh.Scene]) -> None:
        """Draw this robot instead of the one before."""
        if self._tree is not None:
            self._robot.remove()
            self._shadow.remove()
        self._tree, self._chain = tree, chain
        self._camera.look_at = chain.reach * LOOK_AT
        self._camera.position = chain.reach * VIEW_FROM
        self._aspects = {}
        self._robot = RobotView(self._scene, '/robot', bodies)
        self._shadow = RobotView(self._scene, '/ghost', bodies, ghost=True)
        self._ghost = {}
        self._drawn = None

    def frame(self, windows: Mapping[int, viser.ClientHandle]) -> None:
        """Step back in windows too narrow for the arm, unless somebody has turned the view."""
        look_at = self._camera.look_at
        ray = self._camera.position - look_at
        for number, window in windows.items():
            view, aspect = window.camera, window.camera.aspect
            along = (view.position - look_at) @ ray / (ray @ ray)
            if aspect != self._aspects.get(number) and np.allclose(
                    view.position, look_at + along * ray, atol=ON_RAY):
                view.position = look_at + max(1.0, ASPECT / aspect) * ray
                view.look_at = look_at
                self._aspects[number] = aspect

    def draw_robot(self, positions: Mapping[str, float]) -> None:
        """Draw the robot and its ghost; links whose joints have no known position are hidden."""
        seen = dict(positions), self._ghost, self._chosen, self._ghost_colour
        if self._tree is None or seen == self._drawn:
            return
        self._drawn = seen
        poses = link_poses(self._tree, self._tree.root, positions)
        self._robot.place(poses)
        if self._chain.base_link in poses:
            place(self._base, poses[self._chain.base_link])
        self._shadow.show(bool(self._ghost))
        if self._ghost:
            self._shadow.paint(NEUTRAL if self._chosen else self._ghost_colour)
            ghost = link_poses(self._tree, self._tree.root, {**positions, **self._ghost})
            # Where it is in the robot it would only colour it.
            self._shadow.place({link: T for link, T in ghost.items()
                                if link not in poses or np.abs(T - poses[link]).max() > APART})

    def take_ghost(self, message: JointState) -> None:
        """Stand the ghost where a message says; without names there is none."""
        self._ghost = {name: position for name, position in zip(message.name, message.position)
                       if isfinite(position)}
        self._chosen = False

    def stand_ghost(self, posture: dict[str, float]) -> None:
        """Stand the ghost where a person says, in no colour of reachability."""
        self._ghost = posture
        self._chosen = True

    def take_markers(self, message: MarkerArray) -> None:
        """Draw the markers; those of the ghost say its colour only."""
        self._markers.show(message)
        self._ghost_colour = next(
            (colour_of(marker) for marker in message.markers
             if marker.ns == GHOST and marker.action == Marker.ADD), NEUTRAL)

    def take_cloud(self, message: PointCloud2, visible: bool) -> None:
        """
        Draw the workspace.

        Raises
        ------
        ParameterError
            If the message is no cloud of points.

        """
        points, colours = points_and_colours(message)
        self._cloud = self._scene.add_point_cloud(
            f'{BASE}/workspace', points, colours, point_size=POINT_SIZE, point_shape='circle',
            precision='float32', visible=visible)

    def show_cloud(self, visible: bool) -> None:
        """Show or hide the workspace, if there is one."""
        if self._cloud is not None:
            self._cloud.visible = visible
