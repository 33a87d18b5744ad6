// Where the integrals of noncentral distributions have their saddles and peaks: numbers that have derivative zero.
// gives: Placed.laplace.chi_square_saddle Placed.laplace.chi_square_width Placed.laplace.ratio_saddle
// gives: Placed.laplace.ratio_left Placed.laplace.ratio_width Placed.noncentral.scale_peak
// gives: Placed.noncentral.scale_width Placed.noncentral.tail_peak Placed.noncentral.tail_side
"use strict";
(() => {
  // σ = p + ½ where p x - ½ν log(1+2p) - δ p/(1+2p) is stationary
  const chiSquareSaddle = (x, df, nc) => (0.5 * df + Math.sqrt(0.25 * df * df + x * nc)) / (2 * x);

  // How far the path p + ½ = σ (1 + iu)² stays near its top: |d²/du²|^(-½), at most 1
  function chiSquareWidth(x, df, nc) {
    const sigma = chiSquareSaddle(x, df, nc);
    return Math.min(1.5 / Math.sqrt(2 * x * sigma + df + (1.5 * nc) / sigma + 1e-3), 1);
  }

  // a = 1 + 2p where r (ν₁+ν₂) a² + (δ r - ν₁ (1+r)) a - δ (1+r) = 0
  function ratioSaddle(dfn, dfd, nc, r) {
    const square = r * (dfn + dfd), linear = nc * r - dfn * (1 + r), last = -nc * (1 + r);
    const root = Math.sqrt(linear * linear - 4 * square * last);
    return linear < 0 ? (root - linear) / (2 * square) : (-2 * last) / (root + linear);
  }

  // 1 where the saddle is nearer to the branch point -½ than to 1/(2r), else 0
  function ratioLeft(dfn, dfd, nc, r) {
    const a = ratioSaddle(dfn, dfd, nc, r);
    return r * a <= 1 + r - r * a ? 1 : 0;
  }

  // How far the path stays near its top, in u
  function ratioWidth(dfn, dfd, nc, r) {
    const a = ratioSaddle(dfn, dfd, nc, r), b = 1 + r - r * a;
    const curve = (2 * dfn) / (a * a) + (4 * nc) / (a * a * a) + (2 * dfd * r * r) / (b * b);
    return Math.min(1.2 / (Math.sqrt(curve) * Math.min(a, b / r)), 0.8);
  }

  // Where ν y - ½ν e^(2y) - ½q² is greatest, q the part of t e^y - δ of the sign -side, or all of it for side 0
  function tailPeak(df, nc, t, side) {
    let low = -60, high = 12;
    for (let n = 0; n < 70; n++) {
      const y = 0.5 * (low + high), s = Math.exp(y);
      let q = t * s - nc;
      if (!(side === 0 || q * side < 0)) q = 0;
      if (df * (1 - s * s) - q * t * s > 0) low = y;
      else high = y;
    }
    return 0.5 * (low + high);
  }

  // The width of that peak, at most 1
  function scaleWidth(df, nc, t, y) {
    const s = Math.exp(y);
    return Math.min(1.5 / Math.sqrt(Math.max(2 * (df + t * t) * s * s - t * nc * s, df)), 1);
  }

  const tailSide = (df, nc, t) => (t < nc ? 1 : -1);

  const rules = {
    "laplace.chi_square_saddle": chiSquareSaddle, "laplace.chi_square_width": chiSquareWidth,
    "laplace.ratio_saddle": ratioSaddle, "laplace.ratio_left": ratioLeft, "laplace.ratio_width": ratioWidth,
    "noncentral.scale_peak": (df, nc, t) => tailPeak(df, nc, t, 0), "noncentral.scale_width": scaleWidth,
    "noncentral.tail_peak": tailPeak, "noncentral.tail_side": tailSide,
  };
  for (const [name, rule] of Object.entries(rules)) numbers.given[`Placed.${name}`] = () => rule;
  Object.assign(numbers.shared, { tailPeak, scaleWidth });
})();
