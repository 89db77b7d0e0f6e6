# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The ground under the robot: a grid, and a soft shadow."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic

import numpy as np
import trimesh
import viser

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
