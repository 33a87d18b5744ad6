"""Sets as the judges know them, by the names in tests/data/proximal.json, and more that no judge has."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from adjoint.optimize import proximal, sets

DATA = json.loads((Path(__file__).parents[2] / "data" / "proximal.json").read_text())
WEIGHTS = np.array([0.5, 1.0, 1.5, 2.0, 0.7, 1.2])
SIGNED = np.array([1.0, -1.0, 0.5, 2.0, -0.3, 1.1])
MATRIX = np.array([[1.0, 0.0, 2.0, -1.0, 0.5, 0.0], [0.0, 1.0, 1.0, 0.0, -1.0, 2.0]])
METRIC = np.array([[2.0, 0.3, 0, 0, 0.1, 0], [0.3, 1.0, 0.2, 0, 0, 0], [0, 0.2, 1.5, 0.4, 0, 0],
                   [0, 0, 0.4, 1.2, 0, 0.1], [0.1, 0, 0, 0, 0.8, 0], [0, 0, 0, 0.1, 0, 0.6]])  # fmt: skip
Q = np.array([[2.0, 0.5, 0, 0, 0, 0], [0.5, 1.0, 0, 0, 0, 0], [0, 0, 0.3, 0, 0, 0], [0, 0, 0, 1.0, 0.2, 0],
              [0, 0, 0, 0.2, 0.5, 0], [0, 0, 0, 0, 0, 0.0]])  # fmt: skip
SETS = {
    "box": sets.box(-0.5, 0.8),
    "nonnegative": sets.nonnegative(),
    "simplex": sets.simplex(1.5),
    "capped_simplex": sets.capped_simplex(2.0, 0.6),
    "box_section": sets.box_section(-1.0, 1.0, SIGNED, 0.7),
    "order_simplex": sets.order_simplex(),
    "order_simplex increasing": sets.order_simplex(-0.4, 0.9, increasing=True),
    "l1_ball": sets.l1_ball(1.3),
    "weighted_l1_ball": sets.weighted_l1_ball(WEIGHTS, 1.3),
    "l2_ball": sets.l2_ball(1.3),
    "linf_ball": sets.linf_ball(0.4),
    "weighted_l2_ball": sets.weighted_l2_ball(WEIGHTS, 0.9),
    "mahalanobis_ball": sets.mahalanobis_ball(METRIC, 0.9),
    "half_space": sets.half_space(SIGNED, -0.5),
    "hyperplane": sets.hyperplane(SIGNED, 0.7),
    "affine": sets.affine(MATRIX, np.array([1.0, -0.5])),
    "second_order_cone": sets.second_order_cone(),
    "exponential_cone": sets.exponential_cone(),
    "intersection": sets.intersection(sets.box(0.0, 1.0), sets.hyperplane(SIGNED, 0.7), sets.l2_ball(1.1)),
    "psd": sets.psd(),
    "nuclear_ball": sets.nuclear_ball(1.5),
    "birkhoff": sets.birkhoff(),
    "transport": sets.transport(np.array([1.0, 2.0, 0.5]), np.array([1.5, 0.5, 0.5, 1.0])),
}
TERMS = {
    "l1": proximal.l1(0.4),
    "elastic_net": proximal.elastic_net(0.3, 0.7),
    "l2": proximal.l2(0.8),
    "group": proximal.group(0.7, [0, 0, 1, 2, 2, 2]),
    "linf": proximal.linf(0.9),
    "maximum": proximal.maximum(0.9),
    "owl": proximal.owl(np.array([1.0, 0.8, 0.8, 0.4, 0.1, 0.0])),
    "squared_l2": proximal.squared_l2(0.3),
    "quadratic": proximal.quadratic(Q, 0.1 * np.ones(6)),
    "huber": proximal.huber(0.5, 0.7),
    "negentropy": proximal.negentropy(0.7),
    "log_barrier": proximal.log_barrier(0.4),
    "total_variation": proximal.total_variation(0.5),
    "nuclear": proximal.nuclear(0.8),
}
STEP = 0.7
# pairs of library and formula: ours, and the step with which it is the same
DIRECT = {
    "pyproximal l1": (proximal.l1(0.4), 0.7),
    "proxop l0": (proximal.l0(), 0.21),
    "pyproximal l2": (proximal.l2(0.8), 0.7),
    "pyproximal scad": (proximal.scad(0.5, 3.7), 0.7),
    "pyproximal simplex": (proximal.from_set(sets.simplex(1.5)), 0.7),
    "pyproximal l1_ball": (proximal.from_set(sets.l1_ball(1.3)), 0.7),
    "pyproximal l2_ball": (proximal.from_set(sets.l2_ball(1.3)), 0.7),
    "pyproximal total_variation": (proximal.total_variation(0.5), 0.7),
    "proxop l1": (proximal.l1(), 0.28),
    "proxop max": (proximal.maximum(), 0.63),
    "proxop linf": (proximal.linf(), 0.63),
    "proxop negentropy": (proximal.negentropy(), 0.49),
    "proxop log_barrier": (proximal.log_barrier(), 0.28),
    "proxop huber": (proximal.huber(0.5, 0.5), 0.49),
}
