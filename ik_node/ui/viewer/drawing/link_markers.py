# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Markers in the frames of links, with which they move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import viser
from visualization_msgs.msg import Marker

from ik_node.ui.viewer.drawing.marker_view import MarkerView
from ik_node.ui.viewer.drawing.robot_view import place


class LinkMarkers:
    """
    Draws markers at the links that they name.

    Parameters
    ----------
    name : str
        Name of the node in the scene that holds them.

    """

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self._scene, self._name = scene, name
        self._links: tuple[str, ...] = ()
        self._markers: list[Marker] = []
        # By link: the node that moves with it, and the markers in its frame.
        self._views: dict[str, tuple[viser.SceneNodeHandle, MarkerView]] = {}

    def take_links(self, links: Iterable[str]) -> None:
        """Take the links of another robot."""
        for node, _ in self._views.values():
            node.remove()
        self._views = {}
        self._links = tuple(links)
        self.show(self._markers)

    def show(self, markers: Iterable[Marker]) -> None:
        """Draw these markers and no others; unknown links are left out."""
        self._markers = list(markers)
        by_link: dict[str, list[Marker]] = {link: [] for link in self._views}
        for marker in self._markers:
            link = marker.header.frame_id.rpartition('/')[2]
            if link in self._links:
                by_link.setdefault(link, []).append(marker)
        for link, those in by_link.items():
            if link not in self._views:
                name = f'{self._name}/{len(self._views)}'
                self._views[link] = (self._scene.add_frame(name, show_axes=False, visible=False),
                                     MarkerView(self._scene, name))  # seen once it is placed
            self._views[link][1].show(those)

    def place(self, poses: Mapping[str, np.ndarray]) -> None:
        """Put them at the poses (4, 4) of the links; those without a pose are hidden."""
        for link, (node, _) in self._views.items():
            node.visible = link in poses
            if link in poses:
                place(node, poses[link])
