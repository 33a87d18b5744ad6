// Riemann's zeta function.
// gives: riemann_zeta zetac
"use strict";
(() => {
  const { gamma } = numbers.of;
  const BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798];
  const LENGTH = 16;

  // ζ(s) - 1 for s ≥ -½: a sum to N = LENGTH, then Euler and Maclaurin: Σ B₂ₖ/(2k)! s(s+1)…(s+2k-2) N^(1-s-2k)
  function rest(s) {
    if (s > 1100) return 0;
    let sum = 0;
    for (let n = LENGTH - 1; n > 1; n--) sum += Math.pow(n, -s);
    const last = Math.pow(LENGTH, -s);
    let tail = (last * LENGTH) / (s - 1) + last / 2, factor = (s * last) / LENGTH / 2;
    BERNOULLI.forEach((b, k) => {
      tail += b * factor;
      factor *= ((s + 2 * k + 1) * (s + 2 * k + 2)) / (LENGTH * LENGTH * (2 * k + 3) * (2 * k + 4));
    });
    return sum + tail;
  }

  // Γ(y) (2π)^-y, which is finite for longer than Γ
  function reducedGamma(y) {
    if (y < 20) return gamma(y) * Math.pow(2 * Math.PI, -y);
    const r = 1 / (y * y), root = Math.pow(y / (2 * Math.PI * Math.E), y / 2);
    const series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / y;
    return root * Math.sqrt((2 * Math.PI) / y) * Math.exp(series) * root;
  }

  // sin(πs/2) with the angle reduced first
  function quarterSine(s) {
    const r = s % 4;
    return r % 2 === 0 ? 0 : Math.sin((Math.PI / 2) * (r > 2 ? r - 4 : r < -2 ? r + 4 : r));
  }

  // ζ(s) = 2 sin(πs/2) Γ(1-s) (2π)^(s-1) ζ(1-s)
  function zeta(s) {
    if (s !== s || s === -Infinity) return NaN;
    if (s === 1) return Infinity;
    if (s >= -0.5) return 1 + rest(s);
    const sine = quarterSine(s);
    return sine === 0 ? 0 : 2 * sine * reducedGamma(1 - s) * (1 + rest(1 - s));
  }

  numbers.shared.riemannZeta = { bernoulli: BERNOULLI };
  Object.assign(numbers.of, { riemann_zeta: zeta, zetac: (s) => (s >= -0.5 && s !== 1 ? rest(s) : zeta(s) - 1) });
})();
