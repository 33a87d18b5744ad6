// Complete elliptic integrals, by the mean of Gauss.
// gives: ellipk ellipkm1 ellipe
"use strict";
(() => {
  // K(m) = π/(2 agm(1, √p)) with p = 1 - m
  function ellipkm1(p) {
    if (!(p > 0)) return p === 0 ? Infinity : NaN;
    if (p === Infinity) return 0;
    let a = 1, b = Math.sqrt(p);
    for (let k = 0; k < 40 && Math.abs(a - b) > 1e-16 * a; k++) [a, b] = [(a + b) / 2, Math.sqrt(a) * Math.sqrt(b)];
    return Math.PI / (a + b);
  }

  const ellipk = (m) => ellipkm1(1 - m);

  // E(m) = K(m) (1 - Σ 2ⁿ⁻¹ cₙ²) with c₀² = m and cₙ₊₁ = (aₙ - bₙ)/2; E(m) = √(1-m) E(m/(m-1)) left of zero
  function ellipe(m) {
    if (m > 1) return NaN;
    if (m === 1) return 1;
    if (m === -Infinity) return Infinity;
    if (m < 0) return Math.sqrt(1 - m) * ellipe(m < -1e20 ? 1 : m / (m - 1));
    let a = 1, b = Math.sqrt(1 - m), sum = m / 2, weight = 0.5;
    for (let k = 0; k < 40 && Math.abs(a - b) > 1e-17 * a; k++) {
      const c = (a - b) / 2;
      weight *= 2;
      sum += weight * c * c;
      [a, b] = [(a + b) / 2, Math.sqrt(a * b)];
    }
    return (Math.PI / (a + b)) * (1 - sum);
  }

  Object.assign(numbers.of, { ellipk, ellipkm1, ellipe });
})();
