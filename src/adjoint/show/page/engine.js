// Runs an explanation again on other inputs: the operations, then the recorded rules of the chain rule.
"use strict";
const decoded = (x) => ({ ...arrays.decode(x.shape, x.dtype, x.value, x.imaginary), weak: Boolean(x.weak) });
const ADD = { name: "add", title: "add" };
const BEYOND = "a whole number beyond 2⁵³";
const large = (x) => Math.abs(x) > Number.MAX_SAFE_INTEGER;
const beyond = ({ dtype, value }) => arrays.whole(dtype) && [value].flat().some(large);
const smooth = (dtype) => /^(float|complex)/.test(dtype);

class Engine {
  constructor(data) {
    this.data = data;
    const { variables, literals } = data;
    this.active = variables.active;
    this.literals = literals.map(decoded);
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
    const { events, variables } = data;
    const held = variables.dtype.map((dtype, v) => ({ dtype, value: variables.value[v] }));
    if ([...held, ...data.literals].some(beyond)) return BEYOND;
    for (let e = 0; e < events.op.length; e++) {
      const why = primitives.reason(data.ops[events.op[e]], [...this.operandTypes(e), ...this.dtypes(e)]);
      if (why) return why;
    }
    if (mode === null) return "";
    if (mode !== "forward" && data.seeds.length === 0) return data.modes.reverse.reason || "there is no seed";
    if (mode !== "reverse" && data.direction.length === 0) return data.modes.forward.reason || "there is no direction";
    for (const kind of { reverse: ["pull"], forward: ["push"], second: ["pull", "push", "second"] }[mode]) {
      for (let e = 0; e < events.op.length; e++) {
        if (!events.outputs[e].some((v) => this.active[v])) continue;
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
    const { inputs, constants, steps } = this.data.rules[number];
    if (constants.some(beyond)) return BEYOND;
    const slots = [...inputs, ...constants.map((c) => c.dtype)];
    for (const [op, operands, dtypes] of steps) {
      const why = primitives.reason(this.data.ops[op], [...operands.map((i) => slots[i]), ...dtypes]);
      if (why) return why;
      slots.push(...dtypes);
    }
    return "";
  }

  input(variable) {
    const { shape, dtype, value } = this.data.variables;
    return arrays.decode(shape[variable], dtype[variable], value[variable], this.data.imaginary.value[variable]);
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

  operandTypes(e) {
    const { variables, literals } = this.data;
    return this.data.events.operands[e].map((a) => (a >= 0 ? variables.dtype[a] : literals[-1 - a].dtype));
  }

  read(value, e) {
    return this.data.events.operands[e].map((a) => (a >= 0 ? value[a] : this.literals[-1 - a]));
  }

  // Python's own branches were taken by value: other answers would mean another explanation.
  check(value) {
    const { guards } = this.data, asked = (guard) => guard.question !== "check";
    for (const guard of guards.filter(asked)) {
      const all = value[guard.variable], x = all.data, y = all.imaginary || x;
      const same = (a, answer) => {
        const wanted = arrays.decode([a.length], "float64", [].concat(answer)).data;
        return a.every((b, i) => Object.is(b, wanted[i]) || b === wanted[i]);
      };
      const answers = {
        bool: () => (x[0] !== 0 || y[0] !== 0) === guard.answer,
        content: () => same(x, guard.answer) && (!("imaginary" in guard) || same(y, guard.imaginary)),
        floor: () => Math.floor(x[0]) === guard.answer, ceil: () => Math.ceil(x[0]) === guard.answer,
      };
      const whole = () => Math.trunc(x[0]) === guard.answer;
      if (!(answers[guard.question] || whole)()) {
        const told = `not “${guard.text}”. Explain it again with them`;
        throw new Error(`these inputs take another way through the function: ${told}`);
      }
    }
    const checks = guards.filter((guard) => !asked(guard)); // on the way that was taken
    for (const { operands, alive, batches, text } of checks) {
      const xs = operands.map((a) => (a >= 0 ? value[a] : this.literals[-1 - a]));
      const holds = (x) => x.data.every((a, i) => a !== 0 || (x.imaginary && x.imaginary[i] !== 0));
      const fails = (ys) => ys.slice(0, alive).every(holds) && !holds(ys[alive]);
      const failed = this.batchArguments(batches, xs).find(fails);
      const told = (part) => (typeof part === "string" ? part : format.summary(failed[part]));
      if (failed) throw new Error(`the check fails: ${text.map(told).join("")}`);
    }
  }

  // The arguments of an effect, one batch element at a time; for each batch: which of them have it, and its size.
  batchArguments(batches, xs) {
    if (!batches.length) return [xs];
    const [[flags, size], ...inner] = batches;
    const cut = (data, i) => data && data.slice((i * data.length) / size, ((i + 1) * data.length) / size);
    const row = (x, i) => ({ ...x, shape: x.shape.slice(1), data: cut(x.data, i), imaginary: cut(x.imaginary, i) });
    const element = (i) => this.batchArguments(inner, xs.map((x, k) => (flags[k] ? row(x, i) : x)));
    return Array.from({ length: size }, (_, i) => element(i)).flat();
  }

  rule(number, xs) {
    const program = this.data.rules[number];
    if (!this.rules.has(number)) {
      this.rules.set(number, program.constants.map(decoded));
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
    total[v] = total[v] === null ? part : primitives.run(ADD, [total[v], part], [part.dtype])[0];
  }

  // Adjoints of all variables; with the adjoints and tangents, the derivatives of the adjoints along the tangents.
  backward(value, adjoint = null, tangent = null) {
    const { data } = this;
    const events = data.events;
    const total = value.map(() => null);
    data.outputs.forEach((v, k) => {
      if (v < 0 || !this.active[v]) return;
      const seed = data.seeds[k];
      this.add(total, v, adjoint ? this.zeros(v) : decoded(seed));
    });
    const full = (field, v) => field[v] || this.zeros(v);
    for (let e = events.op.length - 1; e >= 0; e--) {
      const outs = events.outputs[e], operands = events.operands[e];
      const number = events[adjoint ? "second" : "pull"][e];
      if (number < 0 || outs.every((v) => (adjoint || total)[v] === null)) continue;
      const moving = operands.filter((a) => a >= 0 && this.active[a]);
      let xs = [...outs.map((v) => full(adjoint || total, v)), ...this.read(value, e), ...outs.map((v) => value[v])];
      if (adjoint) {
        const some = outs.filter((v) => smooth(data.variables.dtype[v])), dots = [...moving, ...some];
        xs = [...xs, ...some.map((v) => full(total, v)), ...dots.map((v) => full(tangent, v))];
      }
      this.rule(number, xs).forEach((part, k) => this.add(total, moving[k], part));
    }
    return total.map((x, v) => (this.active[v] && x === null ? this.zeros(v) : x));
  }

  // ∂target/∂source between numbers, through hidden variables: backwards, or forwards where one of them is complex
  // (backwards the adjoint of the map would come, which is not its derivative); null when a rule is not there.
  partial(value, source, target) {
    const { events, variables } = this.data;
    const turn = (v) => arrays.scalar(v === source || v === target ? 1 : 0, variables.dtype[v]);
    const complex = [source, target].some((v) => arrays.complex(variables.dtype[v]));
    const rule = (v) => (variables.event[v] < 0 ? -1 : events[complex ? "push" : "pull"][variables.event[v]]);
    const movingOf = (e) => events.operands[e].filter((a) => a >= 0 && this.active[a]);
    const pulled = (z, ct) => {
      const e = variables.event[z], outs = events.outputs[e];
      if (rule(z) < 0) return NaN;
      const cts = outs.map((v) => (v === z ? ct : this.zeros(v)));
      const parts = this.rule(rule(z), [...cts, ...this.read(value, e), ...outs.map((v) => value[v])]);
      const one = (u, k) => (u === source ? parts[k].data[0] : variables.hidden[u] ? pulled(u, parts[k]) : 0);
      return movingOf(e).reduce((sum, u, k) => sum + one(u, k), 0);
    };
    const pushed = (z) => {
      const e = variables.event[z], outs = events.outputs[e];
      if (rule(z) < 0) return null;
      const dots = movingOf(e).map((u) => (u === source ? turn(u) : variables.hidden[u] ? pushed(u) : this.zeros(u)));
      if (dots.includes(null)) return null;
      return this.rule(rule(z), [...this.read(value, e), ...outs.map((v) => value[v]), ...dots])[outs.indexOf(z)];
    };
    return complex ? pushed(target) : arrays.scalar(pulled(target, turn(target)));
  }

  forward(value) {
    const { data } = this;
    const events = data.events;
    const total = value.map(() => null);
    data.inputs.forEach((v, k) => {
      const d = data.direction[k];
      if (d) total[v] = decoded(d);
    });
    for (let e = 0; e < events.op.length; e++) {
      const number = events.push[e];
      if (number < 0) continue;
      const moving = events.operands[e].filter((a) => a >= 0 && this.active[a]);
      const outs = events.outputs[e];
      const dots = moving.map((v) => total[v] || this.zeros(v));
      const ds = this.rule(number, [...this.read(value, e), ...outs.map((v) => value[v]), ...dots]);
      outs.forEach((v, k) => { if (this.active[v]) total[v] = ds[k]; });
    }
    return total.map((x, v) => (this.active[v] && x === null ? this.zeros(v) : x));
  }
}
