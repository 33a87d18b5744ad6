"""Control and estimation: filters, regulators, frequency responses."""

import math

import numpy as np
import scipy.linalg

from tests.corpus.programs import Program


def kalman_position(process_noise, measurement_noise, measurements):
    """Filtered positions of a cart with constant velocity."""
    dt = 0.1
    F = np.array([[1.0, dt], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = process_noise * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    x = np.zeros((2, 1))
    P = np.eye(2)
    estimates = []
    for z in measurements:
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + measurement_noise
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (np.array([[z]]) - H @ x)
        P = (np.eye(2) - K @ H) @ P
        estimates.append(x[0, 0])
    return np.array(estimates)


def riccati_gain(mass, control_cost):
    """Gain of the regulator of a double integrator: the Riccati recursion until it stands still."""
    dt = 0.1
    A = np.array([[1.0, dt], [0.0, 1.0]])
    B = np.array([[0.5 * dt**2 / mass], [dt / mass]])
    Q = np.diag([1.0, 0.1])
    R = np.array([[control_cost]])
    P = Q.copy()
    limit = 2000
    for _ in range(limit):
        gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P_next = Q + A.T @ P @ (A - B @ gain)
        err = np.max(np.abs(P_next - P))
        P = P_next
        if err < 1e-10:
            break
    else:
        raise RuntimeError(f"no convergence after {limit} iterations")
    return gain.ravel()


def pid_tracking_error(kp, ki, kd):
    """Squared error of a heater with a limited input and an integrator that stops when the input is at its limit."""
    dt, setpoint = 0.05, 1.0
    y, integral = 0.0, 0.0
    previous = setpoint - y
    cost = 0.0
    for _ in range(200):
        error = setpoint - y
        derivative = (error - previous) / dt
        u = kp * error + ki * integral + kd * derivative
        u_limited = max(0.0, min(2.5, u))
        if u == u_limited:
            integral += error * dt
        y += dt * (-y + 0.8 * u_limited)
        previous = error
        cost += error**2 * dt
    return cost


def predictive_control(state, weight, horizon=8):
    """First moves of a predictive controller with input limits: the plan is improved by projected gradient steps."""
    A = np.array([[1.0, 0.2], [-0.1, 0.95]])
    B = np.array([0.02, 0.2])
    free = np.zeros((2 * horizon, 2))
    forced = np.zeros((2 * horizon, horizon))
    power = np.eye(2)
    responses = []
    for k in range(horizon):
        responses.append(power @ B)
        power = A @ power
        free[2 * k : 2 * k + 2] = power
        for j in range(k + 1):
            forced[2 * k : 2 * k + 2, j] = responses[k - j]
    H = forced.T @ forced + weight * np.eye(horizon)
    g = forced.T @ (free @ state)
    step = 1.0 / np.trace(H)
    u = np.zeros(horizon)
    for _ in range(150):
        u = np.clip(u - step * (H @ u + g), -1.0, 1.0)
    return u[:3]


def regulator_cost(start, input_weight, steps=15):
    """Cost of the optimal finite-horizon regulator, with gains from a backward sweep and a run forward."""
    A = np.array([[1.1, 0.3], [0.0, 0.9]])
    B = np.array([[0.0], [0.5]])
    Q = np.eye(2)
    gains = []
    P = 5.0 * np.eye(2)
    for _ in range(steps):
        K = np.linalg.inv(input_weight * np.eye(1) + B.T @ P @ B) @ (B.T @ P @ A)
        P = Q + K.T @ K * input_weight + (A - B @ K).T @ P @ (A - B @ K)
        gains.insert(0, K)
    x = np.array(start)
    cost = 0.0
    for K in gains:
        u = -(K @ x)
        cost += x @ Q @ x + input_weight * float(u[0] ** 2)
        x = A @ x + B @ u
    return cost + 5.0 * x @ x


def sampled_response(damping, frequency):
    """Step response of an oscillator whose sampled model comes from a matrix exponential."""
    dt = 0.3
    A = np.array([[0.0, 1.0], [-(frequency**2), -2 * damping * frequency]])
    B = np.array([[0.0], [frequency**2]])
    block = np.zeros((3, 3))
    block[:2, :2] = A
    block[:2, 2:] = B
    E = scipy.linalg.expm(block * dt)
    Ad, Bd = E[:2, :2], E[:2, 2]
    x = np.zeros(2)
    outputs = np.empty(12)
    for k in range(12):
        x = Ad @ x + Bd
        outputs[k] = x[0]
    return outputs


def phase_margin(gain, lag):
    """Phase margin in degrees of a loop with an integrator, a lag and a delay."""

    def loop(w):
        s = 1j * w
        return gain * np.exp(-0.2 * s) / (s * (lag * s + 1))

    low, high = 1e-3, 1e3
    w = math.sqrt(low * high)
    for _ in range(30):
        if abs(loop(w)) > 1:
            low = w
        else:
            high = w
        w = math.sqrt(low * high)
    for _ in range(3):  # the magnitude is gain / (w sqrt(1 + lag^2 w^2))
        f = math.log(gain) - math.log(w) - 0.5 * math.log1p(lag**2 * w**2)
        df = -1 / w - lag**2 * w / (1 + lag**2 * w**2)
        w -= f / df
    return 180.0 + np.degrees(np.angle(loop(w)))


def range_bearing_filter(initial, ranges, bearings):
    """Extended Kalman filter for a slow target that is seen by its distance and its angle."""
    x = initial.copy()
    P = np.diag([0.5, 0.5])
    R = np.diag([0.04, 0.01])
    drift = np.array([0.1, -0.05])
    for rho, phi in zip(ranges, bearings):
        x = x + drift
        P = P + 0.01 * np.eye(2)
        d = math.sqrt(x[0] ** 2 + x[1] ** 2)
        H = np.array([[x[0] / d, x[1] / d], [-x[1] / d**2, x[0] / d**2]])
        angle = phi - math.atan2(x[1], x[0])
        while angle > math.pi:
            angle -= 2 * math.pi
        while angle < -math.pi:
            angle += 2 * math.pi
        innovation = np.array([rho - d, angle])
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        x += K @ innovation
        P = P - K @ H @ P
    return x


PROGRAMS = [
    Program(kalman_position, (0.5, 0.2, np.array([0.1, 0.25, 0.2, 0.45, 0.5, 0.48, 0.7, 0.85]))),
    Program(riccati_gain, (1.5, 0.3)),
    Program(pid_tracking_error, (3.1, 1.3, 0.07)),
    Program(predictive_control, (np.array([1.6, -0.4]), 0.15)),
    Program(regulator_cost, (np.array([1.0, -0.5]), 0.4)),
    Program(sampled_response, (0.3, 1.8)),
    Program(phase_margin, (1.4, 0.5)),
    Program(
        range_bearing_filter,
        (np.array([2.0, 1.0]), np.array([2.4, 2.3, 2.5, 2.6, 2.5]), np.array([0.42, 0.4, 0.35, 0.3, 0.31])),
    ),
]
