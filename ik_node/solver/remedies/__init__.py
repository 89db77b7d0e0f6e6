# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What would make a refused goal possible.

    remedy         A remedy as a value and as a sentence
    remedy_search  The search for remedies
"""
