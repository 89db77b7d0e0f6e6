# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The scene of the page: robot, ghost, markers, workspace, ground."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from time import monotonic

import numpy as np
from sensor_msgs.msg import JointState, PointCloud2, PointField
import trimesh
import viser
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.base.errors import ParameterError
from ik_node.kinematics.links import elsewhere, link_poses
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import Tree
from ik_node.ui.viewer.drawing.marker_view import (
    colour_of,
    GHOST_NAMESPACE,
    LinkMarkers,
    MarkerView,
)
from ik_node.ui.viewer.drawing.robot_view import Colour, place, RobotView

GRID_NODE, SHADOW_NODE = '/grid', '/shadow'
GRID_WIDTH_M = 4.0
CELL_SIZE_M, SECTION_SIZE_M = 0.1, 0.5
GROUND_COLOUR = 246, 247, 249
LIFT_M = 1e-3             # of the shadow above the grid, so that neither hides the other
SHADOW_PERIOD_S = 0.1
SHADOW_WIDTH = 3.0        # width of the shadow's image, times the reach of the arm
SHADOW_PIXELS = 128
SHADOW_POINTS = 400       # on the surface of each link
BLUR_PIXELS = 2.5         # standard deviation of the blur
SHADOW_DENSITY = 0.35     # darkening by one point for each pixel
MAX_DARKNESS = 90         # 0 to 255


class Ground:
    """
    A grid at height 0, and the shadow that a robot casts on it from straight above.

    The shadow is an image made here: shadows of the browser's lights take seconds for each
    picture on a machine without a graphics card.
    """

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._points: dict[str, np.ndarray] = {}
        self._shadow: viser.ImageHandle | None = None
        self._drawn_at = -np.inf  # monotonic, s
        distance = np.subtract.outer(np.arange(SHADOW_PIXELS), np.arange(SHADOW_PIXELS))
        blur = np.exp(-0.5 * (distance / BLUR_PIXELS) ** 2)
        self._blur = blur / blur.sum(axis=1, keepdims=True)
        scene.add_grid(GRID_NODE, width=GRID_WIDTH_M, height=GRID_WIDTH_M, cell_size=CELL_SIZE_M,
                       section_size=SECTION_SIZE_M, plane_color=GROUND_COLOUR, plane_opacity=1.0,
                       cell_color=(222, 224, 228), section_color=(190, 194, 200),
                       shadow_opacity=0.0)

    def take_robot(self, bodies: Mapping[str, trimesh.Scene], reach: float) -> None:
        """Take the bodies of the links, in their frames, and the reach of the arm (m)."""
        self._points = {}
        for link, body in bodies.items():
            mesh = body.to_mesh()
            if len(mesh.faces) and mesh.area > 0.0:
                points, _ = trimesh.sample.sample_surface(mesh, SHADOW_POINTS, seed=0)
                self._points[link] = np.asarray(points)
        self._width = SHADOW_WIDTH * reach
        self._drawn_at = -np.inf
        self._shadow = self._scene.add_image(
            SHADOW_NODE, np.zeros((SHADOW_PIXELS, SHADOW_PIXELS, 4), np.uint8),
            self._width, self._width, format='png', cast_shadow=False, receive_shadow=False,
            position=(0.0, 0.0, LIFT_M))

    def due(self) -> bool:
        """Return whether the last shadow is older than SHADOW_PERIOD_S."""
        return monotonic() - self._drawn_at >= SHADOW_PERIOD_S

    def draw(self, poses: Mapping[str, np.ndarray]) -> None:
        """Draw the shadow of links at their poses (4, 4) in the root."""
        if self._shadow is None:
            return
        self._drawn_at = monotonic()
        points = [points @ poses[link][:2, :3].T + poses[link][:2, 3]
                  for link, points in self._points.items() if link in poses]
        self._shadow.image = self.shadow_image(
            np.concatenate(points) if points else np.empty((0, 2)), self._width)

    def shadow_image(self, points: np.ndarray, width: float) -> np.ndarray:
        """
        Return the image (SHADOW_PIXELS, SHADOW_PIXELS, 4), uint8, of points (N, 2) above it, m.

        Rows go along y, columns along x; the image is `width` (m) wide and centred at 0.
        """
        edges = np.linspace(-width / 2.0, width / 2.0, SHADOW_PIXELS + 1)
        counts, _, _ = np.histogram2d(points[:, 1], points[:, 0], bins=(edges, edges))
        depth = self._blur @ counts @ self._blur.T
        image = np.zeros((SHADOW_PIXELS, SHADOW_PIXELS, 4), np.uint8)
        image[:, :, 3] = np.round(MAX_DARKNESS * (1.0 - np.exp(-SHADOW_DENSITY * depth)))
        return image


DEFAULT_GREY = 160  # 0 to 255


def points_and_colours(message: PointCloud2) -> tuple[np.ndarray, np.ndarray]:
    """Return the finite points (N, 3), m, and their colours (N, 3), uint8."""
    order = '>' if message.is_bigendian else '<'
    offsets = {field.name: field.offset for field in message.fields
               if field.datatype == PointField.FLOAT32
               and field.offset + 4 <= message.point_step}
    if not {'x', 'y', 'z'} <= offsets.keys():
        raise ParameterError('the point cloud has no x, y and z of type float32 within a point')
    count = message.width * message.height
    if message.row_step != message.width * message.point_step \
            or len(message.data) < count * message.point_step:
        raise ParameterError(f'the point cloud says that it has {count} points of '
                             f'{message.point_step} bytes without gaps, and has '
                             f'{len(message.data)} bytes')
    names = [name for name in ('x', 'y', 'z', 'rgb') if name in offsets]
    table = np.frombuffer(bytes(message.data), count=count, dtype=np.dtype({
        'names': names, 'offsets': [offsets[name] for name in names],
        'formats': [f'{order}f4'] * len(names), 'itemsize': message.point_step}))
    points = np.stack([table['x'], table['y'], table['z']], axis=1)
    finite = np.isfinite(points).all(axis=1)
    if 'rgb' not in names:
        return points[finite], np.full((int(finite.sum()), 3), DEFAULT_GREY, np.uint8)
    packed = np.ascontiguousarray(table['rgb']).view(f'{order}u4')
    colours = np.stack([packed >> 16 & 255, packed >> 8 & 255, packed & 255], axis=1)
    return points[finite], colours[finite].astype(np.uint8)


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
