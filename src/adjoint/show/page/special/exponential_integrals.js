// Exponential, sine, cosine and hyperbolic integrals.
// gives: expi exp1 sici shichi
// gives complex: expi exp1 sici shichi
// needs: pairs
"use strict";
(() => {
  const { add, sub, mul, div, times, size, exp, log } = numbers.shared.pairs;
  const opposite = ([a, b]) => [-a, -b];
  const turned = ([a, b]) => [-b, a]; // i z
  const EULER = 0.5772156649015329;
  const positive = (y) => y > 0 || Object.is(y, 0);

  // Ein(z) = Σ (-1)ⁿ⁺¹ zⁿ/(n n!), entire; E₁(z) = Ein(z) - log z - γ
  function ein(z) {
    let term = [-1, 0], sum = [0, 0];
    for (let n = 1; n < 400; n++) {
      term = times(mul(term, z), -1 / n);
      const part = times(term, 1 / n);
      sum = add(sum, part);
      if (n > size(z) && size(part) < 1e-18 * size(sum)) break;
    }
    return sum;
  }

  // exp(z) E₁(z) = 1/(z+1 - 1/(z+3 - 4/(z+5 - 9/…))); the farther from the negative axis, the fewer terms it takes
  function fraction(z) {
    const count = 10 + Math.ceil(180 / (size(z) + z[0]));
    let tail = [z[0] + 2 * count + 1, z[1]];
    for (let k = count; k > 0; k--) tail = sub([z[0] + 2 * k - 1, z[1]], div([k * k, 0], tail));
    return div([1, 0], tail);
  }

  // z exp(z) E₁(z) ~ Σ (-1)ⁿ n!/zⁿ to the smallest term
  function asymptotic(z) {
    let term = [1, 0], sum = term;
    for (let n = 1; n < size(z) && size(term) > 1e-17; n++) {
      term = div(times(term, -n), z);
      sum = add(sum, term);
    }
    return sum;
  }

  // Inside the parabola |z| + Re z = 2 around the negative axis the series loses nothing; outside the fraction is used.
  function exp1(z) {
    if (z[0] === 0 && z[1] === 0) return [Infinity, -z[1]];
    if (size(z) + z[0] > 2) return z[0] > 800 ? [0, 0] : mul(exp(opposite(z)), fraction(z));
    if (size(z) < 50) return sub(ein(z), add(log(z), [EULER, 0]));
    const half = exp(times(z, -0.5));
    return sub(mul(mul(half, div(asymptotic(z), z)), half), [0, positive(z[1]) ? Math.PI : -Math.PI]);
  }

  // Ei(z) = -E₁(-z) ± iπ
  function expi(z) {
    if (z[1] === 0) return [realExpi(z[0]), z[1]];
    return add(opposite(exp1(opposite(z))), [0, z[1] > 0 ? Math.PI : -Math.PI]);
  }

  function realExp1(x) {
    return x > 0 ? (x === Infinity ? 0 : exp1([x, 0])[0]) : x === 0 ? Infinity : NaN;
  }

  function realExpi(x) {
    if (x < 0) return -realExp1(-x);
    if (x === 0) return -Infinity;
    return x < 40 ? EULER + Math.log(x) - ein([-x, 0])[0] : x > 720 ? Infinity : -exp1([-x, 0])[0];
  }

  // Shi and Chi - γ - log x: Σ xⁿ/(n n!) over odd and even n; with sign -1 those of Si and Ci
  function series(z, sign) {
    const square = times(mul(z, z), sign);
    let odd = z, even = times(square, 0.5), s = z, c = times(even, 0.5);
    for (let n = 2; n < 200; n += 2) {
      odd = times(mul(odd, square), 1 / (n * (n + 1)));
      even = times(mul(even, square), 1 / ((n + 1) * (n + 2)));
      s = add(s, times(odd, 1 / (n + 1)));
      c = add(c, times(even, 1 / (n + 2)));
      if (n > size(z) && size(odd) < 1e-18 * size(s)) break;
    }
    return [s, c];
  }

  // Shi = (E₁(z) - E₁(-z) ± iπ)/2 and Chi = (-E₁(z) - E₁(-z) ± iπ)/2, with the sign of Im z
  function shichi(z) {
    if (z[0] === 0 && z[1] === 0) return [z, [-Infinity, z[1]]];
    if (size(z) < 4) {
      const [s, c] = series(z, 1);
      return [s, add(c, add(log(z), [EULER, 0]))];
    }
    const right = exp1(z), left = exp1(opposite(z)), half = [0, positive(z[1]) ? Math.PI : -Math.PI];
    return [times(add(sub(right, left), half), 0.5), times(sub(half, add(right, left)), 0.5)];
  }

  // Si(z) = -i Shi(iz), Ci(z) = Chi(iz) + log z - log iz
  function sici(z) {
    if (z[0] === 0 && z[1] === 0) return [z, [-Infinity, z[1]]];
    const [s, c] = shichi(turned(z));
    return [opposite(turned(s)), add(c, sub(log(z), log(turned(z))))];
  }

  function realSici(x) {
    const r = Math.abs(x), sign = x < 0 ? -1 : 1;
    if (r === Infinity) return [(sign * Math.PI) / 2, sign > 0 ? 0 : NaN];
    if (r === 0) return [x, -Infinity];
    if (r < 4) {
      const [[s], [c]] = series([r, 0], -1);
      return [sign * s, c + EULER + Math.log(r)];
    }
    const [re, im] = exp1([0, r]); // -Ci + i (Si - π/2)
    return [sign * (Math.PI / 2 + im), -re];
  }

  function realShichi(x) {
    const r = Math.abs(x), sign = x < 0 ? -1 : 1;
    if (r === 0) return [x, -Infinity];
    if (!(r < 20)) return [(sign * realExpi(r)) / 2, realExpi(r) / 2];
    const [[s], [c]] = series([r, 0], 1);
    return [sign * s, c + EULER + Math.log(r)];
  }

  Object.assign(numbers.of, { expi: realExpi, exp1: realExp1 });
  Object.assign(numbers.several, { sici: realSici, shichi: realShichi });
  Object.assign(complexes.of, { expi, exp1 });
  Object.assign(complexes.several, { sici, shichi });
  numbers.shared.exponentialIntegrals = { exp1: realExp1 };
})();
