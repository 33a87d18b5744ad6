// Roots of monotone functions, for inverse distribution functions.
"use strict";
(() => {
  // u with F(u) = p, 1 - F(u) = q, for F with log F and log (1-F) concave: Newton's steps on the smaller of the two,
  // inside a bracket. f(u, upper) gives [F, 1 - F, F′], of which the complement is read when `upper`.
  function quantile(start, p, q, f) {
    const upper = q < p;
    const target = Math.log(upper ? q : p);
    let low = -Infinity, high = Infinity, u = start, stride = 1, last = Infinity;
    for (let n = 0; n < 300; n++) {
      const [below, above, slope] = f(u, upper);
      const side = upper ? above : below;
      const gap = Math.log(side) - target; // of log F or log (1-F)
      if (gap === 0) return u;
      if (gap < 0 !== upper) low = u;
      else high = u;
      let step = (-gap * side) / (upper ? -slope : slope);
      let next = u + step;
      if (!(next > low && next < high) || !(Math.abs(step) < Math.max(40, 0.5 * Math.abs(u)))) {
        next = low === -Infinity ? u - stride : high === Infinity ? u + stride : (low + high) / 2;
        stride *= 2;
        step = next - u;
      } else if (Math.abs(step) > 0.7 * last && Number.isFinite(high - low)) {
        next = (low + high) / 2;
        step = next - u;
      }
      last = Math.abs(step);
      if (last <= 4e-16 * Math.max(Math.abs(next), 2) || high - low <= 4e-16 * Math.abs(u)) return next;
      u = next;
    }
    return u;
  }

  // e^w for the root w of a rising function g
  const monotone = (start, g, reach = 760) => Math.exp(line(start, g, reach));

  // The root of a rising function g, ±∞ beyond `reach`: a bracket from `start` on, then Brent's way of secants,
  // parabolas and halving
  function line(start, g, reach) {
    let a = start, fa = g(a), stride = 0.5;
    if (fa !== fa) return NaN;
    let b = a, fb = fa;
    while (fa > 0 === fb > 0 && fb !== 0) {
      if (Math.abs(b) > reach) return b > 0 ? Infinity : -Infinity;
      a = b; fa = fb;
      b = a + (fa > 0 ? -stride : stride);
      fb = g(b);
      if (fb !== fb) return NaN;
      stride *= 1.6;
    }
    let c = a, fc = fa, d = b - a, e = d;
    for (let n = 0; n < 200; n++) {
      if (fb > 0 === fc > 0) { c = a; fc = fa; d = e = b - a; }
      if (Math.abs(fc) < Math.abs(fb)) { a = b; b = c; c = a; fa = fb; fb = fc; fc = fa; }
      const tolerance = 2.3e-16 * Math.abs(b) + 1e-17, half = (c - b) / 2;
      if (Math.abs(half) <= tolerance || fb === 0) break;
      if (Math.abs(e) >= tolerance && Math.abs(fa) > Math.abs(fb) && Number.isFinite(fa)) {
        const s = fb / fa;
        let p, q;
        if (a === c) { p = 2 * half * s; q = 1 - s; }
        else {
          const r = fb / fc, t = fa / fc;
          p = s * (2 * half * t * (t - r) - (b - a) * (r - 1));
          q = (t - 1) * (r - 1) * (s - 1);
        }
        if (p > 0) q = -q; else p = -p;
        if (2 * p < Math.min(3 * half * q - Math.abs(tolerance * q), Math.abs(e * q))) { e = d; d = p / q; }
        else { d = half; e = d; }
      } else { d = half; e = d; }
      a = b; fa = fb;
      b += Math.abs(d) > tolerance ? d : Math.sign(half) * tolerance;
      fb = g(b);
    }
    return b;
  }

  Object.assign(numbers.shared, { quantile, monotone, line });
})();
