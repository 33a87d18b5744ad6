// Complex numbers as pairs [re, im]: elementary functions with NumPy's branch cuts, signed zeros and order.
"use strict";
(() => {
  const { LN2, LOG2E, LOG10E, PI, abs, exp, sin, cos, hypot, atan2 } = Math;
  const signed = (size, like) => (like < 0 || Object.is(like, -0) ? -size : size);
  const bool = (x) => (x ? 1 : 0);
  const bad = (z) => z[0] !== z[0] || z[1] !== z[1];
  const endless = (z) => abs(z[0]) === Infinity || abs(z[1]) === Infinity;
  const zero = (z) => z[0] === 0 && z[1] === 0;
  const both = (f) => (z) => [f(z[0]), f(z[1])];

  const add = (z, w) => [z[0] + w[0], z[1] + w[1]];
  const subtract = (z, w) => [z[0] - w[0], z[1] - w[1]];
  const multiply = (z, w) => [z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]];
  const scale = (z, r) => [z[0] * r, z[1] * r];

  // The product as C has it: infinite where a factor is, whatever NaN stands beside it.
  function product(z, w) {
    const plain = multiply(z, w);
    if (plain[0] === plain[0] || plain[1] === plain[1]) return plain;
    const unit = (a) => a.map((x) => signed(abs(x) === Infinity ? 1 : 0, x));
    const known = (a) => a.map((x) => (x !== x ? 0 : x));
    let [a, b] = [z, w];
    if (endless(a)) [a, b] = [unit(a), known(b)];
    if (endless(b)) [a, b] = [known(a), unit(b)];
    if (!endless(z) && !endless(w)) {
      if (![z[0] * w[0], z[1] * w[1], z[0] * w[1], z[1] * w[0]].some((x) => abs(x) === Infinity)) return plain;
      [a, b] = [known(z), known(w)];
    }
    return scale(multiply(a, b), Infinity);
  }

  const absolute = (z) => hypot(z[0], z[1]);

  function divide([a, b], [c, d]) { // Smith: no square of the denominator
    if (abs(c) >= abs(d)) {
      if (c === 0 && d === 0) return [a / abs(c), b / abs(c)];
      const ratio = d / c, rest = 1 / (c + d * ratio);
      return [(a + b * ratio) * rest, (b - a * ratio) * rest];
    }
    const ratio = c / d, rest = 1 / (d + c * ratio);
    return [(a * ratio + b) * rest, (b * ratio - a) * rest];
  }

  function reciprocal([c, d]) {
    if (abs(d) <= abs(c)) {
      const ratio = d / c, whole = c + d * ratio;
      return [1 / whole, -ratio / whole];
    }
    const ratio = c / d, whole = c * ratio + d;
    return [ratio / whole, -1 / whole];
  }

  function sign(z) {
    const size = absolute(z);
    if (size !== size) return [NaN, NaN];
    if (size === Infinity) {
      const [x, y] = z.map((part) => (abs(part) === Infinity ? Math.sign(part) : 0));
      return x !== 0 && y !== 0 ? [NaN, NaN] : [x, y];
    }
    return size === 0 ? [0, 0] : [z[0] / size, z[1] / size];
  }

  function expOf([x, y]) {
    if (y === 0) return [exp(x), y];
    if (!Number.isFinite(y)) return x === -Infinity ? [0, 0] : x === Infinity ? [x, NaN] : [NaN, NaN];
    if (x === -Infinity) return [signed(0, cos(y)), signed(0, sin(y))];
    if (x < 709) return [exp(x) * cos(y), exp(x) * sin(y)];
    const root = exp(x / 2);
    return [root * cos(y) * root, root * sin(y) * root];
  }

  function split(x) {
    const high = 134217729 * x;
    return high - (high - x);
  }

  function squareError(x, square) { // x² - square, exactly
    const high = split(x), low = x - high;
    return high * high - square + 2 * high * low + low * low;
  }

  function logSize(x, y) { // log |z|, also near |z| = 1
    const size = hypot(x, y);
    if (size > 0.5 && size < 2) {
      const a = Math.max(abs(x), abs(y)), b = Math.min(abs(x), abs(y));
      return 0.5 * Math.log1p(a * a - 1 + b * b + (squareError(a, a * a) + squareError(b, b * b)));
    }
    if (size === Infinity && Number.isFinite(x) && Number.isFinite(y)) return Math.log(hypot(x / 4, y / 4)) + 2 * LN2;
    return size < 1e-290 && size > 0 ? Math.log(hypot(x * 2 ** 200, y * 2 ** 200)) - 200 * LN2 : Math.log(size);
  }

  const log = ([x, y]) => [logSize(x, y), atan2(y, x)];

  function sqrt([x, y]) {
    if (x === 0 && y === 0) return [0, y];
    if (abs(y) === Infinity) return [Infinity, y];
    if (x !== x) return [x, NaN];
    if (x === -Infinity) return [abs(y - y), signed(Infinity, y)];
    if (x === Infinity) return [x, signed(y - y, y)];
    const top = Math.max(abs(x), abs(y));
    const by = top > 1e300 ? 0.25 : top < 1e-290 ? 2 ** 108 : 1;
    x *= by;
    y *= by;
    const t = Math.sqrt((abs(x) + hypot(x, y)) / 2), other = abs(y) / (2 * t), back = 1 / Math.sqrt(by);
    return x >= 0 ? [t * back, signed(other, y) * back] : [other * back, signed(t, y) * back];
  }

  function sinh([x, y]) {
    if (y === 0) return [Math.sinh(x), y];
    if (!Number.isFinite(y)) return [x === 0 ? x : abs(x) === Infinity ? Infinity : NaN, NaN];
    if (abs(x) < 709) return [Math.sinh(x) * cos(y), Math.cosh(x) * sin(y)];
    const root = exp(abs(x) / 2);
    return [(root / 2) * (signed(1, x) * cos(y)) * root, (root / 2) * sin(y) * root];
  }

  function cosh([x, y]) {
    if (y === 0) return [Math.cosh(x), x !== x ? y : signed(1, x) * y];
    if (!Number.isFinite(y)) return abs(x) === Infinity ? [Infinity, NaN] : x === 0 ? [NaN, 0] : [NaN, NaN];
    if (abs(x) < 709) return [Math.cosh(x) * cos(y), Math.sinh(x) * sin(y)];
    const root = exp(abs(x) / 2);
    return [(root / 2) * cos(y) * root, (root / 2) * (signed(1, x) * sin(y)) * root];
  }

  function tanh([x, y]) {
    if (y === 0) return [Math.tanh(x), y];
    if (abs(x) === Infinity) return [signed(1, x), signed(0, Number.isFinite(y) ? sin(2 * y) : y)];
    if (!Number.isFinite(y)) return [x === 0 ? x : NaN, NaN];
    if (abs(x) > 22) return [signed(1, x), 4 * sin(y) * cos(y) * exp(-2 * abs(x))];
    const t = Math.tan(y), beta = 1 + t * t, s = Math.sinh(x), rho = Math.sqrt(1 + s * s), below = 1 + beta * s * s;
    return [(beta * rho * s) / below, t / below];
  }

  const turned = (f) => ([x, y]) => { // -i f(iz)
    const [a, b] = f([-y, x]);
    return [b, -a];
  };
  const sine = turned(sinh);
  const sinOf = (z) => (abs(z[1]) === Infinity && !Number.isFinite(z[0]) ? [NaN, Infinity] : sine(z));
  const cosOf = ([x, y]) => cosh([-y, x]);

  // The inverses by square roots of 1 ± z, which keep their accuracy at the branch points (Kahan).
  function arcsin(z) {
    const [x, y] = z;
    if (bad(z)) {
      if (endless(z)) return [NaN, x !== x ? y : Infinity];
      return [x === 0 ? x : NaN, NaN];
    }
    if (absolute(z) > 1e150) return [atan2(x, abs(y)), signed(logSize(x, y) + LN2, y)];
    const low = sqrt([1 - x, -y]), high = sqrt([1 + x, y]);
    const size = abs(Math.asinh(low[0] * high[1] - low[1] * high[0]));
    return [atan2(x, low[0] * high[0] - low[1] * high[1]), signed(size, y)];
  }

  function arccos(z) {
    const [x, y] = z;
    if (bad(z)) return endless(z) ? [NaN, x !== x ? -y : -Infinity] : [x === 0 ? PI / 2 : NaN, NaN];
    if (absolute(z) > 1e150) return [atan2(abs(y), x), -signed(logSize(x, y) + LN2, y)];
    const low = sqrt([1 - x, -y]), high = sqrt([1 + x, y]);
    return [2 * atan2(low[0], high[0]), -signed(abs(Math.asinh(high[0] * low[1] - high[1] * low[0])), y)];
  }

  function arccosh(z) {
    const [x, y] = z;
    if (bad(z)) return endless(z) ? [Infinity, NaN] : [NaN, x === 0 ? PI / 2 : NaN];
    const [a, b] = arccos(z); // ±i arccos z, with a real part that is not negative
    return [abs(b), signed(a, y)];
  }

  function arctanh(z) {
    const [x, y] = z;
    if (bad(z)) {
      if (x !== x) return abs(y) === Infinity ? [0, signed(PI / 2, y)] : [NaN, NaN];
      return [x === 0 || abs(x) === Infinity ? signed(0, x) : NaN, NaN];
    }
    const size = absolute(z), a = abs(x);
    if (size > 1e100) return [signed(endless(z) ? 0 : a / size / size, x), signed(PI / 2, y)];
    const gap = (1 - a) * (1 - a) + y * y;
    const real = a === 1 && abs(y) < 1e-20 ? (LN2 - Math.log(abs(y))) / 2 : Math.log1p((4 * a) / gap) / 4;
    return [signed(real, x), signed(abs(atan2(2 * y, (1 - a) * (1 + a) - y * y)) / 2, y)];
  }

  function power(z, w) {
    if (zero(w)) return [1, 0];
    if (zero(z)) return w[0] > 0 ? [0, 0] : [NaN, NaN];
    const n = w[0];
    if (w[1] === 0 && Number.isInteger(n) && abs(n) < 100) {
      let product = null, factor = z;
      for (let k = abs(n); k > 0; k = Math.floor(k / 2)) {
        if (k % 2) product = product ? multiply(product, factor) : factor;
        factor = multiply(factor, factor);
      }
      return n < 0 ? divide([1, 0], product) : product;
    }
    return expOf(product(w, log(z)));
  }

  const log1p = ([x, y]) => [Math.log(hypot(x + 1, y)), atan2(y, x + 1)]; // as NumPy has it
  const accurateLog1p = (z) => { // as SciPy has it
    const [x, y] = z;
    const real = hypot(x, y) < 0.5 ? Math.log1p(x * (2 + x) + y * y) / 2 : logSize(1 + x, y);
    return [real, atan2(y, x + 1)];
  };
  const expm1 = ([x, y]) => [Math.expm1(x) * cos(y) - 2 * sin(y / 2) ** 2, exp(x) * sin(y)];

  const orders = {
    less: (z, w) => (z[0] < w[0] && z[1] === z[1] && w[1] === w[1]) || (z[0] === w[0] && z[1] < w[1]),
    less_equal: (z, w) => (z[0] < w[0] && z[1] === z[1] && w[1] === w[1]) || (z[0] === w[0] && z[1] <= w[1]),
    greater: (z, w) => orders.less(w, z),
    greater_equal: (z, w) => orders.less_equal(w, z),
  };
  const compared = Object.fromEntries(Object.entries(orders).map(([name, f]) => [name, (z, w) => bool(f(z, w))]));

  Object.assign(complexes.of, compared, {
    add, subtract, multiply, divide, reciprocal, sign, absolute, sqrt, log, power, float_power: power, log1p, expm1,
    exp: expOf, sinh, cosh, tanh, arcsin, arccos, arccosh, arctanh, cos: cosOf, sin: sinOf, tan: turned(tanh),
    arcsinh: turned(arcsin), arctan: turned(arctanh), negative: both((x) => -x), positive: both((x) => x),
    conjugate: ([x, y]) => [x, -y], square: ([x, y]) => [x * x - y * y, x * y + y * x],
    exp2: (z) => expOf(scale(z, LN2)), log2: (z) => scale(log(z), LOG2E), log10: (z) => scale(log(z), LOG10E),
    rint: both((x) => numbers.of.rint(x)), isnan: (z) => bool(bad(z)), isinf: (z) => bool(endless(z)),
    isfinite: (z) => bool(!bad(z) && !endless(z)), logical_not: (z) => bool(zero(z)),
    logical_and: (z, w) => bool(!zero(z) && !zero(w)), logical_or: (z, w) => bool(!zero(z) || !zero(w)),
    logical_xor: (z, w) => bool(zero(z) !== zero(w)), equal: (z, w) => bool(z[0] === w[0] && z[1] === w[1]),
    not_equal: (z, w) => bool(z[0] !== w[0] || z[1] !== w[1]),
    maximum: (z, w) => (bad(z) || orders.greater_equal(z, w) ? z : w),
    minimum: (z, w) => (bad(z) || orders.less_equal(z, w) ? z : w),
    fmax: (z, w) => (orders.greater_equal(z, w) || bad(w) ? z : w),
    fmin: (z, w) => (orders.less_equal(z, w) || bad(w) ? z : w),
    "special.log1p": accurateLog1p,
    "special.expm1": (z) => (bad(z) || endless(z) ? subtract(expOf(z), [1, 0]) : expm1(z)),
    xlogy: (z, w) => (zero(z) && !bad(w) ? [0, 0] : product(z, log(w))),
    xlog1py: (z, w) => (zero(z) && !bad(w) ? [0, 0] : product(z, accurateLog1p(w))),
  });
})();
