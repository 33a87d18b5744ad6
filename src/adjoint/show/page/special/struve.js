// Struve's functions H and L, ∫ xᵏ J(2ax) dx, and where the series and integrals of their slopes are placed.
// gives: struve modstruve besselpoly Placed.struve.first_term Placed.struve.scale
// needs: bessel zetas
"use strict";
(() => {
  const { rgamma, gammaln } = numbers.of;
  const { gauss } = numbers.shared;

  // Numbers of twice the digits, as unevaluated sums [high, low]: alternating series lose half of them.
  function sum(a, b) {
    const s = a + b, t = s - a;
    return [s, a - (s - t) + (b - t)];
  }

  function split(a) {
    const c = 134217729 * a, high = c - (c - a);
    return [high, a - high];
  }

  function product(a, b) {
    const p = a * b, [ah, al] = split(a), [bh, bl] = split(b);
    return [p, ah * bh - p + ah * bl + al * bh + al * bl];
  }

  const add = ([a, b], [c, d]) => {
    const [s, e] = sum(a, c);
    return sum(s, e + b + d);
  };
  const multiply = ([a, b], [c, d]) => {
    const [p, e] = product(a, c);
    return sum(p, e + a * d + b * c);
  };
  const divide = (x, y) => {
    const q = x[0] / y[0];
    const [p, e] = multiply([q, 0], y);
    return sum(q, (x[0] - p - e + x[1]) / y[0]);
  };

  // Σ tₖ/weight(k) with t₀ = 1, tₖ₊₁ = tₖ step/((k+a)(k+b)): the factor of a series, and how much of it cancelled.
  function series(step, a, b, weight = null) {
    let term = [1, 0], total = [0, 0], greatest = 0;
    for (let k = 0; k < 4000; k++) {
      const part = weight ? divide(term, weight(k)) : term;
      total = add(total, part);
      greatest = Math.max(greatest, Math.abs(part[0]));
      if (Math.abs(part[0]) < 1e-33 * greatest && (k + a) * (k + b) > Math.abs(step[0])) break;
      term = divide(divide(multiply(term, step), sum(k, a)), sum(k, b));
    }
    return { value: total[0], loss: greatest / Math.abs(total[0]) };
  }

  const quarterSquare = (x, sign) => product(0.5 * x, sign * 0.5 * x);

  // (x/2)ᵖ/(Γ(a) Γ(b)), through logarithms where the parts are beyond all numbers
  function firstTerm(x, p, a, b) {
    const plain = Math.pow(0.5 * x, p) * rgamma(a) * rgamma(b);
    if (Number.isFinite(plain) && Math.abs(plain) > 1e-280 && b < 160) return plain;
    const sign = Math.sign(b > 0 ? 1 : rgamma(b));
    return sign * Math.exp(p * Math.log(0.5 * x) - gammaln(a) - gammaln(b));
  }

  // Σ (∓1)ᵏ (x/2)^(2k+v+1)/(Γ(k+3/2) Γ(k+v+3/2)), from the first term that is not 0
  function powers(v, x, sign) {
    let first = 0;
    if (Number.isInteger(v + 0.5) && v < -1) first = -(v + 0.5); // v + 3/2 + k is 1
    const found = series(quarterSquare(x, sign), first + 1.5, first + v + 1.5);
    const scale = firstTerm(x, 2 * first + v + 1, first + 1.5, first + v + 1.5) * (sign < 0 && first % 2 ? -1 : 1);
    return { value: scale === 0 ? 0 : scale * found.value, loss: found.loss };
  }

  // Where e^(-xt) (1+t²)^(v-½) ends: t x about 1, or where its exponent has a maximum.
  function scaleOf(v, x) {
    const power = Math.max(2 * v - 1, 0);
    return Math.max(1 / x, (0.5 * (power + Math.sqrt(Math.max(power * power - 4 * x * x, 0)))) / x);
  }

  // H - Y = 2 (x/2)ᵛ/(√π Γ(v+½)) ∫ e^(-xt) (1+t²)^(v-½) dt, 0 … ∞, t = scale exp(π/2 sinh u)
  function rest(v, x) {
    const scale = scaleOf(v, x), count = 260, step = 7.8 / count;
    const level = v > 0.5 ? Math.max(0, -x * scale + (v - 0.5) * Math.log1p(scale * scale)) : 0;
    let total = 0;
    for (let i = 0; i <= count; i++) {
      const u = -4.5 + i * step, t = scale * Math.exp(0.5 * Math.PI * Math.sinh(u));
      total += Math.exp(-x * t + (v - 0.5) * Math.log1p(t * t) - level) * t * Math.cosh(u);
    }
    const front = firstTerm(x, v, 0.5, v + 0.5) * Math.PI * step * total;
    return front === 0 ? 0 : front * Math.exp(level);
  }

  function struveRight(v, x) {
    if (x > 12 && (x > 25 || v < x)) {
      const y = numbers.of.yv(v, x), k = rest(v, x);
      if (Math.abs(y + k) > 0.02 * Math.abs(y) || x > 200) return y + k;
    }
    return powers(v, x, -1).value;
  }

  // Both functions on the whole line: of whole order odd or even, and SciPy's values at the ends.
  function whole(right) {
    return (v, x) => {
      const parity = Number.isInteger(v) ? (Math.abs(v % 2) === 1 ? 1 : -1) : NaN;
      if (x === 0) {
        if (!(v <= -1)) return 0;
        if (v === -1) return 2 / Math.PI;
        const sign = v === -1.5 ? 1 : Math.sign(rgamma(v + 1.5));
        return sign === 0 ? NaN : sign * Infinity;
      }
      if (!Number.isFinite(v) || x !== x) return NaN;
      if (Math.abs(x) === Infinity) return v < 1 ? NaN : x > 0 ? x : parity * Infinity;
      return x > 0 ? right(v, x) : parity * right(v, -x);
    };
  }

  const struve = whole(struveRight);
  const modstruve = whole((v, x) => (x > 1e4 + v * v ? Infinity : powers(v, x, 1).value));

  // ∫ xᵏ J_ν(2ax) dx from 0 to 1 = Σ (-1)ᵐ a^(ν+2m)/(m! Γ(ν+m+1) (k+ν+2m+1))
  function polynomialSeries(a, k, nu) {
    const front = firstTerm(2 * a, nu, 1, nu + 1);
    return front * series(product(a, -a), 1, nu + 1, (m) => add(sum(k, nu), [2 * m + 1, 0])).value;
  }

  function besselpoly(a, k, nu) {
    if (!(a >= 0) || k !== k || nu !== nu) return NaN;
    if (a === Infinity) return a; // as SciPy
    if (a === 0) return nu === 0 ? 1 / (k + 1) : 0;
    if (nu < 0 && Number.isInteger(nu)) return (nu % 2 ? -1 : 1) * besselpoly(a, k, -nu);
    if (k + nu < 0 && (k + nu + 1) % 2 === 0) return Infinity; // a term like 1/x
    if (a <= 15) return polynomialSeries(a, k, nu);
    const near = 12 / a; // beyond this, panels of fifteen radians
    let total = Math.pow(near, k + 1) * polynomialSeries(12, k, nu);
    const count = Math.ceil((2 * a * (1 - near)) / 15), [nodes, weights] = gauss(30);
    for (let p = 0; p < count; p++) {
      const low = near + ((1 - near) * p) / count, width = (1 - near) / count;
      nodes.forEach((u, i) => {
        const x = low + width * u;
        total += weights[i] * width * Math.pow(x, k) * numbers.of.jv(nu, 2 * a * x);
      });
    }
    return total;
  }

  // The window of the series of L, whose greatest term is near k = x/2 - v/2.
  function firstOfWindow(v, x) {
    const top = 2 * Math.max(0.25 * (Math.sqrt(v * v + x * x) - v), 0);
    return Math.floor(Math.max((Number.isFinite(top) ? top : 0) - 210, 0));
  }

  Object.assign(numbers.of, { struve, modstruve, besselpoly });
  numbers.given["Placed.struve.first_term"] = () => firstOfWindow;
  numbers.given["Placed.struve.scale"] = () => scaleOf;
})();
