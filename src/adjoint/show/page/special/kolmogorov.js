// Kolmogorov's distribution and its inverse.
// gives: kolmogorov kolmogi
"use strict";
(() => {
  // Q(x) = 2 Σ (-1)ᵏ⁻¹ exp(-2k²x²); near zero 1 - Q = √2π/x Σ exp(-(2k-1)²π²/8x²)
  function below(x) { // 1 - Q
    const unit = Math.exp(-(Math.PI * Math.PI) / (8 * x * x));
    return (Math.sqrt(2 * Math.PI) / x) * unit * (1 + unit ** 8 * (1 + unit ** 16 * (1 + unit ** 24)));
  }

  function above(x) {
    const unit = Math.exp(-2 * x * x);
    return 2 * unit * (1 - unit ** 3 * (1 - unit ** 5 * (1 - unit ** 7 * (1 - unit ** 9))));
  }

  function kolmogorov(x) {
    if (x !== x) return NaN;
    if (x <= 0.04) return 1;
    return x < 0.8 ? 1 - below(x) : above(x);
  }

  function slope(x) { // Q′
    let sum = 0;
    for (let k = 1; k < 12; k++) sum += (k % 2 ? -8 : 8) * k * k * x * Math.exp(-2 * k * k * x * x);
    return sum;
  }

  function slopeBelow(x) { // (1 - Q)′
    let sum = 0;
    for (let k = 1; k < 12; k += 2) {
      const rate = (k * k * Math.PI * Math.PI) / (8 * x * x);
      sum += (2 * rate - 1) * Math.exp(-rate);
    }
    return (Math.sqrt(2 * Math.PI) / (x * x)) * sum;
  }

  // Newton's steps on log Q, or on log (1 - Q) where Q is near one
  function kolmogi(p) {
    if (!(p > 0 && p < 1)) return p === 0 ? Infinity : p === 1 ? 0 : NaN;
    const upper = p < 0.5;
    let x = upper ? Math.sqrt(-Math.log(p / 2) / 2) : 0.6;
    if (!upper) { // log √2π/x - π²/8x² = log (1 - p), by fixed points
      for (let k = 0; k < 30; k++) x = Math.PI / Math.sqrt(8 * (Math.log(Math.sqrt(2 * Math.PI) / x) - Math.log1p(-p)));
    }
    for (let k = 0; k < 20; k++) {
      const value = upper ? above(x) : below(x);
      const step = (Math.log(value / (upper ? p : 1 - p)) * value) / (upper ? slope(x) : slopeBelow(x));
      x -= step;
      if (Math.abs(step) < 1e-16 * x) break;
    }
    return x;
  }

  Object.assign(numbers.of, { kolmogorov, kolmogi });
})();
