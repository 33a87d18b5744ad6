// The values of primitives, by name: primitives.run(op, operands, dtypes) gives the list of results.
"use strict";
const primitives = (() => {
  const { map, reduce, along, locate, take, make, broadcast, broadcastShape, transpose, count } = arrays;

  // NumPy adds in pairs, so that long sums lose little.
  function pairwise(row, from = 0, to = row.length) {
    if (to - from <= 16) {
      let sum = 0;
      for (let i = from; i < to; i++) sum += row[i];
      return sum;
    }
    const middle = from + ((to - from) >> 1);
    return pairwise(row, from, middle) + pairwise(row, middle, to);
  }

  function extremum(kind) {
    const better = numbers.of[kind === "max" ? "maximum" : "minimum"];
    return (row) => row.reduce((a, b) => better(a, b));
  }

  function argExtremum(row, kind) {
    let best = 0;
    for (let i = 1; i < row.length && row[best] === row[best]; i++) {
      if (row[i] !== row[i] || (kind.endsWith("max") ? row[i] > row[best] : row[i] < row[best])) best = i;
    }
    return best;
  }

  const flat = {
    any: (row) => (row.some((x) => x !== 0) ? 1 : 0), all: (row) => (row.every((x) => x !== 0) ? 1 : 0),
    argmax: (row) => argExtremum(row, "max"), argmin: (row) => argExtremum(row, "min"),
    count_nonzero: (row) => row.filter((x) => x !== 0).length,
  };

  function logsumexp(row) {
    if (row.length === 0) return -Infinity;
    let top = extremum("max")(row);
    if (!Number.isFinite(top)) top = 0;
    const rest = pairwise(row.map((x) => (x === top ? 0 : Math.exp(x - top))));
    const ties = row.filter((x) => x === top).length;
    return (ties === 0 ? Math.log(rest) : Math.log1p(rest / ties) + Math.log(ties)) + top;
  }

  function running(row, reverse, step) {
    const out = new Float64Array(row.length);
    let last;
    for (let k = 0; k < row.length; k++) {
      const i = reverse ? row.length - 1 - k : k;
      last = out[i] = k === 0 ? row[i] : step(last, row[i]);
    }
    return out;
  }

  function recurrence(a, b, reverse) {
    const out = new Float64Array(b.length);
    let last = 0;
    for (let k = 0; k < b.length; k++) {
      const i = reverse ? b.length - 1 - k : k;
      last = out[i] = a[i] * last + b[i];
    }
    return out;
  }

  function runningPlaces(row, kind) {
    let best = 0;
    return row.map((x, i) => {
      if (i && row[best] === row[best] && (x !== x || (kind === "max" ? x > row[best] : x < row[best]))) best = i;
      return best;
    });
  }

  function order(row) { // stable, NaN last
    const places = Array.from(row, (_, i) => i);
    const nan = (x) => (x !== x ? 1 : 0);
    return places.sort((i, j) => nan(row[i]) - nan(row[j]) || (nan(row[i]) ? 0 : row[i] - row[j]) || i - j);
  }

  function matmul(a, b) {
    const left = a.shape.length === 1 ? [1, ...a.shape] : a.shape;
    const right = b.shape.length === 1 ? [...b.shape, 1] : b.shape;
    const stack = broadcastShape(left.slice(0, -2), right.slice(0, -2));
    const [n, t] = left.slice(-2), m = right[right.length - 1];
    const x = broadcast({ ...a, shape: left }, [...stack, n, t]).data;
    const y = broadcast({ ...b, shape: right }, [...stack, t, m]).data;
    const out = make([...stack, n, m], a.dtype);
    for (let s = 0; s < count(stack); s++)
      for (let i = 0; i < n; i++)
        for (let k = 0; k < t; k++) {
          const factor = x[(s * n + i) * t + k];
          for (let j = 0; j < m; j++) out.data[(s * n + i) * m + j] += factor * y[(s * t + k) * m + j];
        }
    out.shape = [...stack, ...(a.shape.length === 1 ? [] : [n]), ...(b.shape.length === 1 ? [] : [m])];
    return out;
  }

  function einsum(spec, xs) {
    const [left, right] = spec.split("->");
    const names = left.split(",");
    const sizes = {};
    names.forEach((letters, k) => [...letters].forEach((c, i) => (sizes[c] = Math.max(sizes[c] || 0, xs[k].shape[i]))));
    const summed = Object.keys(sizes).filter((c) => !right.includes(c));
    const all = [...right, ...summed];
    const shape = all.map((c) => sizes[c]);
    const places = names.map((letters, k) => {
      const own = arrays.strides(xs[k].shape);
      const step = (c) => (letters.includes(c) && xs[k].shape[letters.indexOf(c)] > 1 ? own[letters.indexOf(c)] : 0);
      return arrays.walk(shape, all.map(step));
    });
    const out = make([...right].map((c) => sizes[c]), xs[0].dtype);
    const inner = count(summed.map((c) => sizes[c]));
    for (let i = 0; i < count(shape); i++) {
      let product = 1;
      for (let k = 0; k < xs.length; k++) product *= xs[k].data[places[k][i]];
      out.data[Math.floor(i / inner)] += product;
    }
    return out;
  }

  function scatterSum({ shape, keys }, xs) {
    const out = make(shape, "float64");
    let next = keys.length;
    keys.forEach((key, p) => {
      const taken = key[0] === "gather" ? key[1] : 0;
      const found = locate(shape, key, xs.slice(next, next + taken));
      next += taken;
      const part = broadcast(xs[p], found.shape).data;
      found.places.forEach((place, i) => (out.data[place] += part[i]));
    });
    return out;
  }

  function scatterSet({ place }, [x, v, ...indices]) {
    const out = make(x.shape, x.dtype, Float64Array.from(x.data));
    const found = locate(x.shape, place, indices);
    const part = broadcast(v, found.shape).data;
    found.places.forEach((at, i) => (out.data[at] = part[i]));
    return out;
  }

  function lastWrite({ shape }, xs) {
    const found = locate(shape, ["gather", xs.length], xs);
    const owner = new Map();
    found.places.forEach((at, i) => owner.set(at, i));
    return make(found.shape, "bool", Float64Array.from(found.places, (at, i) => (owner.get(at) === i ? 1 : 0)));
  }

  function concatenate({ axis }, xs) {
    const shape = [...xs[0].shape];
    shape[axis] = xs.reduce((n, x) => n + x.shape[axis], 0);
    const out = make(shape, xs[0].dtype);
    let start = 0;
    for (const x of xs) {
      const items = shape.map((_, a) => (a === axis ? [start, start + x.shape[axis], 1] : [null, null, null]));
      locate(shape, ["slice", items], []).places.forEach((at, i) => (out.data[at] = x.data[i]));
      start += x.shape[axis];
    }
    return out;
  }

  function pad({ widths }, [x]) {
    const shape = x.shape.map((n, a) => n + widths[a][0] + widths[a][1]);
    const out = make(shape, x.dtype);
    const items = x.shape.map((n, a) => [widths[a][0], widths[a][0] + n, 1]);
    locate(shape, ["slice", items], []).places.forEach((at, i) => (out.data[at] = x.data[i]));
    return out;
  }

  const truncated = (dtype) => (arrays.whole(dtype) ? Math.trunc : dtype === "bool" ? (x) => (x !== 0 ? 1 : 0) : (x) => x);

  // name -> (parameters, operands, dtype of the result) -> array
  const table = {
    Select: (_, [x, y, c], dtype) => map((a, b, is) => (is !== 0 ? a : b), dtype, x, y, c),
    MaskedProduct: (_, xs, dtype) => map((ct, d) => (ct !== 0 ? ct * d : 0), dtype, ...xs),
    Exponent: (_, [x], dtype) => map((a) => numbers.frexp(a)[1], dtype, x),
    Convert: (_, [x], dtype) => map(truncated(dtype), dtype, x),
    StopGradient: (_, [x]) => make(x.shape, x.dtype, Float64Array.from(x.data)),
    Real: (_, [x]) => make(x.shape, x.dtype, Float64Array.from(x.data)),
    Sum: ({ axes }, [x], dtype) => reduce(x, axes, dtype, (row) => pairwise(row)),
    Product: ({ axes }, [x], dtype) => reduce(x, axes, dtype, (row) => row.reduce((a, b) => a * b, 1)),
    Extremum: ({ kind, axes }, [x], dtype) => reduce(x, axes, dtype, extremum(kind)),
    FlatReduction: ({ kind, axes }, [x], dtype) => reduce(x, axes, dtype, flat[kind]),
    Length: ({ axes }, [x], dtype) => reduce(x, axes, dtype, (row) => Math.sqrt(pairwise(row.map((a) => a * a)))),
    LogSumExp: ({ axes }, [x], dtype) => reduce(x, axes, dtype, logsumexp),
    ArgSort: ({ axis }, [x], dtype) => along([x], axis, dtype, order),
    CumSum: ({ axis, reverse }, [x], dtype) => along([x], axis, dtype, (row) => running(row, reverse, (a, b) => a + b)),
    CumProd: ({ axis }, [x], dtype) => along([x], axis, dtype, (row) => running(row, false, (a, b) => a * b)),
    LinearRecurrence: ({ axis, reverse }, xs, dtype) => along(xs, axis, dtype, (a, b) => recurrence(a, b, reverse)),
    ArgCumExtremum: ({ kind, axis }, [x], dtype) => along([x], axis, dtype, (row) => runningPlaces(row, kind)),
    Reshape: ({ shape }, [x]) => make(shape, x.dtype, Float64Array.from(x.data)),
    Transpose: ({ axes }, [x]) => transpose(x, axes),
    Broadcast: ({ shape }, [x]) => make(shape, x.dtype, Float64Array.from(broadcast(x, shape).data)),
    Concatenate: concatenate,
    Pad: pad,
    Slice: ({ items }, [x]) => {
      const found = locate(x.shape, ["slice", items], []);
      return take(x, found.shape, found.places);
    },
    Gather: (p, [x, ...indices]) => {
      const found = locate(x.shape, ["gather", p.count], indices);
      return take(x, found.shape, found.places);
    },
    ScatterSum: scatterSum,
    ScatterSet: scatterSet,
    LastWrite: lastWrite,
    MatMul: (_, [a, b]) => matmul(a, b),
    Einsum: ({ spec }, xs) => einsum(spec, xs),
  };

  const DTYPES = /^(float64|float32|bool|u?int(8|16|32|64))$/;

  // The name of a primitive with static parameters; of a family that has its members by name: family.member.
  function key({ name, parameters }) {
    const member = { ParameterDerivative: "of", Placed: "rule", FunctionSequence: "function" }[name];
    return member ? `${name}.${parameters[member]}` : name;
  }

  // The function of numbers that a primitive is, element by element: {one} or {several}; null for none.
  function pointwise(op) {
    if (!op.name) return null;
    if (op.parameters) {
      const made = numbers.given[key(op)];
      return made ? { one: made(op.parameters) } : null;
    }
    if (op.name in numbers.of) return { one: numbers.of[op.name] };
    return op.name in numbers.several ? { several: numbers.several[op.name] } : null;
  }

  // Why a primitive cannot be computed here; "" when it can.
  function reason(op) {
    return (op.parameters && op.name in table) || pointwise(op) ? "" : `${op.title} is not computed in the page`;
  }

  function run(op, xs, dtypes) {
    for (const dtype of dtypes) {
      if (!DTYPES.test(dtype)) throw new Error(`values of dtype ${dtype} are not computed in the page`);
    }
    if (op.parameters && op.name in table) return [arrays.cast(table[op.name](op.parameters, xs, dtypes[0]), dtypes[0])];
    const { one, several } = pointwise(op);
    const out = one ? [map(one, dtypes[0], ...xs)] : arrays.mapSeveral(several, dtypes, ...xs);
    return out.map((z, k) => arrays.cast(z, dtypes[k]));
  }

  return { run, reason, key, names: () => Object.keys(table) };
})();
