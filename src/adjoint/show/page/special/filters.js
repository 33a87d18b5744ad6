// Convolutions, recursive filters and interpolation along an axis, as in adjoint.ops.
// gives: VectorConvolution Convolution AllPole WeightedTaps
// gives complex: AllPole
"use strict";
(() => {
  function vectorConvolution({ valid }, [a, v]) {
    const lead = arrays.broadcastShape(a.shape.slice(0, -1), v.shape.slice(0, -1));
    let [n, m] = [a.shape.at(-1), v.shape.at(-1)];
    let [x, y] = [arrays.broadcast(a, [...lead, n]).data, arrays.broadcast(v, [...lead, m]).data];
    if (m > n) [x, y, n, m] = [y, x, m, n];
    const length = valid ? n - m + 1 : n + m - 1, shift = valid ? m - 1 : 0;
    const out = arrays.make([...lead, length], "float64");
    for (let r = 0; r < arrays.count(lead); r++) {
      for (let k = 0; k < length; k++) {
        let sum = 0;
        for (let j = Math.max(0, k + shift - n + 1); j <= Math.min(m - 1, k + shift); j++) {
          sum += x[r * n + k + shift - j] * y[r * m + j];
        }
        out.data[r * length + k] = sum;
      }
    }
    return out;
  }

  // z[n,g,o,p] = Σ x[n,g,c,i] w[g,o,c,k] over c and spread·i = stride·p + dilation·k + start
  function convolution({ stride, dilation, spread, start, lengths }, [x, w]) {
    const [many, groups, channels, ...space] = x.shape, outs = w.shape[1], taps = w.shape.slice(3);
    const out = arrays.make([many, groups, outs, ...lengths], "float64");
    const inside = arrays.count(space), places = arrays.count(lengths), each = arrays.count(taps);
    const [own, byPlace, byTap] = [space, lengths, taps].map(arrays.strides);
    for (let p = 0; p < places; p++) {
      for (let k = 0; k < each; k++) {
        let at = 0;
        for (let a = 0; a < space.length && at >= 0; a++) {
          const place = Math.floor(p / byPlace[a]) % lengths[a], tap = Math.floor(k / byTap[a]) % taps[a];
          const i = (stride[a] * place + dilation[a] * tap + start[a]) / spread[a];
          at = Number.isInteger(i) && i >= 0 && i < space[a] ? at + i * own[a] : -1;
        }
        if (at < 0) continue;
        for (let n = 0; n < many; n++)
          for (let g = 0; g < groups; g++)
            for (let o = 0; o < outs; o++)
              for (let c = 0; c < channels; c++) {
                const from = x.data[((n * groups + g) * channels + c) * inside + at];
                out.data[((n * groups + g) * outs + o) * places + p] += from * w.data[((g * outs + o) * channels + c) * each + k];
              }
      }
    }
    return out;
  }

  // y with Σₖ a[l,k] y[r,l,t-k] = v[r,l,t], or t+k when reverse.
  function allPole({ reverse }, [a, v], dtype) {
    const [rows, many, length] = v.shape, taps = a.shape[1];
    const out = arrays.make(v.shape, arrays.complex(dtype) ? "complex128" : "float64");
    for (let r = 0; r < rows; r++) {
      for (let l = 0; l < many; l++) {
        const [c, d] = arrays.pair(a, l * taps), size = c * c + d * d, base = (r * many + l) * length;
        for (let step = 0; step < length; step++) {
          const t = reverse ? length - 1 - step : step;
          let [re, im] = arrays.pair(v, base + t);
          for (let k = 1; k < taps && k <= step; k++) {
            const [p, q] = arrays.pair(a, l * taps + k), [y, z] = arrays.pair(out, base + (reverse ? t + k : t - k));
            re -= p * y - q * z;
            im -= p * z + q * y;
          }
          arrays.put(out, base + t, d === 0 ? [re / c, im / c] : [(re * c + im * d) / size, (im * c - re * d) / size]);
        }
      }
    }
    return out;
  }

  // z[…, p, …] = Σₜ weight[p, t] x[…, index[p, t], …], or the transpose
  function weightedTaps({ axis, n, transposed }, [x, index, weight]) {
    const [many, taps] = index.shape;
    const shape = x.shape.map((size, a) => (a === axis ? (transposed ? n : many) : size));
    const out = arrays.make(shape, "float64");
    const from = arrays.rows(x.shape, [axis]), to = arrays.rows(shape, [axis]);
    from.starts.forEach((start, r) => {
      for (let p = 0; p < many; p++) {
        for (let t = 0; t < taps; t++) {
          const i = index.data[p * taps + t], factor = weight.data[p * taps + t];
          const [source, target] = transposed ? [p, i] : [i, p];
          out.data[to.starts[r] + to.inner[target]] += factor * x.data[start + from.inner[source]];
        }
      }
    });
    return out;
  }

  Object.assign(numbers.arrays, {
    VectorConvolution: vectorConvolution, Convolution: convolution, AllPole: allPole, WeightedTaps: weightedTaps,
  });
  complexes.arrays.AllPole = allPole;
})();
