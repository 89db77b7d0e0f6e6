# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Colours of a workspace, for figures and RViz; needs no ROS."""

from __future__ import annotations

import numpy as np

# From share 0 to 1: RdYlBu of ColorBrewer, suitable for colour-blind readers.
SHARE_COLOURS = np.array([(215, 48, 39), (252, 141, 89), (254, 224, 144), (224, 243, 248),
                    (145, 191, 219), (69, 117, 180)]) / 255.0


def share_colours(share: np.ndarray) -> np.ndarray:
    """Return red, green, blue (N, 3), 0 to 1, of shares (N,), 0 to 1."""
    at = np.linspace(0.0, 1.0, len(SHARE_COLOURS))
    return np.stack([np.interp(share, at, channel) for channel in SHARE_COLOURS.T], axis=-1)
