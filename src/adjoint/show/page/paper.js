// What is printed: everything. Closed texts and groups open for paper, the explanation is shown to its end; afterwards the page
// is as it was.
"use strict";
class Paper {
  static MOST = 1000; // rows, up to which closed groups are opened for paper
  static ALL = 3000; // up to which all rows are printed
  static TALL = 3; // a graph that is so many times higher than wide runs over several pages

  constructor(state, trace, graph) {
    Object.assign(this, { state, trace, graph, before: null });
    addEventListener("beforeprint", () => this.lay());
    addEventListener("afterprint", () => this.clear());
    matchMedia("print").addEventListener("change", ({ matches }) => (matches ? this.lay() : this.clear()));
  }

  lay() {
    if (this.before) return;
    const { state, trace, graph } = this;
    const { variables, groups } = state.data;
    const shut = [...document.querySelectorAll("details:not([open])")];
    this.before = { shut, closed: [...state.closed], position: state.position, arrived: state.arrived };
    for (const one of shut) one.open = true;
    if (graph) {
      graph.still = true; // as it is on the screen
      graph.root.classList.toggle("tall", graph.extent[1] > Paper.TALL * graph.extent[0]);
    }
    const rows = variables.hidden.filter((h) => !h).length + groups.kind.length;
    if (state.closed.size && rows <= Paper.MOST) state.shut([]);
    state.go(state.steps.length);
    const all = state.rows.length <= Paper.ALL;
    if (all) {
      trace.root.classList.remove("long"); // no row is cut to one line
      trace.window(true);
    }
    const closed = state.closed.size, { length } = state.rows;
    document.getElementById("paper-note").textContent = !all
      ? `Of ${length} rows those in sight are printed: close groups on the page to print the others.`
      : closed ? `${closed} group${closed === 1 ? " is" : "s are"} closed: what is opened on the page is printed.` : "";
  }

  clear() {
    const { state, before, graph } = this;
    if (!before) return;
    this.before = null;
    for (const one of before.shut) one.open = false;
    if (state.closed.size !== before.closed.length) state.shut(before.closed);
    else this.trace.layout();
    [state.position, state.arrived] = [before.position, before.arrived];
    state.changed("step");
    if (graph) graph.still = false;
  }
}
