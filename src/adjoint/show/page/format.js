// Numbers, arrays and formulas as a reader wants them; numbers are written as Python writes them.
"use strict";
const format = (() => {
  const BARS = "▁▂▃▄▅▆▇█";
  const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

  // As short as it can be: Python's "%.{digits}g", with a true minus sign and 1e−6 for 1e-06.
  function number(x, digits = 7) {
    if (x !== x) return "nan";
    if (!Number.isFinite(x)) return x > 0 ? "inf" : "−inf";
    if (x === 0) return Object.is(x, -0) ? "−0" : "0";
    const [mantissa, power] = x.toExponential(digits - 1).split("e");
    const exponent = Number(power);
    const small = exponent < -4 || exponent >= digits;
    const text = small ? `${trimmed(mantissa)}e${exponent}` : trimmed(x.toFixed(digits - 1 - exponent));
    return text.replaceAll("-", "−");
  }

  function element(x, dtype, digits) {
    if (dtype === "bool") return x ? "True" : "False";
    return arrays.whole(dtype) ? String(x).replace("-", "−") : number(x, digits);
  }

  // (1−2j), as Python writes it
  function complex([x, y], digits) {
    return `(${number(x, digits)}${y < 0 || Object.is(y, -0) ? "−" : "+"}${number(Math.abs(y), digits)}j)`;
  }

  const at = (x, i, digits) => (x.imaginary ? complex(arrays.pair(x, i), digits) : element(x.data[i], x.dtype, digits));

  function mean(part) {
    const finite = part.filter(Number.isFinite);
    return finite.length ? finite.reduce((a, b) => a + b, 0) / finite.length : NaN;
  }

  function sparkline(data, width = 12) {
    if (data.length < 2) return "";
    const many = Math.min(width, data.length);
    const edges = Array.from({ length: many + 1 }, (_, k) => Math.trunc((k * data.length) / many));
    const means = edges.slice(1).map((edge, k) => mean(data.subarray(edges[k], edge)));
    const finite = means.filter(Number.isFinite);
    if (!finite.length) return "×".repeat(many);
    const low = Math.min(...finite), span = Math.max(...finite) - low;
    const level = (m) => (span === 0 ? 0 : Math.min(Math.trunc(((m - low) / span) * BARS.length), BARS.length - 1));
    return means.map((m) => (Number.isFinite(m) ? BARS[level(m)] : "×")).join("");
  }

  // A number as it is, a short vector element by element, anything longer as shape, range and sparkline.
  function summary(x, digits = 7, width = 12) {
    const { shape, data, dtype } = x;
    if (shape.length === 0) return at(x, 0, digits);
    const size = shape.join("×");
    if (data.length === 0) return `[${size}] empty`;
    if (shape.length === 1 && data.length <= 3) {
      return `[${Array.from(data, (_, i) => at(x, i, Math.min(digits, 5))).join(", ")}]`;
    }
    if (x.imaginary) {
      const sizes = data.map((a, i) => Math.hypot(a, x.imaginary[i]));
      const { minimum, maximum } = numbers.of;
      const [low, high] = [minimum, maximum].map((f) => number(sizes.reduce((a, b) => f(a, b)), 3));
      return `[${size}] |·| ${low} … ${high}`;
    }
    if (dtype === "bool") return `[${size}] ${data.filter((a) => a !== 0).length} True`;
    const finite = data.filter(Number.isFinite);
    const bad = data.length - finite.length;
    const told = bad ? ` ${bad} not finite` : "";
    if (!finite.length) return `[${size}]${told}`;
    const low = finite.reduce((a, b) => Math.min(a, b)), high = finite.reduce((a, b) => Math.max(a, b));
    const rounded = (a) => (Math.abs(a) >= 1e3 && Math.abs(a) < 1e6 ? number(numbers.of.rint(a), 6) : number(a, 3));
    const short = (a) => (arrays.whole(dtype) && !(Math.abs(a) >= 1e3 && Math.abs(a) < 1e6) ? element(a, dtype) : rounded(a));
    const span = low === high ? short(low) : `${short(low)} … ${short(high)}`;
    return `[${size}] ${span}${told} ${sparkline(data, width)}`.trimEnd();
  }

  // A summary as elements: the line of bars is set smaller than the words.
  function told(text) {
    const found = /^(\[[\d×]+\]) (.+?)(?: ([▁▂▃▄▅▆▇█×]{2,}))?$/u.exec(text);
    if (!found) return [text];
    const bars = found[3] ? [" ", node("span", { class: "spark" }, found[3])] : [];
    return [node("span", { class: "summary" }, node("span", { class: "shape" }, found[1]), " ", node("span", {}, found[2]), ...bars)];
  }

  function subscript(name) {
    return name[0] + name.slice(1).replace(/[-0-9]/g, (c) => (c === "-" ? "₋" : SUBSCRIPTS[Number(c)]));
  }

  const ACCENTS = { value: "", adjoint: "\u0304", tangent: "\u0307", second: "\u0304\u0307" };

  function accented(name, field) {
    const low = subscript(name);
    return low[0] + ACCENTS[field] + low.slice(1);
  }

  // v̄₃, v̇₃; two accents on one letter are not legible in small letters
  const derivative = (name, field) => (field === "second" ? `d/dt ${accented(name, "adjoint")}` : accented(name, field));

  const SYMBOL = /([vct])([\u0304\u0307]{0,2})([₋₀-₉]+)|\*\*(−?[\d.]+)(?![\d.])/gu;
  const plainDigits = (text) => text.replace(/[₋₀-₉]/gu, (c) => (c === "₋" ? "−" : String(SUBSCRIPTS.indexOf(c))));

  // A formula with true subscripts and exponents, as elements.
  function formula(text) {
    const out = document.createDocumentFragment();
    let last = 0;
    for (const match of text.matchAll(SYMBOL)) {
      out.append(text.slice(last, match.index));
      last = match.index + match[0].length;
      if (match[4] !== undefined) {
        out.append(node("sup", {}, match[4]));
        continue;
      }
      const symbol = node("span", { class: "symbol" }, node("i", {}, match[1] + match[2]), node("sub", {}, plainDigits(match[3])));
      out.append(symbol);
    }
    out.append(text.slice(last));
    return out;
  }

  const FIELDS = { "": "value", "\u0304": "adjoint", "\u0307": "tangent", "\u0304\u0307": "second" };

  // The formula with numbers in place of names: lookup(name, field) gives a text, or "" to leave the name.
  function filled(text, lookup) {
    return text.replace(SYMBOL, (whole, letter, accent, low, exponent, at) => {
      if (exponent !== undefined) return whole;
      const found = lookup(letter + plainDigits(low).replace("−", "-"), FIELDS[accent]);
      return found ? (at > 0 && found.startsWith("−") ? `(${found})` : found) : whole;
    });
  }

  function node(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === false || value === null || value === undefined) continue;
      made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }

  return { number, element, complex, at, sparkline, summary, told, subscript, accented, derivative, formula, filled, node };
})();
