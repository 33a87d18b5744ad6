// Carlson's elliptic integrals of complex arguments, by duplication.
// gives complex: elliprc elliprd elliprf elliprg elliprj CarlsonIntegral
// needs: pairs elliptic
"use strict";
(() => {
  const { add, sub, times, size, mul, div, sqrt } = numbers.shared.pairs;
  const { of } = numbers;
  const NOTHING = [NaN, NaN];
  const sum = (...zs) => zs.reduce(add);
  const product = (...zs) => zs.reduce(mul);
  const zero = (z) => z[0] === 0 && z[1] === 0;
  const real = (...zs) => zs.every((z) => z[1] === 0 && z[0] >= 0);
  const cut = (...zs) => zs.some((z) => !Number.isFinite(z[0]) || !Number.isFinite(z[1]) || (z[1] === 0 && z[0] < 0));

  // The arguments are halved towards their mean until they are near it; `each` sees roots and λ of every step
  function duplicated(values, weights, near, each) {
    const total = weights.reduce((a, b) => a + b);
    let mean = times(values.reduce((s, v, i) => add(s, times(v, weights[i])), [0, 0]), 1 / total), scale = 1;
    const gaps = values.map((v) => sub(mean, v)), most = Math.max(...gaps.map(size));
    for (let n = 0; n < 300 && most * scale > near * size(mean); n++) {
      const roots = values.map(sqrt), [a, b, c] = roots;
      const lambda = sum(product(a, b), product(b, c), product(c, a));
      each(roots, values, lambda, scale);
      values = values.map((v) => times(add(v, lambda), 0.25));
      mean = times(add(mean, lambda), 0.25);
      scale /= 4;
    }
    return { mean, scale, gaps: gaps.map((g) => times(div(g, mean), scale)) };
  }

  const polynomial = (terms) => terms.reduce((s, [c, ...zs]) => add(s, times(zs.reduce(mul, [1, 0]), c)), [1, 0]);

  function first(x, y, z) {
    const { mean, gaps: [p, q] } = duplicated([x, y, z], [1, 1, 1], 2e-3, () => {});
    const r = times(add(p, q), -1), e = sub(mul(p, q), mul(r, r)), f = product(p, q, r);
    const found = polynomial([
      [-1 / 10, e], [1 / 14, f], [1 / 24, e, e], [-3 / 44, e, f], [-5 / 208, e, e, e], [3 / 104, f, f],
      [1 / 16, e, e, f],
    ]);
    return div(found, sqrt(mean));
  }

  // The series about the mean of R_D and R_J
  function tail(e2, e3, e4, e5) {
    return polynomial([
      [-3 / 14, e2], [1 / 6, e3], [9 / 88, e2, e2], [-3 / 22, e4], [-9 / 52, e2, e3], [3 / 26, e5],
      [-1 / 16, e2, e2, e2], [3 / 40, e3, e3], [3 / 20, e2, e4], [45 / 272, e2, e2, e3], [-9 / 68, e3, e4],
      [-9 / 68, e2, e5],
    ]);
  }

  function second(x, y, z) {
    let rest = [0, 0];
    const { mean, scale, gaps: [p, q] } = duplicated([x, y, z], [1, 1, 3], 1.5e-3, ([, , c], [, , w], lambda, s) => {
      rest = add(rest, div([s, 0], mul(c, add(w, lambda))));
    });
    const r = times(add(p, q), -1 / 3), both = mul(p, q), square = mul(r, r);
    const found = tail(sub(both, times(square, 6)), mul(sub(times(both, 3), times(square, 8)), r),
      times(mul(sub(both, square), square), 3), product(both, square, r));
    return add(times(div(found, mul(mean, sqrt(mean))), scale), times(rest, 3));
  }

  function third(x, y, z, p) {
    const delta = product(sub(p, x), sub(p, y), sub(p, z));
    let rest = [0, 0];
    const each = ([a, b, c, d], values, lambda, t) => {
      const around = product(add(d, a), add(d, b), add(d, c));
      const e = times(div(div(delta, around), around), t * t * t);
      rest = add(rest, times(div(elliprc([1, 0], add([1, 0], e)), around), t));
    };
    const { mean, scale, gaps: [q, r, s] } = duplicated([x, y, z, p], [1, 1, 1, 2], 1.5e-3, each);
    const t = times(sum(q, r, s), -0.5), tt = mul(t, t), all = product(q, r, s);
    const e2 = sub(sum(mul(q, r), mul(q, s), mul(r, s)), times(tt, 3));
    const e3 = sum(all, times(mul(e2, t), 2), times(mul(tt, t), 4));
    const e4 = mul(sum(times(all, 2), mul(e2, t), times(mul(tt, t), 3)), t);
    const found = tail(e2, e3, e4, mul(all, tt));
    return add(times(div(found, mul(mean, sqrt(mean))), scale), times(rest, 6));
  }

  function elliprc(x, y) {
    if (x[1] === 0 && x[0] >= 0 && y[1] === 0) return [of.elliprc(x[0], y[0]), 0];
    if (zero(y) || cut(x)) return NOTHING;
    if (y[1] === 0 && y[0] < 0) { // the principal value
      const far = sub(x, y);
      return mul(sqrt(div(x, far)), first(far, times(y, -1), times(y, -1)));
    }
    return cut(y) ? NOTHING : first(x, y, y);
  }

  const guarded = (f, own) => (...zs) => {
    if (real(...zs)) return [own(...zs.map(([v]) => v)), 0];
    return zs.filter(zero).length > 1 ? [Infinity, 0] : cut(...zs) ? NOTHING : f(...zs);
  };

  // 2 R_G = z R_F - (x-z)(y-z) R_D/3 + √x √y/√z, z the largest
  function mean(x, y, z) {
    [x, y, z] = [x, y, z].sort((a, b) => size(a) - size(b));
    const last = div(mul(sqrt(x), sqrt(y)), sqrt(z));
    const middle = times(product(sub(x, z), sub(y, z), second(x, y, z)), 1 / 3);
    return times(add(sub(mul(z, first(x, y, z)), middle), last), 0.5);
  }

  const STRIDE = 0.45; // as for real arguments (elliptic.js)

  // ∫ (t+x)^(-½-a) (t+y)^(-½-b) (t+w)^(-½-c) (t+p)^(-d) dt by the trapezoidal rule over log t
  const carlsonIntegral = ({ powers }) => (...values) => {
    if (values.some(([a, b]) => a !== a || b !== b)) return NOTHING;
    const sizes = values.map(size).map((r) => (r === 0 || !Number.isFinite(r) ? 1 : r));
    const low = Math.log(Math.min(...sizes)) - (values.some(zero) ? 76 : 38), high = Math.log(Math.max(...sizes)) + 26;
    const exponents = powers.map((n, i) => (i < 3 ? -0.5 - n : -n));
    let found = [0, 0];
    for (let k = 0; low + STRIDE * k <= high + STRIDE; k++) {
      const u = low + STRIDE * k, t = Math.exp(u);
      let logarithm = u, angle = 0;
      values.forEach(([a, b], i) => {
        logarithm += exponents[i] * Math.log(Math.hypot(t + a, b));
        angle += exponents[i] * Math.atan2(b, t + a);
      });
      const r = STRIDE * Math.exp(logarithm);
      found = add(found, [r * Math.cos(angle), r * Math.sin(angle)]);
    }
    return found;
  };

  complexes.given.CarlsonIntegral = carlsonIntegral;
  Object.assign(complexes.of, {
    elliprc, elliprf: guarded(first, of.elliprf), elliprd: guarded(second, of.elliprd),
    elliprg: guarded(mean, of.elliprg), elliprj: guarded(third, of.elliprj),
  });
})();
