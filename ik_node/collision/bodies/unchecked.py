# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Which links of a robot are not checked for collisions: one sentence for all who tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ik_node.base.text import quote
from ik_node.model.description.shapes import link_shapes
from ik_node.model.description.urdf import Tree

MAX_NAMED_LINKS = 5
CHECK_OFF_TEXT = 'no link is checked for collisions: collision.check is false'


@dataclass(frozen=True)
class Unchecked:
    """The links that are not checked, wholly or in part; false if there are none."""

    faults: Mapping[str, str]  # by link, why
    links: int                 # how many links have geometry

    def __bool__(self) -> bool:
        """Return whether less is checked than a reader would believe."""
        return bool(self.faults) or not self.links

    @property
    def brief(self) -> str:
        """Return how many they are; '' if there are none."""
        if not self.links:
            return 'no link has geometry, so none is checked for collisions'
        if not self.faults:
            return ''
        return f'{len(self.faults)} of {self.links} links ' \
               f'{"is" if len(self.faults) == 1 else "are"} not checked'

    def __str__(self) -> str:
        """Return how many they are, which, and why the first of them is; '' if there are none."""
        if not (self.links and self.faults):
            return self.brief
        more = len(self.faults) - MAX_NAMED_LINKS
        return (f'{self.brief}: {", ".join(map(quote, [*self.faults][:MAX_NAMED_LINKS]))}'
                + (f' and {more} more' if more > 0 else '')
                + f', {"the first " * (len(self.faults) > 1)}because '
                + next(iter(self.faults.values())))


ALL_CHECKED = Unchecked({}, 1)


def links_with_geometry(tree: Tree) -> set[str]:
    """Return the links that have collision elements, or visual ones, in the URDF."""
    return {link for element in ('collision', 'visual')
            for link, shapes in link_shapes(tree, element).items() if shapes}
