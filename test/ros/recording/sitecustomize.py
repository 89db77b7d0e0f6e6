# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Keeps what a process under test publishes as trajectories, and what it knew of the joints.

Python imports this by itself when the folder is on PYTHONPATH.  Nothing listens on a
topic for it, so that a node under test sees no controller that is not there.
"""

from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from inspect import signature
import json
from math import isfinite, isinf
import os
import sys
from time import monotonic

FOLDER_VARIABLE = 'IK_NODE_TEST_RECORD'  # without it nothing is kept; a forked process has its own
joints = {}  # name: position, velocity
commanded = []  # values last sent to a forward command controller


class Hook(MetaPathFinder):
    """Wraps a class of rclpy once its module is imported."""

    def __init__(self, module, name, wrap):
        self.module, self.name, self.wrap = module, name, wrap

    def find_spec(self, fullname, path=None, target=None):
        """Find the module, whose class is wrapped when it has been loaded."""
        if fullname != self.module:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            self.wrap(getattr(module, self.name))

        spec.loader.exec_module = exec_module
        return spec


def wrap_node(node_class):
    from rclpy.serialization import deserialize_message
    create_publisher, create_subscription = (node_class.create_publisher,
                                             node_class.create_subscription)

    def publisher(self, msg_type, *args, **named):
        made = create_publisher(self, msg_type, *args, **named)
        if FOLDER_VARIABLE not in os.environ:
            return made
        if msg_type.__name__ == 'JointTrajectory' and not made.topic.endswith('/goal_joint_path'):
            publish = made.publish

            def keep_and_publish(message):
                keep(deserialize_message(message, msg_type) if isinstance(message, bytes)
                     else message)
                publish(message)

            made.publish = keep_and_publish
        elif msg_type.__name__ == 'Float64MultiArray' and made.topic.endswith('/commands'):
            send = made.publish

            def note_and_send(message):
                commanded[:] = message.data
                send(message)

            made.publish = note_and_send
        return made

    def subscription(self, msg_type, topic, callback, *args, **named):
        if msg_type.__name__ != 'JointState' or topic != 'joint_states' \
                or FOLDER_VARIABLE not in os.environ:
            return create_subscription(self, msg_type, topic, callback, *args, **named)

        def note(given):
            keep_joints(given)
            callback(given)

        def note_both(given, info):
            keep_joints(given)
            callback(given, info)

        def keep_joints(given):
            try:
                message = deserialize_message(given, msg_type) if named.get('raw') else given
            except RuntimeError:
                return  # no message: that is for the node to say
            names, positions = message.name, message.position
            velocities = message.velocity or [0.0] * len(names)
            # What the node must not believe either is not where the joints are.
            if len(names) == len(positions) == len(velocities) == len({*names}):
                joints.update({name: (q, qd) for name, q, qd in zip(names, positions, velocities)
                               if isfinite(q) and not isinf(qd)})

        # rclpy looks at the signature whether a callback takes what is known of the message.
        both = len(signature(callback).parameters) == 2
        return create_subscription(self, msg_type, topic, note_both if both else note, *args,
                                   **named)

    node_class.create_publisher, node_class.create_subscription = publisher, subscription


def wrap_client(client_class):
    send_goal_async = client_class.send_goal_async

    def keep_and_send(self, goal, *args, **named):
        trajectory = getattr(goal, 'trajectory', None)  # or a sequence of motions
        if hasattr(trajectory, 'points') and FOLDER_VARIABLE in os.environ:
            keep(trajectory)
        return send_goal_async(self, goal, *args, **named)

    client_class.send_goal_async = keep_and_send


def keep(message):
    """Append one line to the file of this process."""
    points = [[p.time_from_start.sec, p.time_from_start.nanosec, list(p.positions),
               list(p.velocities), list(p.accelerations)] for p in message.points]
    frame, streamed = sys._getframe(1), False
    while frame is not None and not streamed:
        streamed = frame.f_globals.get('__name__') == 'ik_node.node.stream.stream'
        frame = frame.f_back
    stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
    with open(f'{os.environ[FOLDER_VARIABLE]}/{os.getpid()}.jsonl', 'a',
              encoding='utf-8') as file:
        file.write(json.dumps({'arguments': sys.argv, 'time': monotonic(), 'measured': joints,
                               'commanded': commanded, 'streamed': streamed, 'stamp': stamp,
                               'points': points,
                               'joint_names': list(message.joint_names)}) + '\n')


sys.meta_path[:0] = [Hook('rclpy.node', 'Node', wrap_node),
                     Hook('rclpy.action.client', 'ActionClient', wrap_client)]
