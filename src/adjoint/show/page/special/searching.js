// Places of elements: in a sorted vector, of those that are not zero, and orders that are sorted at some places.
// gives: SearchSorted Nonzero ArgPartition
// gives complex: Nonzero
"use strict";
(() => {
  // NaN stands behind all numbers.
  const before = (x, y) => (y !== y ? x === x : x < y);

  function searchSorted({ side }, [a, v], dtype) {
    const below = side === "left" ? before : (x, y) => !before(y, x);
    return arrays.map((y) => {
      let low = 0, high = a.data.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (below(a.data[middle], y)) low = middle + 1;
        else high = middle;
      }
      return low;
    }, dtype, v);
  }

  // One vector of places for each axis. Their number is part of the story: another one would be another story.
  function nonzero({ count }, [x]) {
    const is = (_, i) => x.data[i] !== 0 || (x.imaginary && x.imaginary[i] !== 0);
    const places = Array.from(x.data, (_, i) => i).filter(is);
    if (places.length !== count) throw new Error(`${places.length} elements are not zero, and the story has ${count}`);
    const own = arrays.strides(x.shape);
    return x.shape.map((n, axis) =>
      arrays.make([count], "int64", Float64Array.from(places, (i) => Math.floor(i / own[axis]) % n)));
  }

  // All sorted: what NumPy leaves of the order of the others is not defined.
  const argPartition = ({ axis }, xs, dtype) => primitives.table.ArgSort({ axis }, xs, dtype);

  Object.assign(numbers.arrays, { SearchSorted: searchSorted, Nonzero: nonzero, ArgPartition: argPartition });
  complexes.arrays.Nonzero = nonzero;
})();
