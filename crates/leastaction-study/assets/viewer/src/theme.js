// Colours: curves and bodies from one list, everything else from the style sheet.

/** Readable on white and on near-black; the SVG plots have the same list. */
const COLOURS = [
  "#3b82f6", "#f97316", "#10b981", "#e11d48", "#8b5cf6", "#ca8a04", "#06b6d4", "#ec4899", "#65a30d", "#64748b",
];

export const colour = (index) => COLOURS[index % COLOURS.length];

/** The value of a custom property of the style sheet, as it is now. */
export const styled = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Calls back when the system changes between light and dark. */
export function onThemeChange(callback) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", callback);
}
