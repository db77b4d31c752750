// Buttons, sliders and keys.

import { short } from "./format.js";
import { speeds } from "./player.js";

const PLAY = '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2l10 6-10 6z"/></svg>';
const PAUSE = '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M3 2h4v12H3zM9 2h4v12H9z"/></svg>';

const byId = (id) => document.getElementById(id);

export function bindControls({ player, motion, view, names }) {
  bindTime(player);
  if (view) bindView(view, names);
  bindKeys(player, motion, view);
  byId("frame-note").textContent = frameNote(motion);
}

function bindTime(player) {
  const [button, scrub, clock, speed] = ["play", "scrub", "clock", "speed"].map(byId);
  const digits = Math.min(Math.max(2 - Math.floor(Math.log10((player.end - player.start) / 10 || 1)), 0), 9);
  button.addEventListener("click", () => player.toggle());
  Object.assign(scrub, { min: player.start, max: player.end });
  scrub.addEventListener("input", () => player.setTime(scrub.valueAsNumber));
  for (const value of speeds(player.speed)) {
    speed.append(new Option(`${short(value)}×`, value, false, value === player.speed));
  }
  speed.addEventListener("change", () => (player.speed = Number(speed.value)));
  byId("repeat").addEventListener("change", (event) => (player.repeat = event.target.checked));

  let shown = null;
  const show = () => {
    scrub.value = player.time;
    clock.textContent = `${player.time.toFixed(digits)} / ${short(player.end, 6)} s`;
    if (shown === player.playing) return;
    shown = player.playing;
    button.innerHTML = shown ? PAUSE : PLAY;
    button.setAttribute("aria-label", shown ? "Pause" : "Play");
  };
  player.onChange(show);
  show();
}

function bindView(view, names) {
  const bind = (id, initial, action) => {
    const box = byId(id);
    box.checked = initial;
    box.addEventListener("change", () => action(box.checked));
    action(initial);
  };
  bind("show-names", false, (on) => names.show(on));
  bind("show-axes", view.anyWithoutShape, (on) => view.showAxes(on));
  byId("forces-option").hidden = !view.contact;
  bind("show-forces", true, (on) => view.showForces(on));
  bind("show-skeleton", false, (on) => view.showSkeleton(on));
  bind("follow", view.follow, (on) => (view.follow = on));
  byId("reset-view").addEventListener("click", () => view.resetView());
}

function bindKeys(player, motion, view) {
  const step = (frames) => {
    player.pause();
    const frame = Math.min(Math.max(motion.frameAt(player.time) + frames, 0), motion.frameCount - 1);
    if (frame >= 0) player.setTime(motion.times[frame]);
  };
  const keys = { " ": () => player.toggle(), ArrowLeft: () => step(-1), ArrowRight: () => step(1), r: () => view?.resetView() };
  addEventListener("keydown", (event) => {
    // Whoever has the focus on a control means that control.
    if (event.target.closest("input, select, button, summary") || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** What thinning did to the motion, for long runs. */
function frameNote({ stride, frameCount, smooth }) {
  if (!frameCount || stride <= 1) return "";
  const thinned = `Shows ${frameCount} frames, one of every ${stride.toLocaleString("en")} samples`;
  return smooth ? `${thinned}.` : `${thinned}; bodies turn far between them, so the motion jumps from frame to frame.`;
}
