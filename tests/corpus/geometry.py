"""Geometry: polygons, closest points, nearest sites, splines by hand."""

import math
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
from scipy.spatial.distance import cdist

from tests.corpus.programs import Program


@dataclass(frozen=True)
class Point:
    """A point or arrow of the plane."""

    x: float
    y: float

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Point(self.x - other.x, self.y - other.y)

    def __rmul__(self, factor):
        return Point(factor * self.x, factor * self.y)

    def __matmul__(self, other):
        return self.x * other.y - self.y * other.x

    def __abs__(self):
        return math.hypot(self.x, self.y)


def clipped_area(subject, clip):
    """Area of what two convex polygons share, by cutting one along the sides of the other."""
    polygon = [Point(*row) for row in subject]
    corners = [Point(*row) for row in clip]
    for a, b in zip(corners, corners[1:] + corners[:1]):
        cut, previous = [], polygon[-1]
        for current in polygon:
            before, now = (b - a) @ (previous - a), (b - a) @ (current - a)
            if (before < 0) != (now < 0):
                cut.append(previous + before / (before - now) * (current - previous))
            if now >= 0:
                cut.append(current)
            previous = current
        if not cut:
            return 0.0
        polygon = cut
    return sum(p @ q for p, q in zip(polygon, polygon[1:] + polygon[:1])) / 2


def closest_pair(points):
    """Distance of the two closest points of the plane, by halving."""

    def solve(p):
        if len(p) <= 3:
            return min(math.dist(a, b) for a, b in combinations(p, 2))
        half = len(p) // 2
        border = p[half][0]
        best = min(solve(p[:half]), solve(p[half:]))
        strip = sorted((q for q in p if abs(q[0] - border) < best), key=lambda q: q[1])
        for i, a in enumerate(strip):
            for b in strip[i + 1 :]:
                if b[1] - a[1] >= best:
                    break
                best = min(best, math.dist(a, b))
        return best

    return solve(sorted(points, key=lambda q: q[0]))


def cell_energy(sites, density, n=12):
    """Weighted squared distances of the points of a grid to the nearest sites, after one step to the centroids."""
    ticks = (np.arange(n) + 0.5) / n
    xx, yy = np.meshgrid(ticks, ticks)
    grid = np.c_[xx.ravel(), yy.ravel()]
    weight = np.exp(-density * ((grid - 0.4) ** 2).sum(1))
    owner = cdist(grid, sites).argmin(axis=1)
    mass = np.bincount(owner, weights=weight, minlength=len(sites))
    centers = np.zeros(sites.shape)
    np.add.at(centers, owner, weight[:, None] * grid)
    centers = 0.5 * sites + 0.5 * centers / mass[:, None]
    return np.sum(weight * np.sum((grid - centers[owner]) ** 2, axis=1)) / n**2


def spline_values(knots, heights, where):
    """Values of the natural cubic spline through points."""
    n = len(knots)
    h = np.diff(knots)
    slope = np.diff(heights) / h
    A = np.diag(2 * (h[:-1] + h[1:])) + np.diag(h[1:-1], 1) + np.diag(h[1:-1], -1)
    second = np.zeros(n)
    second[1:-1] = np.linalg.solve(A, 6 * np.diff(slope))
    values = []
    for x in where:
        i = min(max(int(np.searchsorted(knots, x)) - 1, 0), n - 2)
        a, b = (knots[i + 1] - x) / h[i], (x - knots[i]) / h[i]
        cubic = (a**3 - a) * second[i] + (b**3 - b) * second[i + 1]
        values.append(a * heights[i] + b * heights[i + 1] + cubic * h[i] ** 2 / 6)
    return np.asarray(values)


def solid_centroid(vertices):
    """Center of mass of a solid bounded by triangles, as the mean of tetrahedra from the origin."""
    faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]

    def add(state, face):
        volume, moment = state
        a, b, c = (vertices[k] for k in face)
        v = np.dot(a, np.cross(b, c)) / 6
        return volume + v, moment + v * (a + b + c) / 4

    volume, moment = reduce(add, faces, (0.0, np.zeros(3)))
    return moment / volume


SQUARE = np.array([[0.1, 0.0], [2.0, 0.2], [2.2, 1.9], [0.0, 2.1]])
TRIANGLE = np.array([[1.0, -0.7], [3.1, 1.2], [0.7, 2.9]])
SCATTER = np.array([[0.1, 0.4], [1.9, 0.2], [1.1, 1.3], [2.6, 1.7], [0.3, 2.2], [1.6, 1.9], [2.2, 0.7]])

PROGRAMS = [
    Program(clipped_area, (SQUARE, TRIANGLE)),
    Program(closest_pair, (SCATTER,)),
    Program(cell_energy, (np.array([[0.21, 0.33], [0.78, 0.29], [0.47, 0.81]]), 1.7)),
    Program(
        spline_values,
        (np.array([0.0, 0.8, 1.7, 3.0, 3.9]), np.array([0.2, 1.1, -0.4, 0.6, 0.9]), np.array([0.3, 1.2, 2.9, 3.5])),
    ),
    Program(solid_centroid, (np.array([[0.1, 0.0, 0.2], [1.3, 0.1, 0.0], [0.3, 1.1, 0.1], [0.4, 0.5, 1.4]]),)),
]
