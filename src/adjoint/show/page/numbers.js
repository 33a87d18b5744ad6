// Functions of numbers, as NumPy and SciPy have them: values only, no derivatives. A page computes these, and fixes the
// inputs of an explanation that holds other primitives, so that a new primitive asks for nothing here.
//   numbers.of[name] = (a, b, …) => number                     the ufunc of this name (see adjoint.show.rules.named)
//   complexes.of[name]                                         the same where an operand or a result is complex: every
//       argument is a pair [re, im], and the result a pair too, or a number where it is real
//   primitives.table[name], complexes.arrays[name] = (parameters, operands, dtype) => array, or list of arrays
"use strict";
const complexes = { of: {}, arrays: {} };
const numbers = (() => {
  const LN2 = Math.LN2;
  const SQRT_PI = Math.sqrt(Math.PI);
  const bool = (x) => (x ? 1 : 0);

  function power(x, y) {
    if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1; // where JavaScript says NaN
    return Math.pow(x, y);
  }

  function maximum(x, y) {
    return x !== x || y !== y ? NaN : x > y ? x : y;
  }

  function minimum(x, y) {
    return x !== x || y !== y ? NaN : x < y ? x : y;
  }

  function remainder(x, y) {
    if (y === 0) return NaN;
    const r = x % y;
    if (r !== r) return r;
    if (r === 0) return y < 0 ? -0 : 0; // the sign of the divisor
    return r < 0 !== y < 0 ? r + y : r;
  }

  function floorDivide(x, y) {
    if (y === 0) return x / y;
    const r = x % y;
    if (r !== r) return NaN;
    let quotient = (x - r) / y;
    if (r !== 0 && r < 0 !== y < 0) quotient -= 1;
    if (quotient === 0) return x / y < 0 ? -0 : 0;
    const whole = Math.floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
  }

  function rint(x) {
    if (!Number.isFinite(x) || Math.abs(x) >= 2 ** 52) return x;
    const low = Math.floor(x);
    const gap = x - low;
    const whole = gap < 0.5 ? low : gap > 0.5 ? low + 1 : low % 2 === 0 ? low : low + 1;
    return whole === 0 && (x < 0 || Object.is(x, -0)) ? -0 : whole;
  }

  const signbit = (x) => bool(x < 0 || Object.is(x, -0));
  const view = new DataView(new ArrayBuffer(8));

  function exponent(x) { // e of 2ᵉ ≤ |x| < 2ᵉ⁺¹; -1023 below the normal numbers
    view.setFloat64(0, x);
    return ((view.getUint32(0) >>> 20) & 0x7ff) - 1023;
  }

  // Digits after the first and the least exponent of numbers that have all of them.
  const WIDTHS = { float16: [10, -14], float32: [23, -126], float64: [52, -1022] };

  function half(x) { // the nearest float16, of two the even one; by way of float32, as NumPy's functions compute it
    x = Math.fround(x);
    if (x === 0 || !Number.isFinite(x)) return x;
    const unit = Math.pow(2, Math.max(exponent(x), -14) - 10), size = rint(Math.abs(x) / unit) * unit;
    return (x < 0 ? -1 : 1) * (size > 65504 ? Infinity : size);
  }

  // The next number of a dtype, upwards or downwards.
  function neighbor(x, up, dtype) {
    if (x !== x || x === (up ? Infinity : -Infinity)) return x;
    const [digits, least] = WIDTHS[dtype];
    if (!Number.isFinite(x)) return Math.sign(x) * (2 - Math.pow(2, -digits)) * Math.pow(2, -least + 1);
    const e = Math.max(exponent(x), least), inwards = x !== 0 && x > 0 !== up;
    const power = inwards && Math.abs(x) === Math.pow(2, e) && e > least; // below it the numbers are closer
    const next = x + (up ? 1 : -1) * Math.pow(2, e - digits - (power ? 1 : 0));
    if (Math.abs(next) >= Math.pow(2, -least + 2)) return next * Infinity;
    return next === 0 && x < 0 ? -0 : next;
  }

  const nextafter = (dtype) => (x, y) => (x !== x || y !== y ? NaN : x === y ? y : neighbor(x, y > x, dtype));

  const spacing = (dtype) => (x) => {
    if (!Number.isFinite(x)) return NaN;
    if (dtype === "float16") return neighbor(x, true, dtype) - x; // NumPy looks upwards there
    const size = Math.abs(x), gap = neighbor(size, true, dtype) - size;
    return signbit(x) && x !== 0 ? -gap : gap;
  };

  function frexp(x) {
    if (x === 0 || !Number.isFinite(x)) return [x, 0];
    let exponent = Math.max(-1023, Math.floor(Math.log2(Math.abs(x))) + 1);
    let mantissa = x * Math.pow(2, -exponent);
    while (Math.abs(mantissa) < 0.5) { mantissa *= 2; exponent -= 1; }
    while (Math.abs(mantissa) >= 1) { mantissa /= 2; exponent += 1; }
    return [mantissa, exponent];
  }

  function ldexp(x, e) {
    const half = Math.trunc(e / 2);
    return x * Math.pow(2, half) * Math.pow(2, e - half);
  }

  function logaddexp(x, y) {
    if (x === y) return x + LN2;
    const gap = x - y;
    if (gap > 0) return x + Math.log1p(Math.exp(-gap));
    return gap <= 0 ? y + Math.log1p(Math.exp(gap)) : gap;
  }

  function logaddexp2(x, y) {
    if (x === y) return x + 1;
    const gap = x - y;
    if (gap > 0) return x + Math.log1p(Math.pow(2, -gap)) / LN2;
    return gap <= 0 ? y + Math.log1p(Math.pow(2, gap)) / LN2 : gap;
  }

  function heaviside(x, y) {
    return x !== x ? NaN : x === 0 ? y : x < 0 ? 0 : 1;
  }

  function gcd(x, y) {
    x = Math.abs(x); y = Math.abs(y);
    while (y) [x, y] = [y, x % y];
    return x;
  }

  const bits = (f) => (x, y) => Number(f(BigInt(x), BigInt(y)));

  function bitCount(x) {
    let n = BigInt(Math.abs(x)), count = 0;
    for (; n; n >>= 1n) count += Number(n & 1n);
    return count;
  }

  // erf by a series of positive terms; erfc by a continued fraction where the series would cancel.
  function erfSeries(x) {
    let term = x, sum = x;
    for (let n = 1; n < 200 && Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return (2 / SQRT_PI) * Math.exp(-x * x) * sum;
  }

  function scaledTail(x) { // exp(x²) erfc(x) for x ≥ 1
    let tail = x;
    for (let n = x > 4 ? 60 : 300; n > 0; n--) tail = x + n / 2 / tail;
    return 1 / (SQRT_PI * tail);
  }

  function expSquare(x) { // exp(-x²), with the rounding error of x² put back
    const high = Math.round(x * 1048576) / 1048576;
    return Math.exp(-high * high) * Math.exp(-(x - high) * (x + high));
  }

  function erf(x) {
    if (x !== x) return NaN;
    const size = Math.abs(x);
    if (size < 2) return erfSeries(x);
    return Math.sign(x) * (size > 6 ? 1 : 1 - scaledTail(size) * expSquare(size));
  }

  function erfc(x) {
    if (x !== x) return NaN;
    if (x < 1) return 1 - erf(x);
    return x > 27 ? 0 : scaledTail(x) * expSquare(x);
  }

  function erfcx(x) {
    if (x !== x) return NaN;
    if (x < -26.7) return Infinity;
    return x < 1 ? erfc(x) / expSquare(x) : x > 1e8 ? 1 / (SQRT_PI * x) : scaledTail(x);
  }

  const LANCZOS = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];

  function sinPi(x) {
    const turn = x - 2 * Math.floor(x / 2); // in [0, 2)
    if (turn === 0 || turn === 1) return 0;
    return turn < 0.5 ? Math.sin(Math.PI * turn) : turn < 1.5 ? Math.sin(Math.PI * (1 - turn)) : Math.sin(Math.PI * (turn - 2));
  }

  function gamma(x) {
    if (x === 0) return 1 / x;
    if (x === -Infinity || (x < 0 && Number.isInteger(x))) return NaN;
    if (x > 171.7) return Infinity;
    if (Number.isInteger(x)) {
      let product = 1;
      for (let k = 2; k < x; k++) product *= k;
      return product;
    }
    if (x < 0.5) return Math.PI / (sinPi(x) * gamma(1 - x));
    if (x > 140) return (x - 1) * gamma(x - 1);
    const y = x - 1, t = y + 7.5;
    let sum = LANCZOS[0];
    for (let k = 1; k < 9; k++) sum += LANCZOS[k] / (y + k);
    const root = Math.pow(t, (y + 0.5) / 2);
    return Math.sqrt(2 * Math.PI) * root * Math.exp(-t) * root * sum;
  }

  function gammasgn(x) {
    if (x > 0 || x === 0) return signbit(x) ? -1 : 1;
    return Number.isInteger(x) || !Number.isFinite(x) ? NaN : Math.floor(x) % 2 ? -1 : 1;
  }

  function gammaln(x) { // log |Γ(x)|
    if (x !== x) return NaN;
    if (!Number.isFinite(x)) return x;
    if (x <= 0 && Number.isInteger(x)) return Infinity;
    if (x === 1 || x === 2) return 0;
    if (x < 0.5) return Math.log(Math.PI / Math.abs(sinPi(x))) - gammaln(1 - x);
    if (x < 12) return Math.log(Math.abs(gamma(x)));
    const s = 1 / (x * x);
    const series = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - (s * 691) / 360360))))) / x;
    return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
  }

  function psi(x) {
    if (x === 0) return -1 / x;
    if (x === -Infinity || (x < 0 && Number.isInteger(x))) return NaN;
    if (x < 0.5) return psi(1 - x) - Math.PI / (sinPi(x) / sinPi(x + 0.5));
    let shift = 0;
    while (x < 10) { shift -= 1 / x; x += 1; }
    const s = 1 / (x * x);
    const series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - (s * 691) / 32760)))));
    return shift + Math.log(x) - 0.5 / x - series;
  }

  // ψ⁽ⁿ⁾(x) = (-1)ⁿ⁺¹ n! ζ(n+1, x) with ζ(s, x) = Σ (x+k)⁻ˢ: terms up to y = x+N, then Euler and Maclaurin's series,
  // y^(1-s)/(s-1) + y⁻ˢ/2 + Σ B₂ⱼ/(2j)! s(s+1)…(s+2j-2) y^(1-s-2j)
  const BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798];

  function polygamma(n, x) {
    const s = n + 1, scale = (n % 2 ? 1 : -1) * gamma(s);
    if (x <= 0 && (Number.isInteger(x) || x === -Infinity)) return scale * Infinity;
    if (x === Infinity) return scale * 0;
    let sum = 0, y = x;
    for (; y < Math.max(14, s / 2); y += 1) sum += Math.pow(y, -s);
    let term = Math.pow(y, -s);
    sum += (term * y) / (s - 1) + term / 2;
    term *= s / y / 2;
    BERNOULLI.forEach((b, i) => {
      const j = i + 1;
      sum += b * term;
      term *= ((s + 2 * j - 1) / y / (2 * j + 1)) * ((s + 2 * j) / y / (2 * j + 2));
    });
    return scale * sum;
  }

  const expit = (x) => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));
  const logExpit = (x) => (x < 0 ? x - Math.log1p(Math.exp(x)) : -Math.log1p(Math.exp(-x)));
  const xlogy = (x, y) => (x === 0 && y === y ? 0 : x * Math.log(y));

  function logit(p) {
    if (p < 0 || p > 1) return NaN;
    return Math.abs(p - 0.5) < 0.2 ? Math.log1p((2 * p - 1) / (1 - p)) : Math.log(p / (1 - p));
  }

  function entr(x) {
    return x > 0 ? -x * Math.log(x) : x === 0 ? 0 : x !== x ? NaN : -Infinity;
  }

  function logRatio(x, y) {
    const ratio = x / y;
    return ratio > 1e-300 && ratio < 1e300 ? Math.log(ratio) : Math.log(x) - Math.log(y);
  }

  function relEntr(x, y) {
    if (x !== x || y !== y) return NaN;
    if (x > 0 && y > 0) return x * logRatio(x, y);
    return x === 0 && y >= 0 ? 0 : Infinity;
  }

  const of = {
    absolute: Math.abs, fabs: Math.abs, negative: (x) => -x, positive: (x) => x, conjugate: (x) => x,
    sign: (x) => (x !== x ? x : x > 0 ? 1 : x < 0 ? -1 : 0), square: (x) => x * x, sqrt: Math.sqrt, cbrt: Math.cbrt,
    reciprocal: (x) => 1 / x, exp: Math.exp, exp2: (x) => Math.pow(2, x), expm1: Math.expm1, log: Math.log,
    log2: Math.log2, log10: Math.log10, log1p: Math.log1p, sin: Math.sin, cos: Math.cos, tan: Math.tan,
    arcsin: Math.asin, arccos: Math.acos, arctan: Math.atan, sinh: Math.sinh, cosh: Math.cosh, tanh: Math.tanh,
    arcsinh: Math.asinh, arccosh: Math.acosh, arctanh: Math.atanh, degrees: (x) => x * (180 / Math.PI),
    radians: (x) => x * (Math.PI / 180), rad2deg: (x) => x * (180 / Math.PI), deg2rad: (x) => x * (Math.PI / 180),
    logical_not: (x) => bool(x === 0), isnan: (x) => bool(x !== x), isfinite: (x) => bool(Number.isFinite(x)),
    isinf: (x) => bool(Math.abs(x) === Infinity), signbit, floor: Math.floor, ceil: Math.ceil, trunc: Math.trunc,
    rint, spacing: spacing("float64"), invert: (x) => -1 - x, bitwise_count: bitCount, erf, erfc, erfcx, expit, logit,
    log_expit: logExpit, gamma, gammaln, loggamma: (x) => (x < 0 ? NaN : gammaln(x)), psi, entr,
    ndtr: (x) => 0.5 * erfc(-x / Math.SQRT2), sindg: (x) => (Math.abs(x) > 1e14 ? 0 : Math.sin((x * Math.PI) / 180)),
    cosdg: (x) => (Math.abs(x) > 1e14 ? 0 : Math.cos((x * Math.PI) / 180)), exp10: (x) => Math.pow(10, x), round: rint,
    cosm1: (x) => -2 * Math.sin(x / 2) ** 2, exprel: (x) => (x === 0 ? 1 : x === Infinity ? x : Math.expm1(x) / x),
    "special.cbrt": Math.cbrt, "special.exp2": (x) => Math.pow(2, x), "special.expm1": Math.expm1, "special.log1p": Math.log1p,
    log_ndtr: (x) => (x > -1 ? Math.log1p(-0.5 * erfc(x / Math.SQRT2)) : Math.log(0.5 * erfcx(-x / Math.SQRT2)) - (x * x) / 2),
    gammasgn,
    rgamma: (x) => (x === -Infinity || (x <= 0 && Number.isInteger(x)) ? 0 : 1 / gamma(x)),
    add: (x, y) => x + y, subtract: (x, y) => x - y, multiply: (x, y) => x * y, divide: (x, y) => x / y,
    power, float_power: power, arctan2: Math.atan2, maximum, minimum,
    hypot: Math.hypot,
    fmax: (x, y) => (x !== x ? y : y !== y ? x : Math.max(x, y)),
    fmin: (x, y) => (x !== x ? y : y !== y ? x : Math.min(x, y)), remainder, fmod: (x, y) => x % y,
    copysign: (x, y) => (signbit(x) === signbit(y) ? x : -x), nextafter: nextafter("float64"),
    heaviside, logaddexp, logaddexp2, ldexp,
    floor_divide: floorDivide, equal: (x, y) => bool(x === y), not_equal: (x, y) => bool(x !== y),
    less: (x, y) => bool(x < y), less_equal: (x, y) => bool(x <= y), greater: (x, y) => bool(x > y),
    greater_equal: (x, y) => bool(x >= y), logical_and: (x, y) => bool(x !== 0 && y !== 0),
    logical_or: (x, y) => bool(x !== 0 || y !== 0), logical_xor: (x, y) => bool((x !== 0) !== (y !== 0)),
    bitwise_and: bits((x, y) => x & y), bitwise_or: bits((x, y) => x | y), bitwise_xor: bits((x, y) => x ^ y),
    left_shift: bits((x, y) => x << y), right_shift: bits((x, y) => x >> y), gcd,
    lcm: (x, y) => (x === 0 || y === 0 ? 0 : Math.abs(x / gcd(x, y)) * Math.abs(y)), xlogy,
    xlog1py: (x, y) => (x === 0 && y === y ? 0 : x * Math.log1p(y)), rel_entr: relEntr,
    huber: (d, r) => (d < 0 ? Infinity : Math.abs(r) <= d ? (r * r) / 2 : r !== r || d !== d ? NaN : d * (Math.abs(r) - d / 2)),
    pseudo_huber: (d, r) => (d < 0 ? Infinity : d === 0 || r === 0 ? 0 : d * d * (Math.hypot(1, r / d) - 1)),
    boxcox: (x, l) => (Math.abs(l) < 1e-19 ? Math.log(x) : Math.expm1(l * Math.log(x)) / l),
    boxcox1p: (x, l) => (Math.abs(l) < 1e-19 ? Math.log1p(x) : Math.expm1(l * Math.log1p(x)) / l),
    inv_boxcox: (y, l) => (l === 0 ? Math.exp(y) : Math.exp(Math.log1p(l * y) / l)),
    inv_boxcox1p: (y, l) => (l === 0 ? Math.expm1(y) : Math.expm1(Math.log1p(l * y) / l)),
    kl_div: (x, y) => (x > 0 && y > 0 ? x * Math.log(x / y) - x + y : x === 0 && y >= 0 ? y : x !== x || y !== y ? NaN : Infinity),
  };
  // What depends on the dtype of the result.
  const product = (dtype) => ({ int32: Math.imul, uint32: (x, y) => Math.imul(x, y) >>> 0 })[dtype] || of.multiply;
  const typed = {
    nextafter, spacing, multiply: product, square: (dtype) => (x) => product(dtype)(x, x),
    invert: (dtype) => (dtype === "bool" ? (x) => bool(x === 0) : of.invert),
  };
  return { of, typed, frexp, half, polygamma };
})();
