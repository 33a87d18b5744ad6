// Spherical Bessel functions of the four kinds, of whole order n.
// gives: spherical_jn spherical_yn spherical_in spherical_kn
// gives complex: spherical_jn spherical_yn spherical_in spherical_kn
// needs: pairs bessel
"use strict";
(() => {
  const { div, sqrt, mul } = numbers.shared.pairs;
  const bad = (n, x) => x !== x || n !== n || n < 0;
  const root = (x) => Math.sqrt(Math.PI / 2 / x);

  // fₖ₊₁ = (2k+1)/x fₖ - fₖ₋₁ upwards, which is stable for k < x, and for y everywhere
  function upwards(n, x, first, second) {
    for (let k = 1; k < n; k++) {
      const next = ((2 * k + 1) / x) * second - first;
      if (Math.abs(next) === Infinity) return next;
      [first, second] = [second, next];
    }
    return n === 0 ? first : second;
  }

  function jn(n, x) {
    if (bad(n, x)) return NaN;
    if (Math.abs(x) === Infinity) return 0;
    if (x === 0) return n === 0 ? 1 : 0;
    const first = Math.sin(x) / x;
    if (n > 0 && n >= x) return x < 0 ? NaN : root(x) * numbers.of.jv(n + 0.5, x);
    return upwards(n, x, first, (first - Math.cos(x)) / x);
  }

  function yn(n, x) {
    if (bad(n, x)) return NaN;
    if (x < 0) return (n % 2 ? 1 : -1) * yn(n, -x);
    if (x === Infinity) return 0;
    if (x === 0) return -Infinity;
    const first = -Math.cos(x) / x;
    return upwards(n, x, first, (first - Math.sin(x)) / x);
  }

  function inn(n, x) {
    if (bad(n, x)) return NaN;
    if (x === 0) return n === 0 ? 1 : 0;
    if (Math.abs(x) === Infinity) return x < 0 && n % 2 ? -Infinity : Infinity;
    return x < 0 ? NaN : root(x) * numbers.of.iv(n + 0.5, x);
  }

  function kn(n, x) {
    if (bad(n, x)) return NaN;
    if (x === 0) return Infinity;
    if (Math.abs(x) === Infinity) return x > 0 ? 0 : -Infinity;
    return x < 0 ? NaN : root(x) * numbers.of.kv(n + 0.5, x);
  }

  // √(π/2z) times the function of order n + ½
  function turned(name, real) {
    return ([n], z) => {
      if (bad(n, z[0]) || bad(n, z[1])) return [NaN, NaN];
      if (z[1] === 0 && (z[0] >= 0 || name === "yv")) return [real(n, z[0]), 0];
      return mul(sqrt(div([Math.PI / 2, 0], z)), complexes.of[name]([n + 0.5, 0], z));
    };
  }

  Object.assign(numbers.of, { spherical_jn: jn, spherical_yn: yn, spherical_in: inn, spherical_kn: kn });
  Object.assign(complexes.of, {
    spherical_jn: turned("jv", jn), spherical_yn: turned("yv", yn),
    spherical_in: turned("iv", inn), spherical_kn: turned("kv", kn),
  });
})();
