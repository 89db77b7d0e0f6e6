# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled control cycle that keeps the tip on its path: the path first, time second.

What the limits act on is only the speed along the path: the largest acceleration of this cycle is
taken from which the arm can still come to rest on it (time scaling of Bobrow, Dubowsky and Gibson
1985).  So the direction of the tip does not bend.  What moves off the path, as after another
twist, is ramped out meanwhile.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ik_node.kinematics.kernels import copy, inner
from ik_node.motion.following.brake import plan_jerks, speed_to_stop
from ik_node.motion.following.path_ahead import (
    can_stop,
    factorise,
    FAR_AHEAD,
    look_ahead,
    LOST_SHARE,
    path_rates,
    PLAN_ACCELERATION,
    PLAN_JERK,
    point_on,
    rates_of,
    smallest_singular_value,
    SPEED_SHARE,
    TINY_VALUE,
)
from ik_node.motion.following.pose_stream import predict
from ik_node.motion.following.rates import (
    approach_limit,
    BRAKE_SHARE,
    lag_of,
    linearize,
    MAX_ERROR_M,
    RAMP_JERK_SHARE,
)
from ik_node.solver.descent.damped import cholesky_solve
from ik_node.solver.descent.layout import EXACT_POSE, HALF_WIDTHS, TIP_AXES, TOLERANCE_AXES
from ik_node.solver.descent.nullspace import from_preferred
from ik_node.solver.descent.residual import task_columns

WEIGHT_RATIO = 4.0  # of the weight of a rad (m); a longer reach counts as this
DOUBTFUL_VALUE = 4e-3  # of the reach; nearer ones are looked for FAR_AHEAD
CROSSED_VALUE = 2e-3  # of the reach; a singularity that the path passes nearer is crossed
MIN_AHEAD = 1e-3  # rad or m, of the path that is looked at, at least
SPEED_UP_S = 0.2  # s, in which the speed may rise before the path is looked at anew
AHEAD_SHARE = 1.5  # of the way that braking takes, that is looked at
SPEED_BISECTIONS = 5  # of the acceleration
OFF_PATH_ACCELERATION = 0.5  # of the limit, for what moves off the path
SWERVE_ACCELERATION = 0.5  # of the limit, for the acceleration of a target
RETURN_RATIO = 20.0  # of the velocity, as a share of its limit; a slower stop goes back less
RETURN_SPEED = 0.2  # of the velocity limits, for the way back to the path
BLOCKED_WAY = 0.01  # rad or m of all joints; a path that ends before is blocked, ...
UNBLOCKED_RATIO = 3.0  # until it is longer than this many times as much
PASSING_SHARE = 0.5  # of the speed, below which a target is followed off the path ...
PASSING_VALUE = 0.03  # of the reach; ... below this singular value
STRAY_SHARE = 0.05  # of the velocity limits, off a path that has to be left then
HELD_SHARE = 0.05  # of the speed, below which the path is blocked for a target, or by
                   # something near
BEND_STEP = 1e-4  # rad or m, for the second derivative of the path
STRAY_DISTANCE_M = 3e-4   # off a line; from here on all joints that cannot follow it brake in step
MIN_SPEED_M_S = 1e-9  # slower is at rest
SLOW_RATE = 0.01  # rad/s or m/s of all joints, from which stops are not tried out
MAX_OVERSPEED = 1.02  # of the speed along the path, in a stop that is tried out
# Courses: to a target; along a line in the axes of the base, or one that turns with the tip.
TARGET_COURSE, STRAIGHT_COURSE, TURNING_COURSE = range(3)


@inner
def add_bias_rates(model, q, smallest, work, course):
    """Write the null-space rates ``course.bias`` (n,), with the factors of the solve."""
    limits, bias, there, task = model.limits, course.bias, course.there, course.twist
    n = q.shape[0]
    fade = min(1.0, smallest / (0.07 * model.reach))
    for k in range(n):
        bias[k] = -fade * fade * model.bias[k] * from_preferred(
            q[k], model.preferred[k], limits.lower[k], limits.upper[k])
    for r in range(6):
        task[r] = 0.0
        for k in range(n):
            task[r] += work.columns[k, r] * bias[k]
    rates_of(model, task, False, work, course, there)
    for k in range(n):
        bias[k] -= there[k]


@inner
def end_gain(model, size, work, course):
    """Return the gain (1/s) at which all joints can still stop at the goal."""
    gain, there = model.gain, course.there
    rates_of(model, work.error, False, work, course, there)
    for k in range(there.shape[0]):
        distance = abs(there[k])
        if distance > 0.0:
            gain = min(gain, speed_to_stop(distance, BRAKE_SHARE * model.limits.acceleration[k],
                                           BRAKE_SHARE * model.limits.jerk[k]) / distance)
    return min(gain, gain * MAX_ERROR_M / max(size, TINY_VALUE))


@inner
def choose_direction(model, timing, gain, v, work, course):
    """
    Write the direction of the path, ``work.correction`` (6,), and what is off it.

    Parameters
    ----------
    gain : float
        For the error, 1/s.
    v : (n,) array
        Joint velocities.

    Returns
    -------
    (float, float)
        Speed along it that is wanted, which may be negative, and that there is (m/s).

    """
    task, feed, error, columns = work.correction, work.target_twist, work.error, work.columns
    wanted = 0.0
    for i in range(6):
        task[i] = feed[i]
        if timing.course == TARGET_COURSE:
            task[i] += gain * error[i]
        wanted += task[i] * task[i]
    wanted = sqrt(wanted)
    inverse = 1.0 / wanted if wanted > MIN_SPEED_M_S else 0.0
    along, speed = 0.0, 0.0
    for i in range(6):
        task[i] *= inverse
        along += task[i] * error[i]
        for k in range(v.shape[0]):
            speed += task[i] * columns[k, i] * v[k]
    for i in range(6):
        # What leads along a line is no error of it; what leads to a target is in the speed.
        error[i] = error[i] - along * task[i] if timing.course != TARGET_COURSE else 0.0
    if speed < 0.0:
        for i in range(6):
            task[i] = -task[i]
        speed, wanted = -speed, -wanted
    goal, direction, length = model.goal, course.direction, model.metres_per_radian
    for h in range(0, 6, 3):
        x, y, z = task[h], task[h + 1], task[h + 2]
        scale = 1.0 if h == 0 else 1.0 / length
        for i in range(3):
            turned = goal[3 * i] * x + goal[3 * i + 1] * y + goal[3 * i + 2] * z \
                if goal[TOLERANCE_AXES] == TIP_AXES else task[h + i]
            direction[h + i] = scale * turned
    return wanted, speed


@inner
def write_bends(model, turning, redundant, q, v, speed, work, course):
    """
    Write how the joints have to accelerate without a change of speed.

    ``course.bends`` is d2q/ds2 here; ``course.bend`` is the task acceleration that makes up for
    the Jacobian's change along it, by s^2; ``course.there`` are the accelerations that make up for
    its change by the velocities v (n,) that are not along the path.
    """
    columns, feed, rates, bend, sway, there, bends = (
        work.columns, work.target_twist, course.rates, course.bend, course.sway, course.there,
        course.bends)
    n, fastest, rapid = q.shape[0], TINY_VALUE, TINY_VALUE
    for k in range(n):
        fastest = max(fastest, abs(rates[k]))
        rapid = max(rapid, abs(v[k]))
        bends[k] = -rates[k]
    h, step = BEND_STEP / fastest, BEND_STEP / rapid
    exact = model.goal[TOLERANCE_AXES] == EXACT_POSE
    if not exact:  # its axes are those of the path from here on
        point_on(course.start, course.direction, turning, 0.0, model.goal[:12], course.twist)
        linearize(model, course.twist, q, work)
        if redundant:
            path_rates(model, feed, redundant, q, work, course, bends)
            for k in range(n):
                bends[k] = -bends[k]
    for i in range(6):
        bend[i] = -feed[i]
        sway[i] = 0.0
        for k in range(n):
            bend[i] += columns[k, i] * rates[k]
            sway[i] += columns[k, i] * (v[k] / step - speed * speed * rates[k] / h)
    if redundant:
        for k in range(n):
            there[k] = q[k] + step * v[k]
        point_on(course.start, course.direction, turning, speed * step, model.goal[:12],
                 course.twist)
        linearize(model, course.twist, there, work)
        for i in range(6):
            for k in range(n):
                sway[i] -= columns[k, i] * v[k] / step
    for k in range(n):
        there[k] = q[k] + h * rates[k]
    point_on(course.start, course.direction, turning, h, model.goal[:12], course.twist)
    linearize(model, course.twist, there, work)
    for i in range(6):
        bend[i] += feed[i]
        for k in range(n):
            bend[i] -= columns[k, i] * rates[k]
            sway[i] += speed * speed * columns[k, i] * rates[k] / h
        bend[i] /= h
    if redundant:
        path_rates(model, feed, redundant, there, work, course, course.slope)
        rates_of(model, sway, False, work, course, there)
        for k in range(n):
            bends[k] = (bends[k] + course.slope[k]) / h
            course.swerve[k] += there[k]
    else:
        factorise(model, work, course)
        rates_of(model, bend, True, work, course, bends)


@inner
def along_cycle(model, target, timing, state, plan, near, work, course):
    """
    Choose the motion of the next cycle, along the path.

    Parameters
    ----------
    others
        As :func:`ik_node.motion.following.cycle.follow_cycle`.

    Returns
    -------
    (bool, float, float, float, float)
        Whether the path can be kept, and the report; else nothing is planned.

    """
    limits, dt, n = model.limits, timing.duration, state.shape[1]
    velocity, acceleration, jerk = limits.velocity, limits.acceleration, limits.jerk
    q, v, twist, accelerations = work.q, work.wanted, work.twist, state[2]
    rates, bends, rest, base, bias = (course.rates, course.bends, course.rest, course.base,
                                      course.bias)
    lag = lag_of(model.gain, dt)
    # Singular values of a wrist go by the weight of a rad, those of an elbow by the reach.
    scale_of_arm = min(model.reach, WEIGHT_RATIO * model.metres_per_radian)
    for k in range(n):
        q[k] = state[0, k] + dt * (state[1, k] + 0.5 * dt * state[2, k])
        v[k] = state[1, k] + dt * state[2, k]
        course.weights[k] = 1.0
        if q[k] < limits.lower[k] or q[k] > limits.upper[k]:
            return False, 0.0, 0.0, 0.0, 0.0
    ahead = timing.target_share * (timing.ahead + dt)
    predict(target, ahead, model.goal[:12])
    share = timing.target_share if timing.course == TARGET_COURSE else 1.0
    for i in range(6):
        twist[i] = share * (target.velocity[i] + ahead * target.acceleration[i])
    position_error, orientation_error = linearize(model, twist, q, work)
    copy(work.frames[-1], course.start)
    exact, size = 0, 0.0
    for i in range(6):
        exact += model.goal[HALF_WIDTHS + i] == 0.0
        size += work.error[i] * work.error[i]
        twist[i] = timing.swerve_share * target.acceleration[i]
    if model.goal[TOLERANCE_AXES] != EXACT_POSE:
        task_columns(work.task_map, twist.reshape((1, 6)))
    for i in range(3, 6):
        twist[i] *= model.metres_per_radian
    redundant, turning = n > exact, timing.course != STRAIGHT_COURSE
    factorise(model, work, course)
    copy(twist, course.twist)
    cholesky_solve(course.gram, course.twist)
    smallest = smallest_singular_value(model, course)
    if timing.course == TARGET_COURSE:
        # The joints reach their velocities with a lag, so these are chosen for that time.
        for i in range(6):
            rate = work.target_twist[i]
            for k in range(n):
                rate -= work.columns[k, i] * v[k]
            work.error[i] += (lag + 0.5 * dt) * rate
    if timing.course == TARGET_COURSE and course.blocked[0] > 0.0 \
            and smallest < PASSING_VALUE * scale_of_arm:
        return False, 0.0, 0.0, 0.0, 0.0
    gain = end_gain(model, sqrt(size), work, course)
    wanted, speed = choose_direction(model, timing, gain, v, work, course)
    direction = work.correction
    if timing.course != TARGET_COURSE:
        wanted *= timing.target_share
    off = 0.0
    for i in range(6):
        off += work.error[i] * work.error[i]
    # The way back to a line, and what the target does across the direction.
    rates_of(model, work.error, False, work, course, rest)
    going = timing.course == TARGET_COURSE or timing.target_share > 0.0
    back = gain
    if not going:  # it is to come to rest
        back = 0.0
        for k in range(n):
            back = max(back, gain * min(RETURN_RATIO * abs(v[k]) / velocity[k], 1.0))
    for k in range(n):
        distance = max(abs(rest[k]), TINY_VALUE)
        back = min(back, RETURN_SPEED * velocity[k] / distance,
                   RETURN_SPEED * acceleration[k] * lag / distance)
    change = along = 0.0
    for i in range(6):
        along += direction[i] * twist[i]
        for k in range(n):
            change += direction[i] * work.columns[k, i] * accelerations[k]
    for i in range(6):
        twist[i] -= along * direction[i]
    rates_of(model, twist, False, work, course, course.swerve)
    for k in range(n):
        rest[k] = v[k] - back * rest[k]
        bias[k] = 0.0
    weak = 0.0
    for i in range(6):
        weak += course.weakest[i] * direction[i]
    weak = abs(weak)
    lost = path_rates(model, direction, redundant, q, work, course, rates)
    if lost > LOST_SHARE:
        return False, 0.0, 0.0, 0.0, 0.0
    if redundant:
        add_bias_rates(model, q, smallest, work, course)
    for i in range(6):
        work.target_twist[i] = direction[i]
    write_bends(model, turning, redundant, q, v, speed, work, course)
    for i in range(6):
        change -= speed * speed * direction[i] * course.bend[i]

    fastest, slowed = np.inf, abs(wanted)
    for k in range(n):
        rest[k] -= speed * rates[k] + bias[k]
        fastest = min(fastest, max(SPEED_SHARE * velocity[k] - abs(bias[k]), 0.0)
                      / max(abs(rates[k]), TINY_VALUE))
    linear = 0.0
    for i in range(3):
        linear += course.direction[i]**2
    tip_fastest = limits.tip[0] / max(sqrt(linear), TINY_VALUE)
    fastest = min(fastest, tip_fastest)
    sign = 1.0 if wanted >= 0.0 else -1.0
    for i in range(near.count[0]):
        near.multipliers[i], towards, other = 0.0, 0.0, 0.0
        for k in range(n):
            towards -= near.gradients[i, k] * sign * slowed * rates[k]
            other -= near.gradients[i, k] * (bias[k] + rest[k])
        limit = approach_limit(model, near, i) - max(other, 0.0)
        if towards > limit:
            near.multipliers[i] = 1.0
            slowed *= max(limit / towards, 0.0) if towards > 0.0 else 0.0
    held = HELD_SHARE * (UNBLOCKED_RATIO if course.blocked[0] > 0.0 else 1.0)
    if slowed < abs(wanted) and (redundant or slowed < held * abs(wanted)):
        course.blocked[0] = 1.0
        return False, 0.0, 0.0, 0.0, 0.0
    allowed = min(slowed, fastest)
    scale = allowed / abs(wanted) if abs(wanted) > 0.0 else 1.0
    allowed *= timing.pace

    # The path ahead, as far as it takes to brake.
    longest = ramp = norm = 0.0
    top = np.inf
    for k in range(n):
        top = min(top, acceleration[k] / max(abs(rates[k]), TINY_VALUE))
    reached = max(speed, min(allowed, speed + SPEED_UP_S * top))
    top = MAX_OVERSPEED * max(speed, allowed)
    for k in range(n):
        longest = max(longest, reached * abs(rates[k]) / (PLAN_ACCELERATION * acceleration[k]))
        ramp = max(ramp, acceleration[k] / (PLAN_JERK * jerk[k]))
        norm += rates[k] * rates[k]
        course.q[k] = q[k]
    norm = sqrt(norm)
    count, ends, end, stretched, doubtful = 1, False, 0.0, False, False
    if reached > MIN_SPEED_M_S:
        look = AHEAD_SHARE * reached * norm * (0.5 * (longest + ramp) + 2.0 * dt)
        count, ends, end, stretched, opening, _ = look_ahead(
            model, turning, redundant, max(look, MIN_AHEAD), smallest, work, course)
        shortest = BLOCKED_WAY * (UNBLOCKED_RATIO if course.blocked[0] > 0.0 else 1.0)
        if timing.course == TARGET_COURSE and (
                stretched or ends and wanted > MIN_SPEED_M_S and end < shortest):
            course.blocked[0] = 1.0
            return False, 0.0, 0.0, 0.0, 0.0
        if wanted > MIN_SPEED_M_S and ends and end < shortest:
            allowed = 0.0  # at the end of a line it stays
        # How near the path may pass by a singularity that is near, if it goes on straight.
        doubtful = going and n == exact and opening < 0.0 and not ends \
            and smallest < PASSING_VALUE * scale_of_arm and smallest * weak < (
                DOUBTFUL_VALUE * scale_of_arm * sqrt(weak * weak + opening * opening))

    # What moves off the path ends; with a target all joints change their velocity in step.
    missing = sign * allowed - speed
    joint = timing.course == TARGET_COURSE
    across = 1.0
    decay = share = 1.0 / lag
    for k in range(n):
        across = min(across, SWERVE_ACCELERATION * acceleration[k]
                     / max(abs(rates[k] * along + course.swerve[k]), TINY_VALUE))
        jump = max(abs(rest[k]), TINY_VALUE)
        decay = min(decay, OFF_PATH_ACCELERATION * acceleration[k] / jump,
                    sqrt(2.0 * RAMP_JERK_SHARE * jerk[k] / jump))
        jump = max(abs(rates[k] * missing - (rest[k] if joint else 0.0)), TINY_VALUE)
        share = min(share, sqrt(2.0 * RAMP_JERK_SHARE * jerk[k] / jump))
        if joint:
            share = min(share, acceleration[k] / jump)
    if joint:
        decay = min(decay, share)
    # The largest acceleration along it that the joints have, and from which it can stop.
    low = least = -np.inf
    high = most = quickest = np.inf
    stray = 0.0
    for k in range(n):
        base[k] = speed * speed * bends[k] + across * course.swerve[k] - decay * rest[k]
        stray = max(stray, abs(rest[k]) / velocity[k])
        if abs(rates[k]) < TINY_VALUE:
            continue
        inverse = 1.0 / rates[k]
        length = abs(inverse)
        low = max(low, -base[k] * inverse - acceleration[k] * length)
        high = min(high, -base[k] * inverse + acceleration[k] * length)
        quickest = min(quickest, (share * SPEED_SHARE * velocity[k]) * length
                       - (share * v[k] + base[k]) * inverse)
        least = max(least, (accelerations[k] - base[k]) * inverse - dt * jerk[k] * length)
        most = min(most, (accelerations[k] - base[k]) * inverse + dt * jerk[k] * length)
    if tip_fastest < np.inf:
        # The acceleration ends before the tip is too fast: c dt / 2 + c^2 / 2 J = room.
        room = tip_fastest - speed + 0.5 * dt * change
        softest = np.inf
        for k in range(n):
            softest = min(softest, RAMP_JERK_SHARE * jerk[k] / max(abs(rates[k]), TINY_VALUE))
        quickest = min(quickest, softest * (sqrt(0.25 * dt * dt + 2.0 * max(room, 0.0) / softest)
                                            - 0.5 * dt))
    high = min(high, max(quickest, low, least))
    if low > high:
        if stray > STRAY_SHARE and (joint or course.blocked[0] > 0.0):
            course.blocked[0] = 1.0
            return False, 0.0, 0.0, 0.0, 0.0
        low = high = 0.5 * (low + high)
        brake = 0.0
        if off > STRAY_DISTANCE_M * STRAY_DISTANCE_M:
            # All joints brake in step, until there is a speed at which they can follow the path.
            for k in range(n):
                brake = max(brake, abs(v[k]) / acceleration[k])
                base[k] = -v[k]
            for k in range(n):
                base[k] *= BRAKE_SHARE / max(brake, TINY_VALUE)
            low = high = least = most = speed = 0.0
    if max(low, least) <= min(high, most):
        low, high = max(low, least), min(high, most)
    chosen = min(max(across * along + share * missing, low), high)
    if count > 1 and speed * norm > SLOW_RATE:
        passing = PASSING_SHARE if smallest < PASSING_VALUE * scale_of_arm else HELD_SHARE
        good, tried = low, chosen
        for attempt in range(SPEED_BISECTIONS + 1):
            change_of_way = 0.0
            for k in range(n):
                course.last[k] = speed * speed * bends[k] + rates[k] * tried
                change_of_way += course.last[k] * course.slopes[0, k]
            free = can_stop(model, count, end, top, norm * (speed + 0.5 * dt * (tried - change)),
                            change_of_way, course)
            slowed_down = not free or high < 0.0
            if attempt == 0 and slowed_down and doubtful:
                for k in range(n):
                    course.q[k] = q[k]
                count, ends, end, stretched, opening, nearest = look_ahead(
                    model, turning, redundant, FAR_AHEAD, smallest, work, course)
                doubtful = not stretched and nearest < CROSSED_VALUE * scale_of_arm
            if attempt == 0 and slowed_down and doubtful or not free and attempt == 0 and (
                    course.blocked[0] > 0.0 or joint and speed < passing * wanted):
                course.blocked[0] = 1.0
                return False, 0.0, 0.0, 0.0, 0.0
            if free:
                good = tried
                if attempt == 0:
                    break
            else:
                chosen = tried
            tried = 0.5 * (good + chosen)
        chosen = good
    course.blocked[0] = 0.0
    jerks, jerk_times = plan.jerk, plan.jerk_time
    for k in range(n):
        jerks[k] = base[k] + rates[k] * chosen - accelerations[k]
    plan_jerks(limits, dt, state, jerks, jerk_times)
    return True, position_error, orientation_error, smallest, scale
