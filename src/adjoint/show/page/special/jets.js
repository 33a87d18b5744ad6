// Truncated Taylor series in several parameters. A sum of parameters enters as a linear form [value, slopes].
// needs: zetas
"use strict";
numbers.shared.jets = (() => {
  const { polygammas, bell, choose } = numbers.shared;
  const { gamma, rgamma } = numbers.of;
  const known = new Map();
  let steps; // of the jets at hand: their length, and for each axis its stride and its size

  // The jets that follow have these orders
  function begin(orders) {
    const key = orders.join();
    if (!known.has(key)) {
      const indices = [[]];
      let size = 1;
      const axes = orders.map(() => null);
      for (let a = orders.length - 1; a >= 0; a--) {
        axes[a] = { stride: size, length: orders[a] + 1 };
        size *= orders[a] + 1;
      }
      for (let a = 0; a < orders.length; a++) {
        indices.push(...indices.splice(0).flatMap((i) => Array.from({ length: orders[a] + 1 }, (_, k) => [...i, k])));
      }
      const factor = indices.map((i) => 1 / i.reduce((p, k) => p * gamma(k + 1), 1));
      known.set(key, { size, axes, indices, factor, sum: orders.reduce((p, q) => p + q, 0) });
    }
    steps = known.get(key);
  }

  const one = () => {
    const jet = new Float64Array(steps.size);
    jet[0] = 1;
    return jet;
  };
  const nothing = () => new Float64Array(steps.size).fill(NaN);
  const scaled = (jet, r) => jet.map((a) => a * r);
  const plus = (p, q) => p.map((a, i) => a + q[i]);
  const minus = (p, q) => p.map((a, i) => a - q[i]);
  const last = (jet) => jet[steps.size - 1] / steps.factor[steps.size - 1]; // the derivative of the highest order
  const largest = (jet) => jet.reduce((m, a) => Math.max(m, Math.abs(a)), 0);

  const shift = ([v, s], r) => [v + r, s];
  const sum = ([v, s], [w, t]) => [v + w, s.map((a, i) => a + t[i])];
  const difference = ([v, s], [w, t]) => [v - w, s.map((a, i) => a - t[i])];
  const negative = ([v, s]) => [-v, s.map((a) => -a)];

  // A jet times a linear form
  function times(jet, [v, slopes]) {
    const out = jet.map((a) => a * v);
    if (steps.size > 1) {
      steps.axes.forEach(({ stride, length }, a) => {
        if (!slopes[a] || length === 1) return;
        for (let i = stride; i < out.length; i++) if (steps.indices[i][a]) out[i] += slopes[a] * jet[i - stride];
      });
    }
    return out;
  }

  // A jet over a linear form in one letter
  function over(jet, [v, slopes]) {
    const out = jet.slice(), a = slopes.findIndex((s) => s !== 0);
    for (let i = 0; i < out.length; i++) {
      if (a >= 0 && steps.indices[i][a]) out[i] -= slopes[a] * out[i - steps.axes[a].stride];
      out[i] /= v;
    }
    return out;
  }

  // The product of two jets
  function product(p, q) {
    const out = new Float64Array(steps.size);
    for (let i = 0; i < p.length; i++) {
      for (let j = 0; i + j < q.length; j++) {
        if (steps.indices[i].every((k, a) => k + steps.indices[j][a] < steps.axes[a].length)) out[i + j] += p[i] * q[j];
      }
    }
    return out;
  }

  // g(form) from g, g′, g″ … at its value
  function composed(derivatives, [, slopes]) {
    return Float64Array.from(steps.indices, (index, i) => {
      const scale = index.reduce((p, k, a) => p * (k ? slopes[a] ** k : 1), steps.factor[i]);
      return scale === 0 ? 0 : scale * derivatives[index.reduce((p, k) => p + k, 0)];
    });
  }

  const range = () => Array.from({ length: steps.sum + 1 }, (_, k) => k);

  // base^form
  function power(base, form) {
    const rate = Math.log(base), value = Math.exp(form[0] * rate);
    return composed(range().map((k) => value * rate ** k), form);
  }

  // Γ(form)
  function gammaOf(form) {
    const rates = polygammas(steps.sum, form[0]);
    return composed(range().map((k) => bell(k, rates) * gamma(form[0])), form);
  }

  const sinPi = (x) => {
    const n = Math.round(x);
    return (n % 2 ? -1 : 1) * Math.sin(Math.PI * (x - n));
  };
  const cosPi = (x) => {
    const n = Math.round(x);
    return (n % 2 ? -1 : 1) * Math.cos(Math.PI * (x - n));
  };

  // 1/Γ(form); left of ½ as Γ(1-s) sin(πs)/π
  function reciprocalGamma(form) {
    const s = form[0], left = s < 0.5, right = left ? 1 - s : s;
    const rates = polygammas(steps.sum, right);
    if (!left) {
      const minus = rates.map((r) => -r);
      return composed(range().map((k) => bell(k, minus) * rgamma(right)), form);
    }
    const above = range().map((k) => bell(k, rates) * gamma(right));
    const sine = sinPi(s), cosine = cosPi(s);
    const turned = range().map((k) => Math.PI ** (k - 1) * [sine, cosine, -sine, -cosine][k % 4]);
    return composed(range().map((k) => {
      let total = 0;
      for (let j = 0; j <= k; j++) total += choose(k, j) * (j % 2 ? -1 : 1) * above[j] * turned[k - j];
      return total;
    }), form);
  }

  // Σ Π (upper)ₖ/Π (lower)ₖ xᵏ/k!; NaN where the terms cancel to a millionth, or have not become small by `most`
  function series(upper, lower, x, most) {
    let term = one();
    const total = one(), peak = one();
    for (let k = 0; k < most; k++) {
      for (const form of upper) term = times(term, shift(form, k));
      for (const form of lower) term = over(term, shift(form, k));
      let small = true;
      for (let i = 0; i < term.length; i++) {
        term[i] *= x / (k + 1);
        total[i] += term[i];
        peak[i] = Math.max(peak[i], Math.abs(term[i]));
        if (!(Math.abs(term[i]) <= 1e-18 * Math.abs(total[i]) + 1e-300)) small = false;
      }
      if (small && k > 4) break;
    }
    return total.map((z, i) => (1e-10 * peak[i] > Math.abs(z) || !(Math.abs(term[i]) <= 1e-12 * peak[i]) ? NaN : z));
  }

  return {
    begin, one, nothing, scaled, plus, minus, last, largest, shift, sum, difference, negative, times, over, product,
    power, gammaOf, reciprocalGamma, series,
    letters: (...values) => values.map((v, i) => [v, values.map((_, j) => (i === j ? 1 : 0))]),
  };
})();
