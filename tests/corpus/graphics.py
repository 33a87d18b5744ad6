"""Computer graphics: curves, rotations, rays, pixels."""

import itertools
import math
from functools import reduce

import numpy as np
from scipy import ndimage
from scipy.interpolate import CubicSpline

from tests.corpus.programs import Program


def normalize(v):
    return v / np.linalg.norm(v)


def bezier_length(control_points, segments=24):
    """Length of a Bezier curve as a polygon through points that de Casteljau's recursion finds."""

    def casteljau(points, t):
        if len(points) == 1:
            return points[0]
        return casteljau([(1 - t) * p + t * q for p, q in itertools.pairwise(points)], t)

    curve = [casteljau(list(control_points), k / segments) for k in range(segments + 1)]
    total = 0.0
    for p, q in itertools.pairwise(curve):
        total += math.hypot(q[0] - p[0], q[1] - p[1])
    return total


def rotate_about_axis(point, axis, angle):
    """Rodrigues' rotation formula with a cross-product matrix."""
    k = axis / np.sqrt(axis @ axis)
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    R = np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K
    return R @ point


def march_to_blob(origin, direction, blend=0.3):
    """Distance along a ray to two smoothly joined spheres, by sphere tracing."""
    spheres = [(np.array([0.0, 0.0, 3.0]), 1.0), (np.array([0.9, 0.5, 2.6]), 0.6)]

    def distance(p):
        d1, d2 = (np.linalg.norm(p - center) - radius for center, radius in spheres)
        h = min(max(0.5 + 0.5 * (d2 - d1) / blend, 0.0), 1.0)
        return d2 * (1 - h) + d1 * h - blend * h * (1 - h)

    ray = normalize(direction)
    t = 0.0
    for _ in range(200):
        d = distance(origin + t * ray)
        if d < 1e-10:
            break
        t += d
    else:
        return 100.0
    return t


def soft_triangle(vertices, sharpness=12.0, size=8):
    """Image of one triangle whose edges fade, pixel by pixel."""
    image = np.zeros((size, size))
    for row in range(size):
        for col in range(size):
            px = (col + 0.5) / size
            py = (row + 0.5) / size
            coverage = 1.0
            for k in range(3):
                ax, ay = vertices[k]
                bx, by = vertices[(k + 1) % 3]
                edge = ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) / math.hypot(bx - ax, by - ay)
                coverage *= 1.0 / (1.0 + math.exp(-sharpness * edge))
            image[row, col] = coverage
    return image


def shaded_sphere(light, radius, shininess=20.0):
    """Brightness of a sphere seen from above, by the reflection model of Phong."""
    n = 9
    to_light = normalize(light)
    view = np.array([0.0, 0.0, 1.0])
    pixels = []
    for y in np.linspace(-1.0, 1.0, n):
        for x in np.linspace(-1.0, 1.0, n):
            height2 = radius**2 - x**2 - y**2
            if height2 <= 0:
                pixels.append(0.05)
                continue
            normal = np.array([x, y, math.sqrt(height2)]) / radius
            lambert = np.dot(normal, to_light)
            if lambert <= 0:
                pixels.append(0.1)
                continue
            mirrored = 2 * lambert * normal - to_light
            highlight = max(float(np.dot(mirrored, view)), 0.0) ** shininess
            pixels.append(0.1 + 0.6 * lambert + 0.3 * highlight)
    return np.array(pixels).reshape(n, n)


def slerp(p, q, t):
    """Spherical interpolation between two rotations given as quaternions."""
    p = normalize(p)
    q = normalize(q)
    dot = np.dot(p, q)
    if dot < 0:
        q, dot = -q, -dot
    if dot > 0.9995:
        return normalize((1 - t) * p + t * q)
    theta = np.arccos(dot)
    return (np.sin((1 - t) * theta) * p + np.sin(t * theta) * q) / np.sin(theta)


def texture_lookup(texture, u, v):
    """Bilinear lookup with clamped borders."""
    height, width = texture.shape
    x = u * (width - 1)
    y = v * (height - 1)
    x0 = int(x)
    y0 = int(y)
    x1 = min(x0 + 1, width - 1)
    y1 = min(y0 + 1, height - 1)
    fx, fy = x - x0, y - y0
    top = (1 - fx) * texture[y0, x0] + fx * texture[y0, x1]
    bottom = (1 - fx) * texture[y1, x0] + fx * texture[y1, x1]
    return (1 - fy) * top + fy * bottom


def project_to_screen(corner, angles, focal):
    """Rotate, move away from the camera and project: a product of 4 by 4 matrices."""

    def rotation(axis, a):
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        m = np.eye(4)
        m[i, i] = m[j, j] = np.cos(a)
        m[i, j] = -np.sin(a)
        m[j, i] = np.sin(a)
        return m

    away = np.eye(4)
    away[2, 3] = 5.0
    chain = [away] + [rotation(axis, a) for axis, a in enumerate(angles)]
    matrix = reduce(np.matmul, chain)
    x, y, z, w = matrix @ np.append(corner, 1.0)
    assert z > 0, "behind the camera"
    return np.array([focal * x / z, focal * y / z, w])


def z_buffer(triangles, depths):
    """Depth image of triangles: the nearest one wins in each pixel."""
    size = 10
    buffer = np.full((size, size), 4.0)
    for tri, z in zip(triangles, depths):
        (ax, ay), (bx, by), (cx, cy) = tri
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if abs(area) < 1e-9:
            continue
        for i in range(size):
            for j in range(size):
                px, py = (j + 0.5) / size, (i + 0.5) / size
                w0 = ((bx - px) * (cy - py) - (by - py) * (cx - px)) / area
                w1 = ((cx - px) * (ay - py) - (cy - py) * (ax - px)) / area
                w2 = 1.0 - w0 - w1
                if w0 < 0 or w1 < 0 or w2 < 0:
                    continue
                depth = w0 * z[0] + w1 * z[1] + w2 * z[2]
                if depth < buffer[i, j]:
                    buffer[i, j] = depth
    return buffer


def vertex_normals(vertices):
    """Normals at the corners of a mesh, averaged over the faces with their areas."""
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]])
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    face_normals = np.cross(b - a, c - a)
    normals = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(normals, faces[:, k], face_normals)
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def unsharp_mask(image, amount):
    """Sharpen an image by what a blur takes away, then compress the range."""
    blurred = ndimage.gaussian_filter(image, sigma=1.0, mode="nearest")
    sharp = image + amount * (image - blurred)
    mapped = np.where(sharp > 0, sharp / (1.0 + np.abs(sharp)), 0.0)
    mask = mapped > 0.02
    result = np.full(image.shape, 0.02)
    result[mask] = mapped[mask] ** (1 / 2.2)
    return result


def gradient_noise(x, y, octaves=3):
    """Perlin's noise with gradients from a small hash of the lattice point."""

    def gradient(i, j):
        angle = (i * 127 + j * 311) % 16 * (2 * math.pi / 16)
        return math.cos(angle), math.sin(angle)

    def fade(s):
        return s * s * s * (s * (s * 6 - 15) + 10)

    def noise(px, py):
        i, j = math.floor(px), math.floor(py)
        fx, fy = px - i, py - j
        corners = {}
        for di in (0, 1):
            for dj in (0, 1):
                gx, gy = gradient(i + di, j + dj)
                corners[di, dj] = gx * (fx - di) + gy * (fy - dj)
        low = corners[0, 0] + fade(fx) * (corners[1, 0] - corners[0, 0])
        high = corners[0, 1] + fade(fx) * (corners[1, 1] - corners[0, 1])
        return low + fade(fy) * (high - low)

    return sum(0.5**k * noise(2**k * x, 2**k * y) for k in range(octaves))


def camera_path_bend(waypoints):
    """Bending of a smooth camera path through waypoints, from the derivatives of a spline."""
    times = np.arange(len(waypoints), dtype=float)
    path = CubicSpline(times, waypoints, bc_type="natural")
    fine = np.linspace(times[0], times[-1], 41)
    velocity, acceleration = path(fine, 1), path(fine, 2)
    speed = np.sqrt((velocity**2).sum(axis=1))
    cross = velocity[:, 0] * acceleration[:, 1] - velocity[:, 1] * acceleration[:, 0]
    curvature = cross / speed**3
    return np.trapezoid(curvature**2 * speed, fine)


PROGRAMS = [
    Program(bezier_length, (np.array([[0.0, 0.0], [0.4, 1.2], [1.3, -0.8], [2.0, 0.5]]),)),
    Program(rotate_about_axis, (np.array([1.0, 0.5, -0.3]), np.array([0.2, 1.0, 0.4]), 0.8)),
    Program(march_to_blob, (np.array([0.1, 0.2, 0.0]), np.array([0.15, 0.05, 1.0]))),
    Program(soft_triangle, (np.array([[0.15, 0.2], [0.85, 0.3], [0.4, 0.9]]),)),
    Program(shaded_sphere, (np.array([0.5, 0.4, 1.0]), 0.95)),
    Program(slerp, (np.array([1.0, 0.1, 0.2, 0.3]), np.array([0.3, 0.9, -0.1, 0.4]), 0.35)),
    Program(texture_lookup, (np.array([[0.1, 0.5, 0.9], [0.4, 0.2, 0.7], [0.8, 0.6, 0.3]]), 0.62, 0.27)),
    Program(project_to_screen, (np.array([0.7, -0.4, 0.5]), np.array([0.3, -0.5, 0.9]), 1.8)),
    Program(
        z_buffer,
        (
            np.array([[[0.11, 0.12], [0.93, 0.22], [0.41, 0.88]], [[0.52, 0.07], [0.96, 0.73], [0.17, 0.58]]]),
            np.array([[1.0, 2.0, 1.5], [1.3, 1.1, 2.2]]),
        ),
    ),
    Program(
        vertex_normals,
        (np.array([[0.0, 0.1, 1.0], [1.0, 0.0, 0.1], [0.1, 1.0, 0.0], [-1.0, 0.2, 0.1], [0.0, -1.1, 0.2]]),),
    ),
    Program(unsharp_mask, (np.array([[0.2, 0.4, 0.9, 0.3], [0.5, 0.8, 0.6, 0.1], [0.7, 0.3, 0.4, 0.6]]), 0.7)),
    Program(gradient_noise, (1.37, 2.21)),
    Program(camera_path_bend, (np.array([[0.0, 0.0], [1.0, 0.4], [1.8, 1.5], [3.1, 1.2], [4.0, 2.0]]),)),
]
