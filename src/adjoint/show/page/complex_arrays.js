// Reductions, products and orders of complex arrays; what acts on both parts alike (sums …) is in primitives.js.
"use strict";
(() => {
  const { multiply, add, exp, log, divide, equal } = complexes.of;
  const real = (x) => arrays.part(x, 0);
  const imaginary = (x) => arrays.part(x, 1);
  const joined = (re, im, dtype) => arrays.make(re.shape, dtype, Float64Array.from(re.data), Float64Array.from(im.data));
  const bad = (z) => z[0] !== z[0] || z[1] !== z[1];

  // f turns the pairs of a row into a pair or a number.
  function reduce(x, axes, dtype, f) {
    const { shape, starts, inner } = arrays.rows(x.shape, axes);
    const out = arrays.make(shape, dtype);
    starts.forEach((start, r) => arrays.put(out, r, f(Array.from(inner, (i) => arrays.pair(x, start + i)))));
    return out;
  }

  // f turns rows of pairs along an axis into another of the same length.
  function along(xs, axis, dtype, f) {
    const shape = arrays.broadcastShape(...xs.map((x) => x.shape));
    const full = xs.map((x) => arrays.broadcast(x, shape));
    const { starts, inner } = arrays.rows(shape, [axis]);
    const out = arrays.make(shape, dtype);
    for (const start of starts) {
      const result = f(...full.map((x) => Array.from(inner, (i) => arrays.pair(x, start + i))));
      inner.forEach((i, k) => arrays.put(out, start + i, result[k]));
    }
    return out;
  }

  const better = (kind) => complexes.of[kind.endsWith("max") ? "maximum" : "minimum"];
  const sum = (row) => [0, 1].map((k) => primitives.pairwise(row.map((z) => z[k])));

  function firstBest(row, kind) {
    let best = 0;
    for (let i = 1; i < row.length && !bad(row[best]); i++) {
      if (bad(row[i]) || complexes.of[kind.endsWith("max") ? "greater" : "less"](row[i], row[best])) best = i;
    }
    return best;
  }

  const truth = (z) => z[0] !== 0 || z[1] !== 0;
  const flat = {
    any: (row) => (row.some(truth) ? 1 : 0), all: (row) => (row.every(truth) ? 1 : 0),
    argmax: (row) => firstBest(row, "max"), argmin: (row) => firstBest(row, "min"),
    count_nonzero: (row) => row.filter(truth).length,
  };

  // NumPy's order: by real part, then by imaginary part; NaN last, those with a NaN real part behind the others.
  function rank(z) {
    return (z[0] !== z[0] ? 2 : 0) + (z[1] !== z[1] ? 1 : 0);
  }

  function compare(z, w) {
    if (rank(z) !== rank(w)) return rank(z) - rank(w);
    return (z[0] === z[0] && z[0] - w[0]) || (z[1] === z[1] && z[1] - w[1]) || 0;
  }

  const order = (row) => row.map((_, i) => i).sort((i, j) => compare(row[i], row[j]) || i - j);

  function logSumExp(row) {
    if (row.length === 0) return [-Infinity, 0];
    let top = row.map((z) => z[0]).reduce(numbers.of.maximum);
    if (!Number.isFinite(top)) top = 0;
    const shifted = row.map(([x, y]) => [x - top, y]);
    const rest = sum(shifted.map((z, i) => (row[i][0] === top ? [0, 0] : exp(z))));
    const ties = sum(shifted.filter((_, i) => row[i][0] === top).map(exp));
    const value = ties[0] === 0 && ties[1] === 0 ? log(rest) : add(complexes.of.log1p(divide(rest, ties)), log(ties));
    return [value[0] + top, value[1]];
  }

  function convert(x, dtype) {
    if (arrays.complex(dtype)) return joined(x, imaginary(x), dtype);
    return primitives.table.Convert(null, [real(x)], dtype);
  }

  function recurrence(a, b, reverse) {
    const out = new Array(b.length);
    let last = [0, 0];
    for (let k = 0; k < b.length; k++) {
      const i = reverse ? b.length - 1 - k : k;
      last = out[i] = add(multiply(a[i], last), b[i]);
    }
    return out;
  }

  function runningPlaces(row, kind) {
    const out = [];
    let best = row[0], place = 0;
    row.forEach((z, i) => {
      const next = i ? better(kind)(best, z) : z;
      if (i && !equal(next, best) && !bad(best)) place = i;
      best = next;
      out.push(place);
    });
    return out;
  }

  function searchSorted({ side }, [a, v], dtype) {
    const sorted = Array.from(a.data, (_, i) => arrays.pair(a, i));
    const before = (z, w) => (side === "left" ? compare(z, w) < 0 : compare(z, w) <= 0);
    return arrays.mapPairs((w) => sorted.filter((z) => before(z, w)).length, dtype, v);
  }

  Object.assign(complexes.arrays, {
    Real: (_, [x]) => arrays.make(x.shape, "float64", Float64Array.from(x.data)),
    Imag: (_, [x]) => arrays.make(x.shape, "float64", Float64Array.from(imaginary(x).data)),
    Complex: (_, [re, im], dtype) => joined(re, im, dtype),
    Convert: (_, [x], dtype) => convert(x, dtype),
    MaskedProduct: (_, xs, dtype) =>
      arrays.mapPairs((ct, d) => (ct[0] !== 0 || ct[1] !== 0 ? multiply(ct, d) : [0, 0]), dtype, ...xs),
    Product: ({ axes }, [x], dtype) => reduce(x, axes, dtype, (row) => row.reduce(multiply, [1, 0])),
    Extremum: ({ kind, axes }, [x], dtype) => reduce(x, axes, dtype, (row) => row.reduce((z, w) => better(kind)(z, w))),
    FlatReduction: ({ kind, axes }, [x], dtype) => reduce(x, axes, dtype, flat[kind]),
    Length: ({ axes }, [x], dtype) =>
      reduce(x, axes, dtype, (row) => Math.sqrt(primitives.pairwise(row.map(([a, b]) => a * a + b * b)))),
    LogSumExp: ({ axes }, [x], dtype) => reduce(x, axes, dtype, logSumExp),
    ArgSort: ({ axis }, [x], dtype) => along([x], axis, dtype, order),
    ArgPartition: ({ axis }, [x], dtype) => along([x], axis, dtype, order),
    CumProd: ({ axis }, [x], dtype) => along([x], axis, dtype, (row) => {
      let last = [1, 0];
      return row.map((z, i) => (last = i ? multiply(last, z) : z));
    }),
    LinearRecurrence: ({ axis, reverse }, xs, dtype) => along(xs, axis, dtype, (a, b) => recurrence(a, b, reverse)),
    ArgCumExtremum: ({ kind, axis }, [x], dtype) => along([x], axis, dtype, (row) => runningPlaces(row, kind)),
    SearchSorted: searchSorted,
  });
})();
