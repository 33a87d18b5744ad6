// Exponential integrals of whole order, Owen's T, Voigt's profile, and the distributions of Smirnov and Tukey.
// gives: expn owens_t voigt_profile tklmbda nrdtrimn nrdtrisd smirnov smirnovi smirnovp
// needs: gammas roots zetas
"use strict";
(() => {
  const { logGamma, stirling, log1pmx, quantile, line, gauss, LOG_2PI } = numbers.shared;
  const { ndtr, psi } = numbers.of;
  const ROOT_2PI = Math.sqrt(2 * Math.PI);

  // Eₙ(x) = ∫ e^(-xt)/tⁿ dt from 1: a series with a logarithm for x ≤ 1, else the continued fraction, by Lentz's method
  function expn(n, x) {
    n = Math.trunc(n);
    if (n !== n || x !== x || n < 0 || x < 0) return NaN;
    if (x === 0) return n < 2 ? Infinity : 1 / (n - 1);
    if (x === Infinity) return 0;
    if (n === 0) return Math.exp(-x) / x;
    if (x > 1 || n > 5000) {
      let b = x + n, c = 1e300, d = 1 / b, h = d;
      for (let k = 1; k < 10000; k++) {
        const top = -k * (n - 1 + k);
        b += 2;
        d = 1 / (top * d + b);
        c = b + top / c;
        h *= c * d;
        if (!(Math.abs(c * d - 1) >= 1e-16)) break;
      }
      return h * Math.exp(-x);
    }
    let term = 1, sum = n === 1 ? 0 : 1 / (n - 1), power = n === 1 ? 1 : 0;
    for (let m = 1; m < 60 || m < n; m++) { // -(-x)ᵐ/((m-n+1) m!), and (-x)ⁿ⁻¹/(n-1)! (ψ(n) - log x)
      term *= -x / m;
      if (m === n - 1) power = term;
      else sum -= term / (m - n + 1);
      if (m >= n && Math.abs(term) < 1e-18 * Math.abs(sum)) break;
      if (term === 0) break;
    }
    return sum + (power === 0 ? 0 : power * (psi(n) - Math.log(x)));
  }

  // T(h, a) = 1/2π ∫ exp(-h² (1+t²)/2)/(1+t²) dt from 0 to a; beyond a = 1 by T(a h, 1/a) and normal tails
  function owens_t(h, a) {
    if (h !== h || a !== a) return NaN;
    h = Math.abs(h);
    const size = Math.abs(a), sign = a < 0 ? -1 : 1;
    if (size === 0 || h === Infinity) return 0;
    if (size === Infinity) return sign * 0.5 * ndtr(-h);
    if (h === 0) return sign * Math.atan(size) / (2 * Math.PI);
    if (size <= 1) return sign * direct(h, size);
    const far = ndtr(-size * h), near = ndtr(-h);
    return sign * (0.5 * (near + far) - near * far - direct(size * h, 1 / size));
  }

  function direct(h, a) {
    const end = Math.min(a, 9 / h), [nodes, weights] = gauss(30); // beyond, the integrand has fallen by e^-40
    let sum = 0;
    for (let part = 0; part < 3; part++) {
      nodes.forEach((v, i) => {
        const t = (end * (part + v)) / 3;
        sum += (Math.exp(-0.5 * h * h * t * t) / (1 + t * t)) * weights[i];
      });
    }
    return (sum * end * Math.exp(-0.5 * h * h)) / (6 * Math.PI);
  }

  const STEP = 0.5;

  // Re w(x + iy), y > 0: y/π ∫ e^(-t²)/((x-t)²+y²) dt by the trapezoidal rule, nodes away from x, and the pole's part
  function realW(x, y) {
    x = Math.abs(x);
    if (y > 1e8 || x > 1e8) return y / Math.sqrt(Math.PI) / (x * x + y * y);
    const turn = x / STEP - Math.floor(x / STEP), shift = turn < 0.25 || turn > 0.75 ? 0.5 : 0;
    let sum = 0;
    for (let k = -14; k <= 14; k++) {
      const t = (k + shift) * STEP;
      sum += Math.exp(-t * t) / ((x - t) * (x - t) + y * y);
    }
    sum *= (STEP * y) / Math.PI;
    if (y >= Math.PI / STEP) return sum;
    // 2 e^(-z²)/(1 ∓ e^(-2πiz/h)), z = x + iy, the upper sign for nodes kh; the denominator over e^(2πy/h)
    const angle = (2 * Math.PI * x) / STEP, fall = Math.exp((-2 * Math.PI * y) / STEP), s = shift ? 1 : -1;
    const re = fall + s * Math.cos(angle), im = -s * Math.sin(angle);
    const size = 2 * Math.exp(y * y - x * x) * fall, phase = -2 * x * y;
    return sum + (size * (Math.cos(phase) * re + Math.sin(phase) * im)) / (re * re + im * im);
  }

  // The convolution of a normal and a Cauchy density: Re w((x + iγ)/(σ√2))/(σ√2π)
  function voigt_profile(x, sigma, gamma) {
    if (x !== x || sigma !== sigma || gamma !== gamma) return NaN;
    if (sigma === 0) {
      if (gamma === 0) return x === 0 ? Infinity : 0;
      return gamma / Math.PI / (x * x + gamma * gamma);
    }
    if (gamma === 0) return Math.exp((-0.5 * x * x) / (sigma * sigma)) / (ROOT_2PI * sigma);
    const scale = sigma * Math.SQRT2;
    return realW(x / scale, gamma / scale) / (sigma * ROOT_2PI);
  }

  // Tukey's λ distribution: u with (uᵏ - (1-u)ᵏ)/k = x, k = λ
  function tklmbda(x, k) {
    if (x !== x || k !== k) return NaN;
    if (k > 0 && x <= -1 / k) return 0;
    if (k > 0 && x >= 1 / k) return 1;
    const logistic = (w) => (w < 0 ? Math.exp(w) / (1 + Math.exp(w)) : 1 / (1 + Math.exp(-w)));
    if (Math.abs(k) < 1e-4) return logistic(x); // as SciPy
    const root = line(0, (w) => {
      const fall = w < 0 ? w - Math.log1p(Math.exp(w)) : -Math.log1p(Math.exp(-w)); // log u
      return (Math.expm1(k * fall) - Math.expm1(k * (fall - w))) / k - x;
    }, 1e3);
    return logistic(root);
  }

  // Φ⁻¹(p)
  const normal = (p) => quantile(0, p, 1 - p, (u) => [ndtr(u), ndtr(-u), Math.exp(-0.5 * u * u) / ROOT_2PI]);

  const nrdtrimn = (p, std, x) => (p > 0 && p < 1 && std > 0 ? x - std * normal(p) : NaN);
  const nrdtrisd = (mn, p, x) => (p > 0 && p < 1 ? (x - mn) / normal(p) : NaN);

  // log Γ(x+1) - (x+½) log x + x - ½ log 2π
  const rest = (x) => (x >= 8 ? stirling(x) : logGamma(x) - (x - 0.5) * Math.log(x) + x - 0.5 * LOG_2PI);
  const logGap = (gap) => (Math.abs(gap) < 0.4 ? log1pmx(gap) : Math.log1p(gap) - gap);

  // C(n, j) aʲ⁻¹ bⁿ⁻ʲ d, a = d + j/n, b = 1 - a: by the distance nd of na from j
  function smirnovTerm(n, j, d) {
    const a = d + j / n, k = n - j, away = n * d;
    const exponent = j * logGap(away / j) + k * logGap(-away / k) + rest(n) - rest(j) - rest(k);
    return (Math.exp(exponent) * Math.sqrt(n / (2 * Math.PI * j * k)) * d) / a;
  }

  // P(D⁺ > d) of n samples: (1-d)ⁿ + Σ of these terms for 0 < j < n (1-d); 1 - d (1+d)ⁿ⁻¹ for d ≤ 1/n
  function smirnov(n, d) {
    if (n !== n || !(n > 0) || !(d >= 0 && d <= 1)) return NaN;
    n = Math.trunc(n);
    if (n === 1) return 1 - d;
    if (n * d <= 1) return 1 - d * Math.exp((n - 1) * Math.log1p(d));
    if (d === 1) return 0;
    let sum = Math.exp(n * Math.log1p(-d));
    for (let j = 1; j < n * (1 - d); j++) sum += smirnovTerm(n, j, d);
    return sum;
  }

  // Its slope
  function smirnovp(n, d) {
    if (n !== n || !(n > 0) || !(d >= 0 && d <= 1)) return NaN;
    n = Math.trunc(n);
    if (n === 1) return -1;
    if (n * d < 1) return -(1 + n * d) * Math.exp((n - 2) * Math.log1p(d));
    if (d === 1) return 0;
    let sum = -n * Math.exp((n - 1) * Math.log1p(-d));
    for (let j = 1; j < n * (1 - d); j++) {
      sum += smirnovTerm(n, j, d) * (1 / d + (j - 1) / (d + j / n) - (n - j) / (1 - d - j / n));
    }
    return sum;
  }

  function smirnovi(n, p) {
    if (n !== n || !(n > 0) || !(p >= 0 && p <= 1)) return NaN;
    n = Math.trunc(n);
    if (p === 0 || p === 1 || n === 1) return 1 - p;
    const q = 1 - p, small = Math.exp((n - 1) * Math.log1p(1 / n)) / n;
    const logistic = (w) => (w < 0 ? Math.exp(w) / (1 + Math.exp(w)) : 1 / (1 + Math.exp(-w)));
    if (q <= small) return Math.exp(line(Math.log(q), (w) => w + (n - 1) * Math.log1p(Math.exp(w)) - Math.log(q), 800));
    const upper = (d) => (d === 1 ? -Infinity : Math.log(smirnov(n, d)));
    return logistic(line(0, (w) => Math.log(p) - upper(logistic(w)), 800));
  }

  Object.assign(numbers.of, { expn, owens_t, voigt_profile, tklmbda, nrdtrimn, nrdtrisd, smirnov, smirnovi, smirnovp });
})();
