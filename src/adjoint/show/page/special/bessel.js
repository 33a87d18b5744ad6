// Bessel functions of real order, of real and of complex argument, and their derivatives in the order.
// gives: jv yv jve yve iv kv ive kve yn kn
// gives: ParameterDerivative.jv ParameterDerivative.yv ParameterDerivative.jve ParameterDerivative.yve
// gives: ParameterDerivative.iv ParameterDerivative.kv ParameterDerivative.ive ParameterDerivative.kve
// gives complex: jv yv jve yve iv kv ive kve hankel1 hankel2 hankel1e hankel2e
// gives complex: ParameterDerivative.jv ParameterDerivative.yv ParameterDerivative.jve ParameterDerivative.yve
// gives complex: ParameterDerivative.iv ParameterDerivative.kv ParameterDerivative.ive ParameterDerivative.kve
// gives complex: ParameterDerivative.hankel1 ParameterDerivative.hankel2
// gives complex: ParameterDerivative.hankel1e ParameterDerivative.hankel2e
// needs: bessel_paths
"use strict";
(() => {
  const { add, sub, times, conj, size, mul, div, turn } = numbers.shared.pairs;
  const { rightHalf, leibniz, turns } = numbers.shared.besselPaths;
  const FAR = 2 ** 51, FAR_MODIFIED = 2 ** 30 - 0.5; // beyond these SciPy has no scaled functions
  const NONE = [NaN, NaN];
  const alternate = (fs, v) => (v < 0 ? fs.map((f, k) => (k % 2 ? times(f, -1) : f)) : fs);
  const odd = (v) => Math.abs(v % 2) === 1;

  // exp(shift) I and exp(shift) K of any complex z, with derivatives in ν to order n.
  // On the left, z = w exp(±πi): K = exp(∓πiν) K(w) ∓ πi I(w), I = exp(±πiν) I(w); I₋ᵥ = I + 2/π sin(πν) K.
  function modified(n, v, z, shift, kind) {
    const u = Math.abs(v), left = z[0] < 0;
    const reflected = kind === "I" && v < 0 && !Number.isInteger(v);
    const kinds = (kind === "I" && !(reflected || n)) ? "I" : kind === "K" && !left ? "K" : "IK";
    let [first, second] = rightHalf(n, u, left ? times(z, -1) : z, shift, kinds);
    const sines = turns(n, u, 1).map((t) => [t[1], 0]);
    if (first && n && u === 0) { // I is even in ν but for -sin(πν)/π K, which is all of its odd derivatives
      const small = leibniz(sines, second);
      first = first.map((f, k) => (k % 2 ? times(small[k], -1 / Math.PI) : f));
    }
    if (left) {
      const half = z[1] >= 0 ? 1 : -1;
      const across = (f, k) => sub(f, mul([0, half * Math.PI], first[k]));
      if (second) second = leibniz(turns(n, u, -half), second).map(across);
      if (first) first = leibniz(turns(n, u, half), first);
    }
    if (kind === "K") return alternate(second, v);
    if (v < 0 && second) {
      const rest = leibniz(sines, second);
      first = first.map((f, k) => add(f, times(rest[k], 2 / Math.PI)));
    }
    return alternate(first, v);
  }

  // exp(shift) J and exp(shift) H¹ for Im z ≥ 0, ν ≥ 0: I and K turned by a quarter.
  function upper(n, v, z, shift, kinds = "IK") {
    const [first, second] = rightHalf(n, v, [z[1], -z[0]], shift, kinds);
    const j = first && leibniz(turns(n, v, 0.5), first);
    const h = second && leibniz(turns(n, v, -0.5), second);
    return [j, h && h.map((f) => div(f, [0, 0.5 * Math.PI]))];
  }

  // exp(shift) J or Y of any complex z; of negative order J₋ᵥ = cos(πν) J - sin(πν) Y, Y₋ᵥ = sin(πν) J + cos(πν) Y.
  function cylinder(n, v, z, shift, kind) {
    const u = Math.abs(v), below = z[1] < 0;
    const alone = kind === "J" && (v >= 0 || (Number.isInteger(v) && n === 0));
    const [w, s] = below ? [conj(z), conj(shift)] : [z, shift];
    let [j, h] = upper(n, u, w, s, alone ? "I" : "IK");
    let y = h && h.map((f, k) => mul([0, -1], sub(f, j[k])));
    if (y && z[1] === 0 && z[0] > 0) y = h.map((f) => [f[1], 0]); // on the real axis H = J + iY, part by part
    if (below) [j, y] = [j.map(conj), y && y.map(conj)];
    if (v >= 0) return kind === "J" ? j : y;
    const around = turns(n, u, 1);
    const cosines = around.map((t) => [t[0], 0]), sines = around.map((t) => [t[1], 0]);
    if (alone) return leibniz(cosines, j);
    const [a, b] = kind === "J" ? [leibniz(cosines, j), leibniz(sines, y).map((f) => times(f, -1))]
      : [leibniz(sines, j), leibniz(cosines, y)];
    return alternate(a.map((f, k) => add(f, b[k])), v);
  }

  // exp(shift) H¹ or H²: where it is the smaller of the two by its own integral, elsewhere as 2J less the other.
  function third(n, v, z, shift, kind) {
    const u = Math.abs(v);
    const below = z[1] < 0, own = kind === 1 ? !below : below || (z[1] === 0 && z[0] > 0);
    const flipped = own ? kind === 2 : below; // the left half of the real axis counts as above it
    const [w, s] = flipped ? [conj(z), conj(shift)] : [z, shift];
    const [j, h] = upper(n, u, w, s);
    let found = own ? h : j.map((f, k) => sub(times(f, 2), h[k]));
    if (flipped) found = found.map(conj);
    return v < 0 ? alternate(leibniz(turns(n, u, kind === 1 ? 1 : -1), found), v) : found;
  }

  // name -> the function of complex z and the exponent of its scale
  const none = () => [0, 0];
  const kinds = {
    jv: [cylinder, "J", none], yv: [cylinder, "Y", none],
    jve: [cylinder, "J", (z) => [-Math.abs(z[1]), 0]], yve: [cylinder, "Y", (z) => [-Math.abs(z[1]), 0]],
    iv: [modified, "I", none], kv: [modified, "K", none],
    ive: [modified, "I", (z) => [-Math.abs(z[0]), 0]], kve: [modified, "K", (z) => z],
    hankel1: [third, 1, none], hankel2: [third, 2, none],
    hankel1e: [third, 1, ([a, b]) => [b, -a]], hankel2e: [third, 2, ([a, b]) => [-b, a]],
  };
  const evaluate = (name, n, v, z) => kinds[name][0](n, v, z, kinds[name][2](z), kinds[name][1])[n];
  const finite = (v, z) => Number.isFinite(v) && Number.isFinite(z[0]) && Number.isFinite(z[1]);

  // At 0 every one of them is 0, 1 or has no value.
  function atZero(name, v) {
    const whole = Number.isInteger(v);
    if (name.startsWith("hankel") || name.startsWith("k")) return NONE;
    if (name.startsWith("y")) return name === "yv" ? [-Infinity, 0] : NONE;
    if (v === 0) return [1, 0];
    if (v > 0 || whole) return [0, 0];
    return name === "jv" || name === "iv" ? [Infinity, 0] : NONE;
  }

  function complexValue(name, v, z) {
    if (!finite(v, z) || v !== v) return NONE;
    if (z[0] === 0 && z[1] === 0) return atZero(name, v);
    if (size(z) > (/^[ik]/.test(name) ? FAR_MODIFIED : FAR)) return NONE;
    return evaluate(name, 0, v, z);
  }

  // Real arguments: for ν ≥ 0 and x > 0 the value, or what it is beyond the greatest number.
  const right = (name, beyond) => (v, x) => {
    const z = evaluate(name, 0, v, [x, 0])[0];
    return z === z ? z : beyond;
  };
  const j = right("jv", 0), y = right("yv", -Infinity), k = right("kv", Infinity);
  const scaledI = right("ive", NaN), scaledK = right("kve", Infinity);
  const i = (v, x) => scaledI(v, x) * Math.exp(0.5 * x) * Math.exp(0.5 * x); // I is finite a little longer than exp
  const part = (a, f) => (a === 0 ? 0 : a * f());

  // J₋ᵥ = cos(πν) J - sin(πν) Y, Y₋ᵥ = sin(πν) J + cos(πν) Y
  function mixed(v, x, [a, b]) {
    return part(a, () => j(v, x)) + part(b, () => y(v, x));
  }
  const jBoth = (v, x) => (v >= 0 ? j(v, x) : mixed(-v, x, [turn(v)[0], turn(v)[1]]));
  const yBoth = (v, x) => (v >= 0 ? y(v, x) : mixed(-v, x, [-turn(v)[1], turn(v)[0]]));

  // I₋ᵥ = I + 2/π sin(πν) K
  const iBoth = (v, x) => i(Math.abs(v), x) + (v < 0 ? part((-2 / Math.PI) * turn(v)[1], () => k(-v, x)) : 0);
  const scaledBoth = (v, x) =>
    scaledI(Math.abs(v), x) + (v < 0 ? part((-2 / Math.PI) * turn(v)[1], () => scaledK(-v, x) * Math.exp(-2 * x)) : 0);

  // J and I on the whole line, with SciPy's values where there is no finite one.
  function first(both, far, edge, beyond) {
    return (v, x) => {
      const whole = Number.isInteger(v);
      if (Math.abs(v) === Infinity && Number.isFinite(x)) return beyond(x);
      if (!Number.isFinite(v) || !(Math.abs(x) <= far)) return NaN;
      if (x === 0) return v === 0 ? 1 : v > 0 || whole ? 0 : edge(v);
      if (x < 0) return whole ? (odd(v) ? -1 : 1) * both(v, -x) : NaN;
      return both(v, x);
    };
  }
  const edgeOfJ = (v) => Math.sign(numbers.of.rgamma(v + 1)) * Infinity;
  const jv = first(jBoth, Number.MAX_VALUE, edgeOfJ, (x) => (x === 0 ? 0 : NaN));
  const iv = first(iBoth, Number.MAX_VALUE, () => Infinity, () => 0);
  const finiteOnly = (f) => (v, x) => (Number.isFinite(f(v, x)) ? f(v, x) : NaN);
  const never = () => NaN;
  const jve = finiteOnly(first(jBoth, FAR, never, never));
  const ive = finiteOnly(first(scaledBoth, FAR_MODIFIED, never, never));

  function yv(v, x) {
    if (v !== v || !(x >= 0 && x < Infinity)) return NaN;
    if (x === 0) return v < 0 && Math.cos(Math.PI * v) < 0 ? Infinity : -Infinity;
    return Math.abs(v) === Infinity ? NaN : yBoth(v, x);
  }
  const yve = (v, x) => (x > 0 && x <= FAR ? yv(v, x) : NaN);

  function kv(v, x) {
    if (x === 0) return Infinity;
    if (!Number.isFinite(v) || !(x > 0)) return NaN;
    return x > 1e4 + v * v ? 0 : k(Math.abs(v), x);
  }

  function kve(v, x) {
    if (x === 0) return Infinity;
    return Number.isFinite(v) && x > 0 && x <= FAR_MODIFIED ? scaledK(Math.abs(v), x) : NaN;
  }
  const yn = (n, x) => yv(Math.trunc(n), x);
  const kn = (n, x) => (n !== n ? NaN : kv(Math.trunc(n), x));
  Object.assign(numbers.of, { jv, yv, iv, kv, jve, yve, ive, kve, yn, kn });

  // Derivatives in the order, of x > 0; those of J and I at 0 are 0 where ν > n.
  for (const name of Object.keys(kinds)) {
    const key = `ParameterDerivative.${name}`;
    const derivative = (n, v, z) => (finite(v, z) && (z[0] !== 0 || z[1] !== 0) ? evaluate(name, n, v, z) : NONE);
    complexes.of[name] = ([v], z) => complexValue(name, v, z);
    complexes.given[key] = ({ orders }) => ([v], z) => derivative(orders[0], v, z);
    if (name.startsWith("hankel")) continue;
    const vanishing = /^[ji]/.test(name);
    numbers.given[key] = ({ orders: [n] }) => (v, x) => {
      if (x === 0 && vanishing && v > n) return 0;
      return x > 0 ? derivative(n, v, [x, 0])[0] : NaN;
    };
  }
})();
