"use strict";
// The page of a sweep: bins of the measures, and any two columns against each other. No library: there is little to draw.
(() => {
  const data = JSON.parse(document.getElementById("sweep-data").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const runs = new Float64Array(bytes(data.runs).buffer);
  const ok = bytes(data.ok);
  const columns = new Map(data.columns.map((c) => [c.name, new Float32Array(bytes(c.values).buffer)]));
  columns.set("run", Float64Array.from(runs));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const figure = (x) => {
    const size = Math.abs(x);
    if (x === 0) return "0";
    return size < 1e-3 || size >= 1e5 ? x.toExponential(3) : String(Number(x.toPrecision(5)));
  };

  /** A canvas ready to draw on, in CSS pixels. */
  const paper = (canvas) => {
    const scale = window.devicePixelRatio || 1;
    const { width, height } = canvas.getBoundingClientRect();
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "12px system-ui, sans-serif";
    return { pen, width, height };
  };

  /** Round numbers between two. */
  const ticks = (low, high, count) => {
    const raw = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || raw;
    const list = [];
    for (let k = Math.ceil(low / step); k * step <= high && list.length < 50; k++) list.push(k * step);
    return list;
  };

  const drawBins = () => {
    const place = document.getElementById("bins");
    place.textContent = "";
    for (const measure of data.measures) {
      const box = document.createElement("figure");
      const canvas = document.createElement("canvas");
      const caption = document.createElement("figcaption");
      caption.textContent = `${measure.name}: lines at 5 %, median, 95 %`;
      box.append(canvas, caption);
      place.append(box);
      const { pen, width, height } = paper(canvas);
      const most = Math.max(1, ...measure.bins);
      const bottom = height - 18;
      const step = width / measure.bins.length;
      pen.fillStyle = colour("--accent");
      measure.bins.forEach((count, i) => {
        const size = count === 0 ? 0 : Math.max(1, (count / most) * (bottom - 4));
        pen.fillRect(i * step, bottom - size, Math.max(1, step - 1), size);
      });
      pen.strokeStyle = colour("--ink");
      for (const mark of measure.marks) {
        const x = ((mark - measure.from) / (measure.to - measure.from || 1)) * width;
        pen.globalAlpha = 0.6;
        pen.beginPath();
        pen.moveTo(x, 0);
        pen.lineTo(x, bottom);
        pen.stroke();
        pen.globalAlpha = 1;
      }
      pen.fillStyle = colour("--soft");
      pen.textAlign = "left";
      pen.fillText(figure(measure.from), 0, height - 4);
      pen.textAlign = "right";
      pen.fillText(figure(measure.to), width, height - 4);
    }
  };

  const [selectX, selectY] = ["x", "y"].map((id) => document.getElementById(id));
  const [logX, logY] = ["log-x", "log-y"].map((id) => document.getElementById(id));
  for (const select of [selectX, selectY]) {
    for (const name of columns.keys()) select.add(new Option(name, name));
  }
  if (data.x) selectX.value = data.x;
  if (data.y) selectY.value = data.y;
  const canvas = document.getElementById("scatter");
  let shown = [];

  const drawScatter = () => {
    const { pen, width, height } = paper(canvas);
    const axis = (name, log) => {
      const raw = columns.get(name);
      const value = (i) => (log ? Math.log10(raw[i]) : raw[i]);
      let [low, high] = [Infinity, -Infinity];
      for (let i = 0; i < raw.length; i++) {
        const x = value(i);
        if (Number.isFinite(x)) [low, high] = [Math.min(low, x), Math.max(high, x)];
      }
      if (!(low <= high)) [low, high] = [0, 1];
      const room = (high - low || Math.abs(high) || 1) * 0.04;
      return { value, low: low - room, high: high + room, log };
    };
    const x = axis(selectX.value, logX.checked);
    const y = axis(selectY.value, logY.checked);
    const left = 70, bottom = height - 36, right = width - 10, top = 8;
    const atX = (v) => left + ((v - x.low) / (x.high - x.low)) * (right - left);
    const atY = (v) => bottom - ((v - y.low) / (y.high - y.low)) * (bottom - top);
    const label = (a, v) => (a.log ? figure(10 ** v) : figure(v));
    pen.strokeStyle = colour("--grid");
    pen.fillStyle = colour("--soft");
    pen.textAlign = "center";
    for (const v of ticks(x.low, x.high, Math.max(2, width / 120))) {
      pen.beginPath();
      pen.moveTo(atX(v), top);
      pen.lineTo(atX(v), bottom);
      pen.stroke();
      pen.fillText(label(x, v), atX(v), bottom + 14);
    }
    pen.textAlign = "right";
    for (const v of ticks(y.low, y.high, Math.max(2, height / 70))) {
      pen.beginPath();
      pen.moveTo(left, atY(v));
      pen.lineTo(right, atY(v));
      pen.stroke();
      pen.fillText(label(y, v), left - 6, atY(v) + 4);
    }
    pen.textAlign = "center";
    pen.fillStyle = colour("--ink");
    pen.fillText(selectX.value, (left + right) / 2, height - 6);
    shown = [];
    const good = colour("--accent");
    const size = runs.length > 3000 ? 1.5 : 2.5;
    for (let i = 0; i < runs.length; i++) {
      const [u, v] = [x.value(i), y.value(i)];
      if (!Number.isFinite(u) || !Number.isFinite(v)) continue;
      const [px, py] = [atX(u), atY(v)];
      shown.push([px, py, i]);
      pen.globalAlpha = ok[i] ? 0.55 : 1;
      if (ok[i]) {
        pen.fillStyle = good;
        pen.beginPath();
        pen.arc(px, py, size, 0, 7);
        pen.fill();
      } else {
        pen.strokeStyle = "#dc2626";
        pen.beginPath();
        pen.moveTo(px - 4, py - 4);
        pen.lineTo(px + 4, py + 4);
        pen.moveTo(px - 4, py + 4);
        pen.lineTo(px + 4, py - 4);
        pen.stroke();
      }
    }
    pen.globalAlpha = 1;
    if (shown.length === 0) {
      pen.fillStyle = colour("--soft");
      pen.fillText("no run has both numbers", (left + right) / 2, (top + bottom) / 2);
    }
  };

  const nearest = (event) => {
    const box = canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = null, least = 400;
    for (const [x, y, i] of shown) {
      const far = (x - px) ** 2 + (y - py) ** 2;
      if (far < least) [best, least] = [i, far];
    }
    return best;
  };
  const chosen = document.getElementById("chosen");
  const say = (i) => {
    const [x, y] = [selectX.value, selectY.value];
    const end = ok[i] ? "" : ", failed";
    chosen.textContent =
      `run ${runs[i]}${end}: ${x} = ${figure(columns.get(x)[i])}, ${y} = ${figure(columns.get(y)[i])}; ${data.command}${runs[i]}`;
  };
  const copy = (text, element) => {
    const done = () => {
      const before = element.textContent;
      element.textContent = "copied";
      setTimeout(() => { element.textContent = before; }, 900);
    };
    // A page from a file may not have a clipboard: the text is then shown.
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => { chosen.textContent = text; });
    else chosen.textContent = text;
  };
  canvas.addEventListener("pointermove", (event) => {
    const i = nearest(event);
    if (i !== null) say(i);
  });
  canvas.addEventListener("click", (event) => {
    const i = nearest(event);
    if (i !== null) copy(`${data.command}${runs[i]}`, chosen);
  });
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", () => copy(button.dataset.command, button));
  }
  for (const element of [selectX, selectY, logX, logY]) element.addEventListener("change", drawScatter);
  const draw = () => {
    drawBins();
    drawScatter();
  };
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
