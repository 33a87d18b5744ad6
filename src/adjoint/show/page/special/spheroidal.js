// Spheroidal wave functions, prolate and oblate: characteristic values, angular functions, radial ones of both kinds.
// gives: pro_cv pro_ang1 pro_ang1_cv pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv
// gives: obl_cv obl_ang1 obl_ang1_cv obl_rad1 obl_rad1_cv obl_rad2 obl_rad2_cv
// needs: tridiagonal bessel_spherical
"use strict";
(() => {
  const { value, vector } = numbers.shared.tridiagonal;
  const NONE = [NaN, NaN];

  // x P_(l-1) has this much of P_l, and P_(l-1) of x P_l, for Legendre's normalized functions of order m.
  const step = (l, m) => Math.sqrt((l * l - m * m) / (4 * l * l - 1));

  // The coefficients in Legendre's functions are an eigenvector of diag(l(l+1)) ± c² X, X multiplication by x².
  function matrix(sign, m, n, c) {
    const square = c < 1e-10 ? 0 : sign * c * c; // as SciPy
    const size = 34 + Math.floor(n / 2) + Math.ceil(Math.abs(c));
    const degrees = Array.from({ length: size }, (_, k) => m + ((n - m) % 2) + 2 * k);
    const d = degrees.map((l) => l * (l + 1) + square * ((l > m ? step(l, m) ** 2 : 0) + step(l + 1, m) ** 2));
    const e = degrees.slice(1).map((l) => square * step(l - 1, m) * step(l, m));
    return { degrees, d, e, index: (n - m - ((n - m) % 2)) / 2 };
  }

  function defined(m, n, c, given = 0) {
    return Number.isInteger(m) && Number.isInteger(n) && m >= 0 && n >= m && n - m <= 198 && Number.isFinite(c + given);
  }

  function characteristic(sign) {
    return (m, n, c) => {
      if (!defined(m, n, c)) return NaN;
      const { d, e, index } = matrix(sign, m, n, c);
      return c < 1e-10 ? n * (n + 1) : value(d, e, index);
    };
  }

  const known = new Map(); // many x share their coefficients

  // λ, the degrees, and the eigenvector; λ may be given
  function expansion(sign, m, n, c, given) {
    const key = `${sign} ${m} ${n} ${c} ${given}`;
    if (known.has(key)) return known.get(key);
    const { degrees, d, e, index } = matrix(sign, m, n, c);
    const lambda = given ?? value(d, e, index);
    const v = e[0] === 0 ? degrees.map((l) => (l === n ? 1 : 0)) : vector(d, e, lambda);
    if (known.size > 50) known.clear();
    known.set(key, { degrees, lambda, v });
    return known.get(key);
  }

  // Legendre's normalized functions of degrees m … last without the factor (1-x²)^(m/2), and their slopes
  function legendre(m, last, x) {
    let constant = 0.5;
    for (let i = 1; i <= m; i++) constant *= (2 * i + 1) / (2 * i);
    const p = [], slope = [];
    for (let l = m; l <= last; l++) {
      const k = l - m, up = step(l, m);
      p[k] = k === 0 ? Math.sqrt(constant) : (x * p[k - 1] - (k > 1 ? step(l - 1, m) * p[k - 2] : 0)) / up;
      slope[k] = k === 0 ? 0 : (p[k - 1] + x * slope[k - 1] - (k > 1 ? step(l - 1, m) * slope[k - 2] : 0)) / up;
    }
    return [p, slope];
  }

  // Σ v P, scaled so that at 0 it is Legendre's function of degree n (for odd n - m: its slope)
  function angular(sign, m, n, c, x, given) {
    if (!defined(m, n, c, given) || !(Math.abs(x) < 1)) return NONE;
    const { degrees, v } = expansion(sign, m, n, c, given);
    const last = degrees[degrees.length - 1];
    const [p, slope] = legendre(m, last, x), zero = legendre(m, last, 0)[(n - m) % 2];
    const over = (list) => degrees.reduce((sum, l, k) => sum + v[k] * list[l - m], 0);
    let norm = n + 0.5; // of Legendre's function
    for (let k = n - m + 1; k <= n + m; k++) norm /= k;
    const scale = zero[n - m] / Math.sqrt(norm) / over(zero);
    const root = (1 - x) * (1 + x), power = Math.pow(root, 0.5 * m);
    const y = over(p), falling = m === 0 ? 0 : -m * x * Math.pow(root, 0.5 * m - 1);
    return [scale * power * y, scale * (power * over(slope) + falling * y)];
  }

  // aₗ = i^(l-n) gₗ/Σ g, g = v √((2l+1)(l+m)!/(l-m)!)
  function weights(m, n, { degrees, v }) {
    let sum = 0;
    const g = degrees.map((l, k) => {
      let factor = 2 * l + 1;
      for (let i = l - m + 1; i <= l + m; i++) factor *= i;
      const term = v[k] * Math.sqrt(factor);
      sum += term;
      return term * (Math.abs((l - n) / 2) % 2 ? -1 : 1);
    });
    return g.map((x) => x / sum);
  }

  // (1 ∓ 1/x²)^(m/2) Σ aₗ fₗ(cx), f = j or y, as far as the terms fall, and its slope
  function sums(sign, m, n, c, x, found, f) {
    const { degrees } = found, a = weights(m, n, found), u = c * x;
    let y = 0, slope = 0, least = Infinity;
    for (let k = 0; k < degrees.length; k++) {
      const l = degrees[k];
      const here = f(l, u), rate = l === 0 ? -f(1, u) : (l * f(l - 1, u) - (l + 1) * f(l + 1, u)) / (2 * l + 1);
      const size = Math.abs(a[k] * here) + Math.abs(a[k] * rate);
      if (!(size < Infinity) || (l > n + 2 * c && size > least && f === numbers.of.spherical_yn)) break;
      if (l > n) least = Math.min(least, size);
      y += a[k] * here;
      slope += a[k] * rate;
      if (l > n + 2 * c && size < 1e-18 * (Math.abs(y) + Math.abs(slope))) break;
    }
    const base = 1 - sign / (x * x), power = Math.pow(base, 0.5 * m);
    const grown = m === 0 ? 0 : (sign * m * Math.pow(base, 0.5 * m - 1)) / (x * x * x);
    return [power * y, power * c * slope + grown * y];
  }

  // j on both sides of 0
  const firstKind = (l, u) => (u < 0 && l % 2 ? -1 : 1) * numbers.of.spherical_jn(l, Math.abs(u));
  const inside = (sign, x) => Number.isFinite(x) && (sign > 0 ? x > 1 : x >= 0);

  function radialFirst(sign, m, n, c, x, given) {
    if (!defined(m, n, c, given) || !inside(sign, x)) return NONE;
    const found = expansion(sign, m, n, c, given);
    if (x > 0) return sums(sign, m, n, c, x, found, firstKind);
    const odd = (n - m) % 2, l = m + odd; // at 0 one term is left: (cx)ˡ/(2l+1)!! by xᵐ
    let term = weights(m, n, found)[0];
    for (let k = 1; k <= l; k++) term *= c / (2 * k + 1);
    return odd ? [0, term] : [term, 0];
  }

  function times(p, q) { // of polynomials
    const out = new Array(p.length + q.length - 1).fill(0);
    p.forEach((a, i) => q.forEach((b, j) => (out[i + j] += a * b)));
    return out;
  }

  // y and y′ at x + h from those at x: Taylor's series of s²y″ + 2xs y′ = ((λ - c²x²) s - τm²) y, s = x² + τ
  function stepped(tau, m, c, lambda, x, [y, slope], h) {
    const s = [x * x + tau, 2 * x, 1];
    const second = times(s, s), first = times([2 * x, 2], s);
    const zeroth = times([lambda - c * c * x * x, -2 * c * c * x, -c * c], s);
    zeroth[0] -= tau * m * m;
    const a = [y, slope];
    let value = y + slope * h, rate = slope, power = h;
    for (let k = 0; k < 60; k++) {
      let sum = 0;
      for (let j = 0; j <= Math.min(k + 1, 4); j++) {
        if (j <= k) sum += zeroth[j] * a[k - j];
        if (j < 4) sum -= first[j] * (k - j + 1) * a[k - j + 1];
        if (j > 0) sum -= second[j] * (k - j + 2) * (k - j + 1) * a[k - j + 2];
      }
      a[k + 2] = sum / (second[0] * (k + 2) * (k + 1));
      rate += (k + 2) * a[k + 2] * power;
      power *= h;
      value += a[k + 2] * power;
    }
    return [value, rate];
  }

  // The second kind: by its sum where x is far enough, from there inwards by the equation (it grows that way)
  function radialSecond(sign, m, n, c, x, given) {
    if (!defined(m, n, c, given) || !inside(sign, x) || !(c > 0)) return NONE;
    const found = expansion(sign, m, n, c, given);
    const far = 4 + 8 / c ** 0.5;
    let at = Math.max(x, far), y = sums(sign, m, n, c, at, found, numbers.of.spherical_yn);
    while (at > x) {
      const reach = sign > 0 ? at - 1 : Math.hypot(1, at);
      const next = Math.max(x, at - Math.min(0.35 * reach, 2 / Math.max(c, 1)));
      y = stepped(-sign, m, c, found.lambda, at, y, next - at);
      at = next;
    }
    return y;
  }

  for (const [kind, sign] of [["pro", 1], ["obl", -1]]) {
    numbers.of[`${kind}_cv`] = characteristic(sign);
    for (const [name, f] of [["ang1", angular], ["rad1", radialFirst], ["rad2", radialSecond]]) {
      numbers.several[`${kind}_${name}`] = (m, n, c, x) => f(sign, m, n, c, x);
      numbers.several[`${kind}_${name}_cv`] = (m, n, c, cv, x) => f(sign, m, n, c, x, cv);
    }
  }
})();
