// What is written into the fields of inputs, and how numbers are written there: 0.5, −2, 1e−3, inf, pi, 1−2j.
"use strict";
const entries = (() => {
  const WORDS = { nan: NaN, inf: Infinity, pi: Math.PI, e: Math.E };
  const DIGITS = "(?:\\d+\\.?\\d*|\\.\\d+)(?:e[+-]?\\d+)?|nan|inf|pi|e";
  const COMPLEX = new RegExp(`^(?:([+-]?(?:${DIGITS}))(?=[+-]|$))?(?:([+-]?(?:${DIGITS})?)j)?$`);

  // Short enough for its box; as long as nobody writes into it, the number behind it stays exact.
  const brief = (x) => (Number.isNaN(x) ? "nan" : String(Number(x.toPrecision(7))).replace("Infinity", "inf"));
  const minus = (x) => x < 0 || Object.is(x, -0);

  function shown(array, i) {
    const [x, y] = arrays.pair(array, i);
    return array.imaginary ? `${brief(x)}${minus(y) ? "-" : "+"}${brief(Math.abs(y))}j` : brief(x);
  }

  const exact = (array, i) => arrays.pair(array, i).map((x) => (Object.is(x, -0) ? "-0" : String(x))).join(" ");

  function number(text) {
    const sign = text.startsWith("-") ? -1 : 1, size = text.replace(/^[+-]/, "");
    return size in WORDS ? sign * WORDS[size] : size === "" || Number.isNaN(Number(size)) ? null : sign * Number(size);
  }

  // The pair [re, im] in a field, or null if it is none; the imaginary part of a real input is 0.
  function read({ value, dataset }, complex) {
    if (value === dataset.shown) return dataset.exact.split(" ").map(Number);
    const bare = value.replace(/[\s()]/g, "").replaceAll("−", "-").replaceAll(",", ".").toLowerCase();
    const plain = bare.replace(/i$/, "j");
    if (!complex) {
      const found = number(plain);
      return found === null ? null : [found, 0];
    }
    const parts = COMPLEX.exec(plain);
    if (!parts || plain === "") return null;
    const [re, im] = [parts[1] || "0", parts[2] === undefined ? "0" : parts[2].replace(/^([+-]?)$/, "$11")];
    return [number(re), number(im)];
  }

  return { shown, exact, read };
})();
