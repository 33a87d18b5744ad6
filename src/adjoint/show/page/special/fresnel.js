// Fresnel's integrals, plain and modified.
// gives: fresnel
// gives complex: fresnel modfresnelp modfresnelm
// needs: pairs faddeeva
"use strict";
(() => {
  const { add, sub, mul, times, conj, size } = numbers.shared.pairs;
  const opposite = ([a, b]) => [-a, -b];
  const turned = ([a, b]) => [-b, a]; // i z
  const polar = (angle) => [Math.cos(angle), Math.sin(angle)];
  const { wofz, erf } = numbers.shared.faddeeva;
  const HALF_ROOT = Math.sqrt(Math.PI) / 2;

  // C = Σ (-1)ⁿ (π/2)²ⁿ z⁴ⁿ⁺¹/((2n)! (4n+1)), S = Σ (-1)ⁿ (π/2)²ⁿ⁺¹ z⁴ⁿ⁺³/((2n+1)! (4n+3))
  function series(z) {
    const step = times(mul(z, z), Math.PI / 2);
    const sums = [z, [0, 0]];
    let term = z;
    for (let k = 1; k < 60; k++) {
      term = times(mul(term, step), (k % 2 ? 1 : -1) / k);
      sums[k % 2] = add(sums[k % 2], times(term, 1 / (2 * k + 1)));
      if (size(term) < 1e-18 * size(sums[k % 2])) break;
    }
    return [sums[1], sums[0]];
  }

  // The exact square of x in three parts
  function square(x) {
    const high = Math.fround(x), low = x - high;
    return [high * high, 2 * high * low, low * low];
  }

  // exp(πi x²/2) and exp(ix²), with nothing lost in the square
  const quarterTurns = (x) => polar((Math.PI / 2) * square(x).reduce((sum, part) => sum + (part % 4), 0));
  const radians = (x) => square(x).reduce((product, part) => mul(product, polar(part)), [1, 0]);

  // C + iS = (1+i)/2 (1 - exp(πi x²/2) w(√π/2 (1+i) x)) for x > 0
  function real(x) {
    const r = Math.abs(x), sign = x < 0 ? -1 : 1;
    if (x !== x) return [NaN, NaN];
    if (r < 1.5) return series([x, 0]).map((part) => part[0]);
    if (r > 1e17) return [sign / 2, sign / 2];
    const rest = mul(quarterTurns(r), wofz([HALF_ROOT * r, HALF_ROOT * r]));
    const [c, s] = mul([0.5, 0.5], sub([1, 0], rest));
    return [sign * s, sign * c];
  }

  // C ± iS = (1±i)/2 erf(√π/2 (1∓i) z)
  function fresnel(z) {
    if (z[1] === 0) return real(z[0]).map((part) => [part, z[1]]);
    if (size(z) < 1.5) return series(z);
    const p = mul([0.5, 0.5], erf(mul([HALF_ROOT, -HALF_ROOT], z)));
    const m = mul([0.5, -0.5], erf(mul([HALF_ROOT, HALF_ROOT], z)));
    return [opposite(turned(times(sub(p, m), 0.5))), times(add(p, m), 0.5)];
  }

  // K = w(exp(πi/4) x)/2 and F = ∫ₓ^∞ exp(it²) dt = √π exp(i(x² + π/4)) K
  function modified([x]) {
    if (!Number.isFinite(x)) return [[NaN, NaN], [NaN, NaN]];
    const K = times(wofz([Math.SQRT1_2 * x, Math.SQRT1_2 * x]), 0.5);
    return [times(mul(mul(radians(x), [Math.SQRT1_2, Math.SQRT1_2]), K), 2 * HALF_ROOT), K];
  }

  numbers.several.fresnel = real;
  Object.assign(complexes.several, {
    fresnel, modfresnelp: modified, modfresnelm: (x) => modified(x).map(conj),
  });
})();
