// Hypergeometric functions ₀F₁, ₁F₁, ₂F₁, and all their derivatives.
// gives: hyp0f1 hyp1f1 hyp2f1 ParameterDerivative.hyp0f1 ParameterDerivative.hyp1f1 ParameterDerivative.hyp2f1
// needs: jets gammas
"use strict";
(() => {
  const { begin, one, nothing, scaled, plus, minus, last, largest, shift, sum, difference, negative, letters } =
    numbers.shared.jets;
  const { times, over, product, power, gammaOf, reciprocalGamma, series } = numbers.shared.jets;
  const pole = (x) => x <= 0 && Number.isInteger(x);

  // Σ of Taylor's terms yₖ hᵏ from value and slope·h, with the slope there: next(k, yₖ, yₖ₊₁) gives the term after next
  function taylor(value, slope, step, next) {
    let upper = value, lower = scaled(slope, step), result = plus(value, lower), rise = lower.slice();
    for (let k = 0; k < 400; k++) {
      const term = next(k, upper, lower);
      upper = lower;
      lower = term;
      result = plus(result, term);
      rise = plus(rise, scaled(term, k + 2));
      if (k % 4 === 3 && !(largest(term) * k > 1e-18 * largest(result) + 1e-300)) break;
    }
    return [result, scaled(rise, 1 / step)];
  }

  // ₀F₁(b, x); far to the left along x y″ + b y′ = y, in steps of a few waves
  function limit(b, x) {
    if (x > -12) return series([], [b], x, 4000);
    let here = -12, value = series([], [b], here, 400), slope = over(series([], [shift(b, 1)], here, 400), b);
    while (here > x) {
      const there = Math.max(here - Math.min(-here / 2, 2 * Math.sqrt(-here)), x), from = here;
      const step = there - here, ratio = step / here;
      [value, slope] = taylor(value, slope, step, (k, u, v) => {
        const both = minus(scaled(u, (step * step) / from), scaled(times(v, shift(b, k)), (k + 1) * ratio));
        return scaled(both, 1 / ((k + 2) * (k + 1)));
      });
      here = there;
    }
    return value;
  }

  // Σ Π (upper)ₖ xᵏ/k!, as long as the terms fall
  function asymptotic(upper, x) {
    let term = one(), total = one(), before = Infinity;
    for (let k = 0; k < 60; k++) {
      for (const form of upper) term = times(term, shift(form, k));
      term = scaled(term, x / (k + 1));
      const size = largest(term);
      if (size > before && k >= 4) break;
      total = plus(total, term);
      before = size;
    }
    return total;
  }

  // ₁F₁ far to the left: Γ(b)/Γ(b-a) y^(-a) Σ (a)ₖ (a-b+1)ₖ/(k! yᵏ), y = -x
  function kummerLeft(a, b, x) {
    const scale = product(gammaOf(b), reciprocalGamma(difference(b, a)));
    return product(product(scale, power(-x, negative(a))), asymptotic([a, shift(difference(a, b), 1)], -1 / x));
  }

  // How far the series has terms that do not cancel: |a x/b| ≤ 3
  const restful = ([a], [b]) => Math.min(1, Math.max((3 * Math.abs(b)) / (1 + Math.abs(a)), 1e-3));

  // ₁F₁ to the left for large a, along x y″ + (b-x) y′ = a y in steps of a few waves
  function kummerSteps(a, b, x) {
    let here = -restful(a, b), value = series([a], [b], here, 2000);
    let slope = over(times(series([shift(a, 1)], [shift(b, 1)], here, 2000), a), b);
    const growth = Math.min(0.5, 8 / Math.abs(b[0])); // longer steps lift rounding errors along x^(1-b)
    while (here > x) {
      const waves = 2 * Math.sqrt(-here / (1 + Math.abs(a[0])));
      const there = Math.max(here - Math.min(growth * -here, waves), x), step = there - here, ratio = step / here;
      const from = here;
      [value, slope] = taylor(value, slope, step, (k, u, v) => {
        const left = scaled(times(u, shift(a, k)), step * ratio);
        return scaled(minus(left, scaled(times(v, shift(b, k - from)), (k + 1) * ratio)), 1 / ((k + 2) * (k + 1)));
      });
      here = there;
    }
    return value;
  }

  // ₁F₁(a, b, x), by Kummer's eˣ ₁F₁(b-a, b, -x) where it is better
  function kummer(a, b, x) {
    const [p] = a, [q] = b, rest = difference(b, a);
    const left = x < -1;
    if (Math.abs(x) > 50 + 2 * (Math.abs(p) + Math.abs(p - q)) && Math.abs(q) < 150) {
      return left ? kummerLeft(a, b, x) : scaled(kummerLeft(rest, b, -x), Math.exp(x));
    }
    const moderate = Math.abs(q) < 200 && Math.abs(p) < 1e4 && Math.abs(x) < 1e4;
    if (moderate && x < -restful(a, b) && p > q + 3) return kummerSteps(a, b, x);
    if (moderate && x > restful(rest, b) && p < -3) return scaled(kummerSteps(rest, b, -x), Math.exp(x));
    return left ? scaled(series([rest], [b], -x, 4000), Math.exp(x)) : series([a], [b], x, 4000);
  }

  // One step along x (1-x) y″ + (c - (a+b+1) x) y′ = ab y, from distance `here` from 1 to `there`
  function gaussStep(a, b, c, value, slope, here, there) {
    const ratio = 1 - there / here, x0 = 1 - here, total = shift(sum(a, b), 1);
    return taylor(value, slope, ratio * here, (k, u, v) => {
      const middle = minus(times(v, shift(c, k * (1 - 2 * x0))), scaled(times(v, total), x0));
      const first = scaled(times(times(u, shift(a, k)), shift(b, k)), ratio * ratio * here);
      return scaled(minus(first, scaled(middle, (k + 1) * ratio)), 1 / ((k + 2) * (k + 1) * x0));
    });
  }

  // ₂F₁ for ¾ ≤ x < 1 at distance `away` from 1, by s = c-a-b: the series, Euler's (1-x)ˢ ₂F₁(c-a, c-b, c, x), steps
  function gaussNearOne(a, b, c, x, away) {
    const rest = difference(difference(c, a), b);
    if (rest[0] > 12) return series([a, b], [c], x, 4000);
    if (rest[0] < -12 && Math.abs(c[0]) > 20) {
      return product(power(away, rest), series([difference(c, a), difference(c, b)], [c], x, 4000));
    }
    return gaussSteps(a, b, c, away);
  }

  // Where the series still has terms that do not cancel: ab x/c ≥ -3
  const calm = ([a], [b], [c]) => ((a * b) / c < -4 ? Math.max((-3 * c) / (a * b), 0.01) : 0.75);

  // Taylor's steps from there to the distance `away` from 1, each inside half of the circle of convergence
  function gaussSteps(a, b, c, away) {
    const start = Math.min(calm(a, b, c), 0.75);
    let value = series([a, b], [c], start, 1500);
    let slope = over(times(times(series([shift(a, 1), shift(b, 1)], [shift(c, 1)], start, 1500), a), b), c);
    const waves = 2.5 / Math.sqrt(1 + Math.abs(a[0] * b[0]));
    for (let here = 1 - start; here > away; ) {
      const longest = Math.min(0.5 * Math.min(here, 1 - here), waves * Math.sqrt(here * (1 - here)));
      const there = here - away <= 1.1 * longest ? away : here - longest;
      [value, slope] = gaussStep(a, b, c, value, slope, here, there);
      here = there;
    }
    return value;
  }

  // (1-x)^(-a) ₂F₁(a, c-b, c, x/(x-1)) for x < 0
  function pfaff(a, b, c, x) {
    const w = x / (x - 1), away = 1 / (1 - x), other = difference(c, b);
    let inner;
    if (w >= 0.75) inner = gaussNearOne(a, other, c, w, away);
    else if (w > calm(a, other, c) && Math.abs(c[0]) < 20) inner = gaussSteps(a, other, c, away);
    else inner = series([a, other], [c], w, 1500);
    return product(power(away, a), inner);
  }

  // ₂F₁(a, b, c, x), x ≤ 1
  function gauss(a, b, c, x) {
    if (!([a, b, c].every(([v]) => Math.abs(v) < 1e4)) || !(x <= 1)) return nothing();
    if (x > calm(a, b, c) && x < 0.75 && Math.abs(c[0]) < 20) return gaussSteps(a, b, c, 1 - x);
    if (Math.abs(x) <= 0.6 || (x > 0 && x < 0.75)) return series([a, b], [c], x, 1500);
    if (x < 0) return b[0] <= a[0] ? pfaff(a, b, c, x) : pfaff(b, a, c, x);
    if (x < 1) return gaussNearOne(a, b, c, x, 1 - x);
    const rest = difference(difference(c, a), b); // Γ(c) Γ(c-a-b)/(Γ(c-a) Γ(c-b))
    if (!(rest[0] > 0)) return nothing();
    const below = product(reciprocalGamma(difference(c, a)), reciprocalGamma(difference(c, b)));
    return product(product(gammaOf(c), gammaOf(rest)), below);
  }

  // ∂ᵐ/∂xᵐ raises each parameter by m, with (upper)ₘ/(lower)ₘ before it
  function kernel(orders, upper, lower, x, method) {
    const m = orders[orders.length - 1];
    begin(orders.slice(0, -1));
    const forms = letters(...upper, ...lower);
    let jet = method(...forms.map((f) => shift(f, m)), x);
    for (let k = 0; k < m; k++) {
      forms.slice(0, upper.length).forEach((f) => (jet = times(jet, shift(f, k))));
      forms.slice(upper.length).forEach((f) => (jet = over(jet, shift(f, k))));
    }
    return last(jet);
  }

  function hyp0f1(b, x) {
    if (b !== b || x !== x) return NaN;
    if (pole(b)) return NaN;
    if (x === 0 || (b === Infinity && Math.abs(x) < Infinity)) return 1;
    return Math.abs(x) === Infinity || b === -Infinity ? NaN : kernel([0, 0], [], [b], x, limit);
  }

  // A finite sum when an upper parameter is -n
  function finite(upper, lower, x) {
    const n = -Math.max(...upper.filter(pole));
    let term = 1, total = 1;
    for (let k = 0; k < n; k++) {
      for (const a of upper) term *= a + k;
      for (const b of lower) term /= b + k;
      term *= x / (k + 1);
      total += term;
    }
    return total;
  }

  function hyp1f1(a, b, x) {
    if (a !== a || b !== b || x !== x) return NaN;
    if (pole(b)) return pole(a) && a < 0 && a >= b ? finite([a], [b], x) : Infinity;
    if (a === 0 || x === 0) return 1;
    if (a === b) return Math.exp(x);
    if (pole(a) && (a > -4 || x < 0)) return finite([a], [b], x);
    if (![a, b, x].every(Number.isFinite)) return x === -Infinity ? 0 : x === Infinity ? Infinity : NaN;
    return kernel([0, 0, 0], [a], [b], x, kummer);
  }

  function hyp2f1(a, b, c, x) {
    if (a !== a || b !== b || c !== c || x !== x) return NaN;
    if (x === 0 || ((a === 0 || b === 0) && c !== 0)) return 1;
    if (b === c && x < 1 && x >= -1) return Math.pow(1 - x, -a);
    if (a === c && x < 1 && x >= -1) return Math.pow(1 - x, -b);
    const ends = [a, b].filter(pole);
    if (pole(c) && !(ends.length && Math.max(...ends) > c)) return Infinity;
    if (ends.length && (Math.max(...ends) > -20 || x > 1)) return finite([a, b], [c], x);
    if (x > 1 && !(pole(c - a) || pole(c - b))) return Infinity;
    if (x > 1) {
      const found = Math.pow(1 - x, c - a - b) * finite([c - a, c - b], [c], x);
      return found === found ? found : Infinity; // as SciPy, where it is complex
    }
    if (a === c || b === c) return Math.pow(1 - x, a === c ? -b : -a);
    if (x === 1 && !(c - a - b > 0)) return Infinity;
    return kernel([0, 0, 0, 0], [a, b], [c], x, gauss);
  }

  Object.assign(numbers.of, { hyp0f1, hyp1f1, hyp2f1 });
  const { given } = numbers;
  given["ParameterDerivative.hyp0f1"] = ({ orders }) => (b, x) => kernel(orders, [], [b], x, limit);
  given["ParameterDerivative.hyp1f1"] = ({ orders }) => (a, b, x) => kernel(orders, [a], [b], x, kummer);
  given["ParameterDerivative.hyp2f1"] = ({ orders }) => (a, b, c, x) => kernel(orders, [a, b], [c], x, gauss);
})();
