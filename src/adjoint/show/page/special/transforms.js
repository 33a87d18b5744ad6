// Fourier, cosine and sine transforms without scale, as in adjoint.ops.fourier and adjoint.ops.trigonometric.
// gives: TrigonometricTransform
// gives complex: Fourier HalfSpectrum FromHalfSpectrum
"use strict";
(() => {
  // f turns the two parts of each line along an axis into those of a line of another length.
  function lines(x, axis, length, dtype, f) {
    const shape = x.shape.map((n, a) => (a === axis ? length : n));
    const from = arrays.rows(x.shape, [axis]), to = arrays.rows(shape, [axis]);
    const out = arrays.make(shape, dtype), parts = [arrays.part(x, 0).data, arrays.part(x, 1).data];
    from.starts.forEach((start, r) => {
      const result = f(...parts.map((data) => Float64Array.from(from.inner, (i) => data[start + i])));
      to.inner.forEach((i, k) => arrays.put(out, to.starts[r] + i, [result[0][k], result[1][k]]));
    });
    return out;
  }

  function factor(n) {
    for (let p = 2; p * p <= n; p++) if (n % p === 0) return p;
    return n;
  }

  // Σⱼ xⱼ exp(sign 2πi jk/n): by the transforms of every p-th element, p a prime factor of n.
  function fourier(re, im, sign) {
    const n = re.length, p = factor(n), m = n / p;
    if (n < 2) return [re, im];
    const cos = new Float64Array(n), sin = new Float64Array(n);
    for (let k = 0; k < n; k++) {
      cos[k] = Math.cos((2 * Math.PI * k) / n);
      sin[k] = sign * Math.sin((2 * Math.PI * k) / n);
    }
    const every = (data, r) => Float64Array.from({ length: m }, (_, j) => data[j * p + r]);
    const parts = Array.from({ length: p }, (_, r) => fourier(every(re, r), every(im, r), sign));
    const out = [new Float64Array(n), new Float64Array(n)];
    for (let k = 0; k < n; k++) {
      for (let r = 0; r < p; r++) {
        const [a, b] = [parts[r][0][k % m], parts[r][1][k % m]], turn = (r * k) % n;
        out[0][k] += a * cos[turn] - b * sin[turn];
        out[1][k] += a * sin[turn] + b * cos[turn];
      }
    }
    return out;
  }

  function whole(re, im, n) { // the spectrum of which a half is given: what belongs to a real line
    const full = [new Float64Array(n), new Float64Array(n)];
    for (let k = 0; k <= n >> 1 && k < re.length; k++) {
      const alone = 2 * k === n || k === 0;
      [full[0][k], full[1][k]] = [re[k], alone ? 0 : im[k]];
      if (!alone) [full[0][n - k], full[1][n - k]] = [re[k], -im[k]];
    }
    return full;
  }

  // The term of xⱼ in zₖ; those at the ends of the types I and III are not doubled.
  const terms = {
    dct: [
      (j, k, n) => (j === 0 || j === n - 1 ? 1 : 2) * Math.cos((Math.PI * j * k) / (n - 1)),
      (j, k, n) => 2 * Math.cos((Math.PI * k * (2 * j + 1)) / (2 * n)),
      (j, k, n) => (j === 0 ? 1 : 2) * Math.cos((Math.PI * j * (2 * k + 1)) / (2 * n)),
      (j, k, n) => 2 * Math.cos((Math.PI * (2 * j + 1) * (2 * k + 1)) / (4 * n)),
    ],
    dst: [
      (j, k, n) => 2 * Math.sin((Math.PI * (j + 1) * (k + 1)) / (n + 1)),
      (j, k, n) => 2 * Math.sin((Math.PI * (k + 1) * (2 * j + 1)) / (2 * n)),
      (j, k, n) => (j === n - 1 ? 1 : 2) * Math.sin((Math.PI * (j + 1) * (2 * k + 1)) / (2 * n)),
      (j, k, n) => 2 * Math.sin((Math.PI * (2 * j + 1) * (2 * k + 1)) / (4 * n)),
    ],
  };

  numbers.arrays.TrigonometricTransform = ({ kind, type, axis }, [x], dtype) => {
    const n = x.shape[axis], term = terms[kind][type - 1];
    const matrix = Array.from({ length: n }, (_, k) => Float64Array.from({ length: n }, (_, j) => term(j, k, n)));
    return arrays.along([x], axis, dtype, (row) => matrix.map((line) => line.reduce((sum, c, j) => sum + c * row[j], 0)));
  };
  Object.assign(complexes.arrays, {
    Fourier: ({ axes, sign }, [x], dtype) => {
      const one = (z, axis) => lines(z, axis, z.shape[axis], "complex128", (re, im) => fourier(re, im, sign));
      return axes.reduce(one, arrays.make(x.shape, dtype, arrays.part(x, 0).data.slice(), arrays.part(x, 1).data.slice()));
    },
    HalfSpectrum: ({ axis }, [x], dtype) =>
      lines(x, axis, (x.shape[axis] >> 1) + 1, dtype, (re, im) => fourier(re, im, -1)),
    FromHalfSpectrum: ({ axis, n }, [x], dtype) => lines(x, axis, n, dtype, (re, im) => fourier(...whole(re, im, n), 1)),
  });
})();
