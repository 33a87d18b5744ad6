// Parabolic cylinder functions D, V and W with their slopes, sequences of them, and the places of their integrals.
// gives: pbdv pbvv pbwa FunctionSequence.pbdv_seq FunctionSequence.pbvv_seq
// gives: Placed.parabolic.line_of_d Placed.parabolic.height_of_d
// gives: Placed.parabolic.line_of_v Placed.parabolic.middle_of_v
"use strict";
(() => {
  const { sqrt, max, abs, exp, log, cos, sin, atan2, hypot, PI } = Math;
  const NODES = 240;
  const LEAST = 0.7; // distance of a line from the branch point

  // c: the real part of the saddle t - x + v/t = 0 on the right; and where the integrand has vanished
  const lineOfD = (v, x) => max(0.5 * (x + sqrt(max(x * x - 4 * v, 0))), LEAST);
  const heightOfD = (v) => sqrt(max(v, 0)) + 10.5;

  // The same for V: no nearer to the pole at 0, of order v + 1, than the saddle (ix ± √(4(v+1) - x²))/2 allows
  function lineOfV(v, x) {
    const inner = max(v + 1, 0);
    return max(0.5 * sqrt(max(4 * inner - x * x, 0)), 0.3 * sqrt(inner), LEAST);
  }
  const middleOfV = (v, x) => 0.5 * (x + sqrt(max(x * x - 4 * (v + 1), 0)));

  // D_v(x) = 1/√(2π) ∫ exp((t-x)²/2 - x²/4) tᵛ dy, t = c + iy; a derivative in x multiplies by x/2 - t. For x ≥ 0.
  function rightD(v, x) {
    const c = lineOfD(v, x), step = heightOfD(v) / NODES;
    let value = 0, slope = 0;
    for (let i = 0; i < NODES; i++) {
      const y = i * step, d = c - x;
      const size = exp(0.5 * (d * d - y * y) - 0.25 * x * x + v * log(hypot(c, y))) * (i ? 2 : 1);
      const phase = d * y + v * atan2(y, c);
      const re = size * cos(phase), im = size * sin(phase);
      value += re;
      slope += re * (0.5 * x - c) + im * y;
    }
    const scale = step / sqrt(2 * PI);
    return [value * scale, slope * scale];
  }

  // V_v(x) = √(2/π) Re(exp(iπ(v+1)/2) D_(-v-1)(ix)) for x ≥ 0; a derivative in x multiplies by i (ix/2 - t)
  function rightV(v, x) {
    const c = lineOfV(v, x), middle = middleOfV(v, x), reach = middle + 10.5, step = reach / NODES;
    let value = 0, slope = 0;
    for (let i = 1 - NODES; i < NODES; i++) {
      const y = middle + i * step, d = y - x; // (t - ix)²/2 - (ix)²/4
      const size = exp(0.5 * (c * c - d * d) + 0.25 * x * x - (v + 1) * log(hypot(c, y)));
      const phase = c * d - (v + 1) * (atan2(y, c) - 0.5 * PI);
      const re = size * cos(phase), im = size * sin(phase);
      value += re;
      slope += re * (y - 0.5 * x) + im * c; // i (ix/2 - c - iy) = y - x/2 - ic
    }
    return [value * (step / PI), slope * (step / PI)];
  }

  const turns = (v) => { // cos(πv) and sin(πv), exact at quarters
    const rest = v - 2 * Math.floor(v / 2), quarter = Math.round(2 * rest), left = PI * (rest - quarter / 2);
    const c = cos(left), s = sin(left);
    return [[c, s], [-s, c], [-c, -s], [s, -c]][quarter % 4];
  };
  const mixed = (a, [f, df], b, [g, dg]) => [(a && a * f) + (b && b * g), -((a && a * df) + (b && b * dg))];
  const none = (v, x) => !Number.isFinite(v) || !Number.isFinite(x);

  const steep = (v, x) => v < 0 && 0.5 * (x + sqrt(x * x - 4 * v)) >= LEAST; // the integral has a saddle for x < 0 too

  // Left of 0: D_v(-x) = cos(πv) D_v(x) + π/Γ(-v) V_v(x)
  function pbdv(v, x) {
    if (none(v, x)) return [NaN, NaN];
    if (x >= 0 || steep(v, x)) return rightD(v, x);
    const inverse = PI * numbers.of.rgamma(-v);
    return mixed(turns(v)[0], rightD(v, -x), inverse, inverse ? rightV(v, -x) : [0, 0]);
  }

  // V_v(x) = Γ(-v)/π (D_v(-x) - cos(πv) D_v(x)); left of 0 V_v(-x) = -sin(πv)/Γ(v+1) D_v(x) - cos(πv) V_v(x)
  function pbvv(v, x) {
    if (none(v, x)) return [NaN, NaN];
    const [c, s] = turns(v);
    if (steep(v, -abs(x))) {
      const scale = 1 / (PI * numbers.of.rgamma(-v)), [d, slope] = rightD(v, x);
      return mixed(scale, rightD(v, -x), -scale * c, [d, -slope]);
    }
    if (x >= 0) return rightV(v, x).map((z) => (z === z ? z : Infinity)); // NaN by overflow
    const factor = -s * numbers.of.rgamma(v + 1);
    return mixed(factor, factor ? rightD(v, -x) : [0, 0], -c, rightV(v, -x));
  }

  // log |Γ(a + ib)|: Stirling's series after ten steps up
  function logGammaSize(a, b) {
    let shift = 0;
    for (let k = 0; k < 12; k++) shift += log(hypot(a + k, b));
    a += 12;
    const r = hypot(a, b), angle = atan2(b, a);
    let sum = (a - 0.5) * log(r) - b * angle - a + 0.5 * log(2 * PI) - shift;
    [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360].forEach((c, k) => {
      sum += (c * cos((2 * k + 1) * angle)) / r ** (2 * k + 1);
    });
    return sum;
  }

  // y and y′ for the even (0) or odd (1) solution of y″ = (a - x²/4) y: (n+2)(n+1) cₙ₊₂ = a cₙ - cₙ₋₂/4
  function powerSeries(a, x, first) {
    let last = 0, unit = 1, power = first ? x : 1, y = power, slope = first;
    for (let n = first; n < 110; n += 2) {
      [last, unit] = [unit, (a * unit - 0.25 * last) / ((n + 2) * (n + 1))];
      slope += (n + 2) * unit * power * x;
      power *= x * x;
      y += unit * power;
    }
    return [y, slope];
  }

  // W = 2^(-3/4) (g y₁ - √2/g y₂), g = |Γ(¼ + ia/2)/Γ(¾ + ia/2)|^½; SciPy has it for |a|, |x| ≤ 5
  function pbwa(a, x) {
    if (!(abs(a) <= 5 && abs(x) <= 5)) return [NaN, NaN];
    const g = exp(0.5 * (logGammaSize(0.25, 0.5 * a) - logGammaSize(0.75, 0.5 * a)));
    const [y, dy] = powerSeries(a, x, 0), [u, du] = powerSeries(a, x, 1);
    const even = 2 ** -0.75 * g, odd = -(2 ** -0.25) / g;
    return [even * y + odd * u, even * dy + odd * du];
  }

  // (y, y′) of the orders v₀, v₀ + 1 … v on a first axis, v₀ the fractional part of v
  function sequence(f) {
    return ({ fixed: [v] }, [x], dtype) => {
      const count = max(Math.trunc(v), 1) + 1, size = x.data.length, first = v - Math.trunc(v);
      const out = [0, 1].map(() => arrays.make([count, ...x.shape], dtype));
      for (let k = 0; k < count; k++) {
        for (let i = 0; i < size; i++) f(first + k, x.data[i]).forEach((z, part) => (out[part].data[k * size + i] = z));
      }
      return out;
    };
  }

  Object.assign(numbers.several, { pbdv, pbvv, pbwa });
  Object.assign(numbers.arrays, {
    "FunctionSequence.pbdv_seq": sequence(pbdv), "FunctionSequence.pbvv_seq": sequence(pbvv),
  });
  Object.assign(numbers.given, {
    "Placed.parabolic.line_of_d": () => lineOfD, "Placed.parabolic.height_of_d": () => heightOfD,
    "Placed.parabolic.line_of_v": () => lineOfV, "Placed.parabolic.middle_of_v": () => middleOfV,
  });
})();
