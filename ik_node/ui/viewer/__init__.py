# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arm in a browser, to look at and to drag: for machines without RViz."""
