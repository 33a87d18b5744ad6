// Wright's generalized Bessel function Φ(a, b; x) = Σ xᵏ/(k! Γ(ak + b)), its logarithm, and the window of its series.
// gives: wright_bessel log_wright_bessel Placed.wright.stride Placed.wright.start
"use strict";
(() => {
  const { gammaln, psi } = numbers.of;
  const TERMS = 420;

  // Where log x = ψ(k+1) + a ψ(ak+b+1), by bisection: the top of the terms; and how wide their hill is.
  function hill(a, b, x) {
    let low = 0, high = Math.max(2 * x, 4);
    const level = Math.log(Math.max(x, 1e-300));
    for (let i = 0; i < 60; i++) {
      const k = 0.5 * (low + high);
      if (level > psi(k + 1) + a * psi(a * k + b + 1)) low = k;
      else high = k;
    }
    const top = 0.5 * (low + high);
    return [top, Math.sqrt((top + 1) / (1 + (a * a * (top + 1)) / (a * top + b + 1)))];
  }

  const stride = (a, b, x) => Math.max(1, Math.floor(hill(a, b, x)[1] / 18));

  function start(a, b, x) {
    const [top, width] = hill(a, b, x);
    const step = Math.max(1, Math.floor(width / 18));
    return top < 150 ? 0 : Math.floor(Math.max(top - 0.5 * TERMS * step, 0));
  }

  // log Γ(x) - (x-½) log x + x - ½ log 2π for x ≥ 8
  function stirling(x) {
    const r = 1 / (x * x);
    return (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r * (1 / 1188 - (r * 691) / 360360))))) / x;
  }

  // The logarithm of a term, y = ak + b; for large k and y without the parts k log k and y log y, which would cancel
  function logTerm(k, a, b, x) {
    const y = a * k + b;
    if (y === 0) return -Infinity;
    if (k < 8 || y < 8) return k * Math.log(x) - gammaln(k + 1) + Math.log(y) - gammaln(y + 1);
    const rest = k * (Math.log(x / k) - a * Math.log(y)) + (0.5 - b) * Math.log(y) + k + y;
    return rest - 0.5 * Math.log(k) - Math.log(2 * Math.PI) - stirling(k) - stirling(y);
  }

  // log Φ: the terms are summed from the top both ways
  function logarithm(a, b, x) {
    if (x === 0) return b === 0 ? -Infinity : -gammaln(b);
    const log = (k) => logTerm(k, a, b, x);
    if (a === 0) return b === 0 ? -Infinity : x - gammaln(b);
    const middle = Math.max(Math.round(hill(a, b, x)[0]), b === 0 ? 1 : 0);
    const top = log(middle);
    let sum = 1;
    for (const way of [1, -1]) {
      for (let k = middle + way, term = 1; k >= 0 && term > 1e-18 * sum; k += way) {
        term = Math.exp(log(k) - top);
        sum += term;
      }
    }
    return top + Math.log(sum);
  }

  // Sums of plain terms while these are ordinary numbers
  function value(a, b, x) {
    if (x === 0) return numbers.of.rgamma(b);
    if (a === 0) return Math.exp(x) * numbers.of.rgamma(b);
    if (x < 300 && b < 100) {
      let sum = 0, power = 1, greatest = 0;
      for (let k = 0; k < 900; k++) {
        const term = power * numbers.of.rgamma(a * k + b);
        sum += term;
        greatest = Math.max(greatest, term);
        if (k > x && term <= 1e-18 * sum && (a * k + b > 2 || term > 0)) break;
        power *= x / (k + 1);
      }
      if (greatest > 1e-250 && sum < Infinity) return sum;
    }
    return Math.exp(logarithm(a, b, x));
  }

  const defined = (f) => (a, b, x) => {
    if (!(a >= 0 && b >= 0 && x >= 0) || a === Infinity || b === Infinity) return NaN;
    return x === Infinity ? x : f(a, b, x);
  };

  numbers.of.wright_bessel = defined(value);
  numbers.of.log_wright_bessel = defined(logarithm);
  numbers.given["Placed.wright.stride"] = () => stride;
  numbers.given["Placed.wright.start"] = () => start;
})();
