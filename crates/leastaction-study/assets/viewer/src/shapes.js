// Primitive shapes as three meshes.

import {
  BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, CylinderGeometry, DoubleSide, Mesh,
  MeshStandardMaterial, SphereGeometry,
} from "three";

/** A cylinder along z, as files mean it (three's run along y). */
export function rodGeometry(radius, length, segments = 28) {
  return new CylinderGeometry(radius, radius, length, segments).rotateX(Math.PI / 2);
}

/** A material that suits painted metal as well as unlit diagrams. */
export function paint(colour, opacity = 1) {
  return new MeshStandardMaterial({
    color: colour, roughness: 0.55, metalness: 0.08, transparent: opacity < 1, opacity, depthWrite: opacity >= 0.3,
  });
}

const geometries = {
  box: ({ size }) => new BoxGeometry(...size),
  sphere: ({ radius }) => new SphereGeometry(radius, 32, 20),
  cylinder: ({ radius, length }) => rodGeometry(radius, length),
  capsule: ({ radius, length }) => new CapsuleGeometry(radius, length, 10, 28).rotateX(Math.PI / 2),
  ellipsoid: ({ radii }) => new SphereGeometry(1, 32, 20).scale(...radii),
  mesh: ({ mesh }) => meshGeometry(mesh),
};

/** Positions are steps of the mesh's box; made once, however many bodies share it. */
function meshGeometry(mesh) {
  if (!mesh.geometry) {
    const positions = new Float32Array(mesh.positions.length);
    positions.forEach((_, i) => {
      positions[i] = mesh.low[i % 3] + (mesh.positions[i] / 65535) * mesh.size[i % 3];
    });
    mesh.geometry = new BufferGeometry();
    mesh.geometry.setAttribute("position", new BufferAttribute(positions, 3));
    mesh.geometry.setIndex(new BufferAttribute(mesh.indices, 1));
    mesh.geometry.computeVertexNormals();
    mesh.groups.forEach(({ start, count }, i) => mesh.geometry.addGroup(start, count, i));
  }
  return mesh.geometry;
}

/** The file's own colours, one per group; one colour for all where the model gives it. */
function meshPaint(visual, colour, opacity) {
  return visual.mesh.groups.map((group) => {
    const [r, g, b] = (group.color ?? []).map((part) => part / 255);
    const own = group.color && !visual.rgba ? new Color().setRGB(r, g, b, "srgb") : colour;
    const material = paint(own, opacity);
    material.side = DoubleSide;
    material.flatShading = true;
    return material;
  });
}

const radii = {
  box: ({ size }) => Math.hypot(...size) / 2,
  sphere: ({ radius }) => radius,
  cylinder: ({ radius, length }) => Math.hypot(radius, length / 2),
  capsule: ({ radius, length }) => radius + length / 2,
  ellipsoid: ({ radii: axes }) => Math.max(...axes),
  mesh: ({ mesh: { low, size } }) => Math.hypot(...low.map((x, i) => Math.max(Math.abs(x), Math.abs(x + size[i])))),
};

/** True for shapes that show the body itself; a mesh whose file could not be read only marks a place. */
export const isDrawn = (visual) => (visual.shape === "mesh" ? Boolean(visual.mesh) : visual.shape in geometries);

/** Radius of a ball around the shape's own centre that holds it. */
export const shapeRadius = (visual) => (isDrawn(visual) ? radii[visual.shape](visual) : 0);

/** The mesh of a visual in its body's frame. `markerSize` is the edge of the box that stands for a mesh file. */
export function shapeMesh(visual, bodyColour, markerSize) {
  const drawn = isDrawn(visual);
  const geometry = drawn ? geometries[visual.shape](visual) : new BoxGeometry(markerSize, markerSize, markerSize);
  const [r, g, b, opacity] = visual.rgba ?? [0, 0, 0, 1];
  const colour = visual.rgba ? new Color().setRGB(r, g, b, "srgb") : bodyColour;
  const material = visual.mesh ? meshPaint(visual, colour, opacity) : paint(colour, drawn ? opacity : 0.55);
  const mesh = new Mesh(geometry, material);
  const { p, q: [w, x, y, z] } = visual.placement;
  mesh.position.set(...p);
  mesh.quaternion.set(x, y, z, w).normalize();
  return mesh;
}
