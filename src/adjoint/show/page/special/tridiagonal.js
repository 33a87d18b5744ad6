// Eigenvalues and eigenvectors of symmetric tridiagonal matrices, one at a time: d on the diagonal, e beside it.
// gives: TridiagonalEigh
"use strict";
numbers.shared.tridiagonal = (() => {
  // How many eigenvalues lie below s: the negative pivots of the matrix less s.
  function below(d, e, s) {
    let count = 0, pivot = 1;
    for (let k = 0; k < d.length; k++) {
      pivot = d[k] - s - (k ? (e[k - 1] * e[k - 1]) / pivot : 0);
      if (pivot === 0) pivot = -1e-300;
      if (pivot < 0) count++;
    }
    return count;
  }

  // The eigenvalue number `index` (from 0, rising), by bisection between Gershgorin's bounds.
  function value(d, e, index) {
    let low = Infinity, high = -Infinity;
    d.forEach((x, k) => {
      const radius = Math.abs(e[k - 1] || 0) + Math.abs(e[k] || 0);
      low = Math.min(low, x - radius);
      high = Math.max(high, x + radius);
    });
    for (let i = 0; i < 200; i++) {
      const middle = 0.5 * (low + high);
      if (middle === low || middle === high) break;
      if (below(d, e, middle) > index) high = middle;
      else low = middle;
    }
    return 0.5 * (low + high);
  }

  // The eigenvector of length 1 for a known eigenvalue: pivots from both ends, joined where what is left is least.
  function vector(d, e, s) {
    const n = d.length, down = [], up = [];
    const safe = (x) => (x === 0 ? 1e-300 : x);
    for (let k = 0; k < n; k++) down[k] = safe(d[k] - s - (k ? (e[k - 1] * e[k - 1]) / down[k - 1] : 0));
    for (let k = n - 1; k >= 0; k--) up[k] = safe(d[k] - s - (k < n - 1 ? (e[k] * e[k]) / up[k + 1] : 0));
    let join = 0;
    const left = (k) => Math.abs(down[k] + up[k] - (d[k] - s));
    for (let k = 1; k < n; k++) if (left(k) < left(join)) join = k;
    const z = new Array(n).fill(0);
    z[join] = 1;
    for (let k = join; k > 0; k--) z[k - 1] = (-e[k - 1] * z[k]) / down[k - 1];
    for (let k = join; k < n - 1; k++) z[k + 1] = (-e[k] * z[k]) / up[k + 1];
    const length = Math.sqrt(z.reduce((sum, x) => sum + x * x, 0));
    return z.map((x) => x / length);
  }

  return { value, vector };
})();

// All of them, in matrices that stand beside each other: w rising, the largest element of each vector positive.
numbers.arrays.TridiagonalEigh = (_, [a], dtype) => {
  const { value, vector } = numbers.shared.tridiagonal;
  const n = a.shape.at(-1), w = arrays.make(a.shape.slice(0, -1), dtype), v = arrays.make(a.shape, dtype);
  for (let first = 0; first < a.data.length; first += n * n) {
    const d = Array.from({ length: n }, (_, k) => a.data[first + k * n + k]);
    const e = Array.from({ length: n - 1 }, (_, k) => a.data[first + (k + 1) * n + k]);
    for (let j = 0; j < n; j++) {
      const own = (w.data[first / n + j] = value(d, e, j)), column = vector(d, e, own);
      const largest = column.reduce((most, x) => (Math.abs(x) > Math.abs(most) ? x : most), 0);
      column.forEach((x, k) => (v.data[first + k * n + j] = largest < 0 ? -x : x));
    }
  }
  return [w, v];
};
