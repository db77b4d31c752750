// What touches: the ground as planes, forces as arrows from where they act.

import { ArrowHelper, DoubleSide, Group, Mesh, MeshStandardMaterial, PlaneGeometry, Quaternion, Vector3 } from "three";

/** Numbers per pair and frame: fx, fy, fz, px, py, pz, gap. */
const PARTS = 7;
/** Forces below this share of the largest are not drawn. */
const LEAST = 1e-3;
const COLOUR = 0xe11d48;

/** A plane of the ground, wide enough for the motion; level ones are drawn by the grid as well. */
export function groundPlane({ normal, offset }, centre, width) {
  const n = new Vector3(...normal);
  const plane = new Mesh(
    new PlaneGeometry(width, width),
    new MeshStandardMaterial({ color: "#8a97a6", side: DoubleSide, transparent: true, opacity: 0.28, roughness: 1 }),
  );
  plane.quaternion.copy(new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), n));
  // The foot of the middle of the motion.
  plane.position.copy(centre).addScaledVector(n, offset - n.dot(centre));
  plane.receiveShadow = true;
  return plane;
}

export class ContactForces {
  /** Arrows as long as `length` at the largest force of the motion. */
  constructor(names, forces, motion, length) {
    this.forces = forces;
    this.motion = motion;
    this.group = new Group();
    let largest = 0;
    for (let at = 0; at + PARTS <= forces.length; at += PARTS) {
      const size = Math.hypot(forces[at], forces[at + 1], forces[at + 2]);
      if (size > largest) largest = size;
    }
    this.largest = largest;
    this.length = length;
    this.arrows = names.map((name) => {
      const arrow = new ArrowHelper(new Vector3(0, 0, 1), new Vector3(), length, COLOUR);
      arrow.visible = false;
      arrow.userData.label = name;
      this.group.add(arrow);
      return arrow;
    });
  }

  /** Forces of the frame at the time; they jump at impacts, so nothing is blended. */
  update(t) {
    const frame = this.motion.frameAt(t);
    const { forces, arrows } = this;
    arrows.forEach((arrow, i) => {
      const [fx, fy, fz, px, py, pz] = forces.subarray((frame * arrows.length + i) * PARTS);
      const size = Math.hypot(fx, fy, fz);
      arrow.visible = size > LEAST * this.largest && Number.isFinite(px + py + pz);
      if (!arrow.visible) return;
      arrow.position.set(px, py, pz);
      arrow.setDirection(new Vector3(fx, fy, fz).multiplyScalar(1 / size));
      const length = (this.length * size) / this.largest;
      arrow.setLength(length, Math.min(0.3 * length, 0.12 * this.length), Math.min(0.18 * length, 0.07 * this.length));
    });
  }

  /** Arrows in sight, for tests and notebooks. */
  shown() {
    return this.arrows.filter((arrow) => arrow.visible).map((arrow) => arrow.userData.label);
  }
}
