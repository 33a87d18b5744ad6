// Kelvin's functions: ber + i bei = I₀(z) and ker + i kei = K₀(z) at z = x exp(πi/4).
// gives: ber bei ker kei berp beip kerp keip
// gives complex: kelvin
// needs: pairs cylinders
"use strict";
(() => {
  const { mul, times, exp } = numbers.shared.pairs;
  const { small, scaledI, scaledK } = numbers.shared.cylinders;
  const TURN = [Math.SQRT1_2, Math.SQRT1_2]; // exp(πi/4)

  // The exponential goes in two halves, so that it overflows no earlier than the product.
  function raised(value, exponent) {
    const half = exp(times(exponent, 0.5));
    return mul(mul(value, half), half);
  }

  // [ber + i bei, ber′ + i bei′], for I₀′ = I₁
  function first(x) {
    if (!Number.isFinite(x)) return [[NaN, NaN], [NaN, NaN]];
    const r = Math.abs(x), z = times(TURN, r);
    if (r > 1200) return [[-Infinity, Infinity], [-Infinity * Math.sign(x), Infinity * Math.sign(x)]]; // as SciPy
    if (r === 0) return [[1, 0], [0, 0]];
    let [value, slope] = r < 8 ? small(r, Math.PI / 4).I : scaledI(z).map((part) => raised(part, z));
    if (r >= 8) slope = mul(TURN, slope);
    return [value, times(slope, x < 0 ? -1 : 1)];
  }

  // [ker + i kei, ker′ + i kei′], for K₀′ = -K₁
  function second(x) {
    if (x === 0) return [[Infinity, -Math.PI / 4], [-Infinity, 0]];
    if (!(x > 0 && x < Infinity)) return [[NaN, NaN], [NaN, NaN]];
    const z = times(TURN, x);
    let [value, slope] = x < 1 ? small(x, Math.PI / 4).K : scaledK(z).map((part) => raised(part, times(z, -1)));
    if (x >= 1) slope = mul(TURN, slope);
    return [value, times(slope, -1)];
  }

  const part = (all, order, side) => (x) => all(x)[order][side];
  Object.assign(numbers.of, {
    ber: part(first, 0, 0), bei: part(first, 0, 1), berp: part(first, 1, 0), beip: part(first, 1, 1),
    ker: part(second, 0, 0), kei: part(second, 0, 1), kerp: part(second, 1, 0), keip: part(second, 1, 1),
  });

  complexes.several.kelvin = ([x]) => {
    const [be, bep] = first(x), [ke, kep] = second(x);
    return [be, ke, bep, kep];
  };
})();
