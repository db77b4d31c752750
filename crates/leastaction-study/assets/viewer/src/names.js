// Names of bodies: one under the pointer, or all of them.

import { Raycaster, Vector2 } from "three";

/** More labels than this hide what they name. */
const MAX_LABELS = 120;

export class Names {
  #visible = false;

  constructor(view, layer, tooltip) {
    this.view = view;
    this.labels = view.data.bodies.slice(0, MAX_LABELS).map((body) => {
      const label = document.createElement("span");
      label.textContent = body.name;
      return label;
    });
    layer.replaceChildren(...this.labels);
    layer.hidden = true;
    this.layer = layer;
    view.onDraw = () => this.#place();
    this.#watchPointer(tooltip);
  }

  show(visible) {
    this.#visible = visible;
    this.layer.hidden = !visible;
    this.view.invalidate();
  }

  #place() {
    if (!this.#visible) return;
    const { clientWidth, clientHeight } = this.view.container;
    this.labels.forEach((label, i) => {
      const p = this.view.comOf(i).project(this.view.camera);
      const inSight = p.z > -1 && p.z < 1;
      label.style.visibility = inSight ? "visible" : "hidden";
      const x = ((p.x + 1) / 2) * clientWidth + 10;
      const y = ((1 - p.y) / 2) * clientHeight - 10;
      label.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    });
  }

  #watchPointer(tooltip) {
    const { canvas, camera, pickable } = this.view;
    const ray = new Raycaster();
    const hide = () => (tooltip.hidden = true);
    canvas.addEventListener("pointerleave", hide);
    canvas.addEventListener("pointerdown", hide);
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons) return;
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - left, event.clientY - top];
      ray.setFromCamera(new Vector2((x / width) * 2 - 1, 1 - (y / height) * 2), camera);
      const hit = ray.intersectObjects(pickable.filter((part) => isShown(part)), false)[0];
      tooltip.hidden = !hit;
      if (!hit) return;
      tooltip.textContent = hit.object.userData.label;
      const room = width - tooltip.offsetWidth - 4;
      tooltip.style.transform = `translate(${Math.min(x + 14, room)}px, ${y + 14}px)`;
    });
  }
}

function isShown(part) {
  for (let at = part; at; at = at.parent) if (!at.visible) return false;
  return true;
}
