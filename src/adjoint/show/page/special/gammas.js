// Quotients of gamma functions, without what would cancel: beta, binomial coefficients, Pochhammer's symbol.
// gives: beta betaln binom poch
"use strict";
(() => {
  const { gamma, gammaln } = numbers.of;
  const LOG_2PI = Math.log(2 * Math.PI);
  const ZETA = []; // ζ(2), ζ(3), …: a sum to 19, then Euler and Maclaurin
  for (let s = 2; s < 40; s++) {
    let sum = 0;
    for (let n = 19; n > 0; n--) sum += n ** -s;
    const tail = 1 / (s - 1) + 1 / 40 + s / 4800 - (s * (s + 1) * (s + 2)) / (720 * 20 ** 4) +
      (s * (s + 1) * (s + 2) * (s + 3) * (s + 4)) / (30240 * 20 ** 6);
    ZETA.push(sum + tail * 20 ** (1 - s));
  }
  const EULER = 0.57721566490153286061;
  const STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400];

  // log Γ(x) - (x-½) log x + x - ½ log 2π, for x ≥ 8
  function stirling(x) {
    const r = 1 / (x * x);
    let sum = 0;
    for (let k = STIRLING.length - 1; k >= 0; k--) sum = sum * r + STIRLING[k];
    return sum / x;
  }

  // stirling(x+d) - stirling(x), each difference of powers by its factor d
  function stirlingDifference(x, d) {
    const p = 1 / x, q = 1 / (x + d);
    const first = -d * p * q; // q - p
    const square = first * (p + q);
    let sum = 0, difference = first, power = p;
    for (const c of STIRLING) {
      sum += c * difference;
      difference = difference * q * q + square * power;
      power *= p * p;
    }
    return sum;
  }

  // log(1+x) - x = -x²/2 + x³/3 - …; near 0 by log(1+x) = 2 artanh(s), s = x/(2+x)
  function log1pmx(x) {
    if (Math.abs(x) > 0.4) return Math.log1p(x) - x;
    const s = x / (2 + x), q = s * s;
    let sum = 0, power = s * q;
    for (let k = 3; ; k += 2) {
      const term = power / k;
      sum += term;
      if (Math.abs(term) <= 1e-18 * Math.abs(sum)) break;
      power *= q;
    }
    return 2 * sum - s * x; // 2s - x = -s x
  }

  // log r - (r - 1), given r and r - 1
  function logGap(r, gap) {
    return Math.abs(gap) < 0.4 ? log1pmx(gap) : Math.log(r) - gap;
  }

  // log Γ(1+a) = -γ a + Σ ζ(k) (-a)ᵏ/k for |a| ≤ ½
  function gammalnOnePlus(a) {
    if (a > 0.5 && a <= 1.5) return gammalnOnePlus(a - 1) + Math.log1p(a - 1);
    if (!(Math.abs(a) <= 0.5)) return gammaln(1 + a);
    let sum = 0, power = -a;
    ZETA.forEach((z, i) => {
      power *= -a;
      sum += (z * power) / (i + 2);
    });
    return sum - EULER * a;
  }

  // log Γ for x > 0, to full precision also near its zeros 1 and 2
  function logGamma(x) {
    if (x > 0.5 && x <= 2.5) return gammalnOnePlus(x - 1);
    if (x >= 10) return (x - 0.5) * Math.log(x) - x + 0.5 * LOG_2PI + stirling(x);
    return x <= 0.5 ? gammalnOnePlus(x) - Math.log(x) : gammaln(x);
  }

  // log Γ(a+d) - log Γ(a) for a, a+d > 0: shifted to large arguments, where all parts have a factor d
  function logGammaRise(a, d) {
    let shift = 0, steps = 1;
    const least = Math.min(a, a + d);
    if (least < 10 && Math.abs(d) > 0.3 && Math.max(a, a + d) > 20) return logGamma(a + d) - logGamma(a);
    for (let k = Math.ceil(10 - least); k > 0; k--, a++) {
      if (Math.abs(d) < 0.3 * a) shift -= Math.log1p(d / a);
      else steps *= a / (a + d);
    }
    return shift + Math.log(steps) + (a - 0.5) * Math.log1p(d / a) + d * Math.log(a + d) - d + stirlingDifference(a, d);
  }

  // xᵃ e⁻ˣ/Γ(a+1); for large a by the distance of x from a
  function gammaFactor(a, x) {
    if (x === 0) return a === 0 ? 1 : 0;
    if (a > 10) return Math.exp(a * logGap(x / a, (x - a) / a) - stirling(a)) / Math.sqrt(2 * Math.PI * a);
    if (x > 700) return Math.exp(a * Math.log(x) - x - logGamma(a + 1));
    return (Math.pow(x, a) * Math.exp(-x)) / gamma(a + 1);
  }

  // xᵃ yᵇ/B(a, b), x + y = 1; for large a and b by the distance of x from a/(a+b)
  function betaFactor(a, b, x, y) {
    const small = Math.min(a, b), large = Math.max(a, b), s = a + b;
    if (small > 10) {
      const gap = b * x - a * y;
      const exponent = a * logGap((x * s) / a, gap / a) + b * logGap((y * s) / b, -gap / b);
      return Math.exp(exponent + stirling(s) - stirling(a) - stirling(b)) * Math.sqrt((a * b) / s / (2 * Math.PI));
    }
    if (large > 20) {
      const [u, v] = a < b ? [x, y] : [y, x]; // the power `small` of u, `large` of v
      const logV = v > 0.5 ? Math.log1p(-u) : Math.log(v);
      const rise = (large - 0.5) * Math.log1p(small / large) + small * Math.log1p(small / large) - small +
        stirlingDifference(large, small);
      const exponent = small * Math.log(large * u) + large * logV + rise;
      const scale = small < 1e-5 ? small / Math.exp(gammalnOnePlus(small)) : 1 / gamma(small);
      return Math.exp(exponent) * scale;
    }
    const direct = Math.pow(x, a) * Math.pow(y, b) * (gamma(s) / gamma(a) / gamma(b));
    if (direct > 1e-280 && direct < Infinity) return direct;
    return Math.exp(a * Math.log(x) + b * Math.log(y) + logGamma(s) - logGamma(a) - logGamma(b));
  }

  const outside = (x) => x === -Infinity || pole(x);
  const pole = (x) => x <= 0 && Number.isInteger(x);

  // The sign of Γ
  function gammaSign(x) {
    return x > 0 || Math.floor(x) % 2 === 0 ? 1 : -1;
  }

  // log |B(a, b)|
  function betaln(a, b) {
    if (outside(a) || outside(b)) return wholePole(a, b) ? Math.log(Math.abs(beta(a, b))) : Infinity;
    if (a !== a || b !== b) return NaN;
    if (a === 1 || b === 1) return -Math.log(Math.abs(a === 1 ? b : a));
    if (Math.abs(a) < Math.abs(b)) [a, b] = [b, a];
    const s = a + b;
    if (a === Infinity) return b < 0 ? Infinity : b < 1e6 ? -Infinity : NaN;
    if (pole(s)) return -Infinity;
    if (b > 8 && a > 0) {
      return b * Math.log(b / s) - (a - 0.5) * Math.log1p(b / a) - 0.5 * Math.log(b) + 0.5 * LOG_2PI +
        stirling(a) + stirling(b) - stirling(s);
    }
    if (a > 0 && s > 0) return (b > 0 ? logGamma(b) : gammaln(b)) - logGammaRise(a, b);
    return gammaln(a) + gammaln(b) - gammaln(s);
  }

  // One argument a pole of Γ, -n, and the sum of both a pole too: the poles cancel
  function wholePole(a, b) {
    const low = Math.min(a, b), high = Math.max(a, b);
    return pole(low) && Number.isInteger(high) && high > 0 && low + high <= 0;
  }

  // B(a, b) = Γ(a) Γ(b)/Γ(a+b)
  function beta(a, b) {
    if (wholePole(a, b)) {
      const low = Math.min(a, b), high = Math.max(a, b); // (-1)^high B(1-low-high, high)
      return (high % 2 ? -1 : 1) * beta(1 - low - high, high);
    }
    if (outside(a) || outside(b)) return Infinity;
    if (a !== a || b !== b) return NaN;
    const s = a + b;
    const low = Math.min(a, b);
    if (s === Infinity) return low < 0 ? gammaSign(low) * Infinity : low < 1e6 ? 0 : NaN;
    if (pole(s)) return 0;
    if (Math.max(Math.abs(a), Math.abs(b), Math.abs(s)) < 25) {
      const parts = [gamma(a), gamma(b)].sort((p, q) => Math.abs(q) - Math.abs(p));
      return (parts[0] / gamma(s)) * parts[1];
    }
    return gammaSign(a) * gammaSign(b) * gammaSign(s) * Math.exp(betaln(a, b));
  }

  // (a)ₘ = Γ(a+m)/Γ(a)
  function poch(a, m) {
    if (m === 0) return 1;
    if (pole(a) && !Number.isInteger(m)) return 0;
    if (a !== a || m !== m || m === -Infinity) return NaN;
    if (m === Infinity) return a > 0 ? Infinity : -Infinity;
    if (a === Infinity) return m > 0 ? Infinity : 0;
    let r = 1;
    if (Number.isInteger(m) && Math.abs(m) <= 60) { // factor by factor
      for (let k = 0; k < m; k++) r *= a + k;
      for (let k = 1; k <= -m; k++) r /= a - k;
      return r;
    }
    const s = a + m;
    if (pole(a)) return pole(s) ? (m % 2 ? -1 : 1) * poch(1 - s, m) : 0;
    if (pole(s)) return Infinity;
    if (a > 0 && s > 0) {
      if (a < 20 && s < 20) return gamma(s) / gamma(a);
      if (a > 1e4 && Math.abs(m) <= 1) return Math.pow(a, m) * Math.exp(logGammaRise(a, m) - m * Math.log(a));
      return Math.exp(logGammaRise(a, m));
    }
    return gammaSign(a) * gammaSign(s) * Math.exp(gammaln(s) - gammaln(a));
  }

  // C(n, k) = Γ(n+1)/(Γ(k+1) Γ(n-k+1))
  function binom(n, k) {
    if (n !== n || k !== k) return NaN;
    if (n < 0 && (Number.isInteger(n) || n === -Infinity)) return NaN;
    if (k === -Infinity) return 0;
    if (n === Infinity) return k > 0 ? Infinity : k === 0 ? 1 : 0;
    if (Number.isInteger(k) && Math.abs(n) < Infinity) {
      let steps = Number.isInteger(n) && n > 0 && k > n / 2 ? n - k : k;
      if (steps >= 0 && steps < 20) {
        let above = 1, below = 1;
        for (let i = 1; i <= steps; i++) {
          above *= n - (steps - i);
          below *= i;
          if (Math.abs(above) > 1e50) { above /= below; below = 1; }
        }
        return above / below;
      }
    }
    if (n >= 1e10 * k && k > 0) return Math.exp(-betaln(1 + n - k, 1 + k) - Math.log(n + 1));
    if (k > 1e8 * Math.abs(n)) { // sin(π(k-n)) Γ(1+n)/(π kⁿ⁺¹), and the next term of the expansion in 1/k
      let size = gamma(1 + n) / k + (gamma(1 + n) * n) / (2 * k * k);
      size /= Math.PI * Math.pow(k, n);
      const floor = Math.floor(k), turn = k - floor;
      return Number.isInteger(k) ? 0 : size * Math.sin((turn - n) * Math.PI) * (floor % 2 ? -1 : 1);
    }
    return 1 / (n + 1) / beta(1 + n - k, 1 + k);
  }

  Object.assign(numbers.of, { beta, betaln, poch, binom });
  Object.assign(numbers.shared, {
    stirling, stirlingDifference, log1pmx, gammalnOnePlus, logGamma, logGammaRise, gammaFactor, betaFactor, gammaSign,
    pole, LOG_2PI,
  });
})();
