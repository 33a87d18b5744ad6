"""Estimation: likelihoods, filters, regression, and summaries of samples."""

import math

import numpy as np
import scipy.linalg
from scipy import stats
from scipy.spatial.distance import cdist
from scipy.special import digamma, gammaln, polygamma

from tests.corpus.programs import Program


def mixture_log_likelihood(data, means, iterations=3):
    """Log-likelihood of a mixture of two Gaussians after some steps of expectation maximization."""
    mu = np.array(means)
    sigma = np.ones(2)
    weight = np.array([0.5, 0.5])
    log_likelihood = 0.0
    for _ in range(iterations):
        density = np.zeros((len(data), 2))
        for k in range(2):
            z = (data - mu[k]) / sigma[k]
            density[:, k] = weight[k] * np.exp(-0.5 * z**2) / (sigma[k] * np.sqrt(2 * np.pi))
        total = density.sum(axis=1, keepdims=True)
        log_likelihood = np.log(total).sum()
        resp = density / total
        nk = resp.sum(axis=0)
        weight = nk / len(data)
        mu = resp.T @ data / nk
        for k in range(2):
            sigma[k] = np.sqrt((resp[:, k] * (data - mu[k]) ** 2).sum() / nk[k])
    return log_likelihood


class KalmanFilter:
    """A filter for a point that moves with nearly constant velocity."""

    def __init__(self, process_noise, measurement_noise, dt=1.0):
        self.F = np.array([[1.0, dt], [0.0, 1.0]])
        self.H = np.array([[1.0, 0.0]])
        self.Q = process_noise * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
        self.R = measurement_noise
        self.x = np.zeros(2)
        self.P = 10.0 * np.eye(2)
        self.log_likelihood = 0.0

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        innovation = z - (self.H @ self.x)[0]
        S = (self.H @ self.P @ self.H.T)[0, 0] + self.R
        K = (self.P @ self.H.T)[:, 0] / S
        self.x = self.x + K * innovation
        self.P = self.P - np.outer(K, self.H @ self.P)
        self.log_likelihood -= 0.5 * (math.log(2 * math.pi * S) + innovation**2 / S)


def kalman_log_likelihood(measurements, process_noise, measurement_noise):
    """Log-likelihood of positions under a model of nearly constant velocity."""
    kf = KalmanFilter(process_noise, measurement_noise)
    for z in measurements:
        kf.predict()
        kf.update(z)
    return kf.log_likelihood


def logistic_regression(features, ridge, labels=(0, 1, 1, 0, 1, 0), tol=1e-10):
    """Coefficients of a logistic regression with a ridge, by iteratively reweighted least squares."""
    y = np.array(labels, dtype=float)
    X = np.hstack([np.ones((len(features), 1)), features])
    beta = np.zeros(X.shape[1])
    for _iteration in range(25):
        p = 1 / (1 + np.exp(-X @ beta))
        W = np.diag(p * (1 - p))
        gradient = X.T @ (y - p) - ridge * beta
        hessian = X.T @ W @ X + ridge * np.eye(len(beta))
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        beta = beta + step
        if np.linalg.norm(step) < tol:
            break
    else:
        raise RuntimeError("the weights did not settle")
    return beta


def huber_location(sample, k=1.345, tol=1e-9):
    """Huber's estimate of location, scaled by the median absolute deviation."""
    center = np.median(sample)
    scale = 1.4826 * np.median(np.abs(sample - center))
    if scale == 0:
        return center
    change = math.inf
    while change > tol:
        r = np.abs(sample - center) / scale
        weights = np.ones_like(r)
        mask = r > k
        weights[mask] = k / r[mask]
        new = np.sum(weights * sample) / np.sum(weights)
        change = abs(new - center)
        center = new
    return center


def kernel_regression(points, values, bandwidth):
    """Leave-one-out error of Nadaraya and Watson's regression."""
    d2 = cdist(points, points, "sqeuclidean")
    K = np.exp(-d2 / (2 * bandwidth**2))
    np.fill_diagonal(K, 0.0)
    fitted = K @ values / K.sum(axis=1)
    return float(np.mean((values - fitted) ** 2))


def gaussian_process_evidence(inputs, targets, length_scale, noise=0.1):
    """Log marginal likelihood of a Gaussian process with a Matérn kernel."""
    n = len(inputs)
    K = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            r = math.sqrt(3) * abs(inputs[i] - inputs[j]) / length_scale
            K[i, j] = K[j, i] = (1 + r) * math.exp(-r)
    K[np.diag_indices(n)] += noise**2
    L = scipy.linalg.cholesky(K, lower=True)
    alpha = scipy.linalg.cho_solve((L, True), targets)
    return -0.5 * targets @ alpha - np.log(np.diag(L)).sum() - n / 2 * np.log(2 * np.pi)


PATIENTS = [
    {"time": 5.0, "event": True, "dose": 0.3},
    {"time": 8.0, "event": False, "dose": 1.1},
    {"time": 2.5, "event": True, "dose": 0.9},
    {"time": 9.1, "event": True, "dose": -0.2},
    {"time": 4.2, "event": True, "dose": 0.5},
]


def cox_partial_likelihood(effect, shrinkage):
    """Penalized partial likelihood of a proportional hazards model with one covariate."""
    at_risk = sorted(PATIENTS, key=lambda p: p["time"], reverse=True)
    risk = 0.0
    total = 0.0
    for patient in at_risk:
        eta = effect * patient["dose"]
        risk += math.exp(eta)
        if not patient["event"]:
            continue
        total += eta - math.log(risk)
    return total - shrinkage * effect**2


def gamma_fit(sample):
    """Shape and rate of greatest likelihood of a gamma distribution, with the likelihood there."""
    mean = np.mean(sample)
    s = np.log(mean) - np.mean(np.log(sample))
    shape = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(20):
        step = (np.log(shape) - digamma(shape) - s) / (1 / shape - polygamma(1, shape))
        shape -= step
        if np.abs(step) < 1e-12:
            break
    rate = shape / mean
    n = len(sample)
    loglik = n * (shape * np.log(rate) - gammaln(shape)) + np.sum((shape - 1) * np.log(sample) - rate * sample)
    return np.array([shape, rate, loglik])


def jackknife_correlation(x, y):
    """Correlation with the bias removed by the jackknife, and its standard error."""

    def corr(a, b):
        a = a - a.mean()
        b = b - b.mean()
        return (a * b).sum() / math.sqrt((a * a).sum() * (b * b).sum())

    n = len(x)
    theta = corr(x, y)
    partial = []
    for i in range(n):
        keep = np.arange(n) != i
        partial.append(corr(x[keep], y[keep]))
    partial = np.array(partial)
    corrected = n * theta - (n - 1) * partial.mean()
    stderr = np.sqrt((n - 1) / n * np.sum((partial - partial.mean()) ** 2))
    return np.array([corrected, stderr])


def sample_summary(sample, exponent):
    """Moments of a power of a sample, with its geometric mean and its trimmed mean."""
    powered = sample**exponent
    summary = {
        "skew": stats.skew(powered),
        "geometric": stats.gmean(powered),
        "trimmed": stats.trim_mean(powered, 0.2),
    }
    for k in range(2, 5):
        summary[f"moment {k}"] = float(np.mean((powered - powered.mean()) ** k)) ** (1 / k)
    return np.array([summary[key] for key in sorted(summary)])


DATA = np.array([-2.1, -1.7, -1.2, 0.4, 0.9, 1.4, 2.2, 2.6])
POSITIVE = np.array([0.7, 1.9, 2.4, 0.3, 1.1, 3.6, 0.8])
PLANE = np.array([[0.1, 0.4], [0.9, -0.3], [1.4, 0.8], [-0.5, 0.6], [0.2, 1.5], [0.7, 0.2]])

PROGRAMS = [
    Program(mixture_log_likelihood, (DATA, np.array([-1.0, 1.5]))),
    Program(kalman_log_likelihood, (np.array([0.2, 1.1, 1.9, 3.2, 3.9, 5.3]), 0.1, 0.4)),
    Program(logistic_regression, (PLANE, 0.5)),
    Program(huber_location, (np.array([0.2, 1.3, 0.7, 9.0, 1.0, 0.5, 1.6]),)),
    Program(kernel_regression, (PLANE, np.array([0.3, 0.8, 1.6, -0.2, 1.1, 0.5]), 0.7)),
    Program(gaussian_process_evidence, (np.array([0.0, 0.4, 1.1, 1.9]), np.array([0.3, 0.7, 1.0, -0.1]), 0.8)),
    Program(cox_partial_likelihood, (0.4, 0.1)),
    Program(gamma_fit, (POSITIVE,)),
    Program(jackknife_correlation, (POSITIVE, DATA[:7])),
    Program(sample_summary, (POSITIVE, 1.3)),
]
