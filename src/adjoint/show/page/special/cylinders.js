// Bessel functions of orders zero and one, all from I and K in the right half plane.
// gives: j0 j1 y0 y1 i0 i1 i0e i1e k0 k1 k0e k1e
// needs: pairs
"use strict";
(() => {
  const { add, sub, mul, div, times, size, exp, sqrt } = numbers.shared.pairs;
  const EULER = 0.5772156649015329;

  // With q = z²/4, L = log(z/2) + γ and Hₖ = 1 + … + 1/k:
  // I₀ = Σ qᵏ/k!²    K₀ = -L I₀ + Σ Hₖ qᵏ/k!²    I₁ = z/2 i    K₁ = 1/z + z/2 k
  // where i = Σ qᵏ/(k! (k+1)!) and k = L i - Σ (Hₖ + Hₖ₊₁)/2 qᵏ/(k! (k+1)!)
  function series(q, L) {
    let zeroth = [1, 0], first = [1, 0], harmonic = 0;
    let I0 = zeroth, i = first, K0 = [0, 0], k = [0.5, 0];
    for (let n = 1; n < 80; n++) {
      zeroth = times(mul(zeroth, q), 1 / (n * n));
      first = times(mul(first, q), 1 / (n * (n + 1)));
      harmonic += 1 / n;
      I0 = add(I0, zeroth);
      i = add(i, first);
      K0 = add(K0, times(zeroth, harmonic));
      k = add(k, times(first, harmonic + 0.5 / (n + 1)));
      if (size(zeroth) < 1e-18 * size(i)) break;
    }
    return { I0, i, K0: sub(K0, mul(L, I0)), k: sub(mul(L, i), k) };
  }

  // The same on the line of the angle a: with z = x exp(ia), [I₀, exp(ia) I₁] and [K₀, exp(ia) K₁].
  function small(x, a) {
    const square = a === Math.PI / 4 ? [0, 1] : [Math.cos(2 * a), 0]; // exp(2ia); a is 0, ±π/4 or ±π/2
    const found = series(times(square, (x * x) / 4), [Math.log(x / 2) + EULER, a]);
    const front = times(square, x / 2);
    return { I: [found.I0, mul(front, found.i)], K: [found.K0, add([1 / x, 0], mul(front, found.k))] };
  }

  // exp(z) K₀ = √(2/z) ∫₀^∞ exp(-u²)/√s du and exp(z) K₁ = √(8/z) ∫₀^∞ u² exp(-u²) √s du with s = 1 + u²/2z, by the
  // trapezoidal rule; s vanishes at the height d = Re √2z, where the integrand has grown by exp(d²).
  function scaledK(z) {
    const d = Math.SQRT2 * sqrt(z)[0];
    const step = d > 6 ? 0.5 : (2 * Math.PI * d) / (38 + d * d);
    const slope = div([0.5, 0], z);
    let k0 = [0.5, 0], k1 = [0, 0];
    for (let u = step; u < 6.3; u += step) {
      const weight = Math.exp(-u * u), root = sqrt([1 + slope[0] * u * u, slope[1] * u * u]);
      k0 = add(k0, div([weight, 0], root));
      k1 = add(k1, times(root, weight * u * u));
    }
    const front = div([Math.SQRT2 * step, 0], sqrt(z));
    return [mul(front, k0), times(mul(front, k1), 2)];
  }

  // exp(-z) Iₙ = 1/2π ∮ exp(-2z sin²(t/2)) cos nt dt, by the trapezoidal rule, where the integrand is not negligible
  function scaledI(z) {
    const count = Math.ceil(Math.sqrt(80 * (size(z) / z[0])) * Math.sqrt(size(z))) + 12;
    const step = (2 * Math.PI) / count;
    let i0 = [0.5, 0], i1 = [0.5, 0];
    for (let n = 1; 2 * n <= count; n++) {
      const sine = Math.sin((n * step) / 2), square = 2 * sine * sine;
      if (square * z[0] > 45) break;
      const value = times(exp(times(z, -square)), 2 * n === count ? 0.5 : 1);
      i0 = add(i0, value);
      i1 = add(i1, times(value, 1 - square));
    }
    return [times(i0, 2 / count), times(i1, 2 / count)];
  }

  // Iₙ itself is infinite late: the exponential goes in two halves. SciPy has no value at infinity.
  function growing(order) {
    return (x) => {
      const r = Math.abs(x), sign = order === 1 && x < 0 ? -1 : 1;
      if (!(r < Infinity)) return NaN;
      if (r > 720) return sign * Infinity;
      if (r < 8) return sign * (r === 0 ? 1 - order : small(r, 0).I[order][0]);
      return sign * Math.exp(r / 2) * scaledI([r, 0])[order][0] * Math.exp(r / 2);
    };
  }

  function scaledGrowing(order) {
    const value = growing(order);
    return (x) => {
      const r = Math.abs(x), sign = order === 1 && x < 0 ? -1 : 1;
      if (r === Infinity) return 0;
      return r < 8 ? value(x) * Math.exp(-r) : sign * scaledI([r, 0])[order][0];
    };
  }

  function falling(order, scale) {
    return (x) => {
      if (!(x > 0)) return x === 0 ? Infinity : NaN;
      if (x === Infinity) return 0;
      if (x < 1) return small(x, 0).K[order][0] * (scale ? Math.exp(x) : 1);
      return scaledK([x, 0])[order][0] * (scale ? 1 : Math.exp(-x));
    };
  }

  // J₀ + iY₀ = -2i/π K₀(-ix) and J₁ + iY₁ = -2/π K₁(-ix) for x > 0
  function hankel(order, x) {
    let value;
    if (x < 3) {
      value = small(x, -Math.PI / 2).K[order];
      if (order === 1) value = [-value[1], value[0]];
    } else value = mul(scaledK([0, -x])[order], [Math.cos(x), Math.sin(x)]);
    return order === 0 ? [(2 / Math.PI) * value[1], (-2 / Math.PI) * value[0]] : times(value, -2 / Math.PI);
  }

  function oscillating(order) {
    return (x) => {
      if (x === 0) return order === 0 ? 1 : x;
      if (!Number.isFinite(x)) return NaN;
      return (order === 1 && x < 0 ? -1 : 1) * hankel(order, Math.abs(x))[0];
    };
  }

  function second(order) {
    return (x) => (x === 0 ? -Infinity : x > 0 && x < Infinity ? hankel(order, x)[1] : NaN);
  }

  Object.assign(numbers.of, {
    j0: oscillating(0), j1: oscillating(1), y0: second(0), y1: second(1), i0: growing(0), i1: growing(1),
    i0e: scaledGrowing(0), i1e: scaledGrowing(1), k0: falling(0, false), k1: falling(1, false), k0e: falling(0, true),
    k1e: falling(1, true),
  });
  numbers.shared.cylinders = { small, scaledK, scaledI };
})();
