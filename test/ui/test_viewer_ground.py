# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The shadow of the arm on the page."""

from importlib.util import find_spec

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(find_spec('viser') is None,
                                reason='viser is not installed (extra "viewer")')


class NoScene:
    """Takes what a ground adds to a scene."""

    def add_grid(self, *_arguments, **_named):
        """Add nothing."""


@pytest.fixture(scope='module')
def ground():
    from ik_node.ui.viewer.drawing.scene import Ground
    return Ground(NoScene())


def test_shadow_is_where_the_points_are(ground):
    """Rows go along y and columns along x; the darkest pixel is below the points."""
    from ik_node.ui.viewer.drawing.scene import SHADOW_PIXELS
    image = ground.shadow_image(np.full((50, 2), [0.5, -0.25]), 2.0)
    row, column = np.unravel_index(image[:, :, 3].argmax(), image.shape[:2])
    assert abs(column / SHADOW_PIXELS - 0.75) < 0.02
    assert abs(row / SHADOW_PIXELS - 0.375) < 0.02


def test_shadow_is_soft(ground):
    """It fades over several pixels, and is never darker than allowed."""
    from ik_node.ui.viewer.drawing.scene import MAX_DARKNESS, SHADOW_PIXELS
    darkness = ground.shadow_image(np.zeros((5000, 2)), 2.0)[:, :, 3]
    assert darkness.max() == MAX_DARKNESS
    assert len(set(darkness[SHADOW_PIXELS // 2].tolist())) > 6


def test_points_outside_the_image_cast_no_shadow(ground):
    """An image without any points is empty, too."""
    for points in (np.empty((0, 2)), np.full((50, 2), 5.0)):
        assert not ground.shadow_image(points, 2.0).any()
