// Runs a story again on other inputs: the operations, then the recorded rules of the chain rule.
"use strict";
class Engine {
  constructor(data) {
    this.data = data;
    const { variables, literals } = data;
    this.moves = variables.moves;
    this.literals = literals.map((x) => arrays.decode(x.shape, x.dtype, x.value));
    this.rules = new Map();
    this.reasons = new Map();
  }

  // Why values cannot be computed here ("" when they can); with a mode, why its derivatives cannot.
  reason(mode = null) {
    if (!this.reasons.has(mode)) this.reasons.set(mode, this.searched(mode));
    return this.reasons.get(mode);
  }

  searched(mode) {
    const { data } = this;
    if (data.recompute) return data.recompute;
    const events = data.events;
    for (let e = 0; e < events.op.length; e++) {
      const why = primitives.reason(data.ops[events.op[e]]);
      if (why) return why;
    }
    if (mode === null) return "";
    if (mode !== "forward" && data.seeds.length === 0) return data.modes.reverse.reason || "there is no seed";
    if (mode !== "reverse" && data.direction.length === 0) return data.modes.forward.reason || "there is no direction";
    for (const kind of { reverse: ["pull"], forward: ["push"], second: ["pull", "push", "second"] }[mode]) {
      for (let e = 0; e < events.op.length; e++) {
        if (!events.outputs[e].some((v) => this.moves[v])) continue;
        const op = data.ops[events.op[e]];
        const rule = events[kind][e];
        if (rule < 0) return `the rule of ${op.title} is not computed in the page`;
        const why = this.ruleReason(rule);
        if (why) return `the rule of ${op.title}: ${why}`;
      }
    }
    return "";
  }

  ruleReason(number) {
    for (const [op] of this.data.rules[number].steps) {
      const why = primitives.reason(this.data.ops[op]);
      if (why) return why;
    }
    return "";
  }

  input(variable) {
    const { shape, dtype, value } = this.data.variables;
    return arrays.decode(shape[variable], dtype[variable], value[variable]);
  }

  // inputs: variable -> array, for those that differ. Gives the arrays of all variables, by field.
  run(inputs, mode) {
    const { data } = this;
    const { kind } = data.variables;
    const value = kind.map((k, v) => (k === "step" ? null : inputs.get(v) || this.input(v)));
    const events = data.events;
    for (let e = 0; e < events.op.length; e++) {
      const out = primitives.run(data.ops[events.op[e]], this.read(value, e), this.dtypes(e));
      events.outputs[e].forEach((v, k) => (value[v] = out[k]));
    }
    this.check(value);
    const found = { value, adjoint: null, tangent: null, second: null };
    if (mode !== "forward") found.adjoint = this.backward(value);
    if (mode !== "reverse") found.tangent = this.forward(value);
    if (mode === "second") found.second = this.backward(value, found.adjoint, found.tangent);
    return found;
  }

  dtypes(e) {
    return this.data.events.outputs[e].map((v) => this.data.variables.dtype[v]);
  }

  read(value, e) {
    return this.data.events.operands[e].map((a) => (a >= 0 ? value[a] : this.literals[-1 - a]));
  }

  // Python's own branches were taken by value: other answers would mean another story.
  check(value) {
    for (const guard of this.data.guards) {
      const x = value[guard.variable].data;
      const answers = {
        bool: () => (x[0] !== 0) === guard.answer,
        content: () => {
          const wanted = arrays.decode([x.length], "float64", [].concat(guard.answer)).data;
          return x.every((a, i) => Object.is(a, wanted[i]) || a === wanted[i]);
        },
        floor: () => Math.floor(x[0]) === guard.answer, ceil: () => Math.ceil(x[0]) === guard.answer,
      };
      const whole = () => Math.trunc(x[0]) === guard.answer;
      if (!(answers[guard.question] || whole)()) {
        throw new Error(`these inputs take another way through the function: not “${guard.text}”. Explain it again with them`);
      }
    }
  }

  rule(number, xs) {
    const program = this.data.rules[number];
    if (!this.rules.has(number)) {
      this.rules.set(number, program.constants.map((c) => arrays.decode(c.shape, c.dtype, c.value)));
    }
    const slots = [...xs, ...this.rules.get(number)];
    for (const [op, operands, dtypes] of program.steps) {
      slots.push(...primitives.run(this.data.ops[op], operands.map((i) => slots[i]), dtypes));
    }
    return program.outputs.map((i) => slots[i]);
  }

  zeros(v) {
    return arrays.make(this.data.variables.shape[v], this.data.variables.dtype[v]);
  }

  add(total, v, part) {
    total[v] = total[v] === null ? part : arrays.cast(arrays.map((a, b) => a + b, part.dtype, total[v], part), part.dtype);
  }

  // Adjoints of all variables; with the adjoints and tangents, the derivatives of the adjoints along the tangents.
  backward(value, adjoint = null, tangent = null) {
    const { data } = this;
    const events = data.events;
    const total = value.map(() => null);
    data.outputs.forEach((v, k) => {
      if (v < 0 || !this.moves[v]) return;
      const seed = data.seeds[k];
      this.add(total, v, adjoint ? this.zeros(v) : arrays.decode(seed.shape, seed.dtype, seed.value));
    });
    const full = (field, v) => field[v] || this.zeros(v);
    for (let e = events.op.length - 1; e >= 0; e--) {
      const outs = events.outputs[e], operands = events.operands[e];
      const number = events[adjoint ? "second" : "pull"][e];
      if (number < 0 || outs.every((v) => (adjoint || total)[v] === null)) continue;
      const moving = operands.filter((a) => a >= 0 && this.moves[a]);
      let xs = [...outs.map((v) => full(adjoint || total, v)), ...this.read(value, e), ...outs.map((v) => value[v])];
      if (adjoint) {
        const dots = [...moving, ...outs.filter((v) => /float/.test(data.variables.dtype[v]))];
        xs = [...xs, ...outs.map((v) => full(total, v)), ...dots.map((v) => full(tangent, v))];
      }
      this.rule(number, xs).forEach((part, k) => this.add(total, moving[k], part));
    }
    return total.map((x, v) => (this.moves[v] && x === null ? this.zeros(v) : x));
  }

  forward(value) {
    const { data } = this;
    const events = data.events;
    const total = value.map(() => null);
    data.inputs.forEach((v, k) => {
      const d = data.direction[k];
      if (d) total[v] = arrays.decode(d.shape, d.dtype, d.value);
    });
    for (let e = 0; e < events.op.length; e++) {
      const number = events.push[e];
      if (number < 0) continue;
      const moving = events.operands[e].filter((a) => a >= 0 && this.moves[a]);
      const outs = events.outputs[e];
      const dots = moving.map((v) => total[v] || this.zeros(v));
      const ds = this.rule(number, [...this.read(value, e), ...outs.map((v) => value[v]), ...dots]);
      outs.forEach((v, k) => { if (this.moves[v]) total[v] = ds[k]; });
    }
    return total.map((x, v) => (this.moves[v] && x === null ? this.zeros(v) : x));
  }
}
