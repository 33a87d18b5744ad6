// Incomplete gamma functions, their inverses, and the distributions that they are: gamma, χ², Poisson.
// gives: gammainc gammaincc gammaincinv gammainccinv chdtr chdtrc chdtri chdtriv gdtr gdtrc gdtria gdtrib gdtrix
// gives: pdtr pdtrc pdtri pdtrik
// needs: gammas roots
"use strict";
(() => {
  const { log1pmx, gammalnOnePlus, gammaFactor, quantile, monotone } = numbers.shared;
  const { erfc } = numbers.of;

  // P = xᵃ e⁻ˣ/Γ(a+1) Σ xⁿ/((a+1)…(a+n)), for x not far beyond a
  function lowerSeries(a, x) {
    let term = 1, sum = 1;
    for (let n = 1; n < 1e7 && term > 1e-17 * sum; n++) {
      term *= x / (a + n);
      sum += term;
    }
    return gammaFactor(a, x) * sum;
  }

  // Q = xᵃ e⁻ˣ/Γ(a) 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- …))), for x beyond a, by Lentz's method
  function upperFraction(a, x) {
    let b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (let n = 1; n < 1e7; n++) {
      const top = n * (a - n);
      b += 2;
      d = 1 / (top * d + b);
      c = b + top / c;
      const step = c * d;
      h *= step;
      if (!(Math.abs(step - 1) >= 1e-16)) break;
    }
    return gammaFactor(a, x) * a * h;
  }

  // Q = 1 - xᵃ/Γ(a+1) (1 - a Σ -(-x)ⁿ/(n! (a+n))), for small a and x
  function upperSeries(a, x) {
    let term = 1, sum = 0;
    for (let n = 1; n < 60; n++) {
      term *= -x / n;
      sum += term / (a + n);
      if (Math.abs(term) < 1e-18) break;
    }
    const exponent = a * Math.log(x) - gammalnOnePlus(a);
    return -Math.expm1(exponent) - Math.exp(exponent) * a * sum;
  }

  // Both tails for very large a: ½ erfc(∓η √(a/2)) and the first terms of the rest, ½η² = x/a - 1 - log(x/a)
  function uniform(a, x) {
    const gap = (x - a) / a;
    const eta = Math.sign(gap) * Math.sqrt(-2 * log1pmx(gap));
    const near = Math.abs(eta) < 1e-3;
    const first = near ? -1 / 3 + eta / 12 - (2 * eta * eta) / 135 : 1 / gap - 1 / eta;
    const rest = (Math.exp((-a * eta * eta) / 2) / Math.sqrt(2 * Math.PI * a)) * (first - 1 / 540 / a);
    const root = eta * Math.sqrt(a / 2);
    return [0.5 * erfc(-root) - rest, 0.5 * erfc(root) + rest];
  }

  // [P, Q] inside the domain; `upper` says which one must have its full precision
  function both(a, x, upper) {
    if (a > 1e9) return uniform(a, x);
    if (x > a && x > 1) {
      const q = upperFraction(a, x);
      return [1 - q, q];
    }
    if (a < 1 && x < 1.5 && upper) {
      const q = upperSeries(a, x);
      if (q < 0.7) return [1 - q, q];
    }
    const p = lowerSeries(a, x);
    return [p, 1 - p];
  }

  // The values at the edges of the domain: [P, Q], or null inside
  function edge(a, x) {
    if (!(a >= 0 && x >= 0)) return [NaN, NaN];
    if (a === 0) return x > 0 ? [1, 0] : [NaN, NaN];
    if (x === 0) return [0, 1];
    if (a === Infinity) return x === Infinity ? [NaN, NaN] : [0, 1];
    return x === Infinity ? [1, 0] : null;
  }

  const gammainc = (a, x) => (edge(a, x) || both(a, x, false))[0];
  const gammaincc = (a, x) => (edge(a, x) || both(a, x, true))[1];

  // x with P(a, x) = p, Q(a, x) = q, over log x: log P and log Q are concave there
  function inverse(a, p, q) {
    if (!(a >= 0 && p >= 0 && q >= 0)) return NaN;
    if (p === 0) return 0;
    if (q === 0) return Infinity;
    if (a === 0 || a === Infinity) return NaN;
    const small = (Math.log(p) + gammalnOnePlus(a)) / a; // xᵃ/Γ(a+1) = p
    if (small < -760) return 0;
    const start = small < Math.log(a + 1) - 3 && p < 0.5 ? small : Math.log(a + 0.1);
    const u = quantile(start, p, q, (w, upper) => {
      const x = Math.exp(w);
      if (x === 0) return [0, 1, 0];
      if (x === Infinity) return [1, 0, 0];
      return [...both(a, x, upper), gammaFactor(a, x) * a];
    });
    return Math.exp(u);
  }

  const gammaincinv = (a, p) => inverse(a, p, 1 - p);
  const gammainccinv = (a, q) => inverse(a, 1 - q, q);

  // a with P(a, x) = p: P falls as a grows
  function shape(p, x) {
    if (!(p >= 0 && p <= 1 && x >= 0)) return NaN;
    if (p === 0) return Infinity;
    if (p === 1 || x === 0) return 0;
    const q = 1 - p;
    return monotone(Math.log(x + 0.5), (w) => {
      const a = Math.exp(w);
      const [low, high] = edge(a, x) || both(a, x, p > 0.5);
      return p > 0.5 ? Math.log(high / q) : -Math.log(low / p);
    });
  }

  // The distribution functions of χ², gamma (rate a, shape b) and Poisson, with their complements and inverses
  const chdtr = (v, x) => (x < 0 ? NaN : gammainc(v / 2, x / 2));
  const chdtrc = (v, x) => (x < 0 ? NaN : gammaincc(v / 2, x / 2));
  const chdtri = (v, q) => (q < 0 || q > 1 ? NaN : 2 * gammainccinv(v / 2, q));
  const chdtriv = (p, x) => 2 * shape(p, x / 2);
  const gdtr = (a, b, x) => (x < 0 ? NaN : gammainc(b, a * x));
  const gdtrc = (a, b, x) => (x < 0 ? NaN : gammaincc(b, a * x));
  const gdtrix = (a, b, p) => (a < Infinity && b < Infinity ? gammaincinv(b, p) / a : NaN);
  const gdtria = (p, b, x) => (x > 0 ? gammaincinv(b, p) / x : NaN);
  const gdtrib = (a, p, x) => shape(p, a * x);
  const pdtr = (k, m) => (k < 0 || m < 0 ? NaN : m === 0 ? 1 : gammaincc(Math.floor(k) + 1, m));
  const pdtrc = (k, m) => (k < 0 || m < 0 ? NaN : m === 0 ? 0 : gammainc(Math.floor(k) + 1, m));
  const pdtri = (k, y) => (k < 0 || y < 0 || y >= 1 ? NaN : gammainccinv(Math.trunc(k) + 1, y));
  const pdtrik = (p, m) => (p === 0 || m === 0 ? 0 : Math.max(shape(1 - p, m) - 1, 0));

  Object.assign(numbers.of, {
    gammainc, gammaincc, gammaincinv, gammainccinv, chdtr, chdtrc, chdtri, chdtriv, gdtr, gdtrc, gdtria, gdtrib, gdtrix,
    pdtr, pdtrc, pdtri, pdtrik,
  });
  Object.assign(numbers.shared, { gammaTails: both });
})();
