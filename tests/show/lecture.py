"""The loss of a lecture: logistic regression on two points, with the squared loss."""

from scipy.special import expit


def loss(w2, w1, w0):
    v1 = w0 + w1 + 1.5 * w2
    v2 = w0 + 1.5 * w1 - w2
    v3 = expit(v1)
    v4 = expit(v2)
    v5 = 0 - v3
    v6 = 1 - v4
    v7 = v5**2
    v8 = v6**2
    return v7 + v8
