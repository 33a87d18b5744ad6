// Faddeeva's function w(z) = exp(-z²) erfc(-iz), and from it the error functions and Dawson's integral.
// gives: erfi dawsn
// gives complex: wofz erf erfc erfcx erfi dawsn ndtr log_ndtr
// needs: pairs
"use strict";
(() => {
  const { add, sub, mul, div, times, size, exp, log } = numbers.shared.pairs;
  const opposite = ([a, b]) => [-a, -b];
  const turned = ([a, b]) => [-b, a]; // i z
  const SQRT_PI = Math.sqrt(Math.PI);
  const STEP = 0.5; // the error of the trapezoidal rule is exp(-π²/STEP²)

  // exp(-z²); the real part of z² is a difference of squares
  function gauss([x, y]) {
    return exp([(y - x) * (y + x), -2 * x * y]);
  }

  // w(z) = i/π ∫ exp(-t²)/(z-t) dt above the real axis, by the trapezoidal rule; what the pole at z adds to the rule is
  // 2 exp(-z²)/(1 ± exp(-2πiz/h)). The grid (through 0, or through h/2) is the one farther from z.
  function above(z) {
    if (size(z) > 1e8) return div([0, 1 / SQRT_PI], z);
    const place = z[0] / STEP - Math.floor(z[0] / STEP);
    const half = place < 0.25 || place > 0.75;
    let sum = half ? [0, 0] : div([1, 0], z);
    for (let n = half ? 0.5 : 1; n < 13; n++) {
      const t = n * STEP, weight = 2 * Math.exp(-t * t);
      sum = add(sum, div(times(z, weight), mul([z[0] - t, z[1]], [z[0] + t, z[1]])));
    }
    sum = turned(times(sum, STEP / Math.PI));
    if (z[1] >= Math.PI / STEP) return sum;
    const turn = exp([(2 * Math.PI * z[1]) / STEP, (-2 * Math.PI * z[0]) / STEP]);
    return add(sum, div(times(gauss(z), 2), half ? add([1, 0], turn) : sub([1, 0], turn)));
  }

  // w(z) = 2 exp(-z²) - w(-z)
  function wofz(z) {
    if (z[0] !== z[0] || z[1] !== z[1]) return [NaN, NaN];
    if (Math.abs(z[0]) === Infinity || z[1] === Infinity) return z[1] === -Infinity ? [NaN, NaN] : [0, 0];
    return z[1] < 0 ? sub(times(gauss(z), 2), above(opposite(z))) : above(z);
  }

  // erf(z) = 2/√π Σ (-1)ⁿ z²ⁿ⁺¹/(n! (2n+1)) near zero
  function erfSeries(z) {
    const square = opposite(mul(z, z));
    let term = z, sum = z;
    for (let n = 1; n < 60; n++) {
      term = times(mul(term, square), 1 / n);
      sum = add(sum, times(term, 1 / (2 * n + 1)));
      if (size(term) < 1e-18 * size(sum)) break;
    }
    return times(sum, 2 / SQRT_PI);
  }

  const tail = (z) => mul(gauss(z), wofz(turned(z))); // erfc for Re z ≥ 0
  const real = (f, g) => (z) => (z[1] === 0 ? [f(z[0]), z[1]] : g(z));

  function erf(z) {
    if (z[0] < 0) return opposite(erf(opposite(z)));
    return size(z) < 1 ? erfSeries(z) : sub([1, 0], tail(z));
  }

  function erfc(z) {
    if (size(z) < 1) return sub([1, 0], erfSeries(z));
    return z[0] < 0 ? sub([2, 0], tail(opposite(z))) : tail(z);
  }

  const erfi = (z) => opposite(turned(erf(turned(z)))); // -i erf(iz)

  // D(z) = √π/2 exp(-z²) erfi(z) = i√π/2 (exp(-z²) - w(z))
  function dawsn(z) {
    if (z[1] < 0) return opposite(dawsn(opposite(z)));
    if (size(z) < 1) return times(mul(gauss(z), erfi(z)), SQRT_PI / 2);
    return times(turned(sub(gauss(z), wofz(z))), SQRT_PI / 2);
  }

  function realDawson(x) {
    if (Math.abs(x) < 0.5) { // x Σ (-2x²)ⁿ/(2n+1)!!
      let term = x, sum = x;
      for (let n = 1; n < 25; n++) sum += term *= (-2 * x * x) / (2 * n + 1);
      return sum;
    }
    return (SQRT_PI / 2) * Math.sign(x) * wofz([Math.abs(x), 0])[1];
  }

  function realErfi(x) {
    if (Math.abs(x) < 1) return erfi([x, 0])[0];
    if (Math.abs(x) > 27) return x * Infinity;
    const high = Math.round(x * 1048576) / 1048576; // high² is exact
    return ((2 / SQRT_PI) * realDawson(x) * Math.exp(high * high)) * Math.exp((x - high) * (x + high));
  }

  const ndtr = (z) => times(erfc(times(z, -Math.SQRT1_2)), 0.5);

  // log Φ(z) = log(w(-iz/√2)/2) - z²/2, the angle brought to (-π, π]; to the right log(1 - erfc(z/√2)/2)
  function logNdtr(z) {
    if (z[0] > 0) {
      const [a, b] = times(erfc(times(z, Math.SQRT1_2)), -0.5);
      if (size([a, b]) < 0.5) return [Math.log1p(2 * a + a * a + b * b) / 2, Math.atan2(b, 1 + a)];
    }
    const u = times(z, -Math.SQRT1_2);
    const [re, im] = log(wofz(turned(u)));
    const angle = im - 2 * u[0] * u[1];
    const whole = Math.ceil(angle / (2 * Math.PI) - 0.5);
    return [re - Math.LN2 + (u[1] - u[0]) * (u[1] + u[0]), angle - 2 * Math.PI * whole];
  }

  Object.assign(numbers.of, { erfi: realErfi, dawsn: realDawson });
  Object.assign(complexes.of, {
    wofz, erf: real(numbers.of.erf, erf), erfc: real(numbers.of.erfc, erfc), erfi: real(realErfi, erfi),
    erfcx: real(numbers.of.erfcx, (z) => wofz(turned(z))), dawsn: real(realDawson, dawsn),
    ndtr: real(numbers.of.ndtr, ndtr), log_ndtr: real(numbers.of.log_ndtr, logNdtr),
  });
  numbers.shared.faddeeva = { wofz, erf, erfc };
})();
