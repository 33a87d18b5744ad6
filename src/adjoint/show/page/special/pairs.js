// Complex numbers as pairs [re, im]: what the other files here reckon with.
"use strict";
numbers.shared.pairs = (() => {
  const add = ([a, b], [c, d]) => [a + c, b + d];
  const sub = ([a, b], [c, d]) => [a - c, b - d];
  const times = ([a, b], r) => [a * r, b * r];
  const conj = ([a, b]) => [a, -b];
  const size = ([a, b]) => Math.hypot(a, b);

  // a b, where a part that is 0 makes 0 even of an infinite factor
  const part = (a, b) => (a === 0 || b === 0 ? 0 : a * b);
  const mul = ([a, b], [c, d]) => [part(a, c) - part(b, d), part(a, d) + part(b, c)];

  // Smith's way: the greater part of the divisor is taken out first
  function div([a, b], [c, d]) {
    if (Math.abs(c) >= Math.abs(d)) {
      const r = d / c, t = c + d * r;
      return [(a + b * r) / t, (b - a * r) / t];
    }
    const r = c / d, t = c * r + d;
    return [(a * r + b) / t, (b * r - a) / t];
  }

  const exp = ([a, b]) => {
    const e = Math.exp(a);
    return b === 0 ? [e, b] : [part(e, Math.cos(b)), part(e, Math.sin(b))];
  };
  const log = ([a, b]) => [Math.log(Math.hypot(a, b)), Math.atan2(b, a)];

  function sqrt([a, b]) {
    if (a === 0 && b === 0) return [0, b];
    const larger = Math.sqrt(0.5 * (Math.abs(a) + Math.hypot(a, b)));
    const other = b / (2 * larger);
    return a >= 0 ? [larger, other] : [Math.abs(other), b < 0 || Object.is(b, -0) ? -larger : larger];
  }

  // exp(i π t), exact at multiples of a quarter
  function turn(t) {
    const rest = t - 2 * Math.floor(t / 2); // in [0, 2)
    const quarter = Math.round(2 * rest);
    const left = Math.PI * (rest - quarter / 2);
    const c = Math.cos(left), s = Math.sin(left);
    return [[c, s], [-s, c], [-c, -s], [s, -c]][quarter % 4].map((u) => u + 0);
  }

  return { add, sub, times, conj, size, mul, div, exp, log, sqrt, turn };
})();
