# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Make docs/images/drag.gif: a goal is dragged, a ghost shows the solution, the arm moves there.

Run in the source folder: ``.venv/bin/python scripts/animation.py [--output FILE]``; it needs
pillow and trimesh.  Everything that is seen is computed by the library: the ghost by the solver,
its colour and sentence by ``judge``, the motion by ``plan_point_to_point``, at true speed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from numba import njit
import numpy as np
from PIL import Image, ImageDraw, ImageFont
import trimesh

import ik_node
from ik_node.base.se3 import pose, rotation_from_rpy
from ik_node.model.description.shapes import link_shapes, Shape
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.trajectory.interpolation import state_at
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.solver.unreachable import judge, Thresholds

URDF = 'urdf/six_axis_arm.urdf'
WIDTH, HEIGHT = 720, 460
SUPERSAMPLING = 2
COLOURS = 256
FRAME_MS = 70
PAUSE_MS = 1100
EYE_M, LOOK_AT_M = np.array([1.35, -1.75, 1.05]), np.array([0.3, 0.05, 0.42])
FOCAL = 2.7                      # of half the height of the picture
SUN = np.array([0.35, 0.55, 0.75]) / np.linalg.norm([0.35, 0.55, 0.75])
SKY, FLOOR_LINE, INK = (250, 251, 253), (205, 210, 218), (40, 44, 52)
SHADOW = 0.12
GHOST = 0.65
SHADES = {'green': (43, 157, 79), 'amber': (224, 138, 0), 'red': (211, 58, 47)}
AXES = ((225, 60, 60), (60, 170, 70), (60, 110, 220))
AXIS_M = 0.13
START_M = (0.5, -0.3, 0.4)
# Where the handle is dragged to, m, and in how many pictures.
DRAGS = (((0.62, 0.0, 0.6), 12), ((1.1, 0.15, 0.65), 9), ((0.55, 0.25, 0.4), 12))
TOOL_RPY = (0.0, 1.5708, 0.0)


@njit
def fill(corners, colours, depth, picture, behind):  # noqa: D103
    """Draw triangles (t, 3, 3: x, y, depth) into a picture where they are nearest."""
    height, width = depth.shape
    for k in range(corners.shape[0]):
        ax, ay, az = corners[k, 0]
        bx, by, bz = corners[k, 1]
        cx, cy, cz = corners[k, 2]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if abs(area) < 1e-9:
            continue
        x0, x1 = int(max(min(ax, bx, cx), 0.0)), int(min(max(ax, bx, cx) + 1.0, width - 1.0))
        y0, y1 = int(max(min(ay, by, cy), 0.0)), int(min(max(ay, by, cy) + 1.0, height - 1.0))
        for y in range(y0, y1 + 1):
            for x in range(x0, x1 + 1):
                u = ((bx - x) * (cy - y) - (by - y) * (cx - x)) / area
                v = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) / area
                w = 1.0 - u - v
                if u < 0.0 or v < 0.0 or w < 0.0:
                    continue
                z = u * az + v * bz + w * cz
                if z < depth[y, x] and z < behind[y, x]:
                    depth[y, x] = z
                    for c in range(3):
                        picture[y, x, c] = colours[k, c]


class Camera:
    """A pinhole camera; it projects to pixels of the large picture, and distance (m)."""

    def __init__(self) -> None:
        forward = (LOOK_AT_M - EYE_M) / np.linalg.norm(LOOK_AT_M - EYE_M)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        self._axes = np.array([right, -np.cross(right, forward), forward])

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return x, y, depth (..., 3) of points (..., 3), m in the base."""
        seen = (points - EYE_M) @ self._axes.T
        scale = 0.5 * SUPERSAMPLING * HEIGHT * FOCAL / seen[..., 2]
        return np.stack([0.5 * SUPERSAMPLING * WIDTH + scale * seen[..., 0],
                         0.5 * SUPERSAMPLING * HEIGHT + scale * seen[..., 1],
                         seen[..., 2]], axis=-1)


class Body:
    """The arm as triangles."""

    def __init__(self, arm: ik_node.Arm) -> None:
        self._arm = arm
        self._parts = [(link, np.asarray(mesh.triangles),
                        255.0 * np.array((shape.rgba or (0.7,) * 4)[:3]))
                       for link, shapes in link_shapes(arm.tree, 'visual').items()
                       for shape in shapes for mesh in [solid(shape)]]

    def triangles(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return corners (t, 3, 3), m in the base, and the colour (t, 3) of each triangle."""
        poses = self._arm.link_poses(q)
        corners = [triangles @ poses[link][:3, :3].T + poses[link][:3, 3]
                   for link, triangles, _ in self._parts]
        colours = [np.tile(colour, (len(triangles), 1))
                   for _, triangles, colour in self._parts]
        return np.concatenate(corners), np.concatenate(colours)


def solid(shape: Shape) -> trimesh.Trimesh:
    """Return the mesh of a box, cylinder or sphere, in the frame of its link."""
    if shape.kind == 'box':
        return trimesh.creation.box(extents=shape.size, transform=shape.T_link_shape)
    if shape.kind == 'cylinder':
        return trimesh.creation.cylinder(*shape.size, sections=40, transform=shape.T_link_shape)
    ball = trimesh.creation.icosphere(subdivisions=2, radius=shape.size[0])
    return ball.apply_transform(shape.T_link_shape)


class Studio:
    """Draws one picture after the other, and keeps them for the GIF."""

    def __init__(self, arm: ik_node.Arm) -> None:
        self.frames: list[tuple[Image.Image, int]] = []
        self._arm, self._body, self._camera = arm, Body(arm), Camera()
        self._font = ImageFont.load_default(17.0 * SUPERSAMPLING)
        self._floor = self._draw_floor()

    def shoot(self, q: np.ndarray, shown_ms: int, text: str, colour: str = '',
              ghost: np.ndarray | None = None, handle: np.ndarray | None = None,
              path: np.ndarray | None = None, pointer: bool = False) -> None:
        """
        Take a picture.

        Parameters
        ----------
        q, ghost : (n,) array
            Joint positions of the arm and of its ghost.
        text, colour : str
            What is written below, and the colour of ghost and dot.
        handle : (4, 4) array
            The goal.
        path : (k, 3) array
            The path of the tip, m.
        pointer : bool
            Whether the mouse is on the handle.

        """
        picture = np.array(self._floor, dtype=float)
        far = np.full(picture.shape[:2], np.inf)
        corners, colours = self._body.triangles(q)
        self._cast_shadow(corners, picture)
        depth = far.copy()
        self._fill(corners, colours, depth, picture, far)
        if ghost is not None:
            layer, nearest = picture.copy(), far.copy()
            corners, _ = self._body.triangles(ghost)
            self._fill(corners, np.tile(SHADES[colour], (len(corners), 1)), nearest, layer, depth)
            picture = np.where(np.isfinite(nearest)[..., None],
                               GHOST * layer + (1.0 - GHOST) * picture, picture)
        image = Image.fromarray(picture.clip(0, 255).astype(np.uint8))
        draw = ImageDraw.Draw(image)
        if path is not None:
            self._line(draw, path, SHADES['green'], 3)
        if handle is not None:
            self._draw_handle(draw, handle, pointer)
        self._write(draw, text, colour)
        small = image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
        self.frames.append((small, shown_ms))

    def save(self, output: Path) -> None:
        """Write the GIF; all pictures share one palette, so that what is at rest costs nothing."""
        shown = [picture for picture, _ in self.frames]
        some = shown[::2]
        sheet = Image.new('RGB', (WIDTH, HEIGHT * len(some)))
        for row, picture in enumerate(some):
            sheet.paste(picture, (0, row * HEIGHT))
        palette = sheet.quantize(COLOURS, Image.Quantize.MEDIANCUT)
        plain = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in shown]
        plain[0].save(output, save_all=True, append_images=plain[1:], loop=0, optimize=True,
                      disposal=1, duration=[ms for _, ms in self.frames])

    def _fill(self, corners: np.ndarray, colours: np.ndarray, depth: np.ndarray,
              picture: np.ndarray, behind: np.ndarray) -> None:
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
        front = np.einsum('ij,ij->i', normals, EYE_M - corners[:, 0]) > 0.0
        light = 0.5 + 0.4 * np.maximum(normals @ SUN, 0.0) + 0.1 * normals[:, 2]
        lit = colours * light[:, None] * 1.12
        fill(self._camera.project(corners[front]), lit[front], depth, picture, behind)

    def _cast_shadow(self, corners: np.ndarray, picture: np.ndarray) -> None:
        flat = corners - corners[..., 2:] * SUN / SUN[2]
        flat[..., 2] = 0.0
        depth = np.full(picture.shape[:2], np.inf)
        fill(self._camera.project(flat), np.zeros((len(flat), 3)), depth, picture.copy(),
             np.full(depth.shape, np.inf))
        picture[np.isfinite(depth)] *= 1.0 - SHADOW

    def _draw_floor(self) -> Image.Image:
        image = Image.new('RGB', (SUPERSAMPLING * WIDTH, SUPERSAMPLING * HEIGHT), SKY)
        draw = ImageDraw.Draw(image)
        for at in np.arange(-1.6, 1.61, 0.2):
            for ends in ([[at, -1.6, 0.0], [at, 1.6, 0.0]], [[-1.6, at, 0.0], [1.6, at, 0.0]]):
                self._line(draw, np.array(ends), FLOOR_LINE, 1)
        return image

    def _line(self, draw: ImageDraw.ImageDraw, points: np.ndarray, colour: tuple[int, ...],
              width: int) -> None:
        draw.line([tuple(p[:2]) for p in self._camera.project(points)], fill=colour,
                  width=width * SUPERSAMPLING, joint='curve')

    def _draw_handle(self, draw: ImageDraw.ImageDraw, handle: np.ndarray, pointer: bool) -> None:
        origin = handle[:3, 3]
        x, y = self._camera.project(origin)[:2]
        for axis in np.argsort(-self._camera.project(origin + AXIS_M * handle[:3, :3].T)[:, 2]):
            end = origin + AXIS_M * handle[:3, axis]
            self._line(draw, np.array([origin, end]), AXES[axis], 4)
            tip, size = self._camera.project(end)[:2], 6 * SUPERSAMPLING
            draw.ellipse([*(tip - size), *(tip + size)], fill=AXES[axis])
        size = 7 * SUPERSAMPLING
        draw.ellipse([x - size, y - size, x + size, y + size], fill=(255, 255, 255), outline=INK,
                     width=2 * SUPERSAMPLING)
        if pointer:
            arrow = [(0, 0), (0, 22), (6, 17), (10, 26), (14, 24), (10, 16), (17, 16)]
            draw.polygon([(x + SUPERSAMPLING * a, y + SUPERSAMPLING * b) for a, b in arrow],
                         fill=(0, 0, 0), outline=(255, 255, 255), width=SUPERSAMPLING)

    def _write(self, draw: ImageDraw.ImageDraw, text: str, colour: str) -> None:
        x, y, size = 18 * SUPERSAMPLING, (HEIGHT - 26) * SUPERSAMPLING, 6 * SUPERSAMPLING
        if colour:
            draw.ellipse([x - size, y - size, x + size, y + size], fill=SHADES[colour])
        draw.text((x + 16 * SUPERSAMPLING, y), text, fill=INK, font=self._font, anchor='lm')


def plan(arm: ik_node.Arm, q: np.ndarray, q_goal: np.ndarray) -> Trajectory:
    """Return the motion that the node would send with its default parameters."""
    limits = MotionLimits(arm.lower, arm.upper, 0.5 * arm.velocity, np.full(arm.n, 2.0),
                          np.full(arm.n, 20.0))
    return plan_point_to_point(arm.joint_names, StartState.from_state(MotionState.at_rest(q)),
                               q_goal, limits, 0.02)


def brief(sentence: str) -> str:
    """Return what fits into one line of the picture."""
    return sentence.partition(';')[0].partition(', and')[0]


def main(argv: list[str] | None = None) -> None:
    """Make the animation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--output', type=Path, default=Path('docs/images/drag.gif'))
    options = parser.parse_args(argv)
    arm = ik_node.load_urdf(URDF)
    solver, studio = ik_node.Solver(arm, select='nearest'), Studio(arm)
    rotation = rotation_from_rpy(*TOOL_RPY)
    at = np.array(START_M)
    q = solver.solve(pose(rotation, at)).q
    studio.shoot(q, PAUSE_MS, 'drag the goal: nothing moves yet', handle=pose(rotation, at),
                 pointer=True)
    for target, count in DRAGS:
        for share in np.linspace(0.0, 1.0, count + 1)[1:]:
            T = pose(rotation, at + share * (np.array(target) - at))
            result = solver.solve(T, seed=q)
            ghost, found = result.q, judge(result, Thresholds())
            studio.shoot(q, FRAME_MS, brief(found.sentence), found.colour.value, ghost, T,
                         pointer=True)
        studio.frames[-1] = studio.frames[-1][0], PAUSE_MS
        at = np.array(target)
    trajectory = plan(arm, q, ghost)
    times = np.arange(0.0, trajectory.duration, 1e-3 * FRAME_MS)
    way = [state_at(trajectory, t).q for t in times] + [trajectory.end]
    path = np.array([arm.fk(each)[:3, 3] for each in way])
    studio.shoot(q, PAUSE_MS, f'planned: {trajectory.duration:.2f} s, jerk-limited', 'green',
                 ghost, T, path)
    for t, each in zip(times, way):
        studio.shoot(each, FRAME_MS, f'moving: {t:.2f} s', 'green', ghost, T, path)
    studio.shoot(way[-1], 2 * PAUSE_MS, f'reached in {trajectory.duration:.2f} s', 'green',
                 handle=T)
    studio.save(options.output)
    print(f'{options.output}: {len(studio.frames)} pictures, '
          f'{options.output.stat().st_size / 1e6:.2f} MB')


if __name__ == '__main__':
    main()
