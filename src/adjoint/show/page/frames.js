// Which frames of the graph are open: those whose groups are open in the table, as far as they can be drawn.
"use strict";
class Frames {
  static MOST = 400; // boxes, up to which frames open with the rows of the table; beyond, when they are asked for

  constructor(state, data) {
    this.state = state;
    this.data = data;
    this.asked = new Set(); // frames that somebody opened in the graph
    this.way = []; // frames that are open for the step that is being told
    this.opened = new Set();
    this.home = new Map(); // of variables: their frames
    this.frameOf = new Map(); // of groups of the explanation: theirs
    for (const { id, also = [], children, layout } of Object.values(data.groups)) {
      for (const g of [id, ...also]) this.frameOf.set(g, id);
      [...data.layouts[layout].kinds].forEach((kind, k) => { if (kind === "v") this.home.set(children[k], id); });
    }
  }

  // Neighboring iterations that the graph holds in a frame of their own become a group of the table too: of a long loop one
  // sees the first iterations, the last, and a row for those between. Frames of neighboring variables are the graph's alone.
  static foldIterations({ groups, variables }, graph) {
    const parts = (id) => {
      const { children, layout } = graph.groups[id];
      return [...graph.layouts[layout].kinds].flatMap((kind, k) => {
        const n = children[k];
        return kind === "g" ? [-n] : kind === "v" && variables.event[n] >= 0 ? [variables.event[n]] : [];
      });
    };
    const leaves = (id) => parts(id).flatMap((part) => (graph.groups[-part]?.kind === "more" ? leaves(-part) : [part]));
    const more = Object.values(graph.groups).filter((g) => g.kind === "more" && leaves(g.id).some((part) => part < 0));
    for (const { id, title } of more.sort((a, b) => a.id - b.id)) {
      while (groups.kind.length <= id) for (const [key, none] of [["kind", ""], ["name", ""], ["parent", -1], ["line", -1], ["parts", []]]) groups[key].push(none);
      const inside = new Set(leaves(id)), own = groups.parent[-[...inside].find((part) => part < 0)];
      const at = groups.parts[own].findIndex((part) => inside.has(part));
      const rest = groups.parts[own].filter((part) => !inside.has(part));
      [groups.kind[id], groups.name[id], groups.parent[id]] = ["more", title, own];
      groups.parts[id] = groups.parts[own].filter((part) => inside.has(part));
      groups.parts[own] = [...rest.slice(0, at), -id, ...rest.slice(at)];
      for (const part of groups.parts[id]) if (part < 0) groups.parent[-part] = id;
    }
  }

  // The groups that are closed when the graph is as it was drawn at first.
  static closedGroups(data, { groups, opened }) {
    const shut = Object.values(groups).filter((g) => data.groups.kind[g.id] && g.id && !opened.includes(g.id));
    return shut.flatMap((g) => [g.id, ...(g.also || [])]);
  }

  // A frame is open when its groups are; one that has none, when it was asked for or the explanation passes there. Gives the
  // number of those that would be too much.
  open() {
    const { groups, layouts } = this.data, { closed } = this.state;
    const queue = [0];
    let boxes = 0, left = 0;
    this.opened = new Set();
    for (const n of queue) {
      const { also = [], children, layout } = groups[n];
      const sure = this.asked.has(n) || this.way.includes(n);
      if ([n, ...also].some((g) => closed.has(g)) || (!this.has(n) && !sure)) continue;
      if (!sure && boxes + children.length > Frames.MOST) left += 1;
      else {
        this.opened.add(n);
        if (!sure) boxes += children.length;
        queue.push(...children.filter((_, k) => layouts[layout].kinds[k] === "g"));
      }
    }
    return left;
  }

  // Whether there is a group to a frame.
  has(frame) {
    return Boolean(this.state.data.groups.kind[frame]);
  }

  // The frames around a row, from the inside out.
  around({ v, group }) {
    const { groups } = this.data, found = [];
    const own = this.frameOf.get(group);
    for (let n = v >= 0 ? this.home.get(v) : own && groups[own].parent; n; n = groups[n].parent) found.push(n);
    return found;
  }

  // Which frames must be open for a step (null: none); whether others than before.
  follow(step) {
    const before = this.way;
    const around = step ? this.around(this.state.rows[step.row]) : [];
    this.way = around.filter((n) => before.includes(n) || !this.opened.has(n));
    return this.way.length !== before.length || this.way.some((n) => !before.includes(n));
  }

  // Somebody wants to see a variable; whether something must be opened for it.
  ask(v) {
    const shut = this.around({ v }).filter((n) => !this.opened.has(n));
    for (const n of shut) this.asked.add(n);
    return shut.length > 0;
  }

  // Somebody opens or closes a frame; with it go the rows of the table (true), if it has any.
  toggle(frame) {
    const { also = [] } = this.data.groups[frame], { state } = this;
    const groups = this.has(frame) ? [frame, ...also] : [];
    if (this.opened.has(frame)) {
      this.asked.delete(frame);
      this.way = this.way.filter((n) => n !== frame);
      if (groups.length) state.toggle(frame, true);
      return groups.length > 0;
    }
    this.asked.add(frame);
    const shut = groups.some((g) => state.closed.has(g));
    if (shut) state.shut([...state.closed].filter((g) => !groups.includes(g)));
    return shut;
  }

  // The first variable in a frame.
  first(frame) {
    const { children, layout } = this.data.groups[frame];
    return this.data.layouts[layout].kinds[0] === "g" ? this.first(children[0]) : children[0];
  }
}
