// What the page shows: values of all variables, the mode, which groups are open, how far the explanation has been shown.
"use strict";
class State {
  // `closed`: the groups that are closed at first, in the table as in the graph; null: none, if there are few rows.
  constructor(data, closed = null) {
    this.data = data;
    this.engine = new Engine(data);
    this.mode = data.mode;
    this.computed = null; // fields of a run on other inputs
    this.given = new Map(); // inputs that differ
    this.selected = null; // a variable
    this.listeners = [];
    const { variables, events, groups } = data;
    this.count = variables.name.length;
    this.byName = new Map(variables.name.map((name, v) => [name, v]));
    this.uses = variables.name.map(() => []);
    events.operands.forEach((operands, e) => operands.forEach((a, i) => { if (a >= 0) this.uses[a].push([e, i]); }));
    this.results = new Set(data.outputs.filter((v) => v >= 0));
    // Which adjoints are more than zeros: those of the results, and of what leads to them.
    this.flows = variables.name.map((_, v) => this.results.has(v));
    for (let e = events.operands.length - 1; e >= 0; e--) {
      if (!this.leads(e)) continue;
      for (const a of events.operands[e]) if (a >= 0 && variables.active[a]) this.flows[a] = true;
    }
    const size = (g) => (this.sizes[g] = groups.parts[g].reduce((sum, part) => sum + (part >= 0 ? 1 : size(-part)), 0));
    this.sizes = groups.parts.map(() => 0);
    size(0);
    const many = variables.hidden.filter((h) => !h).length > 200;
    this.closed = new Set(closed || (many ? groups.kind.map((_, g) => g).slice(1) : []));
    this.cache = {};
    this.layout();
    this.position = this.steps.length;
  }

  on(listener) {
    this.listeners.push(listener);
  }

  changed(what) {
    for (const listener of this.listeners) listener(what);
  }

  // The array of a variable's value, adjoint, tangent or second; null when it is not here.
  array(field, v) {
    if (this.computed) return this.computed[field] ? this.computed[field][v] : null;
    const { variables, imaginary } = this.data;
    const cell = variables[field][v];
    if (cell === null) return null;
    const known = (this.cache[field] ||= []);
    return (known[v] ||= arrays.decode(variables.shape[v], variables.dtype[v], cell, imaginary[field][v]));
  }

  text(field, v, digits = 7, width = 12) {
    const found = this.array(field, v);
    if (found) return format.summary(found, digits, width);
    return this.computed ? "" : this.data.texts[field][v] || "";
  }

  formula(v) {
    const e = this.data.variables.event[v];
    if (e < 0) return "";
    const outputs = this.data.events.outputs[e];
    return this.data.events.formula[e] + (outputs.length > 1 ? `[${outputs.indexOf(v)}]` : "");
  }

  tangentFormula(v) {
    const e = this.data.variables.event[v];
    if (e < 0 || !this.data.variables.active[v]) return "";
    return this.computed && e in this.data.general ? this.data.general[e][0] : this.data.events.tangent[e];
  }

  // v̄ = Σ z̄ ∂z/∂v over the operations that read v; the last reader comes first, as on the way back.
  adjointFormula(v, most = 4) {
    const { variables, events } = this.data;
    if (!variables.active[v]) return "";
    const terms = [];
    if (variables.chain) {
      if (variables.chain[v] && !(this.computed && variables.loose[v])) terms.push(variables.chain[v]);
    } else {
      for (let k = this.uses[v].length - 1; k >= 0; k--) {
        const [e, i] = this.uses[v][k];
        if (!this.leads(e)) continue;
        const term = this.computed && e in this.data.general ? this.data.general[e][1][i] : events.terms[e][i];
        if (term) terms.push(term);
      }
    }
    const seeds = this.data.seeds.filter((seed, k) => seed && this.data.outputs[k] === v);
    const single = variables.shape[v].length === 0 && seeds.length === 1;
    if (seeds.length) terms.unshift(single ? format.summary(decoded(seeds[0])) : "seed");
    if (!terms.length && !this.uses[v].some(([e]) => this.leads(e))) return "0"; // no result depends on it
    const more = terms.length - most;
    const shown = more > 1 ? terms.slice(0, most) : terms;
    const sum = shown.reduce((all, term) => (!all ? term : term.startsWith("−") ? `${all} − ${term.slice(1)}` : `${all} + ${term}`), "");
    return more > 1 ? `${sum} + … ${more} more terms` : sum;
  }

  // Whether an adjoint comes back through an operation.
  leads(e) {
    return this.data.events.outputs[e].some((v) => this.flows[v] && this.data.variables.active[v]);
  }

  line(v) {
    const e = this.data.variables.event[v];
    const number = e < 0 ? -1 : this.data.events.line[e];
    return number < 0 ? null : this.data.lines[number];
  }

  // Which modes can be shown, and why not.
  modeReason(mode) {
    if (!this.computed && this.data.modes[mode].known) return "";
    const why = this.engine.reason(mode);
    return why ? this.data.modes[mode].reason || why : "";
  }

  setMode(mode) {
    if (this.modeReason(mode)) return;
    const whole = this.position === this.steps.length;
    if (this.computed || !this.data.modes[mode].known) this.compute(mode);
    this.mode = mode;
    this.layout();
    this.position = whole ? this.steps.length : Math.min(this.position, this.steps.length);
    this.changed("layout");
  }

  // Run again with the inputs that were given; an error leaves everything as it was.
  compute(mode = this.mode) {
    this.computed = this.engine.run(this.given, mode);
  }

  setInput(v, array) {
    const before = this.given.get(v), first = this.computed === null;
    this.given.set(v, array);
    try {
      this.compute();
    } catch (problem) {
      if (before) this.given.set(v, before);
      else this.given.delete(v);
      throw problem;
    }
    this.changed(first && Object.keys(this.data.general).length ? "formulas" : "values");
  }

  reset() {
    this.given.clear();
    this.computed = null;
    if (!this.data.modes[this.mode].known) this.compute();
    this.changed("formulas");
  }

  // Rows in order: inputs, then operations and groups. A closed group is one row.
  layout() {
    const { variables, events, groups, inputs } = this.data;
    const rows = inputs.filter((v) => !variables.hidden[v]).map((v) => ({ v, depth: 0, group: 0 }));
    const enter = (g, depth) => {
      for (const part of groups.parts[g]) {
        if (part < 0) {
          const group = -part;
          const closed = this.closed.has(group);
          rows.push({ v: -1, depth, group, closed, last: closed ? this.lastOf(group) : -1 });
          if (!closed) enter(group, depth + 1);
        } else {
          for (const v of events.outputs[part]) if (!variables.hidden[v]) rows.push({ v, depth, group: g });
        }
      }
    };
    enter(0, 0);
    this.rows = rows;
    this.rowOf = new Map();
    this.rowOfGroup = new Map();
    rows.forEach((row, r) => { if (row.v >= 0) this.rowOf.set(row.v, r); else this.rowOfGroup.set(row.group, r); });
    this.placeSteps();
  }

  // The row that tells of a variable: its own, or that of the closed group that it stands in.
  rowFor(v) {
    const shut = this.rowOf.has(v) ? undefined : this.around(v).findLast((g) => this.closed.has(g));
    return shut === undefined ? this.rowOf.get(v) : this.rowOfGroup.get(shut);
  }

  lastOf(g) {
    const parts = this.data.groups.parts[g];
    for (let k = parts.length - 1; k >= 0; k--) {
      const found = parts[k] < 0 ? this.lastOf(-parts[k]) : this.data.events.outputs[parts[k]].at(-1);
      if (found !== undefined && found >= 0) return found;
    }
    return -1;
  }

  // The lecture: rows are filled downwards, then (with adjoints) upwards.
  placeSteps() {
    const down = [], up = [];
    this.rows.forEach((row, r) => {
      if (row.v < 0 && !row.closed) return;
      down.push({ row: r, way: "down" });
      const v = row.v >= 0 ? row.v : row.last;
      if (v >= 0 && this.data.variables.active[v]) up.unshift({ row: r, way: "up" });
    });
    this.arrived = false;
    this.steps = this.mode === "forward" ? down : [...down, ...up];
    this.stepDown = new Map(down.map((step, k) => [step.row, k]));
    this.stepUp = new Map(this.mode === "forward" ? [] : up.map((step, k) => [step.row, down.length + k]));
  }

  told(r, way) {
    const step = (way === "down" ? this.stepDown : this.stepUp).get(r);
    return step === undefined || step < this.position;
  }

  // The step that is being told. The last one is, too, for those who came to it step by step.
  current() {
    return this.position > 0 && (this.position < this.steps.length || this.arrived) ? this.steps[this.position - 1] : null;
  }

  go(position) {
    this.arrived = position === this.steps.length && this.position === position - 1;
    this.position = Math.min(Math.max(position, 0), this.steps.length);
    this.changed("step");
  }

  // A group that holds nothing but another one opens with it.
  toggle(group, close = !this.closed.has(group)) {
    if (close) this.closed.add(group);
    else {
      for (let g = group, parts; this.closed.delete(g); g = -parts[0]) {
        parts = this.data.groups.parts[g];
        if (parts.length !== 1 || parts[0] >= 0) break;
      }
    }
    this.relayout();
  }

  toggleAll(close) {
    this.shut(close ? this.data.groups.kind.map((_, g) => g).slice(1) : []);
  }

  // These groups are closed, all others open.
  shut(groups) {
    this.closed = new Set(groups);
    this.relayout();
  }

  // Other rows; of an explanation that is being shown, the same is shown last.
  relayout() {
    const whole = this.position === this.steps.length;
    const step = this.steps[this.position - 1], row = step && this.rows[step.row];
    this.layout();
    if (whole) this.position = this.steps.length;
    else if (step) {
      const r = this.rowFor(row.v >= 0 ? row.v : row.last), down = step.way === "down";
      const last = this.steps.findLastIndex(({ row: other, way }) => way === step.way && (down ? other <= r : other >= r));
      this.position = last < 0 ? this.stepDown.size : last + 1;
    }
    this.changed("layout");
  }

  // What sort of group, and its name: not "iteration iteration 1".
  groupTitle(group) {
    const { kind, name } = this.data.groups;
    return [kind[group] === "more" || name[group].startsWith(kind[group]) ? "" : `${kind[group]} `, name[group]];
  }

  // The groups around a variable, from the inside out.
  around(v) {
    const e = this.data.variables.event[v], found = [];
    for (let g = e < 0 ? 0 : this.data.events.group[e]; g > 0; g = this.data.groups.parent[g]) found.push(g);
    return found;
  }

  // Open the groups around a variable, so that it has a row.
  reveal(v) {
    const shut = this.around(v).filter((g) => this.closed.delete(g));
    if (shut.length) this.relayout();
  }

  select(v) {
    this.selected = v;
    this.changed("select");
  }

  // Everything that some variables depend on ("above") and everything that depends on them ("below").
  related(seeds) {
    const { events, variables } = this.data;
    const spread = (next) => {
      const found = new Set(), stack = [...seeds];
      while (stack.length) for (const v of next(stack.pop())) if (!found.has(v)) { found.add(v); stack.push(v); }
      return found;
    };
    const above = spread((v) => (variables.event[v] < 0 ? [] : events.operands[variables.event[v]].filter((a) => a >= 0)));
    const below = spread((v) => this.uses[v].flatMap(([e]) => events.outputs[e]));
    return { seeds: new Set(seeds), above, below };
  }

  inside(group) {
    const { groups, events } = this.data;
    return groups.parts[group].flatMap((part) => (part < 0 ? this.inside(-part) : events.outputs[part]));
  }
}
