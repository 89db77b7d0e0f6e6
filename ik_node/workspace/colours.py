# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The colours of a workspace, the same in pictures and in RViz; no ROS is needed."""

from __future__ import annotations

import numpy as np

# From share 0 to 1; ColorBrewer's RdYlBu, told apart by colour-blind readers, too.
COLOURS = np.array([(215, 48, 39), (252, 141, 89), (254, 224, 144), (224, 243, 248),
                    (145, 191, 219), (69, 117, 180)]) / 255.0


def share_colours(share: np.ndarray) -> np.ndarray:
    """Return red, green, blue (N, 3), 0 to 1, of shares (N,), 0 to 1."""
    at = np.linspace(0.0, 1.0, len(COLOURS))
    return np.stack([np.interp(share, at, channel) for channel in COLOURS.T], axis=-1)
