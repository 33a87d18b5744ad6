// K and I of complex argument and real order ν ≥ 0, with derivatives in the order: integrals through saddle points.
//
//     K = ½ ∫ exp(νt - z cosh t) dt, -∞ … ∞,    I = 1/(2πi) ∫ exp(z cosh t - νt) dt, ∞ - iπ … ∞ + iπ;
//
// a derivative in ν is a factor t or -t. In t = t₀ + τ, t₀ = log((ν + p)/z), p = √(z² + ν²), the exponents are
// ∓E(τ), E = p (cosh τ - 1) + ν (sinh τ - τ), besides a constant. Power series for small z, Hankel's for large ones.
// needs: pairs zetas
"use strict";
numbers.shared.besselPaths = (() => {
  const { add, sub, times, conj, size, mul, div, exp, log, sqrt, turn } = numbers.shared.pairs;
  const FALL = 40; // e⁻⁴⁰ is nothing
  const { PI } = Math;
  const { gauss, polygamma, choose } = numbers.shared;

  const [NODES, WEIGHTS] = gauss(36);
  const GRID = Array.from({ length: 48 }, (_, i) => 1e-5 * Math.pow(9e7, i / 47));

  // E(τ) = 2p sinh²(τ/2) + ν (sinh τ - τ) at τ = a + ib. On the left the two would cancel where p is near ν; there
  // E = ½ (p-ν) e^(-τ) (1 - e^τ)² + ν (e^τ - 1 - τ), with the logarithm of p - ν.
  function exponent({ p: [pr, pi], v, rest }, a, b) {
    if (a < -1) {
      const e = Math.exp(a), er = e * Math.cos(b), ei = e * Math.sin(b);
      const f = 0.5 * Math.exp(rest[0] - a), c = f * Math.cos(rest[1] - b), d = f * Math.sin(rest[1] - b);
      const sr = (1 - er) * (1 - er) - ei * ei, si = -2 * (1 - er) * ei;
      return [c * sr - d * si + v * (er - 1 - a), c * si + d * sr + v * (ei - b)];
    }
    const sh = Math.sinh(0.5 * a), ch = Math.cosh(0.5 * a);
    if (b === 0) return [2 * pr * sh * sh + v * (2 * sh * ch - a), 2 * pi * sh * sh];
    const s = Math.sin(0.5 * b), c = Math.cos(0.5 * b);
    const hr = sh * c, hi = ch * s;
    const sr = 2 * (hr * hr - hi * hi), si = 4 * hr * hi;
    const re = pr * sr - pi * si + v * (2 * sh * ch * (c - s) * (c + s) - a);
    return [re, pr * si + pi * sr + v * (2 * (ch * ch + sh * sh) * s * c - b)];
  }

  // A path τ = from + way s ± ih(s), h = end (1 - exp(-rise s/end)): it starts with slope `rise`, ends at height `end`,
  // and does not reach a low end sooner than in the width of the integrand.
  function bent(rise, end, width = 1, { from = 0, way = 1, lift = 1 } = {}) {
    return { rise: Math.min(rise, end / width), end, from, way, lift };
  }

  const height = ({ rise, end }, s) => (rise === 0 ? 0 : -end * Math.expm1((-rise * s) / end));

  // How far along a path the real part of sign E has fallen by 40 for good, at most `most`.
  function fallen(path, sign, saddle, most = Infinity) {
    const real = (s) => exponent(saddle, path.from + path.way * s, path.lift * height(path, s))[0];
    const high = (s) => s < most && sign * real(s) > -FALL;
    let last = GRID.length - 1;
    while (last >= 0 && !high(GRID[last])) last--;
    if (last < 0) return GRID[0];
    let low = GRID[last], top = GRID[Math.min(last + 1, GRID.length - 1)];
    for (let k = 0; k < 8; k++) {
      const middle = 0.5 * (low + top);
      if (high(middle)) low = middle;
      else top = middle;
    }
    return top;
  }

  // A path bends near its start, and the integrand ends within a short way: three parts, more where the way is long.
  function pieces(reach) {
    if (reach < 20) return [0, Math.min(4, reach / 3), Math.max(reach - 4, (2 * reach) / 3), reach];
    const near = [0];
    for (let s = 4; s < 0.5 * reach; s *= 3) near.push(s);
    return [...near, ...near.map((s) => reach - s).reverse()];
  }

  // Adds factor ∫ (±(t₀ + τ))ᵏ exp(sign E) dτ along a path, s = 0 … reach, to totals[k]; the sign is - for E, as for t.
  function along(totals, factor, reach, path, sign, saddle) {
    if (!(reach > 0)) return;
    const { t0 } = saddle;
    const ends = pieces(reach);
    for (let part = 1; part < ends.length; part++) {
      const low = ends[part - 1], high = ends[part];
      for (let i = 0; i < NODES.length; i++) {
        const s = low + (high - low) * NODES[i];
        const a = path.from + path.way * s, b = path.lift * height(path, s);
        const e = exponent(saddle, a, b);
        const size = factor * WEIGHTS[i] * (high - low) * Math.exp(sign * e[0]);
        if (!(size !== 0)) continue; // nothing, or beyond all numbers
        const slope = path.rise === 0 ? 0 : path.lift * path.way * path.rise * Math.exp((-path.rise * s) / path.end);
        const c = size * Math.cos(e[1]), d = sign * size * Math.sin(e[1]);
        let re = c - d * slope, im = d + c * slope;
        totals[0][0] += re;
        totals[0][1] += im;
        for (let k = 1; k < totals.length; k++) {
          [re, im] = [-sign * (re * (t0[0] + a) - im * (t0[1] + b)), -sign * (re * (t0[1] + b) + im * (t0[0] + a))];
          totals[k][0] += re;
          totals[k][1] += im;
        }
      }
    }
  }

  const zeros = (n) => Array.from({ length: n + 1 }, () => [0, 0]);

  // p = √(z² + ν²), like z for large z; t₀; p - z; and log(p - ν)
  function saddlePoint(v, z) {
    const i = [0, v], far = size(z) > v;
    const r = far ? div([v, 0], z) : null;
    const p = far ? mul(z, sqrt(add([1, 0], mul(r, r)))) : mul(sqrt(add(z, i)), sqrt(sub(z, i)));
    const top = add(p, [v, 0]);
    const t0 = size(z) < 1e-150 ? sub(log(top), log(z)) : log(div(top, z));
    const rest = sub(times(log(z), 2), log(top));
    return { v, p, t0, rest, gap: v === 0 ? [0, 0] : div([v * v, 0], add(p, z)) };
  }

  // √(1/z) Σ (±1)ᵏ aₖ(ν)/zᵏ, aₖ = aₖ₋₁ (4ν² - (2k-1)²)/(8k), and its derivatives in ν by their Taylor series.
  function hankelSeries(n, v, z, sign) {
    const inverse = div([1, 0], z);
    let term = zeros(n).map((_, j) => [j ? 0 : 1, 0]);
    let total = term, before = Infinity;
    for (let k = 1; k < 90; k++) {
      const f = [4 * v * v - (2 * k - 1) ** 2, 8 * v, 4].map((u) => times(inverse, (sign * u) / (8 * k)));
      term = term.map((_, j) => {
        let sum = mul(term[j], f[0]);
        for (let i = 1; i <= Math.min(j, 2); i++) sum = add(sum, mul(term[j - i], f[i]));
        return sum;
      });
      const greatest = Math.max(...term.map(size));
      if (greatest > before && k > v) break;
      before = greatest;
      total = total.map((t, j) => add(t, term[j]));
      if (greatest < 1e-18) break;
    }
    const root = sqrt(inverse);
    let factorial = 1;
    return total.map((t, j) => times(mul(t, root), (factorial *= j || 1)));
  }

  const distant = (v, z) => size(z) > Math.max(30, 0.5 * v * v);

  // exp(z + s) dᵏK/dνᵏ, k = 0 … n, for -¾π ≤ arg z ≤ 0
  function second(n, v, z, s) {
    if (distant(v, z)) {
      const scale = times(exp(s), Math.sqrt(0.5 * PI));
      return hankelSeries(n, v, z, 1).map((f) => mul(f, scale));
    }
    const saddle = saddlePoint(v, z);
    const { p, t0, gap } = saddle;
    const angle = -Math.atan2(z[1], z[0]);
    const width = 1.5 * Math.min(1, 1 / Math.sqrt(size(p) + 1e-300), 1 / Math.cbrt(v + 1e-300));
    const level = Math.max(2 * t0[0], 0); // left over the mountain on a level path, then down
    const right = bent(Math.tan((0.35 * angle) / (0.5 * PI)), Math.max(angle - t0[1], 1e-30), width);
    const straight = bent(0, 1, 1, { way: -1 });
    const sinking = { from: -level, way: -1, lift: -1 };
    const left = bent(Math.tan((0.91 * angle) / (0.5 * PI)), Math.max(angle + t0[1], 1e-30), width, sinking);
    const totals = zeros(n);
    along(totals, 1, fallen(right, -1, saddle), right, -1, saddle);
    along(totals, 1, Math.min(level, fallen(straight, -1, saddle, level)), straight, -1, saddle);
    along(totals, 1, fallen(left, -1, saddle), left, -1, saddle);
    const scale = times(exp(add(sub(times(t0, v), gap), s)), 0.5);
    return totals.map((f) => mul(f, scale));
  }

  // exp(s - z) dᵏI/dνᵏ by one saddle, for -π/2 ≤ arg z ≤ 0 and ν ≥ |z|, or arg z near 0
  function firstSaddle(n, v, z, s) {
    if (distant(v, z)) {
      const scale = times(exp(s), Math.sqrt(0.5 / PI));
      return hankelSeries(n, v, z, -1).map((f) => mul(f, scale));
    }
    const saddle = saddlePoint(v, z);
    const { t0, gap } = saddle;
    const angle = -Math.atan2(z[1], z[0]);
    const up = bent(4.7, PI + angle - t0[1]), down = bent(1.9, PI - angle + t0[1], 1, { lift: -1 });
    const totals = zeros(n);
    for (const path of [up, down]) along(totals, path.lift, fallen(path, 1, saddle), path, 1, saddle);
    const scale = div(exp(add(sub(gap, times(t0, v)), s)), [0, 2 * PI]);
    return totals.map((f) => mul(f, scale));
  }

  // (z/2)^ν/Γ(ν+1) exp(s)
  function leading(v, z, s) {
    const r = size(z), angle = Math.atan2(z[1], z[0]);
    if (v < 20) return times(exp([s[0], s[1] + v * angle]), Math.pow(0.5 * r, v) / numbers.of.gamma(v + 1));
    const w = 1 / (v * v);
    const stirling = (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / v;
    const base = v * Math.log((0.5 * Math.E * r) / v);
    return times(exp([s[0] + base - stirling, s[1] + v * angle]), 1 / Math.sqrt(2 * PI * v));
  }

  // exp(s - z) dᵏI/dνᵏ = Σ (z/2)^(2k+ν)/(k! Γ(ν+k+1)): Taylor series in ν, divided by k (ν + k) from term to term
  function firstPowers(n, v, z, s) {
    const square = times(mul(z, z), 0.25);
    const half = times(z, 0.5);
    const rates = Array.from({ length: n }, (_, j) => {
      if (j === 0) return sub(log(half), [numbers.of.psi(v + 1), 0]);
      return [-polygamma(j, v + 1) / numbers.of.gamma(j + 1), 0]; // j + 1 times the coefficient
    });
    let term = [leading(v, z, sub(s, z))];
    for (let k = 1; k <= n; k++) {
      let sum = [0, 0];
      for (let j = 1; j <= k; j++) sum = add(sum, mul(rates[j - 1], term[k - j]));
      term.push(times(sum, 1 / k));
    }
    let total = term;
    for (let k = 1; k < 400; k++) {
      const next = [];
      term.forEach((t, j) => {
        const raised = times(mul(t, square), 1 / k);
        next.push(times(j ? sub(raised, next[j - 1]) : raised, 1 / (v + k)));
      });
      term = next;
      total = total.map((t, j) => add(t, term[j]));
      if (term.every((t, j) => size(t) <= 1e-18 * size(total[j])) && k * (v + k) > size(square)) break;
    }
    let factorial = 1;
    return total.map((t, j) => times(t, (factorial *= j || 1)));
  }

  // πi I(z) = exp(-πiν) K(z) - K(z exp(πi)): for arg z near -π/2 and |z| > ν two saddles count
  function firstPair(n, v, z, s) {
    const turned = leibniz(turns(n, v, -1), second(n, v, z, sub(s, times(z, 2))));
    const other = second(n, v, [-z[0], z[1]], conj(s)).map(conj);
    return turned.map((a, k) => div(sub(a, other[k]), [0, PI]));
  }

  function first(n, v, z, s) {
    const r = size(z);
    if (r < 4 || 0.25 * r * r < v + 1) return firstPowers(n, v, z, s);
    return v >= r || Math.atan2(z[1], z[0]) > -0.7 ? firstSaddle(n, v, z, s) : firstPair(n, v, z, s);
  }

  // The derivatives of a product.
  function leibniz(f, g) {
    return f.map((_, n) => {
      let sum = [0, 0];
      for (let k = 0; k <= n; k++) sum = add(sum, times(mul(f[k], g[n - k]), choose(n, k)));
      return sum;
    });
  }

  // exp(i π h ν) and its derivatives in ν
  function turns(n, v, h) {
    let term = turn(h * v);
    return zeros(n).map((_, k) => (k ? (term = mul(term, [0, PI * h])) : term));
  }

  // exp(shift) I and exp(shift) K for Re z ≥ 0; above the real axis as the mirror image
  function rightHalf(n, v, z, shift, kinds = "IK") {
    const above = z[1] > 0;
    const [w, s] = above ? [conj(z), conj(shift)] : [z, shift];
    const mirrored = (fs) => (above ? fs.map(conj) : fs);
    return [
      kinds.includes("I") ? mirrored(first(n, v, w, add(s, w))) : null,
      kinds.includes("K") ? mirrored(second(n, v, w, sub(s, w))) : null,
    ];
  }

  return { rightHalf, leibniz, turns };
})();
