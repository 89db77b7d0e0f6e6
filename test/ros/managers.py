# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A controller manager that a test plays."""


class Manager:
    """Lists controllers, whose states a test sets, as the one of ros2_control does."""

    def __init__(self, node, name='controller_manager'):
        from controller_manager_msgs.srv import ListControllers
        self.states = {}
        node.create_service(ListControllers, f'{name}/list_controllers', self._on_list)

    def _on_list(self, request, response):
        from controller_manager_msgs.msg import ControllerState
        response.controller = [ControllerState(name=name, state=state)
                               for name, state in self.states.items()]
        return response
