// Hypergeometric functions of a complex argument, and orthogonal polynomials of one: Taylor's steps along the equation.
// gives complex: hyp0f1 hyp1f1 hyp2f1 eval_jacobi eval_sh_jacobi eval_gegenbauer eval_legendre eval_sh_legendre
// gives complex: eval_chebyt eval_chebyu eval_chebyc eval_chebys eval_sh_chebyt eval_sh_chebyu eval_genlaguerre
// gives complex: eval_laguerre
// needs: pairs hypergeometric polynomials gammas
"use strict";
(() => {
  const { add, sub, times, size, mul, div, exp, log } = numbers.shared.pairs;
  const { of } = numbers;
  const pole = (x) => x <= 0 && Number.isInteger(x);
  const whole = (n) => Number.isInteger(n) && n >= 0 && n < 1e5;
  const NOTHING = [NaN, NaN];

  // Σ Π (upper)ₖ/Π (lower)ₖ xᵏ/k!
  function series(upper, lower, x) {
    let term = [1, 0], sum = [1, 0];
    for (let k = 0; k < 3000; k++) {
      let factor = 1 / (k + 1);
      for (const a of upper) factor *= a + k;
      for (const b of lower) factor /= b + k;
      term = times(mul(term, x), factor);
      sum = add(sum, term);
      if (!(size(term) > 1e-18 * size(sum))) break;
    }
    return sum;
  }

  const power = (x, r) => exp(times(log(x), r));

  // From value and slope at x to those at x + h: next(k, yₖ, yₖ₊₁) is yₖ₊₂
  function step(value, slope, h, next) {
    let lower = value, upper = slope, reach = h, result = add(value, mul(slope, h)), rise = slope;
    for (let k = 0; k < 400; k++) {
      [lower, upper] = [upper, next(k, lower, upper)];
      rise = add(rise, times(mul(upper, reach), k + 2));
      reach = mul(reach, h);
      const term = mul(upper, reach);
      result = add(result, term);
      if (k % 4 === 3 && !(size(term) * k > 1e-18 * size(result))) break;
    }
    return [result, rise];
  }

  // Along straight lines through the points `way`, with steps of at most longest(x); next(x) gives the recurrence at x
  function along(start, value, slope, way, longest, next) {
    let x = start;
    for (const end of way) {
      for (let n = 0; n < 100000; n++) {
        const left = sub(end, x), far = size(left), most = longest(x);
        if (far === 0) break;
        const h = far <= most ? left : times(left, most / far);
        [value, slope] = step(value, slope, h, next(x));
        x = far <= most ? end : add(x, h);
      }
    }
    return value;
  }

  const scaled = (z, r) => times(z, r / size(z));

  // ₀F₁: (k+2)(k+1) x yₖ₊₂ = yₖ - (k+1)(k+b) yₖ₊₁
  function limit(b, z) {
    if (size(z) <= 4) return series([], [b], z);
    const x = scaled(z, 4), slope = times(series([], [b + 1], x), 1 / b);
    const longest = (p) => Math.min(size(p) / 2, 2 * Math.sqrt(size(p)));
    return along(x, series([], [b], x), slope, [z], longest, (p) => (k, u, v) =>
      div(sub(u, times(v, (k + 1) * (k + b))), times(p, (k + 2) * (k + 1))));
  }

  // ₁F₁: (k+2)(k+1) x yₖ₊₂ = (k+a) yₖ - (k+1)(k+b-x) yₖ₊₁
  function kummer(a, b, z) {
    const calm = Math.min(1, (3 * Math.abs(b)) / (1 + Math.abs(a)));
    if (pole(a) || size(z) <= calm) return series([a], [b], z);
    const x = scaled(z, calm), slope = times(series([a + 1], [b + 1], x), a / b);
    const longest = (p) => Math.min(size(p) / 2, 2 * Math.sqrt(size(p) / (1 + Math.abs(a))), 4);
    return along(x, series([a], [b], x), slope, [z], longest, (p) => (k, u, v) =>
      div(sub(times(u, k + a), mul(v, times(sub([k + b, 0], p), k + 1))), times(p, (k + 2) * (k + 1))));
  }

  // ₂F₁: (k+2)(k+1) x(1-x) yₖ₊₂ = (k+a)(k+b) yₖ - (k+1)((1-2x) k + c - (a+b+1) x) yₖ₊₁; around 1 on the side of z
  function gauss(a, b, c, z) {
    const calm = Math.min(0.5, (3 * Math.abs(c)) / (1 + Math.abs(a * b)));
    if (pole(a) || pole(b) || size(z) <= calm) return series([a, b], [c], z);
    if (z[0] === 1 && z[1] === 0) return [of.hyp2f1(a, b, c, 1), 0];
    const hidden = z[0] >= 1 && Math.abs(z[1]) < 0.4 * size(z); // 1 stands in the way
    const way = hidden ? [[0.5, z[1] < 0 ? -0.7 : 0.7], z] : [z];
    const x = scaled(way[0], calm), slope = times(series([a + 1, b + 1], [c + 1], x), (a * b) / c);
    const rest = (p) => sub([1, 0], p);
    const longest = (p) => Math.min(0.5 * Math.min(size(p), size(rest(p))),
      2.5 * Math.sqrt((size(p) * size(rest(p))) / (1 + Math.abs(a * b))));
    return along(x, series([a, b], [c], x), slope, way, longest, (p) => (k, u, v) => {
      const middle = sub([k + c, 0], times(p, 2 * k + a + b + 1));
      const above = sub(times(u, (k + a) * (k + b)), times(mul(v, middle), k + 1));
      return div(above, times(mul(p, rest(p)), (k + 2) * (k + 1)));
    });
  }

  const bad = (...zs) => zs.flat().some((v) => !Number.isFinite(v));
  const hyp0f1 = ([b], z) => (bad(b, z) || pole(b) ? NOTHING : limit(b, z));

  function hyp1f1([a], [b], z) {
    if (bad(a, b, z)) return NOTHING;
    return pole(b) && !(pole(a) && a >= b) ? [Infinity, 0] : kummer(a, b, z);
  }

  function hyp2f1([a], [b], [c], z) {
    if (bad(a, b, c, z)) return NOTHING;
    if (b === c && !pole(c)) return power(sub([1, 0], z), -a);
    if (a === c && !pole(c)) return power(sub([1, 0], z), -b);
    if (pole(c) && !([a, b].some((v) => pole(v) && v > c))) return [Infinity, 0];
    return gauss(a, b, c, z);
  }

  // Pₙ of a whole degree: step(k, pₖ, pₖ₋₁) gives pₖ₊₁
  function recurrence(n, second, next) {
    let p = [1, 0], q = second;
    if (n === 0) return p;
    for (let k = 1; k < n; k++) [p, q] = [q, next(k, q, p)];
    return q;
  }

  const real = (v) => [v, 0];
  const half = (x) => times(sub([1, 0], x), 0.5);
  const over = (n, scale, b, c, x) => times(hyp2f1(real(-n), real(b), real(c), half(x)), scale);

  function eval_jacobi([n], [alpha], [beta], x) {
    const s = alpha + beta;
    if (!whole(n)) return over(n, of.binom(n + alpha, n), n + s + 1, alpha + 1, x);
    const first = times(add(times(x, s + 2), [alpha - beta, 0]), 0.5);
    return recurrence(n, first, (k, p, q) => {
      const t = 2 * k + s, line = add(times(x, t * (t + 2)), [alpha * alpha - beta * beta, 0]);
      const above = sub(times(mul(line, p), t + 1), times(q, 2 * (k + alpha) * (k + beta) * (t + 2)));
      return times(above, 1 / (2 * (k + 1) * (k + s + 1) * t));
    });
  }

  function eval_gegenbauer([n], [alpha], x) {
    if (!whole(n)) return over(n, of.poch(2 * alpha, n) * of.rgamma(n + 1), n + 2 * alpha, alpha + 0.5, x);
    return recurrence(n, times(x, 2 * alpha), (k, p, q) =>
      times(sub(times(mul(x, p), 2 * (k + alpha)), times(q, k + 2 * alpha - 1)), 1 / (k + 1)));
  }

  function eval_legendre([n], x) {
    if (n < 0 && Number.isInteger(n)) n = -n - 1;
    return whole(n) ? eval_gegenbauer([n], [0.5], x) : over(n, 1, n + 1, 1, x);
  }

  const chebyshev = (n, second, x) => recurrence(n, second, (k, p, q) => sub(times(mul(x, p), 2), q));

  function eval_chebyt([n], x) {
    return Number.isInteger(n) ? chebyshev(Math.abs(n), x, x) : over(n, 1, n, 0.5, x);
  }

  function eval_chebyu([n], x) {
    if (n === -1) return [0, 0];
    if (Number.isInteger(n) && n < 0) return times(eval_chebyu([-n - 2], x), -1);
    return whole(n) ? chebyshev(n, times(x, 2), x) : over(n, n + 1, n + 2, 1.5, x);
  }

  function eval_genlaguerre([n], [alpha], x) {
    if (alpha <= -1) return NOTHING;
    if (!whole(n)) return times(hyp1f1(real(-n), real(alpha + 1), x), of.binom(n + alpha, n));
    return recurrence(n, sub([1 + alpha, 0], x), (k, p, q) =>
      times(sub(mul(sub([2 * k + 1 + alpha, 0], x), p), times(q, k + alpha)), 1 / (k + 1)));
  }

  const shifted = (x) => sub(times(x, 2), [1, 0]);
  Object.assign(complexes.of, {
    hyp0f1, hyp1f1, hyp2f1, eval_jacobi, eval_gegenbauer, eval_legendre, eval_chebyt, eval_chebyu, eval_genlaguerre,
    eval_sh_jacobi: ([n], [p], [q], x) =>
      times(eval_jacobi([n], [p - q], [q - 1], shifted(x)), 1 / of.binom(2 * n + p - 1, n)),
    eval_sh_legendre: (n, x) => eval_legendre(n, shifted(x)), eval_laguerre: (n, x) => eval_genlaguerre(n, [0], x),
    eval_chebyc: (n, x) => times(eval_chebyt(n, times(x, 0.5)), 2),
    eval_chebys: (n, x) => eval_chebyu(n, times(x, 0.5)),
    eval_sh_chebyt: (n, x) => eval_chebyt(n, shifted(x)), eval_sh_chebyu: (n, x) => eval_chebyu(n, shifted(x)),
  });
})();
