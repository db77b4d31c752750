// How much room a motion takes, and from where to look at it.

import { Box3, Quaternion, Vector3 } from "three";
import { POSE } from "./motion.js";
import { isDrawn, shapeRadius } from "./shapes.js";

/** Samples are enough to find the extent of a motion. */
const MAX_FRAMES = 150;
const MAX_BODIES = 400;

/** Balls in the frame of each body that together hold it: [centre, radius]. */
function bodyBalls(scene, joints) {
  return scene.bodies.slice(0, MAX_BODIES).map((body, index) => {
    const balls = [[new Vector3(...body.com), 0]];
    for (const visual of body.visuals ?? []) {
      if (isDrawn(visual)) balls.push([new Vector3(...visual.placement.p), shapeRadius(visual)]);
    }
    for (const joint of joints[index]) {
      balls.push([new Vector3(...(joint.parent === index ? joint.parent_anchor : joint.child_anchor)), 0]);
    }
    return balls;
  });
}

/** Boxes around the whole motion and around its first frame. */
export function extents(scene, joints, motion) {
  const balls = bodyBalls(scene, joints);
  const whole = new Box3();
  const first = new Box3();
  const turn = new Quaternion();
  const point = new Vector3();
  const step = Math.max(1, Math.floor(motion.frameCount / MAX_FRAMES));
  for (let frame = 0; frame < motion.frameCount; frame += step) {
    balls.forEach((list, body) => {
      const at = (frame * motion.bodyCount + body) * POSE;
      const [px, py, pz, w, x, y, z] = motion.poses.subarray(at, at + POSE);
      if (!Number.isFinite(px + py + pz + w + x + y + z)) return;
      turn.set(x, y, z, w);
      for (const [centre, radius] of list) {
        point.copy(centre).applyQuaternion(turn);
        point.set(point.x + px, point.y + py, point.z + pz);
        for (const box of frame ? [whole] : [whole, first]) {
          box.expandByPoint(point.clone().addScalar(radius));
          box.expandByPoint(point.clone().addScalar(-radius));
        }
      }
    });
  }
  for (const joint of scene.joints) {
    if (joint.parent !== null || joint.kind === "floating") continue;
    for (const box of [whole, first]) box.expandByPoint(new Vector3(...joint.parent_anchor));
  }
  for (const box of [whole, first]) {
    if (box.isEmpty()) box.set(new Vector3(-0.5, -0.5, -0.5), new Vector3(0.5, 0.5, 0.5));
  }
  return { whole, first };
}

/** From where to look at a box: across a flat motion, at an angle to any other. */
export function viewDirection(box) {
  const size = box.getSize(new Vector3());
  const flat = 0.2 * Math.max(size.x, size.y, size.z);
  if (size.y < flat && size.x >= flat) return new Vector3(0.4, -1, 0.28).normalize();
  if (size.x < flat && size.y >= flat) return new Vector3(1, -0.4, 0.28).normalize();
  return new Vector3(0.8, -1.15, 0.62).normalize();
}

/** How far from the middle of a box a camera that looks at it from `direction` sees all of it. */
export function fittingDistance(box, direction, camera) {
  const right = new Vector3().crossVectors(camera.up, direction).normalize();
  const up = new Vector3().crossVectors(direction, right);
  const vertical = Math.tan((camera.fov * Math.PI) / 360);
  const half = box.getSize(new Vector3()).multiplyScalar(0.5);
  let distance = 1e-6;
  for (const [x, y, z] of [[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]]) {
    for (const sign of [1, -1]) {
      const corner = new Vector3(x * half.x, y * half.y, z * half.z).multiplyScalar(sign);
      const across = Math.abs(corner.dot(right)) / (vertical * camera.aspect);
      const upward = Math.abs(corner.dot(up)) / vertical;
      distance = Math.max(distance, Math.max(across, upward) + corner.dot(direction));
    }
  }
  return 1.12 * distance;
}

/** The round number (1, 2 or 5 times a power of ten) next below a length. */
export function roundBelow(length) {
  const decade = 10 ** Math.floor(Math.log10(length));
  return [5, 2, 1].map((m) => m * decade).find((value) => value <= length) ?? decade;
}
