// Tricomi's function U(a, b, x), x > 0, and all its derivatives: an integral, its mirrored form, and recurrences.
// gives: hyperu ParameterDerivative.hyperu
// needs: jets
"use strict";
(() => {
  const { begin, scaled, minus, last, shift, sum, difference, negative, letters } = numbers.shared.jets;
  const { one, nothing, times, product, power, reciprocalGamma } = numbers.shared.jets;
  const { gauss } = numbers.shared;
  const { gamma, rgamma } = numbers.of;
  const FALL = 40;

  const softplus = (u) => (u > 0 ? u + Math.log1p(Math.exp(-u)) : Math.log1p(Math.exp(u)));

  // How far from its peak the exponent has fallen by 40: by halving the logarithm of the distance
  function reach(fallen, peak, side) {
    let low = -14, high = 14;
    for (let n = 0; n < 24; n++) {
      const middle = 0.5 * (low + high);
      if (fallen(peak + side * Math.exp(middle)) > -FALL) low = middle;
      else high = middle;
    }
    return Math.exp(high);
  }

  // Gauss's nodes and weights: stretched to the left of `first`, in three parts on each of the other intervals
  function nodes(low, first, second, high) {
    const found = [];
    const length = Math.asinh((first - low) / 2), [t, w] = gauss(40);
    t.forEach((v, i) => found.push([first - 2 * Math.sinh(length * v), 2 * Math.cosh(length * v) * length * w[i]]));
    const [s, r] = gauss(30);
    for (const [begins, ends] of [[first, second], [second, high]]) {
      const whole = ends - begins, near = Math.min(4, whole / 3), far = Math.max(whole - 4, (2 * whole) / 3);
      for (const [left, right] of [[0, near], [near, far], [far, whole]]) {
        s.forEach((v, i) => found.push([begins + left + (right - left) * v, (right - left) * r[i]]));
      }
    }
    return found;
  }

  // 1/Γ(a) ∫ exp(-xt) t^(a-1) (1+t)^(b-a-1) dt over u = log t, with the logarithms that derivatives bring
  function integral(a, b, x) {
    const rest = shift(difference(b, a), -1), n = b[0] - 1 - x, root = Math.sqrt(n * n + 4 * a[0] * x);
    const peak = Math.log(n > 0 ? (n + root) / (2 * x) : (2 * a[0]) / (root - n));
    const exponent = (u) => a[0] * u - x * Math.exp(u) + rest[0] * softplus(u);
    const top = exponent(peak), fallen = (u) => exponent(u) - top;
    const low = peak - reach(fallen, peak, -1), high = peak + reach(fallen, peak, 1);
    const turn = Math.min(Math.max(0, low), high); // where 1 + t bends
    const jet = scaled(one(), 0);
    for (const [u, weight] of nodes(low, Math.min(turn, peak), Math.max(turn, peak), high)) {
      const density = Math.exp(fallen(u)) * weight, bend = softplus(u);
      if (jet.length === 1) { jet[0] += density; continue; }
      const part = power(Math.E, [0, a[1].map((s, i) => s * u + rest[1][i] * bend)]);
      for (let i = 0; i < jet.length; i++) jet[i] += density * part[i];
    }
    return product(reciprocalGamma(a), scaled(jet, Math.exp(top)));
  }

  // x^(1-b) U(a-b+1, 2-b, x)
  function mirrored(a, b, x) {
    const below = shift(negative(b), 1);
    return product(power(x, below), integral(shift(difference(a, b), 1), shift(negative(b), 2), x));
  }

  // U(a-1) = (2a - b + x) U(a) - a (a-b+1) U(a+1), from a first parameter above ¼
  function downwards(a, b, x) {
    const steps = Math.ceil(0.25 - a[0]) + 1, top = shift(a, steps);
    let upper = integral(shift(top, 1), b, x), lower = integral(top, b, x);
    for (let k = 0; k < steps; k++) {
      const here = shift(top, -k);
      const first = times(lower, shift(difference(sum(here, here), b), x));
      const next = minus(first, times(times(upper, here), shift(difference(here, b), 1)));
      upper = lower;
      lower = next;
    }
    return lower;
  }

  // x U(b+1) = (b+x-1) U(b) - (b-a-1) U(b-1), from a second parameter near x: U grows the fastest
  function upwards(a, b, x) {
    const steps = Math.ceil(b[0] - Math.max(x, 1)) - 1, bottom = shift(b, -steps);
    let lower = tricomi(a, shift(bottom, -1), x), upper = tricomi(a, bottom, x);
    for (let k = 0; k < steps; k++) {
      const here = shift(bottom, k);
      const next = minus(times(upper, shift(here, x - 1)), times(lower, shift(difference(here, a), -1)));
      lower = upper;
      upper = scaled(next, 1 / x);
    }
    return upper;
  }

  // U(a, b, x): where a > 0 the integral; where a - b + 1 > 0 that of the mirrored function; else down from there
  function tricomi(a, b, x) {
    if (a[0] > 0.25) return integral(a, b, x);
    if (a[0] - b[0] + 1 > 0.25) return mirrored(a, b, x);
    if (!(Math.abs(a[0]) < 2000 && Math.abs(b[0]) < 2000)) return nothing();
    return b[0] > Math.max(x, 1) + 2 ? upwards(a, b, x) : downwards(a, b, x);
  }

  // ∂ᵐ/∂xᵐ U(a, b, x) = (-1)ᵐ (a)ₘ U(a+m, b+m, x)
  function kernel(orders, a, b, x) {
    if (!(x > 0 && x < Infinity)) return NaN;
    const m = orders[2];
    begin(orders.slice(0, 2));
    const [p, q] = letters(a, b);
    let jet = scaled(tricomi(shift(p, m), shift(q, m), x), m % 2 ? -1 : 1);
    for (let k = 0; k < m; k++) jet = times(jet, shift(p, k));
    return last(jet);
  }

  function hyperu(a, b, x) {
    if (a !== a || b !== b || !(x >= 0)) return NaN;
    if (a === 0) return 1;
    if (x === 0) return b >= 1 ? Infinity : gamma(1 - b) * rgamma(a - b + 1);
    return kernel([0, 0, 0], a, b, x);
  }

  numbers.of.hyperu = hyperu;
  numbers.given["ParameterDerivative.hyperu"] = ({ orders }) => (a, b, x) => kernel(orders, a, b, x);
})();
