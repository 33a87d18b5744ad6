// The incomplete beta function, its inverses, and the distributions that it is: beta, binomial, F, Student's t.
// gives: betainc betaincc betaincinv betainccinv btdtria btdtrib bdtr bdtrc bdtri bdtrik bdtrin
// gives: nbdtr nbdtrc nbdtri nbdtrik nbdtrin fdtr fdtrc fdtri fdtridfd stdtr stdtrit stdtridf
// needs: gammas roots
"use strict";
(() => {
  const { gammalnOnePlus, logGammaRise, betaFactor, quantile, monotone } = numbers.shared;
  const { ndtr } = numbers.of;

  // I_x(a, b)·B(a, b)/(xᵃ yᵇ) = 1/(β₀ + α₁/(β₁ + α₂/(β₂ + …))) for x < (a+1)/(a+b+2), by Lentz's method:
  //   αₙ = (a+n-1)(a+b+n-1) n (b-n) x²/(a+2n-1)²
  //   βₙ = n + n (b-n) x/(a+2n-1) + (a+n)/(a+2n+1) (a y - b x + 1 + n (1+y))
  function fraction(a, b, x, y) {
    const gap = a * y - b * x;
    let c = (a / (a + 1)) * (gap + 1), d = 0, h = c;
    for (let n = 1; n < 1e7; n++) {
      const middle = a + (2 * n - 1);
      const top = (((a + (n - 1)) * x) / middle) * (((a + b + (n - 1)) * x) / middle) * n * (b - n);
      const base = n + (n * (b - n) * x) / middle + ((a + n) / (middle + 2)) * (gap + 1 + n * (1 + y));
      d = 1 / (base + top * d);
      c = base + top / c;
      h *= c * d;
      if (!(Math.abs(c * d - 1) >= 1e-16)) break;
    }
    return 1 / h;
  }

  // a times the same by Σ (a+b)ₙ/(a+1)ₙ xⁿ: positive terms, for x away from 1
  function series(a, b, x) {
    let term = 1, sum = 1;
    for (let n = 0; n < 5000 && term > 1e-17 * sum; n++) {
      term *= ((a + b + n) / (a + 1 + n)) * x;
      sum += term;
    }
    return sum;
  }

  // 1 - I_y(b, a) for small b and y: I_y = yᵇ/(b B(a, b)) (1 + b Σ (1-a)ₙ yⁿ/(n! (b+n)))
  function smallSecond(a, b, y) {
    let term = 1, sum = 0;
    for (let n = 1; n < 500; n++) {
      term *= ((n - a) / n) * y;
      sum += term / (b + n);
      if (Math.abs(term) < 1e-18) break;
    }
    const exponent = b * Math.log(y) - gammalnOnePlus(b) + logGammaRise(a, b);
    return -Math.expm1(exponent) - Math.exp(exponent) * b * sum;
  }

  // I_x(a, b), y = 1 - x, inside the domain
  function lower(a, b, x, y) {
    const factor = betaFactor(a, b, x, y);
    if (x <= (a + 1) / (a + b + 2)) return factor * fraction(a, b, x, y);
    const other = factor * fraction(b, a, y, x);
    if (other < 0.9 || b > 1) return 1 - other;
    return x < 0.9 ? (factor / a) * series(a, b, x) : smallSecond(a, b, y);
  }

  // I_x(a, b) and its complement at the edges of the domain, null inside
  function edge(a, b, x) {
    if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1)) return [NaN, NaN];
    if ((a === 0 && b === 0) || (a === Infinity && b === Infinity)) return [NaN, NaN];
    if (a === 0 || b === Infinity) return x > 0 ? [1, 0] : [0, 1];
    if (b === 0 || a === Infinity) return x < 1 ? [0, 1] : [1, 0];
    return x === 0 ? [0, 1] : x === 1 ? [1, 0] : null;
  }

  // I_x(a, b) with y = 1 - x given
  function incomplete(a, b, x, y) {
    const e = edge(a, b, x);
    return e ? e[0] : y === 0 ? 1 : lower(a, b, x, y);
  }

  const betainc = (a, b, x) => incomplete(a, b, x, 1 - x);
  const betaincc = (a, b, x) => {
    const e = edge(a, b, x);
    return e ? e[1] : lower(b, a, 1 - x, x);
  };

  // [x, 1-x] with I_x(a, b) = p, 1 - p = q, over log x/(1-x)
  function inverse(a, b, p, q) {
    if (!(a > 0 && b > 0 && p >= 0 && q >= 0)) return [NaN, NaN];
    if (p === 0) return [0, 1];
    if (q === 0) return [1, 0];
    if (a === Infinity || b === Infinity) return a === b ? [NaN, NaN] : a > b ? [1, 0] : [0, 1];
    if (a === 1 && b === 1) return [p, q];
    const logBeta = logGammaRise(Math.max(a, b), Math.min(a, b)) - gammalnOnePlus(Math.min(a, b)); // -log(min B)
    const left = (Math.log(p) - logBeta + Math.log(a / Math.min(a, b))) / a; // xᵃ/(a B) = p
    const right = (Math.log(q) - logBeta + Math.log(b / Math.min(a, b))) / b;
    let start = Math.log(a / b);
    if (left < start - 2 && p < q) start = left;
    if (-right > start + 2 && q < p) start = -right;
    if (start < -760) return [0, 1];
    if (start > 760) return [1, 0];
    const w = quantile(start, p, q, (u, upper) => {
      const x = u < 0 ? Math.exp(u) / (1 + Math.exp(u)) : 1 / (1 + Math.exp(-u));
      const y = u < 0 ? 1 / (1 + Math.exp(u)) : Math.exp(-u) / (1 + Math.exp(-u));
      if (x === 0 || y === 0) return x === 0 ? [0, 1, 0] : [1, 0, 0];
      const part = upper ? lower(b, a, y, x) : lower(a, b, x, y);
      return upper ? [1 - part, part, betaFactor(a, b, x, y)] : [part, 1 - part, betaFactor(a, b, x, y)];
    });
    const small = Math.exp(-Math.abs(w));
    return w < 0 ? [small / (1 + small), 1 / (1 + small)] : [1 / (1 + small), small / (1 + small)];
  }

  const TINY = 2.2250738585072014e-308; // as SciPy: a quantile is not smaller
  const betaincinv = (a, b, p) => least(inverse(a, b, p, 1 - p)[0], p);
  const betainccinv = (a, b, q) => least(inverse(a, b, 1 - q, q)[0], 1 - q);
  const least = (x, p) => (x < TINY && p > 0 ? TINY : x);

  // t with F(t) = p for a function of t > 0 that falls (`falls`) or rises: tails(t, upper) is F or 1 - F
  function parameter(p, start, falls, tails) {
    if (!(p >= 0 && p <= 1)) return NaN;
    const q = 1 - p, upper = p > 0.5;
    return monotone(Math.log(start), (w) => { // from 1e-100 to 1e100
      const gap = Math.log(tails(Math.exp(w), upper) / (upper ? q : p));
      return falls === upper ? gap : -gap;
    }, 230);
  }

  // Shapes a and b of the beta distribution: I falls as a grows and rises with b
  const first = (p, b, x) => parameter(p, b + 1, true, (a, up) => (up ? betaincc : betainc)(a, b, x));
  const second = (a, p, x) => parameter(p, a + 1, false, (b, up) => (up ? betaincc : betainc)(a, b, x));
  const ends = (a, p, low, high) => (a > 0 && p === 0 ? low : a > 0 && p === 1 ? high : NaN);
  const btdtria = (p, b, x) => (inner(b, x) && p > 0 && p < 1 ? first(p, b, x) : ends(b, p, Infinity, TINY));
  const btdtrib = (a, p, x) => (inner(a, x) && p > 0 && p < 1 ? second(a, p, x) : ends(a, p, TINY, Infinity));
  const inner = (a, x) => a > 0 && a < Infinity && x > 0 && x < 1;

  const trunc = (n) => (Math.abs(n) < Infinity ? Math.trunc(n) : NaN);

  // Binomial: P(count ≤ k) = I_{1-p}(n-k, k+1)
  function bdtr(k, n, p) {
    const whole = Math.floor(k);
    n = trunc(n);
    if (!(p >= 0 && p <= 1) || !(whole >= 0) || !(n >= whole)) return NaN;
    if (whole === n) return 1;
    return whole === 0 ? Math.pow(1 - p, n) : incomplete(n - whole, whole + 1, 1 - p, p);
  }

  function bdtrc(k, n, p) {
    const whole = Math.floor(k);
    n = trunc(n);
    if (!(p >= 0 && p <= 1) || !(n >= whole)) return NaN;
    if (whole < 0) return 1;
    if (whole === n) return 0;
    if (whole === 0) return p < 0.01 ? -Math.expm1(n * Math.log1p(-p)) : 1 - Math.pow(1 - p, n);
    return incomplete(whole + 1, n - whole, p, 1 - p);
  }

  function bdtri(k, n, y) {
    const whole = Math.floor(k);
    n = trunc(n);
    if (!(y >= 0 && y <= 1) || !(whole >= 0) || !(n > whole)) return NaN;
    if (whole === 0) return y > 0.8 ? -Math.expm1(Math.log1p(y - 1) / n) : 1 - Math.pow(y, 1 / n);
    return inverse(n - whole, whole + 1, y, 1 - y)[1];
  }

  // The real k and n for which I_{1-p}(n-k, k+1) = y
  function bdtrik(y, n, p) {
    if (!(n > 0 && n < Infinity && p > 0 && p <= 1 && y >= 0 && y <= 1)) return NaN;
    if (y === 1 || p === 1) return n;
    const gap = (t) => { // k = n t/(1+t)
      const k = (n * t) / (1 + t), rest = n / (1 + t);
      return [incomplete(rest, k + 1, 1 - p, p), incomplete(k + 1, rest, p, 1 - p)];
    };
    if (gap(0)[0] >= y) return 0;
    const t = parameter(y, p / (1 - p), false, (s, up) => gap(s)[up ? 1 : 0]);
    return t === Infinity ? n : (n * t) / (1 + t);
  }

  function bdtrin(k, y, p) {
    if (!(k >= 0 && p > 0 && p < 1 && y > 0 && y < 1)) return NaN;
    const tails = (a, up) => (up ? incomplete(k + 1, a, p, 1 - p) : incomplete(a, k + 1, 1 - p, p));
    return k + parameter(y, k + 1, true, tails);
  }

  // Negative binomial: P(count ≤ k) = I_p(n, k+1)
  const counted = (k, n, p) => p >= 0 && p <= 1 && trunc(k) >= 0 && trunc(n) > 0;
  const nbdtr = (k, n, p) => (counted(k, n, p) ? incomplete(trunc(n), trunc(k) + 1, p, 1 - p) : NaN);
  const nbdtrc = (k, n, p) => (counted(k, n, p) ? incomplete(trunc(k) + 1, trunc(n), 1 - p, p) : NaN);
  const nbdtri = (k, n, y) => (counted(k, n, y) ? inverse(trunc(n), trunc(k) + 1, y, 1 - y)[0] : NaN);
  const negative = (n, k, p, up) => (up ? incomplete(k + 1, n, 1 - p, p) : incomplete(n, k + 1, p, 1 - p));

  function nbdtrik(y, n, p) {
    if (!(n > 0 && p > 0 && p < 1 && y >= 0 && y < 1)) return NaN;
    if (negative(n, 0, p, false) >= y) return 0;
    return parameter(y, n, false, (k, up) => negative(n, k, p, up));
  }

  const nbdtrin = (k, y, p) =>
    (k >= 0 && p > 0 && p < 1 ? parameter(y, k + 1, true, (n, up) => negative(n, k, p, up)) : NaN);

  // F: I_w(d/2, e/2) with w = d x/(e + d x)
  function fisher(d, e, x, up) {
    const s = e + d * x, w = (d * x) / s, v = e / s;
    return up ? incomplete(e / 2, d / 2, v, w) : incomplete(d / 2, e / 2, w, v);
  }

  const inside = (d, e, x) => d > 0 && e > 0 && d < Infinity && e < Infinity && x >= 0;
  const fdtr = (d, e, x) => (inside(d, e, x) ? (x === Infinity ? 1 : fisher(d, e, x, false)) : NaN);
  const fdtrc = (d, e, x) => (inside(d, e, x) ? (x === Infinity ? 0 : fisher(d, e, x, true)) : NaN);

  function fdtri(d, e, p) {
    if (!(inside(d, e, p) && p <= 1)) return NaN;
    const [w, v] = inverse(d / 2, e / 2, p, 1 - p);
    return (e * w) / (d * v);
  }

  function fdtridfd(d, p, x) {
    if (!(d > 0 && d < Infinity && x > 0 && x < Infinity)) return NaN;
    const found = parameter(p, d, false, (e, up) => fisher(d, e, x, up));
    return found === Infinity ? 1e100 : found; // as SciPy: no degrees of freedom give such a value
  }

  // Student's t: half of I_w(df/2, ½) with w = df/(df + t²) on the left of 0
  function tail(df, t) {
    if (df === Infinity || (df > 1e10 && t * t < 1e3)) return ndtr(-Math.abs(t));
    const s = df + t * t;
    return t * t === Infinity ? 0 : 0.5 * incomplete(df / 2, 0.5, df / s, (t * t) / s);
  }

  function stdtr(df, t) {
    if (!(df > 0) || t !== t) return NaN;
    return t < 0 ? tail(df, t) : 1 - tail(df, t);
  }

  function stdtrit(df, p) {
    if (!(df > 0 && p >= 0 && p <= 1)) return NaN;
    if (p === 0 || p === 1) return Infinity; // at 0 as SciPy
    if (p === 0.5) return 0;
    const q = 1 - p, small = Math.min(p, q);
    if (df > 1e10) return Math.sign(p - 0.5) * Math.exp(quantile(0, 1 - 2 * small, 2 * small, (u) => {
      const t = Math.exp(u), two = 2 * ndtr(-t);
      return [1 - two, two, 2 * t * Math.exp(-0.5 * t * t) / Math.sqrt(2 * Math.PI)];
    }));
    const [w, v] = inverse(df / 2, 0.5, 2 * small, small > 0.25 ? 2 * Math.abs(0.5 - p) : 1 - 2 * small);
    return Math.sign(p - 0.5) * Math.sqrt(df * (v / w));
  }

  function stdtridf(p, t) {
    if (!(p > 0 && p < 1) || t !== t) return NaN;
    if (p > 0.5 !== t > 0) return NaN; // no degrees of freedom give such a value
    const small = Math.min(p, 1 - p);
    return Math.min(monotone(0, (w) => Math.log(small / tail(Math.exp(w), t)), 50), 1e10);
  }

  Object.assign(numbers.of, {
    betainc, betaincc, betaincinv, betainccinv, btdtria, btdtrib, bdtr, bdtrc, bdtri, bdtrik, bdtrin, nbdtr, nbdtrc,
    nbdtri, nbdtrik, nbdtrin, fdtr, fdtrc, fdtri, fdtridfd, stdtr, stdtrit, stdtridf,
  });
  Object.assign(numbers.shared, { betaLower: incomplete, betaInverse: inverse, parameter });
})();
