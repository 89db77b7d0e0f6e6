# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A page for a phone or a headset, which moves the arm with the hand that holds it."""
