// Linked plots: one cursor, one zoom, one time.

import uPlot from "uplot";
import { short, shortRange, tickLabels } from "./format.js";
import { colour, onThemeChange, styled } from "./theme.js";

const HEIGHT = 190;
/** Smaller shares of the largest value than this are no news on a logarithmic axis. */
const LOG_SPAN = 1e-18;
const SYNC = "leastaction";
/** The numbers in the legends need not change faster than one can read, ms. */
const LEGEND_PERIOD = 100;

/** Builds one chart per plot into `container`; the list of charts follows the player. */
export function makePlots(container, plots, player) {
  const charts = plots.map((plot) => new Chart(container, plot, player));
  let zooming = false;
  const linked = charts.filter((chart) => !chart.plot.own_axis);
  for (const chart of linked) {
    chart.onZoom = (range) => {
      if (zooming) return;
      zooming = true;
      for (const other of linked) if (other !== chart) other.zoom(range);
      zooming = false;
    };
  }
  onThemeChange(() => charts.forEach((chart) => chart.redraw()));
  return charts;
}

class Chart {
  constructor(container, plot, player) {
    this.plot = plot;
    this.player = player;
    this.onZoom = () => {};
    this.legendTime = 0;
    this.figure = element("figure", { className: "plot", id: `plot-${plot.id}` });
    const caption = element("figcaption", { textContent: plot.title });
    if (plot.unit) caption.append(" ", element("span", { className: "unit", textContent: plot.unit }));
    this.figure.append(caption);
    container.append(this.figure);

    const floor = plot.log_scale ? logFloor(plot) : 0;
    this.log = floor > 0;
    const { columns, series, bands } = layOut(plot, this.log ? floor : -Infinity);
    if (!plot.x.length || !plot.series.length) {
      this.figure.append(element("p", { className: "empty", textContent: "no values to show" }));
      return;
    }
    this.chart = new uPlot(this.#options(series, bands), [Array.from(plot.x), ...columns], this.figure);
    if (!plot.own_axis) this.#addMarker();
    this.#addLegend();
    new ResizeObserver(() => this.#fitWidth()).observe(this.figure);
    if (!plot.own_axis) player.onChange(() => this.#showTime());
    this.#showTime();
  }

  get points() {
    return this.plot.x.length;
  }

  zoom({ min, max }) {
    this.chart?.setScale("x", { min, max });
  }

  redraw() {
    this.chart?.redraw(false);
  }

  #options(series, bands) {
    const axis = { stroke: () => styled("soft"), grid: { stroke: () => styled("grid"), width: 1 }, ticks: { show: false } };
    return {
      width: this.#width(),
      height: HEIGHT,
      legend: { show: false },
      cursor: { ...(this.plot.own_axis ? {} : { sync: { key: SYNC, setSeries: false } }), drag: { x: true, y: false }, points: { show: series.length <= 12 && !this.plot.overlays?.length } },
      scales: {
        x: { time: false },
        y: this.log ? { distr: 3, range: (_, min, max) => decades(min, max) } : {},
      },
      axes: [
        { ...axis, size: 30, gap: 3, values: (_, splits, __, ___, step) => tickLabels(splits, step) },
        {
          ...axis,
          size: (_, labels) => Math.max(58, 14 + 6.6 * Math.max(0, ...(labels ?? []).map((text) => String(text ?? "").length))),
          gap: 4,
          ...(this.log ? powerTicks : { values: (_, splits, __, ___, step) => tickLabels(splits, step) }),
        },
      ],
      series: [{}, ...series],
      bands,
      hooks: {
        drawClear: [(u) => this.#drawLimits(u)],
        setScale: [(u, key) => key === "x" && this.#zoomed(u)],
        setCursor: [() => this.#showValues()],
      },
    };
  }

  /** Shades what is beyond the limits, where that is in view. */
  #drawLimits(u) {
    const { left, top, width, height } = u.bbox;
    const context = u.ctx;
    for (const { of, low, high } of this.plot.limits ?? []) {
      context.save();
      context.beginPath();
      context.rect(left, top, width, height);
      context.clip();
      const tint = of === null || of === undefined ? styled("soft") : colour(of);
      for (const [value, above] of [[high, true], [low, false]]) {
        if (value === null || value === undefined) continue;
        const y = u.valToPos(value, "y", true);
        context.globalAlpha = 0.12;
        context.fillStyle = tint;
        if (above) context.fillRect(left, top, width, Math.max(0, y - top));
        else context.fillRect(left, y, width, Math.max(0, top + height - y));
        context.globalAlpha = 0.7;
        context.strokeStyle = tint;
        context.setLineDash([4, 4]);
        context.beginPath();
        context.moveTo(left, y);
        context.lineTo(left + width, y);
        context.stroke();
      }
      context.restore();
    }
  }

  #addMarker() {
    this.marker = element("div", { className: "now" });
    const over = this.chart.over;
    over.append(this.marker);
    let pressedAt = 0;
    over.addEventListener("mousedown", (event) => (pressedAt = event.clientX));
    over.addEventListener("click", (event) => {
      // A drag zooms and is no click.
      if (Math.abs(event.clientX - pressedAt) > 3) return;
      this.player.setTime(this.chart.posToVal(event.clientX - over.getBoundingClientRect().left, "x"));
    });
  }

  #addLegend() {
    const list = element("ul", { className: "legend" });
    this.readouts = [];
    this.plot.series.forEach((series, i) => {
      const button = element("button", { type: "button", title: "Hide or show" });
      button.setAttribute("aria-pressed", "true");
      const swatch = element("i");
      swatch.style.background = colour(i);
      const readout = element("output");
      button.append(swatch, series.label, readout);
      button.addEventListener("click", () => this.#toggle(i, button));
      this.readouts.push(readout);
      const item = element("li");
      item.append(button);
      list.append(item);
    });
    // What is drawn with all curves is said once.
    for (const label of new Set((this.plot.overlays ?? []).map((overlay) => overlay.label))) {
      const dots = this.plot.overlays.some((overlay) => overlay.label === label && overlay.values);
      list.append(element("li", { className: "key", textContent: `${dots ? "∙∙∙" : "▒"} ${label}` }));
    }
    if (this.plot.limits?.length) list.append(element("li", { className: "key", textContent: "▒ beyond the limits" }));
    if (this.plot.omitted) list.append(element("li", { textContent: `and ${this.plot.omitted} more, not shown` }));
    this.figure.append(list);
  }

  #toggle(index, button) {
    const show = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(show));
    this.chart.series.forEach((series, at) => {
      if (series.curve === index) this.chart.setSeries(at, { show });
    });
  }

  #zoomed(chart) {
    const { min, max } = chart.scales.x;
    if (min !== null && min !== undefined) this.onZoom({ min, max });
    if (this.marker) this.#showTime();
  }

  #showTime() {
    if (!this.marker) return this.#showValues();
    const x = this.chart.valToPos(this.player.time, "x");
    const inside = x >= -0.5 && x <= this.chart.over.clientWidth + 0.5;
    this.marker.style.display = inside ? "" : "none";
    this.marker.style.transform = `translateX(${x}px)`;
    const now = performance.now();
    if (this.player.playing && now - this.legendTime < LEGEND_PERIOD) return;
    this.legendTime = now;
    this.#showValues();
  }

  /** Values under the cursor, or at the player's time while there is none. */
  #showValues() {
    if (!this.readouts) return;
    // What is not over time shows its end.
    const now = this.plot.own_axis ? Infinity : this.player.time;
    const index = this.chart.cursor.idx ?? nearest(this.plot.x, now);
    this.plot.series.forEach(({ min, max }, i) => {
      const [low, high] = [min[index], (max ?? min)[index]];
      this.readouts[i].textContent = low === high || !max ? short(low) : shortRange(low, high);
    });
  }

  #width() {
    const { paddingLeft, paddingRight } = getComputedStyle(this.figure);
    return Math.max(120, this.figure.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight));
  }

  #fitWidth() {
    const width = this.#width();
    if (width === this.chart.width) return;
    this.chart.setSize({ width, height: HEIGHT });
    this.#showTime();
  }
}

/** Columns, series and bands for uPlot: one column for exact values, two and a band for ranges. */
function layOut(plot, floor) {
  const columns = [];
  const series = [];
  const bands = [];
  const line = plot.x.length === 1 ? { points: { show: true } } : { points: { show: false } };
  plot.series.forEach(({ label, min, max }, curve) => {
    const add = (values) => {
      columns.push(values);
      series.push({ ...line, label, curve, stroke: colour(curve), width: max ? 1 : 1.5 });
    };
    const usable = (v) => Number.isFinite(v) && (floor === -Infinity || v > 0);
    const upper = Array.from(max ?? min, (v) => (usable(v) ? Math.max(v, floor) : null));
    add(upper);
    if (!max) return;
    add(Array.from(min, (v, i) => (upper[i] === null || !Number.isFinite(v) ? null : Math.max(v, floor))));
    bands.push({ series: [series.length - 1, series.length], fill: `${colour(curve)}50` });
  });
  // Overlays come last, so that a curve keeps its place in the list. They stretch no axis: a band may be as wide as it likes.
  for (const { of, label, values, low, high } of plot.overlays ?? []) {
    const clean = (list) => Array.from(list, (v) => (Number.isFinite(v) && (floor === -Infinity || v > 0) ? v : null));
    const add = (list, style) => {
      columns.push(clean(list));
      series.push({ label, curve: of, ...style });
    };
    if (values) {
      const dots = { show: true, size: 3, stroke: colour(of), fill: colour(of) };
      add(values, { stroke: "transparent", width: 0, points: dots });
    } else {
      const edge = { auto: false, stroke: "transparent", width: 0, points: { show: false } };
      add(high, edge);
      add(low, edge);
      bands.push({ series: [series.length - 1, series.length], fill: `${colour(of)}38` });
    }
  }
  return { columns, series, bands };
}

/** Where a logarithmic axis ends below, also for what is smaller; 0 when nothing is positive. */
function logFloor({ series }) {
  let smallest = Infinity;
  let largest = 0;
  for (const { min, max } of series) {
    for (const values of [min, max ?? []]) {
      for (const v of values) {
        if (!(v > 0) || v === Infinity) continue;
        smallest = Math.min(smallest, v);
        largest = Math.max(largest, v);
      }
    }
  }
  return largest && Math.max(smallest, LOG_SPAN * largest, 1e-300);
}

/** Whole decades around a range. */
function decades(min, max) {
  if (!(min > 0) || !(max > 0)) return [1e-16, 1];
  const low = 10 ** Math.floor(Math.log10(min));
  const high = 10 ** Math.ceil(Math.log10(max));
  return [low, high > low ? high : low * 10];
}

/** Ticks at powers of ten, some left out where there are many. (uPlot's own never end on very long axes.) */
const powerTicks = {
  splits: (_, __, min, max) => {
    const first = Math.ceil(Math.log10(min) - 1e-9);
    const last = Math.floor(Math.log10(max) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first) / 6));
    const ticks = [];
    for (let power = first; power <= last; power += step) ticks.push(10 ** power);
    return ticks;
  },
  filter: (_, splits) => splits,
  values: (_, splits) => splits.map((value) => `1e${Math.round(Math.log10(value))}`),
};

function nearest(x, t) {
  let low = 0;
  let high = x.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x[middle] <= t) low = middle;
    else high = middle;
  }
  return t - x[low] <= x[high] - t ? low : high;
}

function element(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}
