// Wright's omega and Lambert's W, of real and complex numbers.
// gives: wrightomega
// gives complex: wrightomega lambertw
// needs: pairs
"use strict";
(() => {
  const { add, sub, mul, div, times, size, exp, log, sqrt } = numbers.shared.pairs;
  const { PI } = Math;

  // ω + log ω = x: Newton's steps on ω - exp(x - ω) to the left, on ω + log ω - x to the right
  function real(x) {
    if (x === Infinity || x > 1e20) return x;
    let w = x < 1 ? Math.exp(x) / (1 + Math.exp(x)) : x - Math.log(x) * (1 - 1 / (x + 1));
    for (let k = 0; k < 20; k++) {
      const power = Math.exp(x - w);
      const step = x < 1 ? (w - power) / (1 + power) : ((w + Math.log(w) - x) * w) / (1 + w);
      w -= step;
      if (!(Math.abs(step) > 1e-16 * w)) break;
    }
    return w;
  }

  // ω = -1 + s - s²/3 + s³/36 + … with s² = -2t near z = -1 ± πi + t; the cuts t < 0 belong to what is below them
  function nearBranch(z) {
    const up = z[1] > 0 ? 1 : -1, t = [z[0] + 1, z[1] - up * PI];
    const root = sqrt([2 * t[0], t[1] === 0 ? -0 : 2 * t[1]]);
    const s = [-up * root[1], up * root[0]];
    return add([-1, 0], mul(s, add([1, 0], mul(s, add([-1 / 3, 0], times(s, 1 / 36))))));
  }

  function start(z) {
    const inside = z[1] > -PI && z[1] <= PI;
    if (Math.hypot(z[0] + 1, Math.abs(z[1]) - PI) < 1.5) return nearBranch(z);
    if (inside && z[0] < -1) return exp(z);
    const u = [z[0] - 1, z[1]];
    if (size(u) < 3) return add([1, 0], mul(u, add([0.5, 0], times(u, 1 / 16))));
    return sub(z, log(z));
  }

  // Steps of fourth order on r = z - ω - log ω (Fritsch, Shafer and Crowley): with p = 1 + ω,
  // ω grows by the factor 1 + r/p (2p(p + 2r/3) - r)/(2p(p + 2r/3) - 2r)
  function omega(z) {
    if (z[0] !== z[0] || z[1] !== z[1]) return [NaN, NaN];
    if (z[0] === -Infinity || z[0] < -745) return [0, 0];
    if (Math.abs(z[0]) === Infinity || Math.abs(z[1]) === Infinity || size(z) > 1e18) return z;
    if (z[0] < -40 && z[1] > -PI && z[1] <= PI) return exp(z);
    let w = start(z);
    for (let k = 0; k < 12; k++) {
      const r = sub(z, add(w, log(w)));
      r[1] -= 2 * PI * Math.round(r[1] / (2 * PI)); // rounding may have led over the cut of the logarithm
      const p = [1 + w[0], w[1]];
      if (size(p) < 1e-8 || !(size(r) > 0)) break;
      const q = times(mul(p, add(p, times(r, 2 / 3))), 2);
      const step = mul(div(r, p), div(sub(q, r), sub(q, times(r, 2))));
      w = add(w, mul(w, step));
      if (size(step) < 1e-16) break;
    }
    return w;
  }

  // W(z) = ω(log z + 2πik), then a step of Newton on W - z exp(-W), which keeps small values relatively right
  function lambertw(z, [k]) {
    if (z[0] !== z[0] || z[1] !== z[1]) return z;
    if (z[0] === Infinity || z[0] === -Infinity) return [Infinity, 2 * PI * k + (z[0] < 0 ? PI : 0)];
    if (z[0] === 0 && z[1] === 0) return k === 0 ? z : [-Infinity, 0];
    const at = [z[0], z[1] === 0 ? 0 : z[1]];
    const [a, b] = log(at);
    const w = omega([a, b + 2 * PI * k]), p = [1 + w[0], w[1]];
    if (k !== 0 || size(p) < 0.1 || w[0] > 1) return w;
    return sub(w, div(sub(w, mul(at, exp([-w[0], -w[1]]))), p));
  }

  numbers.of.wrightomega = real;
  Object.assign(complexes.of, { wrightomega: omega, lambertw });
})();
