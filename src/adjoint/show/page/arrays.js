// Arrays: {shape, data (a Float64Array in C order), dtype}; complex ones have `imaginary` beside data.
// Truth values are 0 and 1.
"use strict";
const arrays = (() => {
  const count = (shape) => shape.reduce((n, m) => n * m, 1);
  const whole = (dtype) => dtype.startsWith("int") || dtype.startsWith("uint");
  const complex = (dtype) => dtype.startsWith("complex");

  function make(shape, dtype, data, imaginary) {
    const out = { shape, dtype, data: data === undefined ? new Float64Array(count(shape)) : data };
    if (complex(dtype)) out.imaginary = imaginary === undefined ? new Float64Array(out.data.length) : imaginary;
    return out;
  }

  function scalar(value, dtype = "float64") {
    return make([], dtype, Float64Array.of(value));
  }

  // The real (0) or imaginary (1) part as an array of its own; the data is shared.
  function part(x, k) {
    const zeros = () => new Float64Array(x.data.length);
    return { shape: x.shape, dtype: "float64", data: k === 0 ? x.data : x.imaginary || zeros() };
  }

  // From JSON: NaN and infinities are written as words there.
  function decode(shape, dtype, value, imaginary) {
    const words = { nan: NaN, inf: Infinity, "-inf": -Infinity };
    const number = (x) => (typeof x === "string" ? words[x] : Number(x));
    const list = (x) => (shape.length === 0 ? Float64Array.of(number(x)) : Float64Array.from(x, number));
    return make(shape, dtype, list(value), imaginary === undefined ? undefined : list(imaginary));
  }

  const ROUND = { float32: Math.fround, complex64: Math.fround, float16: numbers.half, bool: (a) => (a !== 0 ? 1 : 0) };

  // Round to what the dtype holds, as NumPy does: whole numbers wrap. Beyond 2⁵³ they are refused rather than wrong.
  function cast(x, dtype) {
    const { data } = x;
    const round = ROUND[dtype] || (whole(dtype) ? wrapping(dtype) : null);
    if (round) for (let i = 0; i < data.length; i++) data[i] = round(data[i]);
    if (!complex(dtype)) delete x.imaginary;
    else if (!x.imaginary) x.imaginary = new Float64Array(data.length);
    else if (round) for (let i = 0; i < data.length; i++) x.imaginary[i] = round(x.imaginary[i]);
    x.dtype = dtype;
    return x;
  }

  function wrapping(dtype) {
    const signed = dtype.startsWith("int"), bits = Number(dtype.replace(/\D/g, ""));
    const span = 2 ** bits, low = signed ? -span / 2 : 0;
    return (a) => {
      if (!Number.isFinite(a)) return 0; // a quotient by zero
      const held = Math.abs(a) <= Number.MAX_SAFE_INTEGER && !(a < 0 && dtype === "uint64");
      if (!held) throw new Error("a whole number beyond 2⁵³");
      return bits === 64 || (a >= low && a < low + span) ? a + 0 : a - span * Math.floor((a - low) / span);
    };
  }

  function broadcastShape(...shapes) {
    const ndim = Math.max(0, ...shapes.map((s) => s.length));
    const out = new Array(ndim).fill(1);
    for (const shape of shapes) {
      shape.forEach((n, k) => {
        const axis = ndim - shape.length + k;
        if (n !== 1) {
          if (out[axis] !== 1 && out[axis] !== n) throw new Error(`shapes ${shapes.join(" and ")} do not broadcast`);
          out[axis] = n;
        }
      });
    }
    return out;
  }

  function strides(shape) {
    const out = new Array(shape.length);
    for (let k = shape.length - 1, step = 1; k >= 0; k--) {
      out[k] = step;
      step *= shape[k];
    }
    return out;
  }

  // For each element of `shape`, where it stands in an array that is walked with these steps.
  function walk(shape, steps, offset = 0) {
    const places = new Int32Array(count(shape));
    const at = new Array(shape.length).fill(0);
    let place = offset;
    for (let i = 0; i < places.length; i++) {
      places[i] = place;
      for (let k = shape.length - 1; k >= 0; k--) {
        place += steps[k];
        if (++at[k] < shape[k]) break;
        place -= steps[k] * shape[k];
        at[k] = 0;
      }
    }
    return places;
  }

  function broadcastSteps(from, to) {
    const own = strides(from);
    return to.map((_, k) => {
      const axis = k - (to.length - from.length);
      return axis < 0 || from[axis] === 1 ? 0 : own[axis];
    });
  }

  const same = (a, b) => a.length === b.length && a.every((n, k) => n === b[k]);

  function take(x, shape, places) {
    const out = make(shape, x.dtype);
    for (let i = 0; i < places.length; i++) out.data[i] = x.data[places[i]];
    if (x.imaginary) for (let i = 0; i < places.length; i++) out.imaginary[i] = x.imaginary[places[i]];
    return out;
  }

  function broadcast(x, shape) {
    return same(x.shape, shape) ? x : take(x, shape, walk(shape, broadcastSteps(x.shape, shape)));
  }

  function map(f, dtype, ...xs) {
    if (xs.every((x) => x.shape.length === 0)) return scalar(f(...xs.map((x) => x.data[0])), dtype); // the most
    const shape = broadcastShape(...xs.map((x) => x.shape));
    const full = xs.map((x) => broadcast(x, shape).data);
    const out = make(shape, dtype);
    const n = out.data.length;
    if (full.length === 1) for (let i = 0; i < n; i++) out.data[i] = f(full[0][i]);
    else if (full.length === 2) for (let i = 0; i < n; i++) out.data[i] = f(full[0][i], full[1][i]);
    else for (let i = 0; i < n; i++) out.data[i] = f(...full.map((d) => d[i]));
    return out;
  }

  // The same for complex numbers: f takes pairs [re, im], and gives a pair, or a number where the result is real.
  function mapPairs(f, dtype, ...xs) {
    const shape = broadcastShape(...xs.map((x) => x.shape));
    const full = xs.map((x) => broadcast(x, shape));
    const out = make(shape, dtype);
    for (let i = 0; i < count(shape); i++) put(out, i, f(...full.map((x) => pair(x, i))));
    return out;
  }

  const pair = (x, i) => [x.data[i], x.imaginary ? x.imaginary[i] : 0];

  function put(x, i, z) {
    if (typeof z === "number") x.data[i] = z;
    else {
      x.data[i] = z[0];
      if (x.imaginary) x.imaginary[i] = z[1];
    }
  }

  function transpose(x, axes) {
    const own = strides(x.shape);
    const shape = axes.map((a) => x.shape[a]);
    return take(x, shape, walk(shape, axes.map((a) => own[a])));
  }

  // The elements as rows along some axes: rows[r] are the places of the r-th row, in C order of the other axes.
  function rows(shape, axes) {
    const own = strides(shape);
    const rest = shape.map((_, a) => a).filter((a) => !axes.includes(a));
    const restShape = rest.map((a) => shape[a]);
    const starts = walk(restShape, rest.map((a) => own[a]));
    const inner = walk(axes.map((a) => shape[a]), axes.map((a) => own[a]));
    return { shape: restShape, starts, inner };
  }

  function reduce(x, axes, dtype, f) {
    const { shape, starts, inner } = rows(x.shape, axes);
    const out = make(shape, dtype);
    const row = new Float64Array(inner.length);
    starts.forEach((start, r) => {
      for (let i = 0; i < inner.length; i++) row[i] = x.data[start + inner[i]];
      out.data[r] = f(row);
    });
    return out;
  }

  // f turns each row along an axis into another of the same length.
  function along(xs, axis, dtype, f) {
    const shape = broadcastShape(...xs.map((x) => x.shape));
    const full = xs.map((x) => broadcast(x, shape));
    const { starts, inner } = rows(shape, [axis]);
    const out = make(shape, dtype);
    for (const start of starts) {
      const result = f(...full.map((x) => Float64Array.from(inner, (i) => x.data[start + i])));
      inner.forEach((i, k) => (out.data[start + i] = result[k]));
    }
    return out;
  }

  // What a key names in an array of this shape: ["slice", items] or ["gather", n] with index arrays.
  function locate(shape, key, indices) {
    const own = strides(shape);
    if (key[0] === "gather") {
      const lead = broadcastShape(...indices.map((i) => i.shape));
      const tail = shape.slice(key[1]);
      const inner = walk(tail, own.slice(key[1]));
      const full = indices.map((i) => broadcast(i, lead).data);
      const places = new Int32Array(count(lead) * inner.length);
      for (let r = 0; r < count(lead); r++) {
        let start = 0;
        full.forEach((index, axis) => {
          const n = shape[axis];
          const at = index[r] < 0 ? index[r] + n : index[r];
          if (!(at >= 0 && at < n)) throw new Error(`index ${index[r]} is out of bounds for an axis of length ${n}`);
          start += at * own[axis];
        });
        for (let i = 0; i < inner.length; i++) places[r * inner.length + i] = start + inner[i];
      }
      return { shape: [...lead, ...tail], places };
    }
    const result = [], steps = [];
    let offset = 0, axis = 0;
    const taken = key[1].filter((item) => item !== null && item !== "...").length;
    const rest = new Array(shape.length - taken).fill([null, null, null]);
    const items = key[1].flatMap((item) => (item === "..." ? rest : [item]));
    for (const item of items) {
      if (item === null) {
        result.push(1);
        steps.push(0);
      } else if (Array.isArray(item)) {
        const [start, size, step] = sliced(item, shape[axis]);
        offset += start * own[axis];
        result.push(size);
        steps.push(step * own[axis]);
        axis += 1;
      } else {
        offset += (item < 0 ? item + shape[axis] : item) * own[axis];
        axis += 1;
      }
    }
    for (; axis < shape.length; axis++) {
      result.push(shape[axis]);
      steps.push(own[axis]);
    }
    return { shape: result, places: walk(result, steps, offset) };
  }

  function sliced([start, stop, step], n) {
    step = step === null || step === undefined ? 1 : step;
    const clip = (at, low, high) => Math.min(Math.max(at < 0 ? at + n : at, low), high);
    const first = start === null ? (step > 0 ? 0 : n - 1) : step > 0 ? clip(start, 0, n) : clip(start, -1, n - 1);
    const last = stop === null ? (step > 0 ? n : -1) : step > 0 ? clip(stop, 0, n) : clip(stop, -1, n - 1);
    return [first, Math.max(0, Math.ceil((last - first) / step)), step];
  }

  return {
    count, whole, complex, make, scalar, part, pair, put, decode, cast, broadcastShape, broadcast, map, mapPairs,
    transpose, rows, reduce, along, locate, take, same, strides, walk,
  };
})();
