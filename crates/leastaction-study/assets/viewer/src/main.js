// Puts the page together: data, player, 3-D view, plots, controls.

import uplotStyle from "uplot/dist/uPlot.min.css";
import { bindControls } from "./controls.js";
import { readData } from "./data.js";
import { Motion, POSE } from "./motion.js";
import { Names } from "./names.js";
import { Player } from "./player.js";
import { makePlots } from "./plots.js";
import { View3d } from "./view3d.js";

const byId = (id) => document.getElementById(id);

function makeView(scene, motion, forces) {
  try {
    return new View3d(byId("view"), scene, motion, forces);
  } catch (error) {
    const message = document.createElement("p");
    message.className = "view-message";
    message.textContent = `This browser shows no 3-D graphics (${error.message}). The plots work without.`;
    byId("view").replaceChildren(message);
    return null;
  }
}

function timeSpan(motion, plots) {
  if (motion.frameCount) return [motion.start, motion.end];
  const x = plots.find((plot) => plot.x.length)?.x ?? [0];
  return [x[0], x[x.length - 1]];
}

function start() {
  document.head.prepend(Object.assign(document.createElement("style"), { textContent: uplotStyle }));
  const { scene, frames, plots } = readData(byId("leastaction-data"));
  const motion = new Motion(frames, scene.bodies.length);
  const player = new Player(...timeSpan(motion, plots));
  const hasScene = motion.frameCount > 0 && scene.bodies.length > 0;
  byId("stage").classList.toggle("no-scene", !hasScene);
  byId("stage").classList.toggle("no-plots", plots.length === 0);

  const view = hasScene ? makeView(scene, motion, frames.forces) : null;
  const names = view && new Names(view, byId("labels"), byId("tooltip"));
  player.onChange(() => {
    motion.moveTo(player.time);
    view?.update();
  });
  const charts = makePlots(byId("plots"), plots, player);
  bindControls({ player, motion, view, names });

  // For tests, notebooks and the curious.
  window.leastaction = {
    frameCount: motion.frameCount,
    bodies: scene.bodies.map((body) => body.name),
    time: () => player.time,
    setTime: (t) => player.setTime(t),
    play: () => player.play(),
    pause: () => player.pause(),
    bodyPosition: (i) => view?.bodies[i].position.toArray() ?? Array.from(motion.current.subarray(i * POSE, i * POSE + 3)),
    forces: () => view?.contact?.shown() ?? [],
    plots: charts.map((chart) => ({ id: chart.plot.id, points: chart.points })),
  };
}

start();
