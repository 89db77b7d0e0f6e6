# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the page for a phone or a headset as one object."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HandheldOptions:
    """The fields that the rows of ``ros.parameters.HANDHELD_NODE`` fill, and are described in."""

    ik_node: str
    host: str
    port: int
    tls: bool
    certificate: str
    key: str
    sample_timeout: float
