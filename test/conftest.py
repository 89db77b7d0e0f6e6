# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How hypothesis draws: the same every time; anew with ``--hypothesis-profile explore``."""

from hypothesis import settings

settings.register_profile('same', derandomize=True)
settings.register_profile('explore', derandomize=False, print_blob=True)
settings.load_profile('same')
