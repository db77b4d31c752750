// Numbers as short text.

/** Up to `digits` significant digits, without trailing zeros. */
export function short(value, digits = 5) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(digits - 2).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

/** A range with as many digits as its ends need to differ. */
export function shortRange(low, high) {
  for (let digits = 4; digits < 12; digits++) {
    const [from, to] = [short(low, digits), short(high, digits)];
    if (from !== to) return `${from} … ${to}`;
  }
  return short(low);
}

/** Tick labels with the digits that tell neighbours `step` apart. */
export function tickLabels(values, step) {
  // 2.5 needs one more digit than its size says.
  const decade = Math.floor(Math.log10(step) + 1e-9);
  const mantissa = step / 10 ** decade;
  const decimals = Math.max(0, -decade + (Math.abs(mantissa - Math.round(mantissa)) > 1e-6 ? 1 : 0));
  const largest = Math.max(...values.map((v) => Math.abs(v ?? 0)));
  const scientific = largest >= 1e6 || largest < 1e-3;
  return values.map((v) => {
    if (v === null || v === undefined) return "";
    if (Math.abs(v) < step * 1e-6) return "0";
    if (!scientific) return v.toFixed(Math.min(decimals, 12));
    const exponent = Math.floor(Math.log10(Math.abs(v)) + 1e-9);
    return v.toExponential(Math.min(Math.max(exponent + decimals, 0), 12)).replace("e+", "e");
  });
}
