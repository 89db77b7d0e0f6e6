# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arm on a web page, where it can be moved without RViz."""
