// Legendre's functions of the second kind with their derivatives: the sequences lqn and lqmn.
// gives: FunctionSequence.lqn FunctionSequence.lqmn
"use strict";
(() => {
  // Q₀ … Q_N: (k+1) Qₖ₊₁ = (2k+1) x Qₖ - k Qₖ₋₁, upwards near the cut; elsewhere downwards, as Q falls the fastest
  function orderZero(count, x) {
    const first = 0.5 * Math.log(Math.abs((1 + x) / (1 - x)));
    if (Math.abs(x) < 1.021) {
      const q = [first, x * first - 1];
      for (let k = 1; k < count; k++) q.push(((2 * k + 1) * x * q[k] - k * q[k - 1]) / (k + 1));
      return q.slice(0, count + 1);
    }
    const top = count + Math.ceil(40 / Math.acosh(Math.abs(x))) + 2, q = new Array(top + 2).fill(0);
    q[top] = 1e-280;
    for (let k = top; k > 0; k--) {
      q[k - 1] = ((2 * k + 1) * x * q[k] - (k + 1) * q[k + 1]) / k;
      if (Math.abs(q[k - 1]) > 1e200) for (let j = k - 1; j <= top; j++) q[j] *= 1e-250;
    }
    const scale = (0.5 * Math.log1p(2 / (Math.abs(x) - 1)) * Math.sign(x)) / q[0];
    return q.slice(0, count + 1).map((a) => a * scale);
  }

  // [Qᵐₙ, its slope] for m ≤ most, n ≤ count, with r = √|1-x²| and s = ±1 outside or inside of (-1, 1):
  //   Q¹ = s r Q′,    Qᵐ⁺² = -2 (m+1) x/r Qᵐ⁺¹ + s (n-m)(n+m+1) Qᵐ,    r dQᵐ/dx = s (m x/r Qᵐ + Qᵐ⁺¹)
  function table(most, count, x) {
    const full = (z) => [0, 1].map(() => Array.from({ length: most + 1 }, () => new Array(count + 1).fill(z)));
    if (x !== x) return full(NaN);
    if (Math.abs(x) === 1) return full(1e300); // as SciPy
    const q = orderZero(count, x), square = (1 - x) * (1 + x), r = Math.sqrt(Math.abs(square)), s = square < 0 ? 1 : -1;
    const [values, slopes] = full(0);
    for (let n = 0; n <= count; n++) {
      const slope = n === 0 ? 1 / square : (n * (q[n - 1] - x * q[n])) / square;
      let lower = q[n], upper = s * r * slope;
      for (let m = 0; m <= most; m++) {
        values[m][n] = lower;
        slopes[m][n] = (s * (((m * x) / r) * lower + upper)) / r;
        [lower, upper] = [upper, ((-2 * (m + 1) * x) / r) * upper + s * (n - m) * (n + m + 1) * lower];
      }
    }
    return [values, slopes];
  }

  const sequence = (axes) => ({ fixed }, [x], dtype) => {
    const [most, count] = axes === 1 ? [0, fixed[0]] : fixed, size = x.data.length;
    const shape = [...(axes === 1 ? [] : [most + 1]), count + 1, ...x.shape];
    const out = [0, 1].map(() => arrays.make(shape, dtype));
    x.data.forEach((t, i) => table(most, count, t).forEach((part, k) => part.flat().forEach((z, row) => {
      out[k].data[row * size + i] = z;
    })));
    return out;
  };

  Object.assign(numbers.arrays, { "FunctionSequence.lqn": sequence(1), "FunctionSequence.lqmn": sequence(2) });
})();
