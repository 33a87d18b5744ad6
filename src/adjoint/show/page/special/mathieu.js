// Mathieu functions: values, Fourier series, and modified ones as series of products of Bessel functions.
// gives: mathieu_a mathieu_b mathieu_cem mathieu_sem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2
// gives: Placed.mathieu.side Placed.mathieu.strongest
// needs: tridiagonal bessel
"use strict";
(() => {
  const { value, vector } = numbers.shared.tridiagonal;

  // The coefficients of the series are an eigenvector of diag(h²) + q S, h its frequencies, S = 1 beside the diagonal:
  // even (cos) or odd (sin) functions of an even or odd order m.
  function matrix(odd, m, q) {
    const half = m % 2 === 1, lowest = half ? 1 : odd ? 2 : 0;
    const size = 40 + Math.floor(m / 2) + Math.ceil(Math.sqrt(Math.abs(q)));
    const frequency = Array.from({ length: size }, (_, k) => 2 * k + lowest);
    const d = frequency.map((h) => h * h), e = new Array(size - 1).fill(q);
    if (lowest === 0) e[0] *= Math.SQRT2;
    if (half) d[0] += odd ? -q : q;
    return { frequency, d, e, lowest, index: (m - lowest) / 2 };
  }

  const whole = (odd, m, q) => Number.isInteger(m) && m >= (odd ? 1 : 0) && Number.isFinite(q);

  function characteristic(odd) {
    return (m, q) => {
      if (!whole(odd, m, q)) return NaN;
      const { d, e, index } = matrix(odd, m, q);
      return value(d, e, index);
    };
  }

  // Where q ≥ 0 the function is large at 90° and has a known sign there, elsewhere at 0.
  const side = (q, atZero, atMiddle) => Math.sign(q >= 0 ? atMiddle : atZero);

  const known = new Map(); // the last series: many x share it

  function series(odd, m, q) {
    const key = `${odd} ${m} ${q}`;
    if (known.has(key)) return known.get(key);
    const made = matrix(odd, m, q), { frequency, d, e, lowest, index } = made;
    const v = vector(d, e, value(d, e, index));
    const weight = frequency.map((h) => (h === 0 ? Math.SQRT1_2 : 1));
    let atZero = 0, atMiddle = 0;
    v.forEach((c, k) => {
      const parity = (k + index) % 2 ? -1 : 1;
      atZero += c * weight[k] * (odd ? frequency[k] : 1);
      atMiddle += c * weight[k] * parity * ((m % 2 === 1) === odd ? 1 : frequency[k]);
    });
    const sign = side(q, atZero, atMiddle);
    const found = { frequency, index, lowest, c: v.map((x, k) => sign * x * weight[k]) };
    if (known.size > 50) known.clear();
    known.set(key, found);
    return found;
  }

  // Σ c cos(hx) or Σ c sin(hx), x in degrees, and its slope in radians
  function angular(odd) {
    return (m, q, x) => {
      if (odd && m === 0 && x === x) return [0, 0];
      if (!whole(odd, m, q) || !Number.isFinite(x)) return [NaN, NaN];
      const { frequency, c } = series(odd, m, q);
      const angle = ((x % 360) * Math.PI) / 180;
      let y = 0, slope = 0;
      frequency.forEach((h, k) => {
        const cosine = Math.cos(h * angle), sine = Math.sin(h * angle);
        y += c[k] * (odd ? sine : cosine);
        slope += h * c[k] * (odd ? cosine : -sine);
      });
      return [y, slope];
    };
  }

  // J₀ … of u by recurrence downwards, J₀ + 2 J₂ + 2 J₄ + … = 1
  function firstKind(count, u) {
    const start = 2 * Math.ceil((Math.max(count, u) + 20 + 3 * Math.sqrt(Math.max(count, u))) / 2);
    const j = new Array(start + 2).fill(0);
    if (u === 0) return j.fill(1, 0, 1);
    j[start] = 1e-250;
    let sum = 0;
    for (let k = start; k > 0; k--) {
      if (k % 2 === 0) sum += 2 * j[k];
      j[k - 1] = ((2 * k) / u) * j[k] - j[k + 1];
      if (Math.abs(j[k - 1]) > 1e200) {
        for (let i = k - 1; i <= start; i++) j[i] *= 1e-250;
        sum *= 1e-250;
      }
    }
    return j.map((x) => x / (sum + j[0]));
  }

  function secondKind(count, u) {
    const y = [numbers.of.yv(0, u), numbers.of.yv(1, u)];
    for (let k = 1; k < count; k++) y.push(Math.abs(y[k]) === Infinity ? -Infinity : ((2 * k) / u) * y[k] - y[k - 1]);
    return y;
  }

  const at = (list, k) => (k < 0 && k % 2 ? -list[-k] : list[Math.abs(k)]); // f₋ₖ = (-1)ᵏ fₖ

  // Σ ±cₗ/c_s (J_(l-s)(u₁) C_(l+s+p)(u₂) ± J_(l+s+p)(u₁) C_(l-s)(u₂)), C = J or Y, u₁, u₂ = √q e^(∓x), s the strongest
  function radial(odd, kind) {
    return (m, q, x) => {
      if (!whole(odd, m, q) || q < 0 || !Number.isFinite(x)) return [NaN, NaN];
      const { c, index, lowest } = series(odd, m, q);
      const strongest = c.reduce((best, z, k) => (Math.abs(z) > Math.abs(c[best]) ? k : best), 0);
      const low = Math.sqrt(q) * Math.exp(-x), high = Math.sqrt(q) * Math.exp(x);
      const kept = c.map((z, k) => k).filter((k) => Math.abs(c[k] / c[strongest]) > 1e-24);
      const count = kept[kept.length - 1] + strongest + lowest + 3;
      const j = firstKind(count, low), b = kind === 1 ? firstKind(count, high) : secondKind(count, high);
      const rate = (list, k, u) => 0.5 * u * (at(list, k - 1) - at(list, k + 1)); // u f′(u)
      let y = 0, slope = 0;
      for (const l of kept) {
        const ratio = ((l + index) % 2 ? -1 : 1) * (c[l] / c[strongest]);
        const first = l - strongest, last = l + strongest + lowest;
        for (const [n, k, factor] of [[first, last, 1], [last, first, odd ? -1 : 1]]) {
          y += factor * ratio * at(j, n) * at(b, k);
          slope += factor * ratio * (at(j, n) * rate(b, k, high) - rate(j, n, low) * at(b, k));
        }
      }
      const halved = strongest === 0 && lowest === 0 ? 0.5 : 1;
      return [halved * y, halved * slope];
    };
  }

  Object.assign(numbers.of, { mathieu_a: characteristic(false), mathieu_b: characteristic(true) });
  Object.assign(numbers.several, {
    mathieu_cem: angular(false), mathieu_sem: angular(true),
    mathieu_modcem1: radial(false, 1), mathieu_modcem2: radial(false, 2),
    mathieu_modsem1: radial(true, 1), mathieu_modsem2: radial(true, 2),
  });
  numbers.given["Placed.mathieu.side"] = () => side;
  numbers.given["Placed.mathieu.strongest"] = () => (...c) =>
    c.reduce((best, z, k) => (Math.abs(z) > Math.abs(c[best]) ? k : best), 0);
})();
