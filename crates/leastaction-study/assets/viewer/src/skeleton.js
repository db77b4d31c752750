// Bodies as bones between their joints, and the axes of the joints.

import {
  BoxGeometry, BufferGeometry, CircleGeometry, DoubleSide, Group, Line, LineBasicMaterial, Mesh, SphereGeometry, Vector3,
} from "three";
import { paint, rodGeometry } from "./shapes.js";

const TREE = "#f59e0b";
const LOOP = "#d946ef";
const UP = new Vector3(0, 0, 1);
/** Joints whose two anchors come apart when they move. */
const SLIDING = new Set(["prismatic", "cylindrical", "planar", "point_on_line"]);
const WITHOUT_AXIS = new Set(["fixed", "floating", "spherical", "ball"]);

const vector = ([x, y, z]) => new Vector3(x, y, z);

/** For each body the joints that hold it; a floating joint holds nothing. */
export function jointsByBody(scene) {
  const lists = scene.bodies.map(() => []);
  for (const joint of scene.joints) {
    if (joint.kind === "floating") continue;
    for (const body of [joint.parent, joint.child]) lists[body]?.push(joint);
  }
  return lists;
}

/** The ends of a body's bones, in its frame: pairs of points. `joints` are those that hold it. */
function bones(body, index, joints) {
  const com = vector(body.com);
  const entry = joints.find((joint) => joint.child === index && !joint.closes_loop);
  const ends = joints
    .filter((joint) => joint !== entry)
    .map((joint) => vector(joint.parent === index ? joint.parent_anchor : joint.child_anchor));
  const from = entry ? vector(entry.child_anchor) : com;
  if (!ends.length) ends.push(com);
  return ends.map((end) => [from, end]);
}

/** A length that thicknesses and markers can be a share of: the median bone, a little more where that is tiny. */
export function typicalLength(scene, joints, reach) {
  const lengths = scene.bodies
    .flatMap((body, index) => bones(body, index, joints[index]).map(([a, b]) => a.distanceTo(b)))
    .filter((length) => length > 1e-6 * reach)
    .sort((a, b) => a - b);
  if (!lengths.length) return 0.4 * reach;
  const median = Math.min(lengths[lengths.length >> 1], reach);
  return Math.min(Math.max(median, 0.05 * reach), 3 * median);
}

function rodBetween(a, b, radius, material) {
  const length = a.distanceTo(b);
  if (!(length > 1e-3 * radius)) return null;
  const rod = new Mesh(rodGeometry(radius, length, 14), material);
  rod.position.addVectors(a, b).multiplyScalar(0.5);
  rod.quaternion.setFromUnitVectors(UP, b.clone().sub(a).normalize());
  return rod;
}

/** The bones of one body and a ball at its centre of mass, in its frame. */
export function bodySkeleton(body, index, joints, size, colour) {
  const group = new Group();
  const material = paint(colour);
  for (const [a, b] of bones(body, index, joints)) {
    const rod = rodBetween(a, b, 0.03 * size, material);
    if (rod) group.add(rod);
  }
  const mass = new Mesh(new SphereGeometry(0.065 * size, 24, 16), material);
  mass.position.copy(vector(body.com));
  group.add(mass);
  return group;
}

/** Small blocks where the mechanism is held by the world. */
export function worldAnchors(scene, size, material) {
  const group = new Group();
  for (const joint of scene.joints) {
    if (joint.parent !== null || joint.kind === "floating") continue;
    const block = new Mesh(new BoxGeometry(0.13 * size, 0.13 * size, 0.13 * size), material);
    block.position.copy(vector(joint.parent_anchor));
    group.add(block);
  }
  return group;
}

function axisRod(axis, length, radius, material) {
  const direction = vector(axis);
  if (direction.lengthSq() < 1e-12) return null;
  const rod = new Mesh(rodGeometry(radius, length, 10), material);
  rod.quaternion.setFromUnitVectors(UP, direction.normalize());
  return rod;
}

/** What shows one joint: parts fixed to the parent and parts fixed to the child. */
export function jointMarks(joint, size) {
  const material = paint(joint.closes_loop ? LOOP : TREE);
  const parts = { parent: [], child: [] };
  const onParent = (mesh) => {
    if (!mesh) return;
    mesh.position.copy(vector(joint.parent_anchor));
    parts.parent.push(mesh);
  };
  const radius = 0.018 * size;
  if (!WITHOUT_AXIS.has(joint.kind)) {
    const length = (SLIDING.has(joint.kind) ? 0.8 : 0.42) * size;
    onParent(axisRod(joint.parent_axis, length, radius, material));
  }
  if (joint.kind === "universal") {
    const rod = axisRod(joint.child_axis, 0.42 * size, radius, material);
    if (rod) rod.position.copy(vector(joint.child_anchor));
    if (rod) parts.child.push(rod);
  }
  if (joint.kind === "spherical" || joint.kind === "ball") {
    onParent(new Mesh(new SphereGeometry(0.075 * size, 20, 14), material));
  }
  if (joint.kind === "planar") {
    const sheet = paint(material.color, 0.25);
    sheet.side = DoubleSide;
    const disc = new Mesh(new CircleGeometry(0.4 * size, 40), sheet);
    const normal = vector(joint.parent_axis);
    if (normal.lengthSq() > 1e-12) disc.quaternion.setFromUnitVectors(UP, normal.normalize());
    onParent(disc);
  }
  return parts;
}

/** The line between the two anchors of a sliding joint; `update` takes their places in the world. */
export function slideLine(joint) {
  if (!SLIDING.has(joint.kind)) return null;
  const line = new Line(
    new BufferGeometry().setFromPoints([new Vector3(), new Vector3()]),
    new LineBasicMaterial({ color: joint.closes_loop ? LOOP : TREE }),
  );
  line.frustumCulled = false;
  const ends = line.geometry.attributes.position;
  return {
    line,
    update(a, b) {
      ends.setXYZ(0, a.x, a.y, a.z);
      ends.setXYZ(1, b.x, b.y, b.z);
      ends.needsUpdate = true;
    },
  };
}
