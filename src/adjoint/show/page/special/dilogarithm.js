// Spence's dilogarithm.
// gives: spence
// gives complex: spence
// needs: pairs
"use strict";
(() => {
  const { add, sub, mul, div, times, size } = numbers.shared.pairs;
  const opposite = ([a, b]) => [-a, -b];
  const SIXTH = (Math.PI * Math.PI) / 6;

  // log |z| = log(1 + (x-1)(x+1) + y²)/2 near the unit circle
  function log([a, b]) {
    const x = Math.max(Math.abs(a), Math.abs(b)), y = Math.min(Math.abs(a), Math.abs(b));
    const near = x > 0.7 && x < 1.4;
    return [near ? Math.log1p((x - 1) * (x + 1) + y * y) / 2 : Math.log(Math.hypot(x, y)), Math.atan2(b, a)];
  }

  // B₂ₖ/(2k+1)! = (-1)ᵏ⁺¹ 2 ζ(2k)/((2k+1) (2π)²ᵏ)
  const COEFFICIENTS = [];
  for (let k = 1; k < 30; k++) {
    let zeta = k === 1 ? SIXTH : k === 2 ? Math.PI ** 4 / 90 : 0;
    for (let n = k > 2 ? 500 : 0; n > 0; n--) zeta += n ** (-2 * k);
    COEFFICIENTS.push(((k % 2 ? 2 : -2) * zeta) / ((2 * k + 1) * (2 * Math.PI) ** (2 * k)));
  }

  // Li₂(1-z) = u - u²/4 + Σ B₂ₖ/(2k+1)! u²ᵏ⁺¹ with u = -log z, where |u| < 2π
  function series(z) {
    const u = opposite(log(z)), square = mul(u, u);
    let power = u, sum = sub(u, times(square, 0.25));
    for (const c of COEFFICIENTS) {
      power = mul(power, square);
      const part = times(power, c);
      sum = add(sum, part);
      if (size(part) < 1e-18 * size(sum)) break;
    }
    return sum;
  }

  // near zero π²/6 - log z log(1-z) - Li₂(z); far from it -log²z/2 - Li₂(1-1/z)
  function spence(z) {
    if (z[0] === 0 && z[1] === 0) return [SIXTH, 0];
    if (z[0] === 1 && z[1] === 0) return [0, 0];
    if (size(z) < 0.5) {
      const other = sub([1, 0], z);
      return sub(sub([SIXTH, 0], mul(log(z), log(other))), series(other));
    }
    if (size(z) > 2) {
      const u = log(z);
      return sub(times(mul(u, u), -0.5), spence(div([1, 0], z)));
    }
    return series(z);
  }

  numbers.of.spence = (x) => (x >= 0 && x < Infinity ? spence([x, 0])[0] : NaN);
  Object.assign(complexes.of, { spence });
})();
