// Hurwitz's ζ, the derivatives of log Γ that it gives, and nodes of Gauss and Legendre.
// gives: zeta Polygamma
"use strict";
(() => {
  const { gamma, psi } = numbers.of;
  const BERNOULLI = [
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
  ];

  // ζ(s, q) = Σ (q+k)⁻ˢ: terms to y = q+N, then ∫ and corrections, B₂ⱼ/(2j)! s(s+1)…(s+2j-2) y^(1-s-2j)
  function zeta(s, q) {
    if (s === 1) return Infinity;
    if (s < 1 || q !== q) return NaN;
    if (q <= 0) {
      if (Number.isInteger(q) || q === -Infinity || s === Infinity) return Infinity;
      if (!Number.isInteger(s)) return NaN;
    }
    if (s !== s) return NaN;
    if (q === Infinity) return 0;
    if (s === Infinity) return q < 1 ? Infinity : q === 1 ? 1 : NaN; // as SciPy
    if (s > 600 && q < 1) return Math.pow(q, -s);
    let sum = 0, y = q;
    const enough = Math.max(14, s / 2);
    for (; y < enough; y += 1) {
      const term = Math.pow(y, -s);
      sum += term;
      if (y > 0 && Math.abs(term) <= 1e-18 * Math.abs(sum)) return sum;
    }
    let term = Math.pow(y, -s);
    sum += (term * y) / (s - 1) + term / 2;
    term *= s / y;
    let factorial = 2;
    for (let j = 1; j <= BERNOULLI.length; j++) {
      const part = (BERNOULLI[j - 1] / factorial) * term;
      sum += part;
      if (Math.abs(part) < 1e-18 * Math.abs(sum)) break;
      term *= ((s + 2 * j - 1) / y) * ((s + 2 * j) / y);
      factorial *= (2 * j + 1) * (2 * j + 2);
    }
    return sum;
  }

  // ψ⁽ⁿ⁾(x) = (-1)ⁿ⁺¹ n! ζ(n+1, x)
  const polygamma = (n, x) => (n === 0 ? psi(x) : (n % 2 ? 1 : -1) * gamma(n + 1) * zeta(n + 1, x));

  // ψ, ψ′, … ψ⁽ⁿ⁻¹⁾
  const polygammas = (n, x) => Array.from({ length: n }, (_, k) => polygamma(k, x));

  const DIGAMMA = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12]; // log x - 1/(2x) - ψ(x), in x⁻²

  // log a - ψ(a)
  function digammaGap(a) {
    if (a <= 12) return Math.log(a) - psi(a);
    const r = 1 / (a * a);
    let sum = 0;
    for (let k = DIGAMMA.length - 1; k >= 0; k--) sum = sum * r + DIGAMMA[k];
    return 0.5 / a + r * sum;
  }

  // ψ(a+b) - ψ(a) for a, a+b > 0: Σ b/((a+k)(a+b+k)), then the differences of the terms of the asymptotic series
  function digammaDifference(a, b) {
    let sum = 0;
    for (let k = 0; k < 12; k++) sum += b / ((a + k) * (a + b + k));
    const u = a + 12, v = a + b + 12, gap = b / (u * v);
    const p = 1 / u, q = 1 / v, first = gap * (p + q);
    let tail = 0, difference = first, power = p * p;
    for (const c of DIGAMMA) {
      tail += c * difference;
      difference = difference * q * q + first * power;
      power *= p * p;
    }
    return sum + Math.log1p(b / u) + 0.5 * gap + tail;
  }

  const known = new Map();

  // Nodes and weights on (0, 1): the zeros of Legendre's polynomial by Newton's steps
  function gauss(count) {
    if (known.has(count)) return known.get(count);
    const nodes = [], weights = [];
    for (let i = 0; i < count; i++) {
      let x = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5)), slope = 1;
      for (let n = 0; n < 8; n++) {
        let p = 1, q = 0;
        for (let k = 1; k <= count; k++) [p, q] = [((2 * k - 1) * x * p - (k - 1) * q) / k, p];
        slope = (count * (x * p - q)) / (x * x - 1);
        x -= p / slope;
      }
      nodes.push(0.5 - x / 2);
      weights.push(1 / ((1 - x * x) * slope * slope));
    }
    known.set(count, [nodes, weights]);
    return known.get(count);
  }

  function choose(n, k) {
    let c = 1;
    for (let i = 1; i <= k; i++) c = (c * (n - k + i)) / i;
    return Math.round(c);
  }

  // e^(-f) dⁿ/daⁿ e^f from the derivatives f′, f″, … : Bell's polynomials
  function bell(n, rates) {
    const weights = [1];
    for (let k = 0; k < n; k++) {
      let sum = 0;
      for (let j = 0; j <= k; j++) sum += choose(k, j) * rates[j] * weights[k - j];
      weights.push(sum);
    }
    return weights[n];
  }

  numbers.of.zeta = zeta;
  numbers.given.Polygamma = ({ n }) => (x) => polygamma(n, x);
  Object.assign(numbers.shared, { polygamma, polygammas, digammaGap, digammaDifference, gauss, bell, choose });
})();
