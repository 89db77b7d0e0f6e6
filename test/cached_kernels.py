# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions of tests, kept from run to run."""

from ik_node.base.compilation import cached_njit

# For functions that call inner ones, which have no wrapper for Python.
compiled = cached_njit()
