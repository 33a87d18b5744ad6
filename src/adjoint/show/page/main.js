// Puts the page together: inputs, modes, stepping, the selected variable, notes, theme.
"use strict";
function start(data, graphData) {
  const { node } = format;
  const $ = (id) => document.getElementById(id);
  if (graphData) Frames.foldIterations(data, graphData);
  const state = new State(data, graphData && Frames.closedGroups(data, graphData));
  const trace = new Trace($("trace"), state);
  const graph = graphData ? new Graph($("graph"), state, graphData, trace) : null;
  if (!graph) document.querySelector(".panes").classList.add("bare");
  const names = { reverse: "Reverse mode", forward: "Forward mode", second: "Second order" };
  const about = {
    reverse: "values downwards, then adjoints upwards", forward: "values and tangents together, downwards",
    second: "values and tangents downwards, then adjoints and their derivatives upwards",
  };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  function title() {
    const events = data.events.op.length;
    $("name").textContent = data.name;
    $("subtitle").textContent = `${names[state.mode]}: ${about[state.mode]} · ${events} operation${events === 1 ? "" : "s"}`;
  }

  function modes() {
    $("modes").replaceChildren(...["reverse", "forward", "second"].map((mode, k) => {
      const why = state.modeReason(mode);
      return node("button", {
        type: "button", role: "radio", "aria-checked": String(state.mode === mode), "data-mode": mode,
        "aria-disabled": why ? "true" : null, title: why || `${about[mode]} (${k + 1})`,
        tabindex: state.mode === mode ? 0 : -1, "aria-describedby": why ? "missing" : null,
      }, names[mode]);
    }));
    // In plain sight: a telephone and paper have nothing to hover with. Modes with one reason share it.
    const reasons = new Map();
    for (const mode of Object.keys(names)) {
      const why = state.modeReason(mode);
      if (why) reasons.set(why, [...(reasons.get(why) || []), names[mode]]);
    }
    const told = ([why, which]) => node("span", {}, `No ${which.join(", no ").toLowerCase()}: ${why.replace(/\.$/, "")}.`);
    $("missing").replaceChildren(...Array.from(reasons, told));
  }

  function chooseMode(mode) {
    const why = state.modeReason(mode);
    if (why) tell(`${names[mode]} is not to be had: ${why}`);
    else {
      tell("");
      try {
        state.setMode(mode);
      } catch (problem) {
        tell(String(problem.message || problem));
      }
    }
  }

  $("modes").addEventListener("click", (event) => {
    const button = event.target.closest("[data-mode]");
    if (button) { chooseMode(button.dataset.mode); focusMode(); }
  });
  $("modes").addEventListener("keydown", (event) => {
    const turn = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: 2, ArrowUp: 2 }[event.key];
    if (!turn) return;
    const all = ["reverse", "forward", "second"];
    let next = all.indexOf(state.mode);
    for (let k = 0; k < 3; k++) {
      next = (next + turn) % 3;
      if (!state.modeReason(all[next])) break;
    }
    chooseMode(all[next]);
    focusMode();
    event.preventDefault();
    event.stopPropagation();
  });
  const focusMode = () => $("modes").querySelector('[aria-checked="true"]').focus();

  function tell(text) {
    $("problem").textContent = text;
  }

  let computed = true; // whether what is shown belongs to what stands in the fields

  function refuse(text) {
    computed = false;
    document.body.classList.add("stale");
    results();
    tell(text);
  }

  function accept() {
    computed = true;
    document.body.classList.remove("stale");
    tell("");
  }

  // Inputs that can be written into: numbers, and short vectors element by element.
  const called = (v) => data.variables.label[v] || format.subscript(data.variables.name[v]);
  const editable = (v) => arrays.count(data.variables.shape[v]) <= 12 && data.variables.shape[v].length <= 1 && data.variables.value[v] !== null;

  let written = null; // the mode for which the fields were made

  function inputs() {
    written = state.mode;
    const why = state.engine.reason() || (state.mode && state.engine.reason(state.mode));
    const boxes = data.inputs.map((v) => {
      const name = called(v);
      const array = state.given.get(v) || state.engine.data.recompute || !editable(v) ? state.given.get(v) : state.engine.input(v);
      if (!editable(v) || !(array || state.array("value", v))) {
        return node("div", { class: "given" }, node("span", { class: "label" }, name), node("span", { class: "fixed" }, ...format.told(state.text("value", v))));
      }
      const found = array || state.array("value", v);
      const fields = Array.from(found.data, (_, i) => {
        const shown = entries.shown(found, i), width = `width:calc(${Math.max(shown.length, 7)}ch + 22px)`;
        return node("input", {
          type: "text", inputmode: found.imaginary ? "text" : "decimal", style: width, value: shown, "data-shown": shown,
          "data-exact": entries.exact(found, i), "data-variable": v, "aria-label": found.shape.length ? `${name}[${i}]` : name,
          disabled: Boolean(why), spellcheck: "false", size: "9",
        });
      });
      return node("label", { class: "given" }, node("span", { class: "label" }, name), ...fields);
    });
    $("inputs").replaceChildren(...boxes, node("button", { type: "button", id: "reset", hidden: true }, "Reset"));
    const whole = data.inputs.filter((v) => !editable(v)).map(called);
    const large = whole.length ? `Shown only: ${whole.slice(0, 4).join(", ")}${whole.length > 4 ? " …" : ""} (matrices, or more than 12 numbers).` : "";
    $("editing").textContent = why ? `Inputs cannot be changed in the page: ${why}.` : large;
    $("reset").addEventListener("click", () => { accept(); state.reset(); inputs(); });
  }

  $("inputs").addEventListener("input", (event) => {
    const field = event.target;
    const v = Number(field.dataset.variable);
    const fields = [...$("inputs").querySelectorAll(`[data-variable="${v}"]`)];
    const dtype = data.variables.dtype[v], complex = arrays.complex(dtype);
    const found = fields.map((one) => entries.read(one, complex));
    fields.forEach((one, k) => one.setAttribute("aria-invalid", String(found[k] === null)));
    if (found.includes(null)) return refuse(`Write a number, for example 0.5, −2 or ${complex ? "1−2j" : "1e−3"}.`);
    const parts = [0, 1].map((k) => Float64Array.from(found, (pair) => pair[k]));
    if (arrays.whole(dtype) && !parts[0].every(Number.isInteger)) return refuse("This input takes integers.");
    const before = computed;
    try {
      computed = true;
      state.setInput(v, arrays.cast(arrays.make(data.variables.shape[v], dtype, ...parts), dtype));
      accept();
      if (!before) results();
    } catch (problem) {
      field.setAttribute("aria-invalid", "true");
      refuse(`Not computed: ${problem.message || problem}.`);
    }
  });
  $("inputs").addEventListener("submit", (event) => event.preventDefault());

  function results() {
    const pairs = [];
    // In an explanation that is being shown, results come when it is their turn.
    const whole = state.position === state.steps.length;
    const due = (v, way) => whole || (state.rowOf.has(v) && state.told(state.rowOf.get(v), way));
    const known = (field, v) => (!computed ? "—" : due(v, field === "adjoint" || field === "second" ? "up" : "down") ? state.text(field, v) : "…");
    const pair = (kind, head, text) => pairs.push(node("div", { class: kind }, node("dt", {}, head), node("dd", {}, ...format.told(text))));
    data.outputs.slice(0, 4).forEach((v, k) => {
      if (v < 0) return pair("value", data.results[k], computed ? format.summary(state.engine.literals[-1 - v]) : "—");
      pair("value", data.results[k], known("value", v));
      if (state.mode !== "reverse") pair("tangent", format.formula(format.accented(data.variables.name[v], "tangent")), known("tangent", v));
    });
    if (state.mode !== "forward") {
      data.inputs.filter((v) => data.variables.active[v]).slice(0, 8).forEach((v) => {
        pair("adjoint", `∂/∂${called(v)}`, known("adjoint", v));
        if (state.mode === "second") pair("second", `d/dt ∂/∂${called(v)}`, known("second", v));
      });
    }
    $("results").replaceChildren(...pairs);
    $("reset").hidden = state.given.size === 0;
  }

  // Stepping
  let timer = null;

  function play(on = timer === null) {
    clearInterval(timer);
    timer = null;
    if (on) {
      if (state.position >= state.steps.length) state.go(0);
      timer = setInterval(() => {
        state.go(state.position + 1);
        if (state.position >= state.steps.length) play(false);
      }, calm.matches ? 1600 : Math.max(120, Math.min(900, 40000 / state.steps.length)));
    }
    $("play").textContent = on ? "❚❚ Pause" : "▶ Play";
    $("play").setAttribute("aria-label", on ? "Pause" : "Play");
  }

  function go(position) {
    play(false);
    state.go(position);
  }

  $("first").addEventListener("click", () => go(0));
  $("back").addEventListener("click", () => go(state.position - 1));
  $("on").addEventListener("click", () => go(state.position === state.steps.length ? 1 : state.position + 1));
  $("last").addEventListener("click", () => go(state.steps.length));
  $("play").addEventListener("click", () => play());
  $("where").addEventListener("input", () => go(Number($("where").value)));

  function stepping() {
    const many = state.steps.length;
    $("where").max = many;
    $("where").value = state.position;
    $("counter").textContent = `${state.position} / ${many}`;
    $("first").disabled = $("back").disabled = state.position === 0;
    $("last").disabled = state.position === many;
    narrate();
  }

  function narrate() {
    const step = state.current();
    const out = $("narration");
    out.replaceChildren();
    if (state.position === 0) out.append("The explanation begins: press → or Space.");
    else if (step) {
      const row = state.rows[step.row];
      const v = row.v >= 0 ? row.v : row.last;
      const field = step.way === "up" ? "adjoint" : "value";
      out.append(node("span", { class: "lead" }, lead(row, v, step.way)));
      out.append(...sentence(v, field));
      if (step.way === "down" && state.mode !== "reverse" && data.variables.active[v]) out.append(" ,  ", ...sentence(v, "tangent"));
      if (step.way === "up" && state.mode === "second") {
        out.append(" ,  ", format.formula(format.derivative(data.variables.name[v], "second")), " = ", node("b", {}, state.text("second", v) || "?"));
      }
      if (state.position === state.steps.length) out.append(node("span", { class: "lead" }, " The whole explanation is shown."));
    }
    else out.append("The whole explanation is shown. Press → or Space to see it from the beginning, ← to go back.");
    out.classList.toggle("hint", step === null);
  }

  // What a lecturer says before writing the line.
  function lead(row, v, way) {
    const group = row.v < 0 ? `${state.groupTitle(row.group).join("")}: ` : "";
    if (data.variables.kind[v] === "input") return way === "up" ? `Derivative by ${called(v)}: ` : "Given: ";
    if (!state.results.has(v)) return group;
    if (way === "down") return `${group}The result: `;
    const first = state.steps.find((step) => step.way === "up");
    return first === state.current() ? `${group}Now upwards, from the result: ` : group;
  }

  const lookup = (name, field) => {
    const v = state.byName.get(name);
    if (v === undefined || data.variables.shape[v].length) return "";
    return state.text(field, v, 5);
  };

  // v₃ = v₁ · v₂ = 2 · 3 = 6
  function sentence(v, field) {
    const right = { value: () => state.formula(v), adjoint: () => state.adjointFormula(v, 10), tangent: () => state.tangentFormula(v) }[field]();
    const parts = [format.formula(format.accented(data.variables.name[v], field))];
    if (right) {
      parts.push(" = ", format.formula(right));
      const numbers = format.filled(right, lookup);
      if (numbers !== right && numbers.length < 120) parts.push(" = ", format.formula(numbers));
    }
    const text = state.text(field, v) || "?";
    if (text === right) parts.splice(1); // v̄₉ = 1, once
    parts.push(" = ", node("b", {}, text));
    return parts;
  }

  // The selected variable
  function detail() {
    const v = state.selected;
    const out = $("detail");
    if (v === null) return out.replaceChildren(node("p", { class: "hint" }, "Choose a row to see where it comes from, its whole value and its derivatives."));
    const { variables, events, ops } = data;
    const e = variables.event[v];
    const shape = variables.shape[v];
    const line = state.line(v);
    const facts = node("dl");
    const fact = (head, ...body) => facts.append(node("dt", {}, head), node("dd", {}, ...body));
    fact("value", ...sentence(v, "value"));
    if (variables.active[v]) {
      if (state.mode !== "reverse") fact("tangent", ...sentence(v, "tangent"));
      if (state.mode !== "forward") fact("adjoint", ...sentence(v, "adjoint"));
      if (state.mode === "second") fact("its derivative", node("b", {}, state.text("second", v)));
    } else fact("derivative", "none: it does not depend on the inputs");
    if (e >= 0) fact("operation", ops[events.op[e]].title);
    fact("type", `${variables.dtype[v]}${shape.length ? ` of shape ${shape.join("×")}` : ""}`);
    if (line) fact("line", node("span", { class: "place" }, line.place), " ", node("code", {}, line.text));
    const link = (u) => node("button", { type: "button", class: "link", "data-go": u }, format.formula(format.subscript(variables.name[u])));
    const linked = (vs) => vs.slice(0, 12).flatMap((u, k) => [k ? ", " : "", link(u)]);
    if (e >= 0) {
      const from = [...new Set(events.operands[e].filter((a) => a >= 0))];
      if (from.length) fact("reads", ...linked(from));
    }
    const readers = [...new Set(state.uses[v].flatMap(([f]) => events.outputs[f]))];
    if (readers.length) fact("read by", ...linked(readers), readers.length > 12 ? ` and ${readers.length - 12} more` : "");
    const heading = node("h2", {}, format.formula(format.subscript(variables.name[v])), variables.label[v] ? node("span", { class: "chip" }, variables.label[v]) : "");
    const fields = [["value", "value"], ["tangent", "tangent"], ["adjoint", "adjoint"], ["second", "its derivative"]];
    const grids = fields.flatMap(([field, title]) => elements(field, title, v));
    out.replaceChildren(heading, facts, ...grids);
  }

  // All elements of an array, if they are here, as a small table with bars.
  function elements(field, title, v) {
    const shown = field === "value" || { tangent: state.mode !== "reverse", adjoint: state.mode !== "forward", second: state.mode === "second" }[field];
    const x = shown ? state.array(field, v) : null;
    if (!x || x.shape.length === 0 || x.data.length > 400 || x.data.length === 0) return [];
    const columns = x.shape.at(-1);
    const sizes = Array.from(x.data, (_, i) => Math.hypot(...arrays.pair(x, i)));
    const most = Math.max(...sizes.filter(Number.isFinite), 0) || 1;
    const body = [];
    for (let i = 0; i < x.data.length; i += columns) {
      body.push(node("tr", {}, ...Array.from(x.data.subarray(i, i + columns), (a, k) => {
        const cell = node("td", {}, format.at(x, i + k, 4));
        cell.style.setProperty("--share", `${Math.min(100, (sizes[i + k] / most) * 100 || 0)}%`);
        if (a < 0 && !x.imaginary) cell.className = "negative";
        return cell;
      })));
    }
    const grid = node("div", { class: "scroll", tabindex: 0 }, node("table", { class: "elements" }, ...body));
    return [node("details", { open: x.data.length <= 40 }, node("summary", {}, `all elements: ${title}`), grid)];
  }

  $("detail").addEventListener("click", (event) => {
    const link = event.target.closest("[data-go]");
    if (!link) return;
    const v = Number(link.dataset.go);
    state.reveal(v);
    state.select(v);
    if (state.rowOf.has(v)) trace.focusRow(state.rowOf.get(v));
  });

  // Notes and texts
  $("notes").append(...(data.notes.length ? [node("h2", {}, "Notes"), node("ul", {}, ...data.notes.map((text) => node("li", {}, text)))] : []));
  $("sections").append(...data.sections.map(({ title: head, about: told, text }) => {
    const summary = node("summary", {}, head, told ? node("span", { class: "about" }, ` ${told}`) : "");
    return node("details", {}, summary, node("pre", { tabindex: 0 }, text));
  }));

  $("folds").hidden = data.groups.kind.length < 2;
  $("open-all").addEventListener("click", () => state.toggleAll(false));
  $("close-all").addEventListener("click", () => state.toggleAll(true));
  $("help-button").addEventListener("click", () => {
    const open = $("help").toggleAttribute("hidden");
    $("help-button").setAttribute("aria-expanded", String(!open));
  });

  // Light and dark: the system's choice until the button is pressed.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : dark.matches);
  const nameTheme = () => ($("theme-name").textContent = isDark() ? "Dark" : "Light");
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  dark.addEventListener("change", nameTheme);
  nameTheme();

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const field = event.target.closest("input, textarea, select, [contenteditable]");
    const button = event.target.closest("button, summary, a");
    const keys = {
      ArrowRight: () => go(state.position === state.steps.length ? 1 : state.position + 1), ArrowLeft: () => go(state.position - 1),
      Home: () => go(0), End: () => go(state.steps.length), " ": () => play(),
      1: () => chooseMode("reverse"), 2: () => chooseMode("forward"), 3: () => chooseMode("second"),
    };
    if (field || !(event.key in keys) || (button && event.key === " ")) return;
    keys[event.key]();
    event.preventDefault();
  });

  state.on((what) => {
    if (what === "layout") title();
    if (["layout", "values", "formulas"].includes(what)) modes();
    if (what === "layout" && written !== state.mode) inputs(); // else what is being written there stays
    if (what !== "mark" && what !== "select") results();
    if (what === "layout" || what === "step") stepping();
    if (what === "values" || what === "formulas") narrate();
    if (what !== "mark" && what !== "step") detail();
  });
  title();
  modes();
  inputs();
  results();
  stepping();
  detail();
  return { state, trace, graph, paper: new Paper(state, trace, graph) };
}
