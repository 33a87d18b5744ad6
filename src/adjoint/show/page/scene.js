// Where everything in the graph stands, for any frames open: the same computation as adjoint.show.scene.
"use strict";
const scene = (() => {
  const PAD = 14, TITLE = 26, LABEL = 15, GAP = 18, SLOPE = 0.1, MOST_GAP = 54;
  const pairs = (list) => list.slice(1).map((b, k) => [list[k], b]);

  // box(kind, n) gives {w, h} of a variable ("v") or a closed group ("g").
  function placed(data, opened, box) {
    const found = { frames: [], boxes: [], arrows: [] };
    const inner = inside(data, 0, opened, box);
    draw(data, 0, 0, 0, found, inner);
    return { ...found, width: inner.w, height: inner.h };
  }

  function inside(data, number, opened, box) {
    const group = data.groups[number], layout = data.layouts[group.layout];
    const { items, layers } = layout, kinds = [...layout.kinds];
    const inner = new Map();
    const width = items.map((item) => item[1]), height = items.map(() => 0);
    kinds.forEach((kind, k) => {
      const n = group.children[k];
      if (kind === "g" && opened.has(n)) {
        const frame = inside(data, n, opened, box);
        inner.set(k, frame);
        [width[k], height[k]] = [frame.w, frame.h];
      } else if (kind === "v" || kind === "g") {
        const size = box(kind, n);
        [width[k], height[k]] = [size.w, size.h];
      }
    });
    for (const item of layout.at) if (item >= 0) height[item] = LABEL;
    let x = stretched(items, width);
    const depth = new Array(layers).fill(0);
    items.forEach((item, k) => (depth[item[2]] = Math.max(depth[item[2]], height[k])));
    const aside = new Array(Math.max(layers - 1, 0)).fill(0);
    for (const route of layout.routes) {
      for (const [a, b] of pairs(route)) {
        const low = Math.min(items[a][2], items[b][2]);
        aside[low] = Math.max(aside[low], Math.abs(x[a] - x[b]));
      }
    }
    const top = [TITLE];
    aside.forEach((wide, k) => top.push(top[k] + depth[k] + Math.min(GAP + SLOPE * wide, MOST_GAP)));
    const right = Math.max(0, ...x.map((at, k) => at + width[k] / 2));
    const whole = Math.max(right + 2 * PAD, group.w);
    const left = (whole - right) / 2;
    x = x.map((at) => at + left);
    const ports = { in: new Map(), out: new Map() };
    kinds.forEach((kind, k) => {
      if (kind === "i") ports.in.set(group.children[k], x[k]);
      if (kind === "o") ports.out.set(group.children[k], x[k]);
    });
    const below = (layers ? top.at(-1) + depth.at(-1) : TITLE) + (ports.out.size ? 4 : PAD);
    return { w: whole, h: below, x, width, height, top, depth, inner, ports };
  }

  function fromLeft(x, width) {
    const left = Math.min(...x.map((at, k) => at - width[k] / 2));
    return x.map((at) => at - left);
  }

  // f(x) of all items: wider children get more room, and what stood below something stays there.
  function stretched(items, width) {
    if (!items.length) return [];
    if (items.every((item, k) => Math.abs(item[1] - width[k]) < 0.5)) return fromLeft(items.map((item) => item[0]), width);
    const ranges = items.map(([x, w, , space], k) => [x - (w + space) / 2, x + (w + space) / 2, (width[k] + space) / (w + space || 1)]);
    const cuts = [...new Set(ranges.flatMap(([low, high]) => [low, high]))].sort((a, b) => a - b);
    const at = new Map(cuts.map((cut, k) => [cut, k]));
    const slope = cuts.map(() => 0);
    for (const [low, high, ratio] of ranges) {
      for (let k = at.get(low); k < at.get(high); k++) slope[k] = Math.max(slope[k], ratio);
    }
    const places = [0];
    pairs(cuts).forEach(([low, high], k) => places.push(places[k] + (high - low) * (slope[k] || 1)));
    const out = items.map(([x]) => {
      let k = 0;
      while (k + 1 < cuts.length && cuts[k + 1] <= x) k += 1;
      return places[k] + (x - cuts[k]) * (slope[k] || 1);
    });
    return fromLeft(out, width);
  }

  function draw(data, number, left, top, found, inner) {
    const group = data.groups[number], layout = data.layouts[group.layout];
    const { items } = layout, kinds = [...layout.kinds];
    const { x, depth } = inner, tops = inner.top;
    found.frames.push({ group: number, x: left, y: top, w: inner.w, h: inner.h });
    const edge = [];
    kinds.forEach((kind, k) => {
      const n = group.children[k], wide = inner.width[k], tall = inner.height[k], layer = items[k][2];
      const y = top + tops[layer] + (depth[layer] - tall) / 2;
      const corner = left + x[k] - wide / 2;
      edge[k] = [y, y + tall];
      if (kind === "i" || kind === "o") {
        const border = kind === "i" ? top : top + inner.h;
        edge[k] = [border, border];
      } else if (inner.inner.has(k)) draw(data, n, corner, y, found, inner.inner.get(k));
      else found.boxes.push({ [kind === "v" ? "variable" : "group"]: n, x: corner, y, w: wide, h: tall });
    });
    const labels = group.labels || {}, formulas = group.formulas || {}, still = group.still || [];
    layout.routes.forEach((route, k) => {
      const n = group.carried[k], [start, end] = layout.ends[k], last = route.at(-1);
      const xs = route.map((item) => left + x[item]);
      xs[0] += touch(inner, route[0], "out", n, start);
      xs[xs.length - 1] += touch(inner, last, "in", n, end);
      const bands = route.map((i) => [top + tops[items[i][2]], top + tops[items[i][2]] + depth[items[i][2]]]);
      const item = layout.at[k];
      const label = item < 0 ? null : [left + x[item], top + tops[items[item][2]] + depth[items[item][2]] / 2];
      const arrives = kinds[last] === "v";
      found.arrows.push({
        group: number, variable: n, target: arrives ? group.children[last] : -1, text: labels[k] || "",
        formula: formulas[k] || "", active: !still.includes(k), label,
        points: points(xs, bands, edge[route[0]], edge[last]),
        head: arrives || (kinds[last] === "g" && !inner.inner.has(last)),
      });
    });
  }

  function touch(inner, child, side, variable, closed) {
    const frame = inner.inner.get(child);
    return frame ? frame.ports[side].get(variable) - frame.w / 2 : closed;
  }

  function points(xs, bands, first, last) {
    const upward = bands[0][0] > bands.at(-1)[0];
    return xs.flatMap((x, k) => {
      let [into, out] = upward ? [bands[k][1], bands[k][0]] : bands[k];
      if (k === 0) into = upward ? first[0] : first[1];
      if (k === xs.length - 1) out = upward ? last[1] : last[0];
      return [[x, into], [x, out]];
    });
  }

  // Straight down within pairs of points, a swing between pairs.
  function path(list) {
    const n = (a) => String(Math.round(a * 10) / 10);
    let out = `M${n(list[0][0])} ${n(list[0][1])}`;
    for (let k = 1; k < list.length; k++) {
      const [x0, y0] = list[k - 1], [x1, y1] = list[k];
      const middle = n((y0 + y1) / 2);
      if (k % 2 || Math.abs(x1 - x0) < 0.05) out += Math.abs(y1 - y0) > 0.05 ? `L${n(x1)} ${n(y1)}` : "";
      else out += `C${n(x0)} ${middle} ${n(x1)} ${middle} ${n(x1)} ${n(y1)}`;
    }
    return out;
  }

  return { placed, path, TITLE };
})();
