// Sums and extrema over windows of the last axes, as in adjoint.ops.windows.
// gives: WindowSum WindowExtremum WindowShare WindowArgExtremum
// gives complex: WindowShare
"use strict";
(() => {
  // f(place in the result, place in x, number of the element in its window space) for all that lies in x.
  function visit({ size, stride, dilation, start, lengths }, shape, f) {
    const n = size.length, lead = shape.slice(0, shape.length - n), space = shape.slice(shape.length - n);
    const outer = arrays.count(lead), inside = arrays.count(space), many = arrays.count(lengths);
    const own = arrays.strides(space), places = arrays.strides(lengths), taps = arrays.strides(size);
    for (let p = 0; p < many; p++) {
      for (let k = 0; k < arrays.count(size); k++) {
        let at = 0, within = true;
        for (let j = 0; j < n && within; j++) {
          const place = Math.floor(p / places[j]) % lengths[j], tap = Math.floor(k / taps[j]) % size[j];
          const i = stride[j] * place + dilation[j] * tap + start[j];
          within = i >= 0 && i < space[j];
          at += i * own[j];
        }
        if (within) for (let r = 0; r < outer; r++) f(r * many + p, r * inside + at, at);
      }
    }
  }

  const pooled = ({ size, lengths }, shape) => [...shape.slice(0, shape.length - size.length), ...lengths];
  const wide = ({ size, space }, shape) => [...shape.slice(0, shape.length - size.length), ...space];

  function windowSum(parameters, [x]) {
    if (!parameters.transposed) {
      const out = arrays.make(pooled(parameters, x.shape), "float64");
      visit(parameters, x.shape, (p, i) => (out.data[p] += x.data[i]));
      return out;
    }
    const out = arrays.make(wide(parameters, x.shape), "float64");
    visit(parameters, out.shape, (p, i) => (out.data[i] += x.data[p]));
    return out;
  }

  function least(kind, dtype) {
    const sign = kind === "max" ? -1 : 1;
    if (dtype.startsWith("float")) return sign * Infinity;
    if (dtype === "bool") return kind === "max" ? 0 : 1;
    const bits = Number(dtype.replace(/\D/g, "")), signed = dtype.startsWith("int");
    return sign < 0 ? (signed ? -(2 ** (bits - 1)) : 0) : 2 ** (signed ? bits - 1 : bits) - 1;
  }

  function windowExtremum(parameters, [x]) {
    const better = numbers.of[parameters.kind === "max" ? "maximum" : "minimum"];
    const out = arrays.make(pooled(parameters, x.shape), "float64");
    out.data.fill(least(parameters.kind, x.dtype));
    visit(parameters, x.shape, (p, i) => (out.data[p] = better(out.data[p], x.data[i])));
    return out;
  }

  // The tie of an element with the extremum of its window; where that is NaN, all of the window is.
  function windowShare(parameters, [d, x, z], dtype) {
    const { transposed } = parameters;
    const broken = (p) => z.data[p] !== z.data[p] || (z.imaginary && z.imaginary[p] !== z.imaginary[p]);
    const part = (a, i) => (a.imaginary ? a.imaginary[i] : 0);
    const tie = (p, i) => broken(p) || (x.data[i] === z.data[p] && part(x, i) === part(z, p));
    const ties = new Float64Array(z.data.length);
    visit(parameters, x.shape, (p, i) => { if (tie(p, i)) ties[p] += 1; });
    const out = arrays.make(transposed ? x.shape : z.shape, dtype);
    for (const k of arrays.complex(dtype) ? [0, 1] : [0]) {
      const to = k ? out.imaginary : out.data, from = arrays.part(d, k).data;
      const share = (p) => (broken(p) ? (k ? 0 : NaN) : 1) / Math.max(ties[p], 1);
      visit(parameters, x.shape, (p, i) => {
        if (!tie(p, i)) return;
        if (transposed) to[i] += from[p] * share(p);
        else to[p] += from[i] * share(p);
      });
    }
    return out;
  }

  function windowArgExtremum(parameters, [x]) {
    const { kind } = parameters;
    const out = arrays.make(pooled(parameters, x.shape), "int64");
    out.data.fill(-1);
    const best = new Float64Array(out.data.length);
    visit(parameters, x.shape, (p, i, at) => {
      const [a, b] = [x.data[i], best[p]];
      if (out.data[p] >= 0 && !((kind === "max" ? a > b : a < b) || (a !== a && b === b))) return;
      best[p] = a;
      out.data[p] = at;
    });
    return out;
  }

  Object.assign(numbers.arrays, {
    WindowSum: windowSum, WindowExtremum: windowExtremum, WindowShare: windowShare,
    WindowArgExtremum: windowArgExtremum,
  });
  complexes.arrays.WindowShare = windowShare;
})();
