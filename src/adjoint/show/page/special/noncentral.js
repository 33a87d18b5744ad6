// Noncentral χ², F and t, and the inverses of their distribution functions.
// gives: chndtr chndtrix chndtridf chndtrinc ncfdtr ncfdtri ncfdtridfn ncfdtridfd ncfdtrinc
// gives: nctdtr nctdtrit nctdtridf nctdtrinc
// needs: gammas roots incomplete_gamma incomplete_beta places
"use strict";
(() => {
  const { gammaFactor, betaFactor, stirling, logGamma, gammaTails, betaLower } = numbers.shared;
  const { monotone, line, tailPeak, scaleWidth } = numbers.shared;
  const { ndtr } = numbers.of;

  // Σ Poisson(j; m) F(j) from the top down, where F(j) = F(j+1) + gain(j): sums of positive terms
  function mixture(m, value, gain) {
    if (m === 0) return value(0);
    const top = Math.ceil(m + 9 * Math.sqrt(m) + 30);
    let weight = gammaFactor(top, m), part = value(top), sum = weight * part, most = sum;
    for (let j = top - 1; j >= 0; j--) {
      weight *= (j + 1) / m;
      part += gain(j);
      const term = weight * part;
      sum += term;
      most = Math.max(most, term);
      if (j < m && term < 1e-18 * sum && term < most) break;
    }
    return Math.min(sum, 1);
  }

  // χ²: Σ Poisson(j; δ/2) P(ν/2 + j, x/2)
  function chndtr(x, df, nc) {
    if (!(x >= 0 && df > 0 && nc >= 0) || nc > 1e9) return NaN;
    if (x === 0) return 0;
    if (x === Infinity) return 1;
    const a = df / 2, u = x / 2;
    return mixture(nc / 2, (j) => gammaTails(a + j, u, false)[0], (j) => gammaFactor(a + j, u));
  }

  // F: Σ Poisson(j; δ/2) I_w(ν₁/2 + j, ν₂/2), w = ν₁ f/(ν₂ + ν₁ f)
  function ncfdtr(dfn, dfd, nc, f) {
    if (!(f >= 0 && dfn > 0 && dfd > 0 && nc >= 0) || nc > 1e9) return NaN;
    if (f === 0) return 0;
    if (f === Infinity) return 1;
    const a = dfn / 2, b = dfd / 2, s = dfd + dfn * f, w = (dfn * f) / s, v = dfd / s;
    return mixture(nc / 2, (j) => betaLower(a + j, b, w, v), (j) => betaFactor(a + j, b, w, v) / (a + j));
  }

  const NODES = Array.from({ length: 241 }, (_, k) => -6.6 + (13.2 * k) / 240), STEP = 13.2 / 240;

  // a log a - a - log Γ(a)
  const normalizer = (a) =>
    (a > 12 ? 0.5 * Math.log(a / (2 * Math.PI)) - stirling(a) : a * (Math.log(a) - 1) - logGamma(a));

  // (e^(2y) - 1 - 2y)/2
  function bowl(y) {
    if (Math.abs(y) > 0.5) return 0.5 * (Math.expm1(2 * y) - 2 * y);
    let term = y * y, sum = term;
    for (let k = 3; k < 20; k++) {
      term *= (2 * y) / k;
      sum += term;
    }
    return sum;
  }

  // ∫ Φ(±(t s - δ)) h(s) ds, s = e^y of density 2 (ν/2)^(ν/2)/Γ(ν/2) exp(ν y - ½ν e^(2y)): one tail of Student's t
  function studentTail(df, nc, t, side) {
    const peak = tailPeak(df, nc, t, side), width = scaleWidth(df, nc, t, peak), scale = normalizer(0.5 * df);
    let sum = 0;
    for (const v of NODES) {
      const y = Math.min(peak + width * Math.sinh(v), 100);
      const density = 2 * Math.exp(scale - df * bowl(y));
      if (density > 0) sum += ndtr(side * (t * Math.exp(y) - nc)) * density * width * Math.cosh(v);
    }
    return Math.min(sum * STEP, 1);
  }

  const student = (df, nc, t, upper) => {
    const side = t < nc ? 1 : -1, tail = studentTail(df, nc, t, side);
    return (side === 1) === upper ? 1 - tail : tail;
  };

  function nctdtr(df, nc, t) {
    if (!(df > 0) || nc !== nc || t !== t) return NaN;
    if (Math.abs(t) === Infinity) return t > 0 ? 1 : 0;
    return student(df, nc, t, false);
  }

  // The parameter for which F is p: F rises or falls with it. tail(z, upper) is F, or 1 - F when it is known so
  function solved(p, start, rises, F) {
    if (!(p > 0 && p < 1)) return NaN;
    const upper = p > 0.5, target = upper ? 1 - p : p;
    return monotone(Math.log(start), (w) => {
      const z = F(Math.exp(w));
      const gap = Math.log((upper ? 1 - z : z) / target);
      return rises === upper ? -gap : gap;
    }, 230);
  }

  const chndtrix = (p, df, nc) => (p === 0 ? 0 : solved(p, df + nc, true, (x) => chndtr(x, df, nc)));
  const chndtridf = (x, p, nc) => solved(p, x + 1, false, (df) => chndtr(x, df, nc));

  function chndtrinc(x, df, p) {
    const F = (nc) => chndtr(x, df, Math.min(nc, 1e9));
    return F(0) <= p ? 0 : solved(p, x + 1, false, F); // no noncentrality gives more
  }

  const ncfdtri = (dfn, dfd, nc, p) => (p === 0 ? 0 : solved(p, 1 + nc / dfn, true, (f) => ncfdtr(dfn, dfd, nc, f)));

  function nctdtrit(df, nc, p) {
    if (!(df > 0 && p > 0 && p < 1)) return p === 0 ? -Infinity : p === 1 ? Infinity : NaN;
    const upper = p > 0.5, target = upper ? 1 - p : p;
    return line(nc + 0.1, (t) => (upper ? 1 : -1) * -Math.log(student(df, nc, t, upper) / target), 1e4);
  }

  function nctdtrinc(df, p, t) {
    if (!(df > 0 && p > 0 && p < 1)) return NaN;
    const upper = p > 0.5, target = upper ? 1 - p : p;
    return line(t - 0.1, (nc) => (upper ? 1 : -1) * Math.log(student(df, nc, t, upper) / target), 1e4);
  }

  function ncfdtrinc(dfn, dfd, p, f) {
    const F = (nc) => ncfdtr(dfn, dfd, Math.min(nc, 1e6), f);
    return F(0) <= p ? 0 : solved(p, 5, false, F);
  }

  // Degrees of freedom for which F is p: as F may rise and fall with them, the nearest to 5
  function degrees(p, F) {
    if (!(p > 0 && p < 1)) return NaN;
    const gap = (w) => Math.log(F(Math.exp(w)) / p), start = Math.log(5);
    const ends = [1, -1].map((side) => ({ side, w: start, g: gap(start) }));
    if (ends[0].g === 0) return 5;
    for (let k = 1; k <= 32; k++) {
      for (const end of ends) {
        const w = start + end.side * 0.5 * k, g = gap(w);
        if (g > 0 !== end.g > 0) {
          const [low, rises] = end.side > 0 ? [end.w, g > end.g] : [w, end.g > g];
          return Math.exp(line(low, (v) => (rises ? 1 : -1) * gap(v), 800));
        }
        Object.assign(end, { w, g });
      }
    }
    return 1e100; // as SciPy: none give such a value
  }

  const ncfdtridfn = (p, dfd, nc, f) => degrees(p, (d) => ncfdtr(d, dfd, nc, f));
  const ncfdtridfd = (dfn, p, nc, f) => degrees(p, (d) => ncfdtr(dfn, d, nc, f));
  const nctdtridf = (p, nc, t) => degrees(p, (df) => nctdtr(df, nc, t));

  Object.assign(numbers.of, {
    chndtr, chndtrix, chndtridf, chndtrinc, ncfdtr, ncfdtri, ncfdtridfn, ncfdtridfd, ncfdtrinc, nctdtr, nctdtrit,
    nctdtridf, nctdtrinc,
  });
})();
