// Elliptic integrals in Carlson's and in Legendre's form, Jacobi's functions, the arithmetic-geometric mean.
// gives: elliprc elliprd elliprf elliprg elliprj ellipkinc ellipeinc ellipj agm CarlsonIntegral
"use strict";
(() => {
  // R_F by duplication: x → (x + λ)/4 until the three are near their mean, then the series about it
  function elliprf(x, y, z) {
    if (!(x >= 0 && y >= 0 && z >= 0)) return NaN;
    if (x === Infinity || y === Infinity || z === Infinity) return 0;
    if ((x === 0) + (y === 0) + (z === 0) > 1) return Infinity;
    let mean = (x + y + z) / 3;
    const gap = Math.max(Math.abs(mean - x), Math.abs(mean - y), Math.abs(mean - z));
    const dx = mean - x, dy = mean - y;
    let scale = 1;
    while (gap * scale > 2e-3 * mean) {
      const a = Math.sqrt(x), b = Math.sqrt(y), c = Math.sqrt(z), sum = a * b + b * c + c * a;
      x = (x + sum) / 4; y = (y + sum) / 4; z = (z + sum) / 4;
      mean = (mean + sum) / 4;
      scale /= 4;
    }
    const p = (dx * scale) / mean, q = (dy * scale) / mean, r = -(p + q);
    const e = p * q - r * r, f = p * q * r;
    return (1 - e / 10 + f / 14 + (e * e) / 24 - (3 * e * f) / 44 - (5 * e * e * e) / 208 + (3 * f * f) / 104 +
      (e * e * f) / 16) / Math.sqrt(mean);
  }

  // R_C(x, y) = R_F(x, y, y): arctan or artanh of a root; near x = y a series, left of y = 0 the principal value
  function elliprc(x, y) {
    if (!(x >= 0) || !(y !== 0) || (x === Infinity && y < 0)) return NaN;
    if (x === Infinity || Math.abs(y) === Infinity) return 0;
    if (y !== y) return NaN;
    if (y < 0) return Math.sqrt(x / (x - y)) * elliprc(x - y, -y);
    if (x === 0) return Math.PI / 2 / Math.sqrt(y);
    const u = y / x - 1;
    if (Math.abs(u) < 0.1) { // Σ (-u)ⁿ/(2n+1)
      const v = (y - x) / x;
      let term = 1, sum = 1;
      for (let n = 1; n < 24; n++) {
        term *= -v;
        sum += term / (2 * n + 1);
      }
      return sum / Math.sqrt(x);
    }
    if (x < y) return Math.atan(Math.sqrt((y - x) / x)) / Math.sqrt(y - x);
    return Math.asinh(Math.sqrt((x - y) / y)) / Math.sqrt(x - y);
  }

  // Σ of the series about the mean, for R_D and R_J: the symmetric polynomials e₂ … e₅ of the relative gaps
  function tail(e2, e3, e4, e5) {
    return 1 - (3 * e2) / 14 + e3 / 6 + (9 * e2 * e2) / 88 - (3 * e4) / 22 - (9 * e2 * e3) / 52 + (3 * e5) / 26 -
      (e2 * e2 * e2) / 16 + (3 * e3 * e3) / 40 + (3 * e2 * e4) / 20 + (45 * e2 * e2 * e3) / 272 -
      (9 * (e3 * e4 + e2 * e5)) / 68;
  }

  // R_D by duplication
  function elliprd(x, y, z) {
    if (!(x >= 0 && y >= 0 && z >= 0)) return NaN;
    if (z === 0) return Infinity;
    if (x === Infinity || y === Infinity || z === Infinity) return 0;
    if (x === 0 && y === 0) return Infinity;
    let mean = (x + y + 3 * z) / 5, scale = 1, sum = 0;
    const dx = mean - x, dy = mean - y, gap = Math.max(Math.abs(dx), Math.abs(dy), Math.abs(mean - z));
    while (gap * scale > 1.5e-3 * mean) {
      const a = Math.sqrt(x), b = Math.sqrt(y), c = Math.sqrt(z), lambda = a * b + b * c + c * a;
      sum += scale / (c * (z + lambda));
      x = (x + lambda) / 4; y = (y + lambda) / 4; z = (z + lambda) / 4;
      mean = (mean + lambda) / 4;
      scale /= 4;
    }
    const p = (dx * scale) / mean, q = (dy * scale) / mean, r = -(p + q) / 3;
    const both = p * q, square = r * r;
    const found = tail(both - 6 * square, (3 * both - 8 * square) * r, 3 * (both - square) * square, both * square * r);
    return (scale * found) / (mean * Math.sqrt(mean)) + 3 * sum;
  }

  // R_J by duplication, with an R_C for each step
  function positiveJ(x, y, z, p) {
    let mean = (x + y + z + 2 * p) / 5, scale = 1, sum = 0;
    const dx = mean - x, dy = mean - y, dz = mean - z;
    const gap = Math.max(Math.abs(dx), Math.abs(dy), Math.abs(dz), Math.abs(mean - p));
    const delta = (p - x) * (p - y) * (p - z);
    while (gap * scale > 1.5e-3 * mean) {
      const a = Math.sqrt(x), b = Math.sqrt(y), c = Math.sqrt(z), d = Math.sqrt(p);
      const lambda = a * b + b * c + c * a, product = (d + a) * (d + b) * (d + c);
      const e = ((scale * scale * scale * delta) / product) / product;
      sum += (scale / product) * elliprc(1, 1 + e);
      x = (x + lambda) / 4; y = (y + lambda) / 4; z = (z + lambda) / 4; p = (p + lambda) / 4;
      mean = (mean + lambda) / 4;
      scale /= 4;
    }
    const q = (dx * scale) / mean, r = (dy * scale) / mean, s = (dz * scale) / mean, t = -(q + r + s) / 2;
    const e2 = q * r + q * s + r * s - 3 * t * t, product = q * r * s;
    const e3 = product + 2 * e2 * t + 4 * t * t * t, e4 = (2 * product + e2 * t + 3 * t * t * t) * t;
    return (scale * tail(e2, e3, e4, product * t * t)) / (mean * Math.sqrt(mean)) + 6 * sum;
  }

  // R_J; for p < 0 the principal value, by the integral at a positive q
  function elliprj(x, y, z, p) {
    if (!(x >= 0 && y >= 0 && z >= 0) || p !== p) return NaN;
    if (p !== 0 && (x === 0) + (y === 0) + (z === 0) > 1) return Infinity;
    if (x === Infinity || y === Infinity || z === Infinity || Math.abs(p) === Infinity) return 0;
    if (p === 0) return NaN;
    if (p > 0) return positiveJ(x, y, z, p);
    [x, y, z] = [x, y, z].sort((a, b) => a - b);
    const q = -p, r = (z * (x + y + q) - x * y) / (z + q);
    const xy = x * y, pr = p * r;
    const found = (r - z) * positiveJ(x, y, z, r) - 3 * elliprf(x, y, z) +
      3 * Math.sqrt((x * y * z) / (xy - pr)) * elliprc(xy - pr, -pr);
    return found / (z + q);
  }

  // 2 R_G = z R_F - (x-z)(y-z) R_D/3 + √(xy/z), z between the others, so that nothing cancels
  function elliprg(x, y, z) {
    if (!(x >= 0 && y >= 0 && z >= 0)) return NaN;
    [x, z, y] = [x, y, z].sort((a, b) => a - b);
    if (y === Infinity) return Infinity;
    if (z === 0) return Math.sqrt(y) / 2;
    const last = x === 0 ? 0 : Math.sqrt(x) * Math.sqrt(y / z);
    return 0.5 * (z * elliprf(x, y, z) - ((x - z) * (y - z) * elliprd(x, y, z)) / 3 + last);
  }

  // K(m) and E(m)
  const complete = (m) => elliprf(0, 1 - m, 1);
  const completeE = (m) => (m === 1 ? 1 : 2 * elliprg(0, 1 - m, 1));

  // F(φ, m) = s R_F(c², 1 - m s², 1) with φ = nπ + r, s = sin r, and 2n K for the whole periods
  function ellipkinc(phi, m) {
    if (phi !== phi || !(m <= 1)) return NaN;
    if (m === -Infinity) return Math.abs(phi) === Infinity ? NaN : 0;
    if (Math.abs(phi) === Infinity) return phi;
    const n = Math.round(Math.abs(phi) / Math.PI), r = Math.abs(phi) - n * Math.PI;
    if (m === 1 && Math.abs(phi) >= Math.PI / 2) return Math.sign(phi) * Infinity;
    const s = Math.sin(r), c = Math.cos(r), d = c * c + (1 - m) * s * s;
    const whole = n === 0 ? 0 : 2 * n * complete(m);
    return (phi < 0 ? -1 : 1) * (s * elliprf(c * c, d, 1) + whole);
  }

  // E(φ, m) = s R_F - m s³ R_D/3; near m = 1 a form whose terms have one sign
  function ellipeinc(phi, m) {
    if (phi !== phi || !(m <= 1)) return NaN;
    if (Math.abs(phi) === Infinity) return phi;
    if (m === -Infinity) return Infinity;
    const n = Math.round(Math.abs(phi) / Math.PI), r = Math.abs(phi) - n * Math.PI;
    const s = Math.sin(r), c = Math.cos(r), ss = s * s, d = c * c + (1 - m) * ss;
    let part;
    if (m > 0.5 && ss > 0) {
      const k = 1 - m;
      part = k === 0 ? s : k * s * (elliprf(c * c, d, 1) + (m * ss * elliprd(c * c, 1, d)) / 3) +
        (m * s * c) / Math.sqrt(d);
    } else part = s * (elliprf(c * c, d, 1) - (m * ss * elliprd(c * c, d, 1)) / 3);
    return (phi < 0 ? -1 : 1) * (part + (n === 0 ? 0 : 2 * n * completeE(m)));
  }

  // sn, cn, dn and the amplitude of u: from the last of the means back, sin(2φₙ₋₁ - φₙ) = cₙ/aₙ sin φₙ
  function ellipj(u, m) {
    if (!(m >= 0 && m <= 1 && Math.abs(u) < Infinity)) return [NaN, NaN, NaN, NaN];
    if (m === 1) return [Math.tanh(u), 1 / Math.cosh(u), 1 / Math.cosh(u), Math.atan(Math.sinh(u))];
    const ratios = [];
    let a = 1, b = Math.sqrt(1 - m), c = Math.sqrt(m);
    while (Math.abs(c) > 1e-17 * a && ratios.length < 40) {
      const mean = (a + b) / 2;
      c = (a - b) / 2;
      b = Math.sqrt(a * b);
      a = mean;
      ratios.push(c / a);
    }
    let phi = 2 ** ratios.length * a * u;
    for (const ratio of ratios.reverse()) phi = (Math.asin(ratio * Math.sin(phi)) + phi) / 2;
    const sn = Math.sin(phi), cn = Math.cos(phi);
    return [sn, cn, Math.sqrt(cn * cn + (1 - m) * sn * sn), phi];
  }

  // The common limit of arithmetic and geometric means
  function agm(a, b) {
    if (a !== a || b !== b) return NaN;
    if ((a < 0 && b > 0) || (a > 0 && b < 0)) return NaN;
    if ((Math.abs(a) === Infinity || Math.abs(b) === Infinity) && (a === 0 || b === 0)) return NaN;
    if (a === 0 || b === 0) return 0;
    if (a === b) return a;
    const sign = a < 0 ? -1 : 1;
    a = Math.abs(a); b = Math.abs(b);
    if (a === Infinity || b === Infinity) return sign * Infinity;
    for (let n = 0; n < 60 && Math.abs(a - b) > 2e-16 * a; n++) [a, b] = [a / 2 + b / 2, Math.sqrt(a) * Math.sqrt(b)];
    return sign * a;
  }

  const STRIDE = 0.45; // the singularities over log t are at distance π: the error is below rounding

  // ∫ (t+x)^(-½-a) (t+y)^(-½-b) (t+w)^(-½-c) (t+p)^(-d) dt by the trapezoidal rule over log t
  const carlsonIntegral = ({ powers }) => (...values) => {
    if (values.some((v) => v !== v)) return NaN;
    const sizes = values.map((v) => (v === 0 || !Number.isFinite(v) ? 1 : Math.abs(v)));
    const low = Math.log(Math.min(...sizes)) - (values.some((v) => v === 0) ? 76 : 38);
    const high = Math.log(Math.max(...sizes)) + 26;
    const exponents = powers.map((n, i) => (i < 3 ? -0.5 - n : -n));
    let sum = 0;
    for (let k = 0; low + STRIDE * k <= high + STRIDE; k++) {
      const t = Math.exp(low + STRIDE * k);
      sum += values.reduce((product, v, i) => product * Math.pow(t + v, exponents[i]), t);
    }
    return STRIDE * sum;
  };

  Object.assign(numbers.of, { elliprc, elliprd, elliprf, elliprg, elliprj, ellipkinc, ellipeinc, agm });
  numbers.several.ellipj = ellipj;
  numbers.given.CarlsonIntegral = carlsonIntegral;
})();
