# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The names by which this machine, and no other one, reaches a page."""

from __future__ import annotations

import ipaddress
import re

LOCAL_NAMES = r'(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?'
LOCAL_HOST, LOCAL_PAGE = re.compile(LOCAL_NAMES), re.compile(f'https?://{LOCAL_NAMES}')


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == 'localhost'
