// Airy functions, their slopes and their integrals from zero.
// gives: airy airye itairy
// gives complex: airy airye
// needs: pairs
"use strict";
(() => {
  const { add, sub, mul, div, times, conj, size, exp, sqrt } = numbers.shared.pairs;
  const opposite = ([a, b]) => [-a, -b];
  const AI = 0.355028053887817239, SLOPE = 0.258819403792806798, ROOT = Math.sqrt(3); // Ai(0), -Ai′(0)
  const SIXTH = [ROOT / 2, 0.5], THIRD = [0.5, ROOT / 2], TWO_THIRDS = [-0.5, ROOT / 2]; // of half a turn

  // f = 1 + z³/3! + 1·4 z⁶/6! + …, g = z + 2z⁴/4! + 2·5 z⁷/7! + …, with slopes and integrals: [∫f, f, f′], [∫g, g, g′]
  function series(z) {
    const cube = mul(z, mul(z, z)), square = mul(z, z);
    let f = [1, 0], g = z; // the terms; their slopes are n f/z, their integrals z f/(n+1)
    const out = [[z, f, [0, 0]], [times(square, 0.5), g, [1, 0]]];
    let fSlope = times(square, 0.5), gSlope = [1, 0];
    for (let n = 3; n < 120; n += 3) {
      f = times(mul(f, cube), 1 / (n * (n - 1)));
      g = times(mul(g, cube), 1 / (n * (n + 1)));
      if (n > 3) fSlope = times(mul(fSlope, cube), 1 / ((n - 1) * (n - 3)));
      gSlope = times(mul(gSlope, cube), 1 / (n * (n - 2)));
      const parts = [[times(mul(z, f), 1 / (n + 1)), f, fSlope], [times(mul(z, g), 1 / (n + 2)), g, gSlope]];
      parts.forEach((list, i) => list.forEach((part, j) => (out[i][j] = add(out[i][j], part))));
      if (size(f) + size(g) < 1e-18 * (size(out[0][1]) + size(out[1][1]))) break;
    }
    return out;
  }

  // With s = √z + it on the path of steepest descent and ζ = 2/3 z^(3/2), exp(ζ) times
  // [∫_z^∞ Ai, Ai, Ai′] = exp(-ζ)/2π ∫ exp(-√z t² - it³/3) [1/s, 1, -s] dt, by the trapezoidal rule
  function scaledPath(z) {
    const root = sqrt(z), reach = Math.sqrt(42 / root[0]);
    const step = Math.min(0.2 / Math.sqrt(size(root)), (2 * Math.PI * root[0]) / 56);
    let sums = [times(div([1, 0], root), 0.5), [0.5, 0], times(root, -0.5)];
    for (let t = step; t < reach; t += step) {
      const decay = exp(times(root, -t * t)), angle = (t * t * t) / 3;
      const cos = times(decay, Math.cos(angle)), sin = times(decay, Math.sin(angle));
      const below = add(mul(root, root), [t * t, 0]); // s and its mirror image together
      sums = [
        add(sums[0], div(sub(mul(root, cos), times(sin, t)), below)),
        add(sums[1], cos), sub(sums[2], add(mul(root, cos), times(sin, t))),
      ];
    }
    return sums.map((sum) => times(sum, step / Math.PI));
  }

  const zeta = (z) => times(mul(z, sqrt(z)), 2 / 3);

  // [∫_z^∞ Ai, Ai, Ai′], for |arg z| ≤ 2π/3 and |z| ≥ 1
  function path(z) {
    const half = exp(times(zeta(z), -0.5));
    return scaledPath(z).map((part) => mul(mul(part, half), half));
  }

  const combined = (list, a, b) => list[0].map((part, j) => add(times(part, a), times(list[1][j], b)));

  // [∫_z^∞ Ai, Ai, Ai′]; beyond the path's sector Ai(-z) = a Ai(az) + ā Ai(āz) with a = exp(πi/3)
  function first(z) {
    const inside = z[0] >= -0.500001 * size(z);
    if (size(z) < 1 || (size(z) < 2.5 && z[0] < 0.5 * size(z))) {
      const [integral, value, slope] = combined(series(z), AI, -SLOPE);
      return [sub([1 / 3, 0], integral), value, slope];
    }
    if (inside) return path(z);
    const p = path(mul(THIRD, opposite(z))), m = path(mul(conj(THIRD), opposite(z)));
    const back = conj(THIRD), turn = opposite(TWO_THIRDS);
    return [
      sub([1, 0], add(p[0], m[0])), add(mul(THIRD, p[1]), mul(back, m[1])),
      add(mul(turn, p[2]), mul(conj(turn), m[2])),
    ];
  }

  // [Bi, Bi′]: Bi(z) = exp(πi/6) Ai(az) + exp(-πi/6) Ai(āz) with a = exp(2πi/3)
  function second(z) {
    if (size(z) < 2.5) return combined(series(z), ROOT * AI, ROOT * SLOPE).slice(1);
    const p = first(mul(TWO_THIRDS, z)), m = first(mul(conj(TWO_THIRDS), z)), turn = mul(SIXTH, TWO_THIRDS);
    return [
      add(mul(SIXTH, p[1]), mul(conj(SIXTH), m[1])), add(mul(turn, p[2]), mul(conj(turn), m[2])),
    ];
  }

  const airy = (z) => [...first(z).slice(1), ...second(z)];

  function real(x) {
    if (!Number.isFinite(x)) return [NaN, NaN, NaN, NaN];
    const [, ai, slope] = first([x, 0]);
    if (x > 104) return [ai[0], slope[0], NaN, NaN]; // Bi overflows: SciPy has no value there
    return [ai[0], slope[0], ...second([x, 0]).map((part) => part[0])];
  }

  // exp(ζ) Ai and exp(-|Re ζ|) Bi; on the negative axis exp(ζ) is not real
  function scaledAiry(z) {
    const inside = size(z) >= 1 && z[0] >= -0.500001 * size(z);
    const own = inside ? scaledPath(z).slice(1) : first(z).slice(1).map((part) => mul(part, exp(zeta(z))));
    return [...own, ...scaledSecond(z)];
  }

  // exp(-|Re ζ|) [Bi, Bi′]: the exponential of ζ(az) = ±ζ(z) goes into each part
  function scaledSecond(z) {
    const down = -Math.abs(zeta(z)[0]);
    if (size(z) < 2.5) return second(z).map((part) => times(part, Math.exp(down)));
    const parts = [TWO_THIRDS, conj(TWO_THIRDS)].map((a) => {
      const u = mul(a, z);
      if (u[0] < -0.500001 * size(u)) return first(u).slice(1).map((part) => times(part, Math.exp(down)));
      const [re, im] = zeta(u), factor = exp([down - re, -im]);
      return scaledPath(u).slice(1).map((part) => mul(part, factor));
    });
    const turn = mul(SIXTH, TWO_THIRDS), [p, m] = parts;
    return [
      add(mul(SIXTH, p[0]), mul(conj(SIXTH), m[0])), add(mul(turn, p[1]), mul(conj(turn), m[1])),
    ];
  }

  function realScaled(x) {
    if (!Number.isFinite(x)) return [NaN, NaN, NaN, NaN];
    if (x < 0) return [NaN, NaN, ...second([x, 0]).map((part) => part[0])];
    return scaledAiry([x, 0]).map((part) => part[0]);
  }

  // ∫₀ˣ of Ai(t), Bi(t), Ai(-t), Bi(-t); with T the integral to infinity: 1/3 - T(x), -2 Im T(x exp(2πi/3)),
  // 2/3 - 2 Re T(x exp(πi/3)), -2 Im T(x exp(πi/3))
  function itairy(x) {
    if (x < 0) {
      const [a, b, c, d] = itairy(-x);
      return [-c, -d, -a, -b];
    }
    if (!(x < Infinity)) return [x === Infinity ? 1 / 3 : NaN, NaN, NaN, NaN];
    if (x > 1e4) return [1 / 3, Infinity, 2 / 3, 0];
    const integrals = (z, b) => combined(series(z), AI, b)[0][0];
    const out = [
      x < 2.5 ? integrals([x, 0], -SLOPE) : 1 / 3 - path([x, 0])[0][0],
      x > 107 ? Infinity : x < 6 ? ROOT * integrals([x, 0], SLOPE) : -2 * path(times(TWO_THIRDS, x))[0][1],
    ];
    if (x < 2.5) return [...out, -integrals([-x, 0], -SLOPE), -ROOT * integrals([-x, 0], SLOPE)];
    const [re, im] = path(times(THIRD, x))[0];
    return [...out, 2 / 3 - 2 * re, -2 * im];
  }

  Object.assign(numbers.several, { airy: real, airye: realScaled, itairy });
  Object.assign(complexes.several, { airy, airye: scaledAiry });
})();
