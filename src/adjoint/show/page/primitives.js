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
    const out = make([...stack, n, m], "float64");
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
    const out = make([...right].map((c) => sizes[c]), "float64");
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

  function scatterSet({ index }, [x, v, ...indices]) {
    const out = make(x.shape, x.dtype, Float64Array.from(x.data));
    const found = locate(x.shape, index, indices);
    const part = broadcast(v, found.shape).data;
    found.places.forEach((at, i) => (out.data[at] = part[i]));
    return out;
  }

  function scatterAdd({ views, index }, [x, v, ...indices]) {
    const out = make(x.shape, x.dtype, Float64Array.from(x.data));
    let seen = make(x.shape, "float64", Float64Array.from(x.data, (_, at) => at));
    for (const [kind, parameter] of views) {
      const names = { slice: ["Slice", "items"], reshape: ["Reshape", "shape"], transpose: ["Transpose", "axes"] }[kind];
      seen = table[names[0]]({ [names[1]]: parameter }, [seen]);
    }
    const found = locate(seen.shape, index, indices);
    const part = broadcast(v, found.shape).data;
    found.places.forEach((at, i) => (out.data[seen.data[at]] += part[i]));
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

  // From numbers to whole numbers by cutting off; what these cannot hold is refused (NumPy's answer is of the machine).
  function convert(x, dtype) {
    if (!arrays.whole(dtype) || arrays.whole(x.dtype) || x.dtype === "bool") return copy(x);
    const signed = dtype.startsWith("int"), span = 2 ** Number(dtype.replace(/\D/g, ""));
    return map((a) => {
      const cut = Math.trunc(a);
      if (cut >= (signed ? -span / 2 : 0) && cut < (signed ? span / 2 : span)) return cut;
      throw new Error(`${a} as ${dtype}, which does not hold it`);
    }, dtype, x);
  }

  const before = (x, y) => (y !== y ? x === x : x < y); // NaN stands behind all numbers

  function searchSorted({ side }, [a, v], dtype) {
    const below = side === "left" ? before : (x, y) => !before(y, x);
    return map((y) => a.data.reduce((n, x) => n + (below(x, y) ? 1 : 0), 0), dtype, v);
  }

  // One vector of indices for each axis. Their number is part of the explanation: another one would be another explanation.
  function nonzero(parameters, [x]) {
    const is = (_, i) => x.data[i] !== 0 || (x.imaginary && x.imaginary[i] !== 0);
    const indices = Array.from(x.data, (_, i) => i).filter(is), n = indices.length;
    if (n !== parameters.count) throw new Error(`${n} elements are not zero, and the explanation has ${parameters.count}`);
    const own = arrays.strides(x.shape);
    return x.shape.map((m, axis) => make([n], "int64", Float64Array.from(indices, (i) => Math.floor(i / own[axis]) % m)));
  }

  complexes.arrays.Nonzero = nonzero;
  const copy = (x) => make(x.shape, x.dtype, Float64Array.from(x.data));

  // name -> (parameters, operands, dtype of the result) -> array
  const table = {
    Select: (_, [x, y, c], dtype) => map((a, b, is) => (is !== 0 ? a : b), dtype, x, y, c),
    MaskedProduct: (_, xs, dtype) => map((ct, d) => (ct !== 0 ? ct * d : 0), dtype, ...xs),
    Exponent: (_, [x], dtype) => map((a) => numbers.frexp(a)[1], dtype, x),
    Convert: (_, [x], dtype) => convert(x, dtype),
    StopGradient: (_, [x]) => copy(x),
    Mark: (_, [x]) => copy(x),
    Weaken: (_, [x]) => copy(x),
    Undifferentiable: (_, [x]) => copy(x),
    Real: (_, [x]) => copy(x),
    Imag: (_, [x]) => make(x.shape, x.dtype),
    Sum: ({ axes }, [x], dtype) => reduce(x, axes, dtype, (row) => pairwise(row)),
    Product: ({ axes }, [x], dtype) => reduce(x, axes, dtype, (row) => row.reduce((a, b) => a * b, 1)),
    Extremum: ({ kind, axes }, [x], dtype) => reduce(x, axes, dtype, extremum(kind)),
    FlatReduction: ({ kind, axes }, [x], dtype) => reduce(x, axes, dtype, flat[kind]),
    Length: ({ axes }, [x], dtype) => reduce(x, axes, dtype, (row) => Math.sqrt(pairwise(row.map((a) => a * a)))),
    LogSumExp: ({ axes }, [x], dtype) => reduce(x, axes, dtype, logsumexp),
    ArgSort: ({ axis }, [x], dtype) => along([x], axis, dtype, order),
    ArgPartition: ({ axis }, [x], dtype) => along([x], axis, dtype, order), // NumPy leaves the order of the others open
    SearchSorted: searchSorted,
    Nonzero: nonzero,
    Polygamma: ({ n }, [x], dtype) => map((a) => numbers.polygamma(n, a), dtype, x),
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
    ScatterAdd: scatterAdd,
    LastWrite: lastWrite,
    MatMul: (_, [a, b]) => matmul(a, b),
    Einsum: ({ spec }, xs) => einsum(spec, xs),
  };

  // Which operands of a linear map are values: it acts on real and imaginary parts alike.
  const first = () => 1;
  const LINEAR = {
    Sum: first, CumSum: first, Reshape: first, Transpose: first, Broadcast: first, Pad: first, Slice: first,
    Gather: first, StopGradient: first, Mark: first, Weaken: first, Undifferentiable: first,
    Concatenate: () => Infinity, ScatterSet: () => 2, ScatterAdd: () => 2,
    ScatterSum: ({ keys }) => keys.length, Select: () => 2,
  };

  function partwise(f, values) {
    return (parameters, xs, dtype) => {
      const n = values(parameters);
      const [re, im] = [0, 1].map((k) => f(parameters, xs.map((x, i) => (i < n ? arrays.part(x, k) : x)), "float64"));
      return make(re.shape, dtype, re.data, im.data);
    };
  }

  // A product of several arrays, linear in each, expanded in real and imaginary parts.
  const MULTILINEAR = ["MatMul", "Einsum"];

  function expanded(f) {
    return (parameters, xs, dtype) => {
      const parts = [null, null];
      for (let which = 0; which < 2 ** xs.length; which++) {
        const turns = xs.map((_, k) => (which >> k) & 1);
        if (turns.some((turn, k) => turn && !xs[k].imaginary)) continue;
        const quarter = turns.reduce((a, b) => a + b, 0), sign = quarter % 4 < 2 ? 1 : -1, at = quarter % 2;
        const term = f(parameters, xs.map((x, k) => arrays.part(x, turns[k])), "float64");
        parts[at] = map((a, b) => a + sign * b, "float64", parts[at] || make(term.shape, "float64"), term);
      }
      return make(parts[0].shape, dtype, parts[0].data, parts[1] ? parts[1].data : undefined);
    };
  }

  function onParts(name, real) {
    if (!real) return null;
    return name in LINEAR ? partwise(real, LINEAR[name]) : MULTILINEAR.includes(name) ? expanded(real) : null;
  }

  const DTYPES = /^(float(64|32|16)|complex(128|64)|bool|u?int(8|16|32|64))$/;

  // How a primitive is computed: {whole} from arrays, or {one} element by element; null: not at all.
  function method({ name, parameters }, complex) {
    const own = (entries) => (Object.hasOwn(entries, name) ? entries[name] : null);
    if (!parameters) {
      const one = own((complex ? complexes : numbers).of);
      return one && { one };
    }
    const real = own(table), whole = complex ? own(complexes.arrays) || onParts(name, real) : real;
    return whole && { whole };
  }

  // Why a primitive cannot be computed here for operands and results of these dtypes; "" when it can.
  function reason(op, dtypes = []) {
    const strange = dtypes.find((dtype) => !DTYPES.test(dtype));
    if (strange) return `values of dtype ${strange} are not computed in the page`;
    const complex = dtypes.some(arrays.complex);
    if (method(op, complex)) return "";
    return `${op.title}${complex && method(op, false) ? " of complex numbers" : ""} is not computed in the page`;
  }

  // A number of Python's takes the dtype of the arrays beside it: 0.1 is rounded to float32 where they are.
  function fitted(xs) {
    if (!xs.some((x) => x.weak)) return xs;
    const strong = xs.filter((x) => !x.weak).map((x) => x.dtype);
    if (!strong.length || !strong.every((dtype) => /^(float16|float32|complex64)$/.test(dtype))) return xs;
    const narrow = strong.every((dtype) => dtype === "float16") ? "float16" : "float32";
    const copied = (a) => a && Float64Array.from(a);
    const twin = (x) => make(x.shape, x.dtype, copied(x.data), copied(x.imaginary));
    return xs.map((x) => (x.weak ? arrays.cast(twin(x), x.imaginary ? "complex64" : narrow) : x));
  }

  function run(op, xs, dtypes) {
    xs = fitted(xs);
    const complex = xs.some((x) => x.imaginary) || dtypes.some(arrays.complex);
    const how = method(op, complex);
    if (!how) throw new Error(reason(op, [...xs.map((x) => x.dtype), ...dtypes]));
    const { whole, one } = how;
    let out;
    if (whole) out = [whole(op.parameters, xs, dtypes[0])].flat();
    else if (complex) out = [arrays.mapPairs(one, dtypes[0], ...xs)];
    else out = [map(op.name in numbers.typed ? numbers.typed[op.name](dtypes[0]) : one, dtypes[0], ...xs)];
    return out.map((z, k) => arrays.cast(z, dtypes[k]));
  }

  return { run, reason, table, pairwise };
})();
