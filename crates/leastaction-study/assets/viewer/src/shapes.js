// Primitive shapes as three meshes.

import {
  BoxGeometry, CapsuleGeometry, Color, CylinderGeometry, Mesh, MeshStandardMaterial, SphereGeometry,
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
};

const radii = {
  box: ({ size }) => Math.hypot(...size) / 2,
  sphere: ({ radius }) => radius,
  cylinder: ({ radius, length }) => Math.hypot(radius, length / 2),
  capsule: ({ radius, length }) => radius + length / 2,
  ellipsoid: ({ radii: axes }) => Math.max(...axes),
};

/** True for shapes that show the body itself; a mesh reference only marks a place. */
export const isDrawn = (visual) => visual.shape in geometries;

/** Radius of a ball around the shape's own centre that holds it. */
export const shapeRadius = (visual) => radii[visual.shape]?.(visual) ?? 0;

/** The mesh of a visual in its body's frame. `markerSize` is the edge of the box that stands for a mesh file. */
export function shapeMesh(visual, bodyColour, markerSize) {
  const drawn = isDrawn(visual);
  const geometry = drawn ? geometries[visual.shape](visual) : new BoxGeometry(markerSize, markerSize, markerSize);
  const [r, g, b, opacity] = visual.rgba ?? [0, 0, 0, 1];
  const colour = visual.rgba ? new Color().setRGB(r, g, b, "srgb") : bodyColour;
  const mesh = new Mesh(geometry, paint(colour, drawn ? opacity : 0.55));
  const { p, q: [w, x, y, z] } = visual.placement;
  mesh.position.set(...p);
  mesh.quaternion.set(x, y, z, w).normalize();
  return mesh;
}
