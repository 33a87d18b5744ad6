// Integrals of Bessel, modified Bessel and Struve functions of order zero.
// gives: itj0y0 it2j0y0 iti0k0 it2i0k0 itstruve0 it2struve0 itmodstruve0
// needs: exponential_integrals
"use strict";
(() => {
  const { exp1 } = numbers.shared.exponentialIntegrals;
  const EULER = 0.5772156649015329;
  const FAR = 40; // from here on asymptotic series, whose smallest terms are exp(-x)

  // J₀(x), J₁(x), … by recurrence downwards, scaled by J₀ + 2 Σ J₂ₖ = 1
  function bessel(x) {
    const top = 2 * Math.ceil((x + 30 + 3 * Math.cbrt(x)) / 2), out = new Array(top + 2).fill(0);
    out[top] = 1e-290;
    let sum = 0;
    for (let n = top; n > 0; n--) {
      out[n - 1] = ((2 * n) / x) * out[n] - out[n + 1];
      if (Math.abs(out[n - 1]) > 1e200) for (let m = n - 1; m <= top; m++) out[m] *= 1e-250;
    }
    for (let n = top; n > 0; n -= 2) sum += 2 * out[n];
    return out.map((value) => value / (sum + out[0]));
  }

  // Of Σ cₙ Jₙ: ∫₀ˣ Jₙ = 2 (Jₙ₊₁ + Jₙ₊₃ + …), ∫₀ˣ Jₙ/t dt = (Jₙ + 2 (Jₙ₊₂ + Jₙ₊₄ + …))/n, as new coefficients
  function integrated(c) {
    const out = c.map(() => 0);
    for (let n = 1; n < c.length; n++) out[n] = 2 * c[n - 1] + (n > 1 ? out[n - 2] : 0);
    return out;
  }

  function divided(c) {
    const out = c.map(() => 0), before = [0, 0]; // sums of the even and of the odd ones
    for (let n = 1; n < c.length; n++) {
      out[n] = c[n] / n + 2 * before[n % 2];
      before[n % 2] += c[n] / n;
    }
    return out;
  }

  const total = (c, J) => c.reduceRight((sum, value, n) => sum + value * J[n], 0);

  // Y₀ = 2/π (L J₀ + S), L = log(x/2) + γ and S = 2 Σ (-1)ᵏ⁺¹ J₂ₖ/k; H₀ = 4/π Σ J₂ₖ₊₁/(2k+1)
  const ofS = (J) => J.map((_, n) => (n > 0 && n % 2 === 0 ? (n % 4 ? 4 : -4) / n : 0));
  const ofH = (J) => J.map((_, n) => (n % 2 ? 4 / (Math.PI * n) : 0));
  const ofJ = (J) => J.map((_, n) => (n === 0 ? 1 : 0));
  const ofRest = (J) => J.map((_, n) => (n > 0 && n % 2 === 0 ? 2 : 0)); // 1 - J₀

  // exp(z) √(2z/π) K₀ ~ Σ aₙ z⁻ⁿ; of its integral from z to infinity bₙ = aₙ - (n-½) bₙ₋₁, and of that of K₀/t, with
  // one more power of 1/z, bₙ = aₙ - (n+½) bₙ₋₁. Here at z = -ix, where J₀ + iY₀ = -2i/π K₀.
  function farIntegral(x, shift) {
    let a = 1, b = 1, power = [1, 0], sum = [1, 0], last = Infinity;
    for (let n = 1; n < 80; n++) {
      a *= -((2 * n - 1) ** 2) / (8 * n);
      b = a - (n + shift) * b;
      power = [-power[1] / x, power[0] / x]; // (-ix)⁻ⁿ
      const size = Math.abs(b) * Math.hypot(...power);
      if (size > last || size < 1e-18) break;
      last = size;
      sum = [sum[0] + b * power[0], sum[1] + b * power[1]];
    }
    return sum;
  }

  // ∫ₓ^∞ (J₀ + iY₀) and ∫ₓ^∞ (J₀ + iY₀)/t dt for large x
  function far(x, shift) {
    const [re, im] = farIntegral(x, shift), size = Math.sqrt(1 / (Math.PI * x));
    const c = size * (Math.cos(x) + Math.sin(x)), s = size * (Math.sin(x) - Math.cos(x)); // √(2/πx) exp(i(x - π/4))
    const value = [c * re - s * im, c * im + s * re];
    const turned = [-value[1], value[0]]; // dz = -i dx
    return shift < 0 ? turned : [turned[0] / x, turned[1] / x];
  }

  // J₀ and Y₀ from zero to x
  function itj0y0(x) {
    if (x < 0) return [-itj0y0(-x)[0], NaN];
    if (!(x < Infinity)) return [NaN, NaN];
    if (x === 0) return [0, 0];
    if (x > FAR) return far(x, -0.5).map((value, k) => (k ? 0 : 1) - value);
    const J = bessel(x), j = integrated(ofJ(J)), L = Math.log(x / 2) + EULER;
    const y = total(integrated(ofS(J)), J) + L * total(j, J) - total(divided(j), J); // ∫ L J₀ by parts
    return [total(j, J), (2 / Math.PI) * y];
  }

  // ∫₀ˣ (1 - J₀)/t dt and ∫ₓ^∞ Y₀/t dt = π/6 - L²/π + 2/π (L F - ∫₀ˣ F/t dt - ∫₀ˣ S/t dt), F the first
  function it2j0y0(x) {
    const r = Math.abs(x), L = Math.log(r / 2) + EULER, hidden = (y) => (x < 0 ? NaN : y);
    if (!(r < Infinity)) return [NaN, NaN];
    if (r === 0) return [0, -1e300]; // as SciPy
    if (r > FAR) {
      const [j, y] = far(r, 0.5);
      return [L + j, hidden(y)];
    }
    const J = bessel(r), f = divided(ofRest(J)), F = total(f, J);
    const rest = L * F - total(divided(f), J) - total(divided(ofS(J)), J);
    return [F, hidden(Math.PI / 6 - (L * L) / Math.PI + (2 / Math.PI) * rest)];
  }

  // ∫₀ˣ H₀; for large x ∫₀ˣ Y₀ + 2/π (log 2x + γ - Σ …), from H₀ - Y₀ ~ 2/π Σ (-1)ᵏ (1·3…(2k-1))²/x²ᵏ⁺¹
  function itstruve0(x) {
    const r = Math.abs(x);
    if (!(r < Infinity)) return NaN;
    if (r < 2) return (2 / Math.PI) * powers(r, (n) => n + 1, -1, 1);
    if (r <= FAR) return smallSum(integrated, ofH, r);
    return (2 / Math.PI) * (Math.log(2 * r) + EULER - struveTail(r, (k) => 2 * k)) - far(r, -0.5)[1];
  }

  function smallSum(way, of, r) {
    const J = bessel(r);
    return total(way(of(J)), J);
  }

  // ∫ₓ^∞ H₀/t dt = π/2 - ∫₀ˣ H₀/t dt
  function it2struve0(x) {
    const r = Math.abs(x);
    if (!(r < Infinity)) return NaN;
    let value;
    if (r < 2) value = Math.PI / 2 - (2 / Math.PI) * powers(r, (n) => n, -1, 0);
    else if (r <= FAR) value = Math.PI / 2 - smallSum(divided, ofH, r);
    else value = far(r, 0.5)[1] + (2 / Math.PI) * (1 + struveTail(r, (k) => 2 * k + 1)) / r;
    return x < 0 ? Math.PI - value : value;
  }

  // Σ (-1)ᵏ (1·3…(2k-1))²/(d(k) x²ᵏ) for k > 0
  function struveTail(x, d) {
    let term = 1, sum = 0;
    for (let k = 1; k < 30; k++) {
      const next = (-term * (2 * k - 1) ** 2) / (x * x);
      if (Math.abs(next) > Math.abs(term) || Math.abs(next) < 1e-18) break;
      term = next;
      sum += term / d(k);
    }
    return sum;
  }

  // Σ (±1)ᵏ xⁿ⁺ᵉ/((1·3…n)² d(n)) over odd n = 2k+1
  function powers(x, d, sign, extra) {
    let term = x, sum = term / d(1);
    for (let n = 3; n < 2000; n += 2) {
      term *= (sign * x * x) / (n * n);
      sum += term / d(n);
      if (Math.abs(term) < 1e-18 * Math.abs(sum)) break;
    }
    return sum * (extra ? x : 1);
  }

  function itmodstruve0(x) {
    return Math.abs(x) < Infinity ? (2 / Math.PI) * powers(Math.abs(x), (n) => n + 1, 1, 1) : NaN;
  }

  // Σ (x/2)²ᵏ/k!² w(k) over k ≥ from: terms of I₀, all positive
  function modifiedSum(x, from, w) {
    let term = 1, sum = from === 0 ? w(0) : 0;
    for (let k = 1; k < 2000; k++) {
      term *= (x / (2 * k)) ** 2;
      sum += term * w(k);
      if (k > x / 2 && term < 1e-18 * sum) break;
    }
    return sum;
  }

  const harmonic = [0];
  for (let k = 1; k < 40; k++) harmonic.push(harmonic[k - 1] + 1 / k);

  // ∫₀^∞ g(t) dt for an even analytic g that falls to nothing at t = reach, by the trapezoidal rule
  function trapezoid(g, reach, step) {
    let sum = g(0) / 2;
    for (let t = step; t < reach; t += step) sum += g(t);
    return sum * step;
  }

  const reach = (x) => Math.acosh(1 + 40 / x);
  const step = (x) => Math.min(0.1, 0.55 / Math.sqrt(x));

  // I₀ and K₀ from zero to x; ∫ₓ^∞ K₀ = ∫₀^∞ exp(-x cosh t)/cosh t dt
  function iti0k0(x) {
    const r = Math.abs(x);
    if (!(r < Infinity)) return [NaN, x === Infinity ? Math.PI / 2 : NaN];
    const i = x * modifiedSum(r, 0, (k) => 1 / (2 * k + 1));
    if (!(x > 0)) return [i, x === 0 ? 0 : NaN];
    if (x > FAR) return [i, Math.PI / 2];
    const beyond = (t) => Math.exp(-x * Math.cosh(t)) / Math.cosh(t);
    if (x >= 1) return [i, Math.PI / 2 - trapezoid(beyond, reach(x), step(x))];
    const L = Math.log(x / 2) + EULER;
    return [i, x * modifiedSum(x, 0, (k) => (1 / (2 * k + 1) + harmonic[Math.min(k, 39)] - L) / (2 * k + 1))];
  }

  // ∫₀ˣ (I₀ - 1)/t dt; ∫ₓ^∞ K₀/t dt = ∫₀^∞ E₁(x cosh t) dt, near zero L²/2 + π²/24 - Σ (x/2)²ᵏ/k!² (Hₖ - L + 1/2k)/2k
  function it2i0k0(x) {
    const r = Math.abs(x);
    if (!(r < Infinity)) return [NaN, NaN];
    const i = modifiedSum(r, 1, (k) => 1 / (2 * k));
    if (!(x > 0)) return [i, x === 0 ? 1e300 : NaN]; // as SciPy
    if (x > 750) return [i, 0];
    if (x >= 1) return [i, trapezoid((t) => exp1(x * Math.cosh(t)), reach(x), step(x))];
    const L = Math.log(x / 2) + EULER;
    const near = modifiedSum(x, 1, (k) => (harmonic[Math.min(k, 39)] - L + 1 / (2 * k)) / (2 * k));
    return [i, (L * L) / 2 + (Math.PI * Math.PI) / 24 - near];
  }

  Object.assign(numbers.of, { itstruve0, it2struve0, itmodstruve0 });
  Object.assign(numbers.several, { itj0y0, it2j0y0, iti0k0, it2i0k0 });
})();
