// Riemann's zeta function of complex numbers; Hurwitz's only where SciPy has it.
// gives complex: riemann_zeta zeta
// needs: pairs complex_gammas riemann_zeta zetas
"use strict";
(() => {
  const { add, sub, mul, div, times, size, exp } = numbers.shared.pairs;
  const { bernoulli } = numbers.shared.riemannZeta;
  const power = (n, s) => exp(times(s, -Math.log(n))); // n⁻ˢ

  // A sum to N, then Euler and Maclaurin: Σ B₂ₖ/(2k)! s(s+1)…(s+2k-2) N^(1-s-2k)
  function direct(s) {
    const N = 20 + Math.ceil(1.5 * size(s));
    let sum = [0, 0];
    for (let n = N - 1; n > 0; n--) sum = add(sum, power(n, s));
    const last = power(N, s);
    sum = add(sum, add(div(times(last, N), [s[0] - 1, s[1]]), times(last, 0.5)));
    let factor = times(mul(s, last), 1 / (2 * N));
    bernoulli.forEach((b, k) => {
      sum = add(sum, times(factor, b));
      const next = mul([s[0] + 2 * k + 1, s[1]], [s[0] + 2 * k + 2, s[1]]);
      factor = times(mul(factor, next), 1 / (N * N * (2 * k + 3) * (2 * k + 4)));
    });
    return sum;
  }

  // ζ(s) = 2 sin(πs/2) Γ(1-s) (2π)^(s-1) ζ(1-s), with both exponentials of the sine beside log Γ
  function zeta(s) {
    if (s[1] === 0) return [numbers.of.riemann_zeta(s[0]), s[1]];
    if (s[0] !== s[0] || s[1] !== s[1]) return [NaN, NaN];
    if (s[0] > 60) return add([1, 0], power(2, s));
    if (s[0] >= -0.5) return direct(s);
    const other = sub([1, 0], s);
    const front = sub(complexes.of.loggamma(other), times(other, Math.log(2 * Math.PI)));
    const turn = [(-Math.PI / 2) * s[1], (Math.PI / 2) * s[0]]; // πis/2
    const sine = sub(exp(add(front, turn)), exp(sub(front, turn)));
    return mul([sine[1], -sine[0]], direct(other));
  }

  const hurwitz = (s, [q]) => (s[1] === 0 ? [numbers.of.zeta(s[0], q), s[1]] : [NaN, NaN]);

  Object.assign(complexes.of, { riemann_zeta: zeta, zeta: hurwitz });
})();
