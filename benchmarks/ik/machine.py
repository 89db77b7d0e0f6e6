# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the figures were measured on."""

from __future__ import annotations

from datetime import datetime, timezone
from importlib.metadata import version
import os
from pathlib import Path
import platform


def describe() -> dict[str, str | int]:
    """Return processor, cores, operating system, versions and the date."""
    processor = platform.processor() or platform.machine()
    info = Path('/proc/cpuinfo')
    if info.is_file():
        processor = next((line.split(':', 1)[1].strip() for line in
                          info.read_text().splitlines() if line.startswith('model name')),
                         processor)
    return {
        'processor': processor, 'cores': os.cpu_count() or 1,
        'system': f'{platform.system()} {platform.machine()}',
        'python': platform.python_version(), 'numpy': version('numpy'),
        'numba': version('numba'), 'pinocchio': version('pin'),
        'date': datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC')}


def pin_to_one_core() -> set[int]:
    """Keep this process on one core, where the system can; return the cores it had."""
    if not hasattr(os, 'sched_setaffinity'):
        return set()
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    return cores


def release(cores: set[int]) -> None:
    """Give the process its cores back."""
    if cores:
        os.sched_setaffinity(0, cores)
