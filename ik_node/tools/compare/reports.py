# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Write the tables and numbers of a comparison as text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np


def number(value: float) -> str:
    """Return a number with three digits, '-' for NaN."""
    return '-' if np.isnan(value) else f'{value:.3g}' if value < 1000.0 else f'{value:.0f}'


def markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a Markdown table."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]

    def line(cells: tuple[str, ...]) -> str:
        return '| ' + ' | '.join(cell.ljust(width) for cell, width in zip(cells, widths)) + ' |'

    return [line(head), '|' + '|'.join('-' * (width + 2) for width in widths) + '|',
            *map(line, rows)]


def write_json(file: Path, content: object) -> None:
    """Write content that may hold arrays as JSON, with null for NaN."""
    def plain(value: object) -> object:
        return value.tolist() if isinstance(value, np.ndarray) else float(value)

    def finite(value: object) -> object:
        # JSON has no NaN.
        if isinstance(value, dict):
            return {key: finite(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [finite(each) for each in value]
        return None if isinstance(value, float) and np.isnan(value) else value

    file.write_text(json.dumps(finite(content), default=plain) + '\n', encoding='utf-8')
