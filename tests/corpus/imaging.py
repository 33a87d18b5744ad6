"""Imaging: filters, histograms, projections, distance fields."""

import itertools
import math

import numpy as np
from scipy import ndimage
from scipy.signal import convolve2d

from tests.corpus.programs import Program


def bilateral_filter(image, spatial_width, tone_width, radius=2):
    """Smoothing that keeps edges: each pixel is an average of near pixels of a near tone."""
    rows, columns = image.shape
    result = np.zeros_like(image)
    for i in range(rows):
        for j in range(columns):
            total = norm = 0.0
            for di, dj in itertools.product(range(-radius, radius + 1), repeat=2):
                y, x = i + di, j + dj
                if not (0 <= y < rows and 0 <= x < columns):
                    continue
                w = math.exp(-(di * di + dj * dj) / (2 * spatial_width**2))
                w *= math.exp(-((image[y, x] - image[i, j]) ** 2) / (2 * tone_width**2))
                total += w * image[y, x]
                norm += w
            result[i, j] = total / norm
    return result


def matched_histogram(image, reference):
    """The image with the tones of a reference, by the quantiles of both."""
    flat = image.ravel()
    order = np.argsort(flat)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(flat.size)
    quantiles = (ranks + 0.5) / flat.size
    tones = np.sort(reference, axis=None)
    positions = (np.arange(tones.size) + 0.5) / tones.size
    matched = np.interp(quantiles, positions, tones)
    return (0.8 * matched + 0.2 * flat).reshape(image.shape)


def bilinear(image, y, x):
    """The image between pixels, black outside."""
    i, j = math.floor(y), math.floor(x)
    fy, fx = y - i, x - j
    value = 0.0
    for (a, wa), (b, wb) in itertools.product([(i, 1 - fy), (i + 1, fy)], [(j, 1 - fx), (j + 1, fx)]):
        if 0 <= a < image.shape[0] and 0 <= b < image.shape[1]:
            value += wa * wb * image[a, b]
    return value


def projection_sums(image, angle):
    """Sums of an image along parallel lines under an angle, as a tomograph measures them."""
    size = image.shape[0]
    middle = (size - 1) / 2
    c, s = math.cos(angle), math.sin(angle)
    sinogram = []
    for offset in np.linspace(-middle, middle, size):
        line = [
            bilinear(image, middle + t * c + offset * s, middle - t * s + offset * c) for t in np.arange(-3.3, 3.4, 0.6)
        ]
        sinogram.append(0.6 * sum(line))
    return np.array(sinogram)


def swept_distance(slowness, sweeps=2):
    """Arrival times of a front from a corner of the image, by sweeps in four directions."""
    n, m = slowness.shape
    time = np.full((n + 2, m + 2), 1e10)
    time[1, 1] = 0.0
    forward = lambda k: range(1, k + 1)
    backward = lambda k: range(k, 0, -1)
    for _ in range(sweeps):
        for ys, xs in itertools.product((forward, backward), repeat=2):
            for i in ys(n):
                for j in xs(m):
                    a = min(time[i - 1, j], time[i + 1, j])
                    b = min(time[i, j - 1], time[i, j + 1])
                    f = slowness[i - 1, j - 1]
                    if abs(a - b) >= f:
                        candidate = min(a, b) + f
                    else:
                        candidate = (a + b + math.sqrt(2 * f * f - (a - b) ** 2)) / 2
                    time[i, j] = min(time[i, j], candidate)
    return time[1:-1, 1:-1]


def diffused_contrast(image, edge, steps=6, rate=0.2):
    """Spread of the tones after Perona and Malik's diffusion."""
    u = image.copy()
    for _ in range(steps):
        p = np.pad(u, 1, mode="edge")
        flow = np.zeros_like(u)
        for axis, sign in ((0, 1), (0, -1), (1, 1), (1, -1)):
            difference = np.roll(p, sign, axis=axis)[1:-1, 1:-1] - u
            flow += difference / (1 + (difference / edge) ** 2)
        u += rate * flow
    return u.std()


def corner_response(image, scale, k=0.05):
    """Harris's measure of corners, averaged over the inner pixels."""
    gx = ndimage.sobel(image, axis=1)
    gy = ndimage.sobel(image, axis=0)
    kernel = np.exp(-(np.arange(-2, 3) ** 2) / (2 * scale**2))
    kernel /= kernel.sum()

    def blurred(a):
        for axis in (0, 1):
            a = ndimage.correlate1d(a, kernel, axis=axis, mode="constant")
        return a

    xx, yy, xy = blurred(gx * gx), blurred(gy * gy), blurred(gx * gy)
    response = xx * yy - xy**2 - k * (xx + yy) ** 2
    return np.mean(response[2:-2, 2:-2])


def sharpened_image(image, blur, rounds=5):
    """Richardson and Lucy's estimate of the image before it was blurred."""
    x = np.arange(-1, 2)
    kernel = np.exp(-(x[:, None] ** 2 + x**2) / (2 * blur**2))
    kernel = kernel / np.sum(kernel)
    estimate = np.full(image.shape, image.mean())
    for _ in range(rounds):
        seen = convolve2d(estimate, kernel, mode="same", boundary="symm")
        estimate = estimate * convolve2d(image / seen, kernel[::-1, ::-1], mode="same", boundary="symm")
    return estimate


ROW = np.arange(6)
IMAGE = 0.5 + 0.3 * np.sin(1.3 * ROW[:, None] + 0.4) * np.cos(0.9 * ROW - 0.2) + 0.02 * ROW

PROGRAMS = [
    Program(bilateral_filter, (IMAGE, 1.2, 0.25)),
    Program(matched_histogram, (IMAGE, np.array([0.05, 0.9, 0.3, 0.62, 0.44, 0.71, 0.2]))),
    Program(projection_sums, (IMAGE, 0.437)),
    Program(swept_distance, (0.7 + 0.37 * IMAGE[:5, :5] ** 2,)),
    Program(diffused_contrast, (IMAGE, 0.21)),
    Program(corner_response, (IMAGE, 0.9)),
    Program(sharpened_image, (IMAGE, 0.8)),
]
