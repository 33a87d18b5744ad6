// Γ, its logarithm, its reciprocal and the derivatives ψ⁽ⁿ⁾ of the logarithm, of complex numbers.
// gives complex: gamma loggamma rgamma psi Polygamma
// needs: complexes
"use strict";
(() => {
  const { add, subtract, multiply, divide, log, exp, power, reciprocal } = complexes.of;
  const { PI } = Math;
  const scale = (z, r) => [z[0] * r, z[1] * r];
  const conjugated = (f) => (z) => { // f(conj z) = conj f(z)
    const [x, y] = f([z[0], Math.abs(z[1])]);
    return z[1] < 0 || Object.is(z[1], -0) ? [x, -y] : [x, y];
  };
  const pole = ([x, y]) => y === 0 && x <= 0 && Number.isInteger(x);

  // B₂ₖ / (2k (2k - 1)) of Stirling's series
  const STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400];
  const BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510];

  function zeta(s) { // Σ n⁻ˢ for whole s > 1
    let sum = 0;
    for (let n = 29; n > 0; n--) sum += Math.pow(n, -s);
    const last = Math.pow(30, -s);
    return sum + last * (30 / (s - 1) + 0.5 + s / 360 - (s * (s + 1) * (s + 2)) / (720 * 27000));
  }

  const EULER = 0.5772156649015329;
  const TAYLOR = [0, -EULER, ...Array.from({ length: 40 }, (_, k) => ((k % 2 ? -1 : 1) * zeta(k + 2)) / (k + 2))];

  const near = (w) => TAYLOR.reduceRight((sum, c) => add(multiply(sum, w), [c, 0]), [0, 0]); // log Γ(1 + w)

  function sinPi([x, y]) {
    const turn = x - 2 * Math.round(x / 2), far = PI * y; // in [-1, 1]
    const sin = Math.abs(turn) <= 0.5 ? Math.sin(PI * turn) : Math.sign(turn) * Math.sin(PI * (1 - Math.abs(turn)));
    const cos = Math.abs(turn) === 0.5 ? 0 : Math.cos(PI * turn);
    return [sin * Math.cosh(far), cos * Math.sinh(far)];
  }

  function stirling(z) {
    const inverse = reciprocal(z), square = multiply(inverse, inverse);
    const series = STIRLING.reduceRight((sum, c) => add(multiply(sum, square), [c, 0]), [0, 0]);
    const main = subtract(multiply(subtract(z, [0.5, 0]), log(z)), z);
    return add(add(main, [0.5 * Math.log(2 * PI), 0]), multiply(series, inverse));
  }

  // The branch that is continuous off the negative axis: turns of the product of shifts are counted.
  function upper(z) { // Im z ≥ 0
    const [x, y] = z;
    if (x !== x || y !== y) return [NaN, NaN];
    if (pole(z)) return [Infinity, 0];
    if (x > 7 || y > 7) return stirling(z);
    if (Math.hypot(x - 1, y) < 0.2) return near([x - 1, y]);
    if (Math.hypot(x - 2, y) < 0.2) return add(log([x - 1, y]), near([x - 2, y]));
    if (x < 0.1) {
      const turns = 2 * PI * Math.floor(0.5 * x + 0.25);
      return subtract(subtract([Math.log(PI), turns], log(sinPi(z))), logGamma([1 - x, -y]));
    }
    let product = z, at = x + 1, flips = 0, below = false;
    for (; at <= 7; at += 1) {
      product = multiply(product, [at, y]);
      const now = product[1] < 0;
      if (now && !below) flips += 1;
      below = now;
    }
    return subtract(stirling([at, y]), add(log(product), [0, 2 * PI * flips]));
  }

  const logGamma = conjugated(upper);
  const gamma = (z) => (pole(z) ? [NaN, NaN] : exp(logGamma(z)));
  const rgamma = (z) => (pole(z) ? [0, 0] : exp(scale(logGamma(z), -1)));

  function psi(z) {
    if (pole(z)) return [NaN, NaN];
    let [x, y] = z, shift = [0, 0];
    if (x < 0 && Math.abs(y) < 16) {
      const half = sinPi([x + 0.5, y]); // cos πz
      return subtract(psi([1 - x, -y]), scale(divide(half, sinPi(z)), PI));
    }
    for (; Math.hypot(x, y) < 16 || x < 0; x += 1) shift = subtract(shift, reciprocal([x, y]));
    const inverse = reciprocal([x, y]), square = multiply(inverse, inverse);
    const series = BERNOULLI.reduceRight((sum, b, k) => add(multiply(sum, square), [b / (2 * k + 2), 0]), [0, 0]);
    return add(shift, subtract(subtract(log([x, y]), scale(inverse, 0.5)), multiply(series, square)));
  }

  // (-1)ⁿ⁺¹ n! Σ (z + j)⁻ⁿ⁻¹: some terms, then Euler and Maclaurin for the rest.
  const polygamma = ({ n }) => (z) => {
    if (pole(z)) return [Infinity, NaN];
    let [x, y] = z, sum = [0, 0], factorial = 1;
    for (let k = 2; k <= n; k++) factorial *= k;
    const term = () => power([x, y], [-n - 1, 0]);
    for (; x < 0 || Math.hypot(x, y) < 16 + n; x += 1) sum = add(sum, term());
    const inverse = reciprocal([x, y]), first = term();
    sum = add(sum, add(scale(multiply(first, [x, y]), 1 / n), scale(first, 0.5)));
    let factor = (n + 1) / 2, last = multiply(first, inverse);
    BERNOULLI.forEach((b, k) => {
      sum = add(sum, scale(last, b * factor));
      factor *= ((n + 2 * k + 2) * (n + 2 * k + 3)) / ((2 * k + 3) * (2 * k + 4));
      last = multiply(multiply(last, inverse), inverse);
    });
    return scale(sum, (n % 2 ? 1 : -1) * factorial);
  };

  Object.assign(complexes.of, { gamma, loggamma: logGamma, rgamma, psi });
  complexes.given.Polygamma = polygamma;
})();
