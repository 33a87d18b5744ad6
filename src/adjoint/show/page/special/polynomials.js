// Orthogonal polynomials by their recurrences, of other degrees by hypergeometric functions; Legendre's functions.
// gives: eval_jacobi eval_sh_jacobi eval_gegenbauer eval_legendre eval_sh_legendre eval_chebyt eval_chebyu eval_chebyc
// gives: eval_chebys eval_sh_chebyt eval_sh_chebyu eval_genlaguerre eval_laguerre eval_hermite eval_hermitenorm lpmv
// needs: hypergeometric gammas
"use strict";
(() => {
  const { hyp1f1, hyp2f1, binom, poch, rgamma, gamma } = numbers.of;
  const whole = (n) => Number.isInteger(n) && n >= 0 && n < 1e5;

  // Pₙ₊₁ from Pₙ and Pₙ₋₁: step(k, pₖ, pₖ₋₁) gives pₖ₊₁
  function recurrence(n, first, second, step) {
    if (n === 0) return first;
    let p = first, q = second;
    for (let k = 1; k < n; k++) [p, q] = [q, step(k, q, p)];
    return q;
  }

  // Jacobi: the recurrence in the degree, for the differences d of P/C(n+α, n); s = α + β
  function eval_jacobi(n, alpha, beta, x) {
    if ([n, alpha, beta, x].some((v) => v !== v)) return NaN;
    const s = alpha + beta;
    if (!whole(n)) return binom(n + alpha, n) * hyp2f1(-n, n + s + 1, alpha + 1, (1 - x) / 2);
    if (n === 0) return 1;
    if (n === 1) return 0.5 * (2 * (alpha + 1) + (s + 2) * (x - 1));
    let d = ((s + 2) * (x - 1)) / (2 * (alpha + 1)), p = d + 1;
    for (let k = 1; k < n; k++) {
      const t = 2 * k + s;
      const above = t * (t + 1) * (t + 2) * (x - 1) * p + 2 * k * (k + beta) * (t + 2) * d;
      d = above / (2 * (k + alpha + 1) * (k + s + 1) * t);
      p += d;
    }
    return binom(n + alpha, n) * p;
  }

  const eval_sh_jacobi = (n, p, q, x) => eval_jacobi(n, p - q, q - 1, 2 * x - 1) / binom(2 * n + p - 1, n);

  // Gegenbauer: (k+1) Cₖ₊₁ = 2 (k+α) x Cₖ - (k+2α-1) Cₖ₋₁
  function eval_gegenbauer(n, alpha, x) {
    if (n !== n || alpha !== alpha || x !== x) return NaN;
    if (!whole(n)) return (poch(2 * alpha, n) * rgamma(n + 1)) * hyp2f1(-n, n + 2 * alpha, alpha + 0.5, (1 - x) / 2);
    return recurrence(n, 1, 2 * alpha * x, (k, p, q) => (2 * (k + alpha) * x * p - (k + 2 * alpha - 1) * q) / (k + 1));
  }

  // Legendre: (k+1) Pₖ₊₁ = (2k+1) x Pₖ - k Pₖ₋₁, summed by differences; P₋ₙ₋₁ = Pₙ
  function eval_legendre(n, x) {
    if (n !== n || x !== x) return NaN;
    if (n < 0 && Number.isInteger(n)) n = -n - 1;
    if (!whole(n)) return hyp2f1(-n, n + 1, 1, (1 - x) / 2);
    if (Math.abs(x) < 1e-5) return recurrence(n, 1, x, (k, p, q) => ((2 * k + 1) * x * p - k * q) / (k + 1));
    let p = 1, d = x - 1;
    if (n === 0) return 1;
    for (let k = 1; k <= n; k++) {
      p += d;
      d = ((2 * k + 1) / (k + 1)) * (x - 1) * p + (k / (k + 1)) * d;
    }
    return p;
  }

  // Chebyshev: cₖ₊₁ = 2x cₖ - cₖ₋₁
  const chebyshev = (n, x, second) => recurrence(n, 1, second, (k, p, q) => 2 * x * p - q);

  function eval_chebyt(n, x) {
    if (n !== n || x !== x) return NaN;
    if (Number.isInteger(n) && n < 0) n = -n;
    if (whole(n)) return chebyshev(n, x, x);
    return Math.abs(x) <= 1 ? Math.cos(n * Math.acos(x)) : hyp2f1(-n, n, 0.5, (1 - x) / 2);
  }

  function eval_chebyu(n, x) {
    if (n !== n || x !== x) return NaN;
    if (n === -1) return 0;
    if (Number.isInteger(n) && n < -1) return -eval_chebyu(-n - 2, x);
    if (whole(n)) return chebyshev(n, x, 2 * x);
    if (Math.abs(x) < 0.999) return Math.sin((n + 1) * Math.acos(x)) / Math.sqrt((1 - x) * (1 + x));
    return (n + 1) * hyp2f1(-n, n + 2, 1.5, (1 - x) / 2);
  }

  // Laguerre: (k+1) Lₖ₊₁ = (2k+1+α-x) Lₖ - (k+α) Lₖ₋₁
  function eval_genlaguerre(n, alpha, x) {
    if (n !== n || alpha !== alpha || x !== x || alpha <= -1) return NaN;
    if (!whole(n)) return binom(n + alpha, n) * hyp1f1(-n, alpha + 1, x);
    return recurrence(n, 1, 1 + alpha - x, (k, p, q) => ((2 * k + 1 + alpha - x) * p - (k + alpha) * q) / (k + 1));
  }

  // Hermite: Heₖ₊₁ = x Heₖ - k Heₖ₋₁, Hₙ(x) = 2^(n/2) Heₙ(√2 x)
  function eval_hermitenorm(n, x) {
    if (n !== n || x !== x) return NaN;
    n = Math.trunc(n);
    return n < 0 ? NaN : recurrence(n, 1, x, (k, p, q) => x * p - k * q);
  }

  const eval_hermite = (n, x) =>
    (Math.trunc(n) < 0 ? NaN : recurrence(Math.trunc(n), 1, 2 * x, (k, p, q) => 2 * (x * p - k * q)));

  // P_v^m(x): for whole v from P_m^m = (-1)ᵐ (2m-1)!! (1-x²)^(m/2) upwards in the degree, else by ₂F₁ at (1-x)/2
  function lpmv(m, v, x) {
    if (m !== m || v !== v || x !== x || Math.abs(x) > 1) return NaN;
    if (!Number.isInteger(m)) return NaN;
    if (v < 0 && v < -0.5) v = -v - 1;
    if (m < 0) {
      const value = lpmv(-m, v, x);
      return Number.isInteger(v) && -m > v ? 0 : value * (m % 2 ? -1 : 1) * gamma(v + m + 1) * rgamma(v - m + 1);
    }
    if (Number.isInteger(v)) {
      if (m > v) return 0;
      let p = 1;
      for (let k = 1; k <= m; k++) p *= -(2 * k - 1) * Math.sqrt((1 - x) * (1 + x));
      let q = x * (2 * m + 1) * p;
      if (v === m) return p;
      for (let l = m + 2; l <= v; l++) [p, q] = [q, ((2 * l - 1) * x * q - (l + m - 1) * p) / (l - m)];
      return q;
    }
    if (x === -1) return m === 0 ? -Infinity : Infinity;
    if (x === 1) return m === 0 ? 1 : 0;
    let product = 1; // (-1)ᵐ Γ(v+m+1)/Γ(v-m+1)
    for (let j = 0; j < m; j++) product *= -(v - j) * (v + j + 1);
    const ratio = Math.pow((1 - x) / (1 + x), m / 2) * rgamma(m + 1);
    return product * ratio * hyp2f1(-v, v + 1, 1 + m, (1 - x) / 2);
  }

  Object.assign(numbers.of, {
    eval_jacobi, eval_sh_jacobi, eval_gegenbauer, eval_legendre, eval_chebyt, eval_chebyu, eval_genlaguerre,
    eval_hermite, eval_hermitenorm, lpmv,
    eval_sh_legendre: (n, x) => eval_legendre(n, 2 * x - 1), eval_laguerre: (n, x) => eval_genlaguerre(n, 0, x),
    eval_chebyc: (n, x) => 2 * eval_chebyt(n, x / 2), eval_chebys: (n, x) => eval_chebyu(n, x / 2),
    eval_sh_chebyt: (n, x) => eval_chebyt(n, 2 * x - 1), eval_sh_chebyu: (n, x) => eval_chebyu(n, 2 * x - 1),
  });
})();
