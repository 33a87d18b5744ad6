// Derivatives of the incomplete gamma and beta functions in their parameters, of any order.
// gives: ParameterDerivative.gammainc ParameterDerivative.betainc
// needs: gammas zetas
"use strict";
(() => {
  const { logGamma, gammaFactor, betaFactor } = numbers.shared;
  const { polygamma, polygammas, digammaGap, digammaDifference, gauss, bell, choose } = numbers.shared;
  const FALL = 40; // an integrand is followed until its exponent has fallen by so much

  // ∂ⁿP/∂aⁿ = Σ ∂ⁿ x^(a+k) e⁻ˣ/Γ(a+k+1), for x ≤ 1
  function gammaSeries(n, a, x) {
    const logarithm = Math.log(x);
    let sum = 0;
    for (let k = 0; k < 24; k++) {
      const s = a + k;
      const term = Math.exp(s * logarithm - x - logGamma(s + 1));
      if (!(term > 0)) continue;
      const rates = polygammas(n, s + 1).map((r, i) => (i ? -r : logarithm - r));
      sum += term * bell(n, rates);
    }
    return sum;
  }

  // e^(-v) - 1 + v
  function bowl(v) {
    if (Math.abs(v) > 0.5) return Math.expm1(-v) + v;
    let term = (v * v) / 2, sum = term;
    for (let k = 3; k < 20; k++) {
      term *= -v / k;
      sum += term;
    }
    return sum;
  }

  // ∫ over t < x, or minus that over t > x, of the density times the weight of mean 0; t = x e^(∓u)
  function gammaIntegral(n, a, x) {
    const gap = Math.log1p((x - a) / a) + digammaGap(a); // log x - ψ(a)
    const lower = gap < 0, side = lower ? 1 : -1, slope = side * (a - x);
    let reach = (0.5 + Math.sqrt(0.25 + 2 * FALL * x)) / x;
    if (lower) reach = Math.min((FALL + x) / a, x > 120 ? Math.sqrt(120 / x) : Infinity);
    else if (x <= 50) reach = Math.min(reach, Math.log1p((FALL + 5 * a + 5) / x));
    for (let k = 0; k < 8; k++) { // Newton's steps, from the right
      const fall = slope * reach + x * bowl(side * reach) - FALL;
      const rate = slope - x * side * Math.expm1(-side * reach);
      if (fall > 0 && rate > 0) reach -= fall / rate;
    }
    const higher = Array.from({ length: Math.max(n - 1, 0) }, (_, k) => -polygamma(k + 1, a));
    const [nodes, weights] = gauss(40);
    let sum = 0;
    nodes.forEach((v, i) => {
      const u = reach * v;
      const fall = slope * u + x * bowl(side * u);
      sum += Math.exp(-fall) * bell(n, [gap - side * u, ...higher]) * weights[i];
    });
    return side * reach * sum * gammaFactor(a, x) * a;
  }

  // ∂ⁿP(a, x)/∂aⁿ, n ≥ 1
  function gammaKernel(n, a, x) {
    if (x === 0 || x === Infinity) return 0;
    if (!(a > 0 && x > 0 && a < Infinity)) return NaN;
    return x <= 1 ? gammaSeries(n, a, x) : gammaIntegral(n, a, x);
  }

  // Derivatives of -log B(a, b) of order two and more
  function betaRates(i, j, a, b) {
    const found = [];
    for (let k = 0; k <= i; k++) {
      found.push([]);
      for (let l = 0; l <= j; l++) {
        const both = k + l > 1 ? polygamma(k + l - 1, a + b) : 0;
        found[k].push(k + l < 2 ? 0 : both - (k && l ? 0 : polygamma(k + l - 1, l === 0 ? a : b)));
      }
    }
    return found;
  }

  // e^(-f) ∂ᵢ∂ⱼ e^f, f = a log t + b log(1-t) - log B(a, b): Bell's polynomials in two letters
  function betaWeight(i, j, first, second, rates) {
    const rate = (k, l) => (k === 1 && l === 0 ? first : k === 0 && l === 1 ? second : rates[k][l]);
    const weights = [];
    for (let k = 0; k <= i; k++) {
      weights.push([]);
      for (let l = 0; l <= j; l++) {
        if (k + l === 0) { weights[0].push(1); continue; }
        const [p, q] = k ? [k - 1, l] : [k, l - 1], [dp, dq] = k ? [1, 0] : [0, 1];
        let sum = 0;
        for (let r = 0; r <= p; r++) {
          for (let s = 0; s <= q; s++) {
            sum += choose(p, r) * choose(q, s) * rate(r + dp, s + dq) * weights[p - r][q - s];
          }
        }
        weights[k].push(sum);
      }
    }
    return weights[i][j];
  }

  // ∫ over t < x, y = 1 - x, of the density times the weight; log t/(1-t) = log x/y - v
  function betaSide(a, b, x, y, fx, fy, i, j, rates) {
    let reach = Math.max((FALL - (a + b) * Math.log(y)) / a, 1e-300);
    for (let n = 0; n < 30; n++) {
      const fall = a * reach + (a + b) * Math.log1p(x * Math.expm1(-reach)) - FALL;
      const rate = a - ((a + b) * x) / (x + y * Math.exp(Math.min(reach, 700)));
      const step = fall > 0 && rate > 0 ? fall / rate : 0;
      reach -= step;
      if (step <= 0.05 * reach) break;
    }
    const turn = Math.min(Math.max(Math.log(x / y), 0), reach);
    const [nodes, weights] = gauss(44);
    let total = 0;
    for (const [length, sign] of [[turn, -1], [reach - turn, 1]]) { // from t = ½ both ways: the poles are at distance π
      const w = Math.asinh(length / 2);
      nodes.forEach((t, k) => {
        const v = turn + sign * 2 * Math.sinh(w * t);
        const shift = v < 1 ? Math.log1p(x * Math.expm1(-v)) : Math.log(y + x * Math.exp(-v)); // log (1-x)/(1-t)
        const drop = v < 30 ? Math.log1p(y * Math.expm1(v)) : v + shift; // log x/t
        const term = Math.exp(-a * v - (a + b) * shift) * betaWeight(i, j, fx - drop, fy - shift, rates);
        total += term * 2 * Math.cosh(w * t) * w * weights[k];
      });
    }
    return total;
  }

  const transposed = (rows) => rows[0].map((_, l) => rows.map((row) => row[l]));

  // ∂ⁱ∂ʲ I_x(a, b)/∂aⁱ∂bʲ, i + j ≥ 1
  function betaKernel(i, j, a, b, x) {
    if (x === 0 || x === 1) return 0;
    if (!(a > 0 && b > 0 && x > 0 && x < 1 && a + b < Infinity)) return NaN;
    const y = 1 - x;
    const fx = Math.log(x) + digammaDifference(a, b), fy = Math.log1p(-x) + digammaDifference(b, a);
    const lower = j === 0 ? fx < 0 : i === 0 ? fy > 0 : x * (a + b) < a;
    const rates = betaRates(i, j, a, b);
    const side = lower
      ? betaSide(a, b, x, y, fx, fy, i, j, rates) : -betaSide(b, a, y, x, fy, fx, j, i, transposed(rates));
    return side * betaFactor(a, b, x, y);
  }

  numbers.given["ParameterDerivative.gammainc"] = ({ orders }) => (a, x) => gammaKernel(orders[0], a, x);
  numbers.given["ParameterDerivative.betainc"] = ({ orders }) => (a, b, x) => betaKernel(orders[0], orders[1], a, b, x);
})();
