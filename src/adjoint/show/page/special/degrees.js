// Angles in degrees, and powers less one.
// gives: tandg cotdg radian powm1
"use strict";
(() => {
  const { power } = numbers.of;

  // The angle less whole half turns, in degrees, in (-90, 90].
  function halfTurn(x) {
    const rest = x % 180;
    return rest > 90 ? rest - 180 : rest <= -90 ? rest + 180 : rest;
  }

  function tandg(x) {
    if (Math.abs(x) > 1e14) return 0; // as SciPy: nothing is left of such an angle
    const rest = halfTurn(x);
    return rest === 90 ? Infinity : Math.abs(rest) === 45 ? Math.sign(rest) : Math.tan((rest * Math.PI) / 180);
  }

  function cotdg(x) {
    if (Math.abs(x) > 1e14) return 0;
    const rest = halfTurn(x);
    if (rest === 0) return Infinity;
    return rest === 90 ? 0 : Math.abs(rest) === 45 ? Math.sign(rest) : 1 / Math.tan((rest * Math.PI) / 180);
  }

  const radian = (d, m, s) => ((d * 3600 + m * 60 + s) * Math.PI) / 648000;

  function powm1(x, y) { // x^y - 1, without loss near x^y = 1
    if (x > 0 && (Math.abs(y * (x - 1)) < 0.5 || Math.abs(y) < 0.2)) {
      const small = y * Math.log(x);
      if (Math.abs(small) < 0.5) return Math.expm1(small);
    }
    return power(x, y) - 1;
  }

  Object.assign(numbers.of, { tandg, cotdg, radian, powm1 });
})();
