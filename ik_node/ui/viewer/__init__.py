# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The arm on a web page, where it can be moved without RViz.

    event_queue  Hands events of the page over to the thread of the node
    node         The viewer node: the arm on a web page, where it can be moved without RViz
    page         The web server of the page, which accepts only allowed hosts and origins
    style        Colours, lines and button styles that all panels of the page share
    drawing/     What is drawn in the scene of the page
    panels/      The panels of the page
"""
