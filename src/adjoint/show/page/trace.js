// The trace table: forward trace and reverse trace side by side. Long tables hold only the rows in sight.
"use strict";
class Trace {
  static MANY = 300; // rows, from which on only those in sight are made

  constructor(root, state) {
    this.root = root;
    this.state = state;
    this.elements = new Map(); // row -> tr
    this.marked = null;
    this.focused = 0;
    this.table = format.node("table", { role: "grid", "aria-label": "Trace" });
    this.frame = format.node("div", { class: "frame" }, this.table);
    root.append(this.frame);
    this.frame.addEventListener("scroll", () => requestAnimationFrame(() => this.window()));
    this.table.addEventListener("mouseover", (event) => this.hover(event));
    this.table.addEventListener("mouseleave", () => this.mark(null));
    this.table.addEventListener("focusin", (event) => this.hover(event));
    this.table.addEventListener("click", (event) => this.click(event));
    this.table.addEventListener("keydown", (event) => this.key(event));
    state.on((what) => (what === "layout" || what === "formulas" ? this.layout() : this.refresh(what)));
    this.layout();
  }

  columns() {
    const { mode } = this.state;
    const tangent = mode !== "reverse", adjoint = mode !== "forward";
    return [
      { kind: "value", title: "Forward primal trace", arrow: "↓", way: "down" },
      ...(tangent ? [{ kind: "tangent", title: "Forward tangent trace", arrow: "↓", way: "down" }] : []),
      ...(adjoint ? [{ kind: "adjoint", title: "Reverse adjoint trace", arrow: "↑", way: "up" }] : []),
      ...(mode === "second" ? [{ kind: "second", title: "Its derivative", arrow: "↑", way: "up" }] : []),
    ];
  }

  layout() {
    const { rows } = this.state;
    this.long = rows.length > Trace.MANY;
    this.root.classList.toggle("long", this.long);
    this.root.parentElement.classList.toggle("wide", this.state.mode === "second");
    this.table.className = `trace ${this.state.mode}`;
    this.elements.clear();
    const { node } = format;
    const head = node("tr", { role: "row", "aria-rowindex": "1" },
      node("th", { class: "mark", scope: "col" }, node("span", { class: "quiet" }, "Relation")),
      node("th", { class: "label", scope: "col" }, "name"));
    for (const column of this.columns()) {
      const single = column.kind === "second";
      const way = node("span", { class: "way", "aria-hidden": "true" }, column.arrow);
      head.append(node("th", { class: `head ${column.kind}`, scope: "col", colspan: single ? 1 : 2 }, way, column.title));
    }
    head.append(node("th", { class: "line", scope: "col" }, "line"));
    this.body = node("tbody");
    this.table.setAttribute("aria-rowcount", rows.length + 1);
    const widths = ["mark", "label", ...this.columns().flatMap(({ kind }) => (kind === "second" ? ["number"] : ["formula", "number"])), "line"];
    const columns = node("colgroup", {}, ...widths.map((kind) => node("col", { class: kind })));
    this.table.replaceChildren(columns, node("thead", {}, head), this.body);
    this.focused = Math.min(this.focused, rows.length - 1);
    this.span = [0, -1];
    this.height = 0;
    this.window();
  }

  // Make the rows in sight; all of them when there are few, or for paper.
  window(all = false) {
    const { rows } = this.state;
    if (!this.long || all) {
      if (this.span[1] === rows.length) return;
      this.show(0, rows.length, 0, 0);
      return;
    }
    this.height ||= parseFloat(getComputedStyle(this.root).getPropertyValue("--row")) || 34;
    const first = Math.max(0, Math.floor(this.frame.scrollTop / this.height) - 20);
    const last = Math.min(rows.length, first + Math.ceil((this.frame.clientHeight || 800) / this.height) + 40);
    if (first >= this.span[0] && last <= this.span[1] && this.span[1] - this.span[0] < 200) return;
    this.show(first, last, first * this.height, (rows.length - last) * this.height);
  }

  show(first, last, above, below) {
    const { node } = format;
    const kept = new Map();
    const made = [];
    for (let r = first; r < last; r++) {
      const tr = this.elements.get(r) || this.row(r);
      kept.set(r, tr);
      made.push(tr);
    }
    this.elements = kept;
    this.span = [first, last];
    const spacer = (height) => node("tr", { class: "spacer", "aria-hidden": "true", style: `height:${height}px` }, node("td"));
    const focus = this.body.contains(document.activeElement) ? this.focused : -1;
    this.body.replaceChildren(...(above ? [spacer(above)] : []), ...made, ...(below ? [spacer(below)] : []));
    if (focus >= 0 && kept.has(focus)) kept.get(focus).focus({ preventScroll: true });
    this.refresh("rows");
  }

  row(r) {
    const { node } = format;
    const row = this.state.rows[r];
    const tr = node("tr", { role: "row", "data-row": r, "aria-rowindex": r + 2, tabindex: r === this.focused ? 0 : -1 });
    tr.style.setProperty("--depth", row.depth);
    tr.append(node("td", { class: "mark", role: "gridcell" }));
    if (row.v < 0) this.groupCells(tr, row);
    else this.variableCells(tr, row);
    return tr;
  }

  groupCells(tr, row) {
    const { node } = format;
    const { data, sizes } = this.state;
    const { kind, line } = data.groups;
    const [sort, called] = this.state.groupTitle(row.group);
    tr.classList.add("group", kind[row.group]);
    tr.setAttribute("data-group", row.group);
    tr.setAttribute("aria-expanded", String(!row.closed));
    const many = sizes[row.group];
    const title = node("td", { class: "label", role: "gridcell", colspan: row.closed ? 2 : 1 + this.width() },
      node("span", { class: "fold", "aria-hidden": "true" }, row.closed ? "▸" : "▾"),
      node("span", { class: "kind" }, sort), node("b", {}, called),
      node("span", { class: "count" }, ` ${many} operation${many === 1 ? "" : "s"}`));
    tr.append(title);
    // Of a closed group the last variable is shown, by its name.
    const last = (shown) => (row.last < 0 ? "" : format.formula(format.accented(data.variables.name[row.last], shown)));
    if (row.closed && row.last >= 0) title.append(node("span", { class: "last" }, " → ", last("value")));
    if (row.closed) {
      this.columns().forEach((column, k) => {
        const active = row.last >= 0 && data.variables.active[row.last];
        if (k && column.kind !== "second") tr.append(node("td", { class: `formula ${column.kind}`, role: "gridcell" }, active ? last(column.kind) : ""));
        tr.append(node("td", { class: `number ${column.kind}`, role: "gridcell", "data-field": column.kind }));
      });
    }
    tr.append(node("td", { class: "line", role: "gridcell" }, line[row.group] < 0 ? "" : data.lines[line[row.group]].place));
  }

  width() {
    return this.columns().reduce((n, column) => n + (column.kind === "second" ? 1 : 2), 0);
  }

  variableCells(tr, row) {
    const { node } = format;
    const { state } = this;
    const { variables } = state.data;
    const v = row.v;
    tr.setAttribute("data-variable", v);
    tr.classList.add(variables.kind[v], ...(state.results.has(v) ? ["result"] : []));
    tr.append(node("td", { class: "label", role: "gridcell" }, variables.label[v]));
    for (const { kind } of this.columns()) {
      if (kind !== "second") {
        const inner = node("span", { class: "clamp" });
        const cell = node("td", { class: `formula ${kind}`, role: "gridcell" });
        const right = { value: () => state.formula(v), tangent: () => state.tangentFormula(v), adjoint: () => state.adjointFormula(v) }[kind]();
        if (kind === "value" || variables.active[v]) {
          cell.append(inner);
          inner.append(format.formula(format.accented(variables.name[v], kind)));
          if (right) inner.append(node("span", { class: "equals" }, " = "), format.formula(right));
        }
        if (right.length > 40) cell.title = right;
        tr.append(cell);
      }
      tr.append(node("td", { class: `number ${kind}`, role: "gridcell", "data-field": kind }));
    }
    const line = state.line(v);
    tr.append(node("td", { class: "line", role: "gridcell", title: line ? `${line.place}: ${line.text}` : null }, line ? line.place : ""));
  }

  // Numbers, what has been told already, marks: everything that changes without a new layout.
  refresh(what) {
    const { state } = this;
    const current = state.current();
    for (const [r, tr] of this.elements) {
      const row = state.rows[r];
      const v = row.v >= 0 ? row.v : row.last;
      if (what !== "select" && v >= 0) {
        const down = state.told(r, "down"), up = state.told(r, "up");
        tr.classList.toggle("untold", !down);
        tr.classList.toggle("unpulled", !up);
        tr.classList.toggle("current", current !== null && current.row === r);
        tr.classList.toggle("upwards", current !== null && current.row === r && current.way === "up");
        if (down !== tr.down || up !== tr.up) this.silence(tr, down, up);
        for (const cell of tr.querySelectorAll("[data-field]")) {
          const text = state.text(cell.dataset.field, v);
          if (cell.textContent !== text) {
            cell.replaceChildren(...format.told(text));
            cell.classList.toggle("array", text.startsWith("["));
            cell.classList.toggle("bad", /nan|inf|not finite/.test(text));
          }
        }
      }
      tr.classList.toggle("selected", row.v >= 0 && row.v === state.selected);
      tr.setAttribute("aria-selected", String(row.v >= 0 && row.v === state.selected));
    }
    this.remark();
    if (what === "step" && current) this.bring(current.row);
  }

  // What has not been told yet is not read out either.
  silence(tr, down, up) {
    [tr.down, tr.up] = [down, up];
    for (const cell of tr.cells) {
      const told = /adjoint|second/.test(cell.className) ? up : down;
      if (told || cell.classList.contains("mark")) cell.removeAttribute("aria-hidden");
      else cell.setAttribute("aria-hidden", "true");
    }
  }

  bring(r) {
    if (this.long) {
      const top = r * this.height, { scrollTop, clientHeight } = this.frame;
      if (top < scrollTop + 40 || top > scrollTop + clientHeight - 80) this.frame.scrollTop = top - clientHeight / 2;
      this.window();
    }
    if (this.elements.has(r)) this.elements.get(r).scrollIntoView({ block: "nearest" });
  }

  rowAt(event) {
    const tr = event.target.closest("tr[data-row]");
    return tr ? Number(tr.dataset.row) : -1;
  }

  hover(event) {
    const r = this.rowAt(event);
    if (r < 0) return;
    if (event.type === "focusin") this.focusRow(r, false);
    const row = this.state.rows[r];
    this.mark(row.v >= 0 ? [row.v] : this.state.inside(row.group));
  }

  // Show what some variables depend on and what depends on them; null shows nothing.
  mark(seeds) {
    const key = seeds && `${seeds[0]}:${seeds.length}`;
    if (key === this.markedKey) return;
    this.markedKey = key;
    this.marked = seeds && seeds.length < 5000 ? this.state.related(seeds) : null;
    this.remark();
    this.state.changed("mark");
  }

  remark() {
    const { marked, state } = this;
    for (const [r, tr] of this.elements) {
      const row = state.rows[r];
      const has = (set) => (row.v >= 0 ? set.has(row.v) : row.closed && row.last >= 0 && set.has(row.last));
      const is = marked && has(marked.seeds) ? "seed" : marked && has(marked.above) ? "above" : marked && has(marked.below) ? "below" : "";
      tr.classList.toggle("seed", is === "seed");
      tr.classList.toggle("above", is === "above");
      tr.classList.toggle("below", is === "below");
      const cell = tr.firstChild;
      const sign = { seed: "●", above: "▲", below: "▼", "": "" }[is];
      if (cell.textContent !== sign) {
        cell.textContent = sign;
        cell.title = { seed: "", above: "what it depends on", below: "what depends on it", "": "" }[is];
        if (is) cell.setAttribute("aria-label", cell.title || "this one");
        else cell.removeAttribute("aria-label");
      }
    }
  }

  focusRow(r, move = true) {
    const old = this.elements.get(this.focused);
    if (old) old.tabIndex = -1;
    this.focused = r;
    if (move) {
      if (this.long) this.bring(r);
      const tr = this.elements.get(r);
      if (tr) tr.focus({ preventScroll: this.long });
    }
    const tr = this.elements.get(r);
    if (tr) tr.tabIndex = 0;
  }

  click(event) {
    const r = this.rowAt(event);
    if (r >= 0) this.act(r);
  }

  act(r) {
    const row = this.state.rows[r];
    if (row.v < 0) {
      const within = this.body.contains(document.activeElement);
      this.focused = r;
      this.state.toggle(row.group);
      if (within) this.focusRow(r);
    } else this.state.select(row.v);
  }

  key(event) {
    const r = this.rowAt(event);
    if (r < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const last = this.state.rows.length - 1;
    const to = { ArrowDown: r + 1, ArrowUp: r - 1, PageDown: r + 15, PageUp: r - 15 }[event.key];
    if (to !== undefined) this.focusRow(Math.min(Math.max(to, 0), last));
    else if (event.key === "Enter") this.act(r);
    else return;
    event.preventDefault();
  }
}
