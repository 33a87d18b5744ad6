// The graph: boxes are variables, arrows carry partial derivatives, frames open and close with the rows of the table.
"use strict";
class Graph {
  static LINE = 18;
  static SMALLEST = 0.6; // letters that can still be read

  constructor(root, state, data, trace) {
    this.root = root;
    this.state = state;
    this.data = data;
    this.trace = trace;
    this.frames = new Frames(state, data);
    this.scale = 1;
    const { node } = format;
    this.view = node("div", { class: "view", tabindex: 0, role: "group", "aria-label": "Graph: scroll with the arrow keys, zoom with + and −" });
    const tool = (text, label, act) => {
      const button = node("button", { type: "button", "aria-label": label, title: label }, text);
      button.addEventListener("click", act);
      return button;
    };
    this.note = node("span", { class: "graph-note" });
    this.bar = node("div", { class: "graph-tools" }, this.note, tool("−", "Smaller", () => this.zoom(0.8)),
      tool("+", "Larger", () => this.zoom(1.25)), tool("Fit", "The whole graph", () => this.fit(true)));
    root.append(this.view, this.bar);
    root.hidden = false;
    this.pen = document.createElement("canvas").getContext("2d");
    this.view.addEventListener("click", (event) => this.click(event));
    this.view.addEventListener("mouseover", (event) => this.hover(event));
    this.view.addEventListener("mouseleave", () => this.trace.mark(null));
    this.view.addEventListener("focusin", (event) => this.hover(event));
    this.view.addEventListener("keydown", (event) => this.key(event));
    state.on((what) => {
      if (this.still) return what === "mark" || what === "select" ? undefined : this.progress();
      const elsewhere = (what === "step" || what === "layout") && this.frames.follow(state.current());
      if (["layout", "values", "formulas"].includes(what) || elsewhere) this.draw();
      if (what === "layout" && this.fitted) this.fit();
      else if (what === "mark") this.mark();
      else this.progress();
      if (what === "step") this.follow(".current");
      if (what === "select") this.showSelected();
    });
    this.draw();
    // A picture that is cut off beside the table stands below it.
    root.closest(".panes").classList.toggle("stacked", (this.view.clientWidth - 2) / this.extent[0] < Graph.SMALLEST);
    this.fit();
    this.view.scrollLeft = (this.view.scrollWidth - this.view.clientWidth) / 2;
  }

  text(string, size = 13, weight = "") {
    this.pen.font = `${weight} ${size}px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", "DejaVu Sans", sans-serif`;
    return this.pen.measureText(string).width;
  }

  // The lines on a box: name and formula, the value, and the derivatives of the mode.
  lines(n) {
    const { state } = this;
    const { variables } = state.data;
    const given = this.data.variables[n];
    if (n >= state.count) return [{ kind: "name", text: given.name }, { kind: "value", text: given.value || "" }];
    const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
    const name = format.subscript(variables.name[n]);
    const formula = state.formula(n);
    const told = (field) => cut(state.text(field, n, 5, 8), 34);
    const label = variables.label[n];
    const out = [
      { kind: "name", text: formula ? `${name} = ${cut(formula, 34)}` : name, bold: name },
      { kind: "value", text: label ? `${cut(label, 20)} = ${told("value")}` : told("value") },
    ];
    if (variables.active[n]) {
      for (const field of { reverse: ["adjoint"], forward: ["tangent"], second: ["tangent", "adjoint", "second"] }[state.mode]) {
        out.push({ kind: field, text: `${format.derivative(variables.name[n], field)} = ${told(field)}` });
      }
    }
    return out;
  }

  size(kind, n) {
    if (kind === "g") return this.data.groups[n];
    const written = this.lines(n);
    const wide = Math.max(...written.map((line) => this.text(line.text))) + (this.data.variables[n].kind === "input" ? 34 : 24);
    const before = this.data.variables[n].w;
    // A little room is kept, so that the picture does not tremble when a digit changes.
    return { w: wide <= before && wide > before - 40 ? before : 12 * Math.ceil(wide / 12), h: Graph.LINE * written.length + 12 };
  }

  draw() {
    const left = this.frames.open();
    this.note.textContent = left ? `${Frames.MOST} boxes are drawn: other frames open here` : "";
    const found = scene.placed(this.data, this.frames.opened, (kind, n) => this.size(kind, n));
    const svg = (tag, attributes = {}, ...children) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(name, value);
      made.append(...children);
      return made;
    };
    this.svg = svg;
    const pad = 12, width = found.width + 2 * pad, height = found.height + 2 * pad - scene.TITLE / 2;
    this.extent = [width, height];
    const depth = new Map([[0, 0]]);
    found.frames.slice(1).forEach(({ group }) => depth.set(group, depth.get(this.data.groups[group].parent) + 1));
    const marker = (id, kind) => svg("marker", {
      id, class: kind, viewBox: "0 0 8 8", refX: 7.4, refY: 4, markerWidth: 8, markerHeight: 8,
      markerUnits: "userSpaceOnUse", orient: "auto",
    }, svg("path", { d: "M0.5 0.8 L7.5 4 L0.5 7.2 Z" }));
    const body = svg("g", { transform: `translate(${pad} ${pad - scene.TITLE / 2})` });
    for (const frame of found.frames.slice(1)) body.append(this.frame(frame, depth));
    const partials = this.partials();
    for (const arrow of found.arrows) body.append(this.arrow(arrow));
    for (const frame of found.frames.slice(1)) body.append(this.title(frame, depth));
    for (const arrow of found.arrows) if (arrow.label) body.append(this.label(arrow, depth, partials));
    for (const box of found.boxes) body.append("variable" in box ? this.box(box) : this.closed(box));
    const drawing = svg("svg", { class: `graph ${this.state.mode}`, viewBox: `0 0 ${width} ${height}`, "aria-label": `Computation graph of ${this.state.data.name}` },
      svg("defs", {}, marker("head", ""), marker("head-pale", "pale")), body);
    const { scrollLeft, scrollTop } = this.view;
    const focus = document.activeElement && this.view.contains(document.activeElement) ? document.activeElement.dataset : null;
    this.view.replaceChildren(drawing);
    this.drawing = drawing;
    this.resize();
    this.view.scrollTo(scrollLeft, scrollTop);
    if (focus && (focus.variable || focus.group)) {
      const again = drawing.querySelector(focus.variable ? `.box[data-variable="${focus.variable}"]` : `[data-group="${focus.group}"][tabindex]`);
      if (again) again.focus({ preventScroll: true });
    }
    this.boxes = [...drawing.querySelectorAll(".box[data-variable]")];
    this.shut = [...drawing.querySelectorAll(".box.closed")];
    this.arrows = [...drawing.querySelectorAll(".arrow[data-source]")];
    this.labels = [...drawing.querySelectorAll(".arrow[data-of]")];
    this.progress();
    this.mark();
  }

  frame({ group, x, y, w, h }, depth) {
    const { svg } = this;
    const given = this.data.groups[group];
    const made = svg("g", {
      class: `frame ${given.kind}${depth.get(group) % 2 ? "" : " odd"}`, "data-group": group, tabindex: 0,
      role: "button", "aria-expanded": "true", "aria-label": `${given.title}: close`,
    });
    made.append(svg("rect", { x, y, width: w, height: h, rx: 7 }));
    return made;
  }

  // Over the arrows, so that none of them runs through the words.
  title({ group, x, y }, depth) {
    const { svg } = this;
    const text = `▾ ${this.data.groups[group].title}`;
    return svg("g", { class: `heading${depth.get(group) % 2 ? "" : " odd"}`, "data-group": group, "aria-hidden": "true" },
      svg("rect", { x: x + 6, y: y + 5, width: this.text(text, 12, "600") + 8, height: 17, rx: 3 }),
      svg("text", { class: "title", x: x + 10, y: y + 17 }, text));
  }

  closed({ group, x, y, w, h }) {
    const { svg } = this;
    const given = this.data.groups[group];
    return svg("g", { class: `box closed ${given.kind}`, "data-group": group, tabindex: 0, role: "button", "aria-expanded": "false", "aria-label": `${given.title}: open` },
      svg("rect", { class: "behind", x: x + 4, y: y + 4, width: w - 4, height: h - 4, rx: 5 }),
      svg("rect", { class: "outline", x, y, width: w - 4, height: h - 4, rx: 5 }),
      svg("text", { class: "name", x: x + w / 2 - 2, y: y + 18, "text-anchor": "middle" }, `▸ ${given.title}`),
      svg("text", { class: "note", x: x + w / 2 - 2, y: y + 35, "text-anchor": "middle" }, given.note));
  }

  box({ variable, x, y, w, h }) {
    const { svg } = this;
    const given = this.data.variables[variable];
    const result = this.state.results.has(variable) || given.result;
    const written = this.lines(variable);
    const made = svg("g", {
      class: `box ${given.kind}${result ? " result" : ""}${given.still ? " still" : ""}`, "data-variable": variable,
      tabindex: -1, role: "img", "aria-label": written.map((line) => line.text).join(", "),
    });
    const outline = (name, inset) => (given.kind === "constant"
      ? svg("polygon", { class: name, points: `${x + 8},${y} ${x + w},${y} ${x + w - 8},${y + h} ${x},${y + h}` })
      : svg("rect", { class: name, x: x + inset, y: y + inset, width: w - 2 * inset, height: h - 2 * inset, rx: given.kind === "input" ? Math.min((h - 2 * inset) / 2, 33) : 3 }));
    made.append(outline("outline", 0));
    if (result) made.append(outline("inner", 3));
    written.forEach((line, k) => {
      const text = svg("text", { class: line.kind, x: x + w / 2, y: y + 19 + Graph.LINE * k, "text-anchor": "middle" });
      if (line.bold) text.append(svg("tspan", { class: "id" }, line.bold), line.text.slice(line.bold.length));
      else text.append(line.text);
      made.append(text);
    });
    return made;
  }

  arrow(arrow) {
    const { svg } = this;
    const pale = arrow.active ? "" : " still";
    return svg("g", { class: `arrow${pale}`, "data-source": arrow.variable, "data-target": arrow.target },
      svg("path", { d: scene.path(arrow.points), "marker-end": arrow.head ? `url(#head${pale ? "-pale" : ""})` : null }));
  }

  label(arrow, depth, partials) {
    const { svg } = this;
    const text = this.state.computed && arrow.target >= 0 ? partials(arrow.variable, arrow.target, arrow.text) : arrow.text;
    const [x, y] = arrow.label, wide = this.text(text, 11) + 6;
    const made = svg("g", { class: `arrow${depth.get(arrow.group) % 2 ? " even" : ""}`, "data-of": arrow.target });
    if (text) made.append(svg("rect", { x: x - wide / 2, y: y - 7, width: wide, height: 14, rx: 3 }), svg("text", { x, y: y + 4 }, text));
    return made;
  }

  // After other inputs: the partials between numbers, by the rules of the operations on the way (hidden ones too);
  // formulas stay as they are.
  partials() {
    const { state } = this;
    const { variables } = state.data;
    return (source, target, before) => {
      if (!before || variables.shape[source].length || variables.shape[target].length) return before;
      const found = state.engine.partial(state.computed.value, source, target);
      const real = found && found.imaginary && found.imaginary[0] === 0 && !before.endsWith("j)");
      return found ? format.summary(real ? arrays.part(found, 0) : found, 4) : "";
    };
  }

  resize() {
    const [width, height] = this.extent;
    this.drawing.setAttribute("width", width * this.scale);
    this.drawing.setAttribute("height", height * this.scale);
  }

  zoom(factor) {
    this.fitted = false;
    this.scale = Math.min(Math.max(this.scale * factor, 0.05), 3);
    this.resize();
  }

  fit(all = false) {
    this.fitted = !all; // as long as nobody chooses another size
    const [width, height] = this.extent;
    const wide = (this.view.clientWidth - 2) / width;
    this.scale = Math.min(1.15, all ? Math.min(wide, (this.view.clientHeight - 2) / height) : Math.max(wide, Graph.SMALLEST));
    this.resize();
  }

  click(event) {
    const group = event.target.closest("[data-group]"), box = event.target.closest(".box[data-variable]");
    if (box) this.choose(Number(box.dataset.variable));
    else if (group) this.toggle(Number(group.dataset.group));
  }

  choose(v) {
    if (v >= this.state.count) return;
    this.state.reveal(v);
    this.state.select(v);
    if (this.state.rowOf.has(v)) this.trace.bring(this.state.rowOf.get(v));
  }

  toggle(frame) {
    if (this.frames.toggle(frame)) return;
    this.draw();
    if (this.fitted) this.fit();
  }

  showSelected() {
    if (this.state.selected !== null && this.frames.ask(this.state.selected)) this.draw();
    this.follow(".selected");
  }

  hover(event) {
    const box = event.target.closest(".box[data-variable]");
    if (box && Number(box.dataset.variable) < this.state.count) this.trace.mark([Number(box.dataset.variable)]);
  }

  key(event) {
    if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "Enter" || event.key === " ") {
      const group = event.target.closest("[data-group]");
      if (!group) return;
      this.toggle(Number(group.dataset.group));
    } else if (event.target === this.view && event.key.startsWith("Arrow")) {
      const [x, y] = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] }[event.key];
      this.view.scrollBy(x, y);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // What has been told so far, and the selected variable.
  progress() {
    const { state } = this;
    const whole = state.position === state.steps.length;
    const current = state.current();
    for (const box of this.boxes) {
      const v = Number(box.dataset.variable);
      const r = state.rowOf.get(v);
      const told = whole || r === undefined || state.told(r, "down");
      box.classList.toggle("untold", !told);
      box.classList.toggle("unpulled", !whole && r !== undefined && !state.told(r, "up"));
      box.classList.toggle("current", current !== null && current.row === r);
      box.classList.toggle("selected", state.selected === v);
    }
    for (const box of this.shut) {
      const r = state.rowFor(this.frames.first(Number(box.dataset.group)));
      box.classList.toggle("untold", !whole && r !== undefined && !state.told(r, "down"));
      box.classList.toggle("current", current !== null && current.row === r);
    }
    // A partial derivative is known when its operation is.
    const untold = (v) => !whole && state.rowOf.has(v) && !state.told(state.rowOf.get(v), "down");
    for (const arrow of this.arrows) arrow.classList.toggle("untold", untold(Number(arrow.dataset.target)));
    for (const label of this.labels) label.classList.toggle("untold", untold(Number(label.dataset.of)));
  }

  // A box comes into sight, without moving the page.
  follow(kind) {
    const box = this.drawing.querySelector(`.box${kind}`);
    if (!box) return;
    const [at, view] = [box.getBoundingClientRect(), this.view.getBoundingClientRect()];
    const beyond = (low, high, from, to) => (low < from + 8 ? low - from - 60 : high > to - 8 ? high - to + 60 : 0);
    this.view.scrollBy(beyond(at.left, at.right, view.left, view.right), beyond(at.top, at.bottom, view.top, view.bottom));
  }

  mark() {
    const { marked } = this.trace;
    const has = (name, v) => Boolean(marked && marked[name].has(v));
    for (const box of this.boxes) {
      const v = Number(box.dataset.variable);
      for (const name of ["seeds", "above", "below"]) box.classList.toggle(`mark-${name}`, has(name, v));
    }
    for (const arrow of this.arrows) {
      const from = Number(arrow.dataset.source), to = Number(arrow.dataset.target);
      const above = has("above", from) && (to < 0 || has("above", to) || has("seeds", to));
      const below = !above && (has("below", from) || has("seeds", from)) && (to < 0 || has("below", to));
      arrow.classList.toggle("mark-above", above);
      arrow.classList.toggle("mark-below", below);
    }
  }
}
