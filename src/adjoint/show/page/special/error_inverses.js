// The inverses of the error function and of the normal distribution.
// gives: erfinv erfcinv ndtri ndtri_exp
"use strict";
(() => {
  const { erf, erfcx } = numbers.of;
  const SQRT_PI = Math.sqrt(Math.PI);

  // erf(y) = p near the middle: Halley's steps, where erf″ = -2y erf′
  function middle(p) {
    let y = (SQRT_PI / 2) * p * (1 + (Math.PI / 12) * p * p);
    for (let k = 0; k < 6; k++) {
      const step = (erf(y) - p) * (SQRT_PI / 2) * Math.exp(y * y);
      y -= step / (1 + y * step);
      if (Math.abs(step) <= 1e-17 * Math.abs(y)) break;
    }
    return y;
  }

  // log erfc(y) = logq for y > 0: Newton's steps on log erfcx(y) - y², which is concave
  function tail(logq) {
    let y = Math.sqrt(-logq);
    for (let k = 0; k < 40; k++) {
      const scaled = erfcx(y);
      const step = (Math.log(scaled) - y * y - logq) * (SQRT_PI / 2) * scaled;
      y += step;
      if (Math.abs(step) <= 1e-16 * y) break;
    }
    return y;
  }

  function erfinv(p) {
    if (!(Math.abs(p) < 1)) return Math.abs(p) === 1 ? p * Infinity : NaN;
    return Math.abs(p) < 0.7 ? middle(p) : Math.sign(p) * tail(Math.log1p(-Math.abs(p)));
  }

  function erfcinv(q) {
    if (!(q > 0 && q < 2)) return q === 0 ? Infinity : q === 2 ? -Infinity : NaN;
    if (q > 1.7) return -tail(Math.log(2 - q));
    return q < 0.3 ? tail(Math.log(q)) : middle(1 - q);
  }

  function ndtri(p) {
    if (!(p > 0 && p < 1)) return p === 0 ? -Infinity : p === 1 ? Infinity : NaN;
    if (p > 0.85) return Math.SQRT2 * tail(Math.log(2 * (1 - p)));
    return p < 0.15 ? -Math.SQRT2 * tail(Math.log(p) + Math.LN2) : Math.SQRT2 * middle(2 * p - 1);
  }

  function ndtriExp(y) { // Φ(x) = exp(y)
    if (!(y < 0)) return y === 0 ? Infinity : NaN;
    if (y === -Infinity) return y;
    if (y < -2) return -Math.SQRT2 * tail(y + Math.LN2);
    return y > -0.1 ? -ndtri(-Math.expm1(y)) : Math.SQRT2 * middle(2 * Math.exp(y) - 1);
  }

  Object.assign(numbers.of, { erfinv, erfcinv, ndtri, ndtri_exp: ndtriExp });
})();
