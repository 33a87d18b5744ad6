"""Statistics and learning: clusters, mixtures, networks, regressions, sequences."""

import math

import numpy as np
from scipy import stats
from scipy.spatial.distance import cdist

from tests.corpus.programs import Program


def cluster_centers(points, k=2):
    """k-means: assign to the nearest center, average, until no label changes."""
    centers = points[:k].copy()
    labels = np.full(len(points), -1)
    while True:
        new_labels = np.zeros(len(points), dtype=int)
        for i, p in enumerate(points):
            distances = [np.sum((p - c) ** 2) for c in centers]
            new_labels[i] = int(np.argmin(distances))
        if np.array_equal(new_labels, labels):
            break
        labels = new_labels
        for j in range(k):
            members = points[labels == j]
            if len(members) > 0:
                centers[j] = members.mean(axis=0)
    return centers


def mixture_means(data, spread):
    """Expectation maximization for two Gaussians on a line, with a given standard deviation to start from."""
    means = [min(data), max(data)]
    sigmas = [spread, spread]
    weights = [0.5, 0.5]
    for _ in range(12):
        responsibilities = []
        for x in data:
            p = [w / s * math.exp(-0.5 * ((x - m) / s) ** 2) for w, m, s in zip(weights, means, sigmas)]
            total = sum(p)
            responsibilities.append([q / total for q in p])
        for j in range(2):
            r = [row[j] for row in responsibilities]
            n = sum(r)
            means[j] = sum(ri * x for ri, x in zip(r, data)) / n
            sigmas[j] = math.sqrt(sum(ri * (x - means[j]) ** 2 for ri, x in zip(r, data)) / n + 1e-6)
            weights[j] = n / len(data)
    return np.array(means)


def perceptron_margin(inputs, rate):
    """Rosenblatt's rule on a separable set; the result is the smallest distance to the line found."""
    targets = [1, 1, 1, -1, -1, -1]
    w = np.zeros(2)
    b = 0.1
    for _epoch in range(100):
        mistakes = 0
        for x, t in zip(inputs, targets):
            if t * (np.dot(w, x) + b) <= 0:
                w += rate * t * x
                b += rate * t
                mistakes += 1
        if mistakes == 0:
            break
    norm = math.sqrt(w[0] ** 2 + w[1] ** 2)
    return min(t * (np.dot(w, x) + b) / norm for x, t in zip(inputs, targets))


def trained_loss(weights, rate):
    """Loss of a small network after some steps of gradient descent with the gradient written out by hand."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0.1, 0.9, 0.9, 0.1])
    W1 = weights[:6].reshape(2, 3).copy()
    b1 = np.zeros(3)
    w2 = weights[6:9].copy()
    b2 = 0.0
    loss = None
    for _ in range(15):
        hidden = np.tanh(X @ W1 + b1)
        out = 1.0 / (1.0 + np.exp(-(hidden @ w2 + b2)))
        loss = 0.5 * np.sum((out - y) ** 2)
        d_out = (out - y) * out * (1 - out)
        d_hidden = np.outer(d_out, w2) * (1 - hidden**2)
        w2 -= rate * (hidden.T @ d_out)
        b2 -= rate * d_out.sum()
        W1 -= rate * (X.T @ d_hidden)
        b1 -= rate * d_hidden.sum(axis=0)
    return loss


def logistic_coefficients(features, ridge):
    """Logistic regression by iteratively reweighted least squares."""
    labels = np.array([0, 0, 1, 0, 1, 1, 0, 1])
    X = np.column_stack([np.ones(len(features)), features])
    beta = np.zeros(X.shape[1])
    for _ in range(30):
        mu = 1 / (1 + np.exp(-X @ beta))
        W = mu * (1 - mu)
        gradient = X.T @ (labels - mu) - ridge * beta
        hessian = (X.T * W) @ X + ridge * np.eye(len(beta))
        delta = np.linalg.solve(hessian, gradient)
        beta += delta
        if np.linalg.norm(delta) < 1e-10:
            break
    return beta


def stump_prediction(x, y, query):
    """Regression by one split, softened at the threshold: all splits are tried and the best one is kept."""
    order = np.argsort(x)
    xs, ys = x[order], y[order]
    best = None
    for k in range(1, len(xs)):
        left, right = ys[:k], ys[k:]
        error = ((left - left.mean()) ** 2).sum() + ((right - right.mean()) ** 2).sum()
        if best is None or error < best["error"]:
            best = {"error": error, "at": 0.5 * (xs[k - 1] + xs[k]), "low": left.mean(), "high": right.mean()}
    share = 1 / (1 + math.exp(-(query - best["at"]) / 0.2))
    return best["low"] + share * (best["high"] - best["low"])


def hidden_markov_likelihood(transition, emission):
    """Log-likelihood of a sequence of symbols, by the forward recursion with scaling."""
    observed = [0, 2, 1, 1, 0, 2, 2, 1]
    A = transition / transition.sum(axis=1, keepdims=True)
    B = emission / emission.sum(axis=1, keepdims=True)
    n = A.shape[0]
    alpha = np.zeros((len(observed), n))
    scale = np.zeros(len(observed))
    for t, symbol in enumerate(observed):
        for j in range(n):
            if t == 0:
                arrive = 1.0 / n
            else:
                arrive = sum(alpha[t - 1, i] * A[i, j] for i in range(n))
            alpha[t, j] = arrive * B[j, symbol]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    return np.sum(np.log(scale))


def kernel_ridge(train, targets, lengthscale):
    """Predictions of ridge regression with a Gaussian kernel at three new places."""
    new = np.array([[0.2, 0.3], [0.8, 0.1], [0.5, 0.9]])
    K = np.exp(-cdist(train, train, "sqeuclidean") / (2 * lengthscale**2))
    K[np.diag_indices(len(train))] += 0.1
    coefficients = np.linalg.solve(K, targets)
    cross = np.exp(-cdist(new, train, "sqeuclidean") / (2 * lengthscale**2))
    return cross @ coefficients


def lasso_fit(design, response, penalty):
    """Lasso by coordinate descent with soft thresholds."""
    n, p = design.shape
    w = np.zeros(p)
    norms = (design**2).sum(axis=0)
    for _sweep in range(200):
        largest = 0.0
        for j in range(p):
            residual = response - design @ w + design[:, j] * w[j]
            rho = design[:, j] @ residual
            old = w[j]
            if rho > penalty * n:
                w[j] = (rho - penalty * n) / norms[j]
            elif rho < -penalty * n:
                w[j] = (rho + penalty * n) / norms[j]
            else:
                w[j] = 0.0
            largest = max(largest, abs(w[j] - old))
        if largest < 1e-12:
            break
    return w


def describe_sample(sample):
    """A row of descriptive statistics, as for a table in a report."""
    summary = {
        "mean": np.mean(sample),
        "deviation": np.std(sample, ddof=1),
        "skewness": stats.skew(sample),
        "kurtosis": stats.kurtosis(sample),
        "geometric": stats.gmean(sample),
        "median": np.median(sample),
        "range": np.ptp(sample),
    }
    return np.array([summary[name] for name in sorted(summary)])


PROGRAMS = [
    Program(
        cluster_centers,
        (np.array([[0.1, 0.2], [2.0, 2.1], [0.3, -0.1], [1.8, 2.4], [-0.2, 0.4], [2.3, 1.7], [0.0, 0.5]]),),
    ),
    Program(mixture_means, (np.array([-1.2, -0.7, -1.0, 0.9, 1.4, 1.1, 0.6, -0.4]), 0.8)),
    Program(
        perceptron_margin,
        (np.array([[1.2, 0.9], [0.8, 1.5], [1.7, 0.4], [-0.9, -0.3], [-0.2, -1.1], [-1.3, 0.2]]), 0.3),
    ),
    Program(trained_loss, (np.array([0.5, -0.8, 0.3, 0.9, 0.4, -0.6, 0.7, -0.5, 0.2]), 0.8)),
    Program(
        logistic_coefficients,
        (
            np.array(
                [[0.5, 1.0], [-0.7, 0.3], [1.5, -0.4], [0.2, 0.8], [1.1, 1.3], [0.9, -1.0], [-1.2, 0.1], [-0.1, -0.6]]
            ),
            0.1,
        ),
    ),
    Program(
        stump_prediction,
        (np.array([0.9, 0.1, 1.8, 0.4, 1.3, 2.2]), np.array([0.4, 0.1, 1.9, 0.2, 2.1, 1.7]), 1.2),
    ),
    Program(
        hidden_markov_likelihood, (np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.5, 0.3, 0.2], [0.1, 0.4, 0.5]]))
    ),
    Program(
        kernel_ridge,
        (
            np.array([[0.1, 0.1], [0.9, 0.2], [0.4, 0.7], [0.7, 0.8], [0.3, 0.4]]),
            np.array([1.0, -0.5, 0.3, 0.8, 0.1]),
            0.6,
        ),
    ),
    Program(
        lasso_fit,
        (
            np.array([[1.0, 0.2, -0.3], [0.4, -1.1, 0.6], [-0.8, 0.5, 1.2], [0.3, 0.9, -0.7], [-1.1, -0.4, 0.2]]),
            np.array([1.2, -0.9, -0.5, 1.1, -1.4]),
            0.15,
        ),
    ),
    Program(describe_sample, (np.array([1.3, 2.7, 0.9, 3.8, 2.1, 1.6, 5.2]),)),
]
