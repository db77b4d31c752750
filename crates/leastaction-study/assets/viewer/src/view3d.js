// The 3-D view: bodies at their poses, a ground to stand on, a camera to turn.

import {
  AxesHelper, DirectionalLight, GridHelper, Group, HemisphereLight, Mesh, PerspectiveCamera, PlaneGeometry, Scene,
  ShadowMaterial, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { ContactForces, groundPlane } from "./contact.js";
import { extents, fittingDistance, roundBelow, viewDirection } from "./framing.js";
import { POSE } from "./motion.js";
import { isDrawn, paint, shapeMesh } from "./shapes.js";
import { bodySkeleton, jointMarks, jointsByBody, slideLine, typicalLength, worldAnchors } from "./skeleton.js";
import { colour, onThemeChange, styled } from "./theme.js";

/** Shadows cost a second drawing of everything. */
const MAX_SHADOW_BODIES = 250;

export class View3d {
  constructor(container, sceneData, motion, forces) {
    this.container = container;
    this.data = sceneData;
    this.motion = motion;
    this.renderer = new WebGLRenderer({ antialias: true });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.canvas = this.renderer.domElement;
    container.prepend(this.canvas);

    this.scene = new Scene();
    this.camera = new PerspectiveCamera(38, 1, 0.01, 100);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener("change", () => this.invalidate());
    this.follow = false;
    this.onDraw = () => {};

    const joints = jointsByBody(sceneData);
    this.#measure(joints);
    this.#buildBodies(joints);
    this.#buildJoints();
    this.#buildSurroundings();
    this.#buildContact(forces);
    this.#paintTheme();
    onThemeChange(() => this.#paintTheme());

    this.centre = this.#middle();
    new ResizeObserver(() => this.#resize()).observe(container);
    this.#resize();
    this.update();
    this.resetView();
  }

  /** Takes the poses the motion stands at. */
  update() {
    const { current } = this.motion;
    this.bodies.forEach((group, i) => {
      const at = i * POSE;
      group.position.set(current[at], current[at + 1], current[at + 2]);
      group.quaternion.set(current[at + 4], current[at + 5], current[at + 6], current[at + 3]);
    });
    for (const { joint, update } of this.slides) {
      update(this.#place(joint.parent, joint.parent_anchor), this.#place(joint.child, joint.child_anchor));
    }
    this.contact?.update(this.motion.time);
    const middle = this.#middle();
    if (this.follow) {
      const moved = middle.clone().sub(this.centre);
      this.camera.position.add(moved);
      this.controls.target.add(moved);
    }
    this.centre = middle;
    this.invalidate();
  }

  /** Looks at the whole motion, or at the mechanism alone when the camera follows it. */
  resetView() {
    const box = (this.follow ? this.first : this.whole).clone().expandByScalar(0.1 * this.size);
    const centre = this.follow ? this.#middle() : box.getCenter(new Vector3());
    const direction = viewDirection(this.whole);
    const distance = fittingDistance(box, direction, this.camera);
    this.camera.near = distance / 500;
    this.camera.far = distance * 100;
    this.camera.updateProjectionMatrix();
    this.camera.position.copy(direction).multiplyScalar(distance).add(centre);
    this.controls.target.copy(centre);
    this.controls.update();
    this.invalidate();
  }

  showAxes(visible) {
    this.axes.forEach((mark) => (mark.visible = visible));
    this.invalidate();
  }

  showForces(visible) {
    if (this.contact) this.contact.group.visible = visible;
    this.invalidate();
  }

  /** Bodies without shapes always show their bones; this is for the others. */
  showSkeleton(visible) {
    this.extraBones.forEach((group) => (group.visible = visible));
    this.invalidate();
  }

  /** Draws once, with the next frame of the browser. */
  invalidate() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.renderer.render(this.scene, this.camera);
      this.onDraw();
    });
  }

  #measure(joints) {
    const { whole, first } = extents(this.data, joints, this.motion);
    this.whole = whole;
    this.first = first;
    const reach = first.getSize(new Vector3()).length();
    this.size = typicalLength(this.data, joints, Math.max(reach, 1e-9));
    // A mechanism that travels far would be a dot in its own motion.
    this.travels = whole.getSize(new Vector3()).length() > 6 * Math.max(reach, this.size);
    this.follow = this.travels;
  }

  #buildBodies(joints) {
    this.extraBones = [];
    this.anyWithoutShape = false;
    this.pickable = [];
    for (const visual of this.data.world_visuals) {
      const mesh = shapeMesh(visual, "#8a97a6", 0.16 * this.size);
      this.#name(mesh, isDrawn(visual) ? "world" : `world: ${visual.name}`);
      mesh.receiveShadow = true;
      this.scene.add(mesh);
    }
    this.bodies = this.data.bodies.map((body, index) => {
      const group = new Group();
      const visuals = body.visuals ?? [];
      for (const visual of visuals) {
        const mesh = shapeMesh(visual, colour(index), 0.16 * this.size);
        this.#name(mesh, isDrawn(visual) ? body.name : `${body.name}: ${visual.name}`);
        group.add(mesh);
      }
      const skeleton = bodySkeleton(body, index, joints[index], this.size, colour(index));
      this.#name(skeleton, body.name);
      if (visuals.some(isDrawn)) {
        skeleton.visible = false;
        this.extraBones.push(skeleton);
      } else {
        this.anyWithoutShape = true;
      }
      group.add(skeleton);
      this.scene.add(group);
      return group;
    });
  }

  #buildJoints() {
    this.axes = [];
    this.slides = [];
    for (const joint of this.data.joints) {
      const marks = jointMarks(joint, this.size);
      for (const [meshes, holder] of [[marks.parent, joint.parent], [marks.child, joint.child]]) {
        for (const mesh of meshes) {
          this.#name(mesh, `${joint.name} (${joint.kind}${joint.closes_loop ? ", closes a loop" : ""})`);
          (this.bodies[holder] ?? this.scene).add(mesh);
          this.axes.push(mesh);
        }
      }
      const slide = slideLine(joint);
      if (slide) {
        this.scene.add(slide.line);
        this.slides.push({ joint, update: slide.update });
        this.axes.push(slide.line);
      }
    }
    this.anchorPaint = paint("#888888");
    const anchors = worldAnchors(this.data, this.size, this.anchorPaint);
    this.#name(anchors, "world");
    this.scene.add(anchors);
    if (!this.anyWithoutShape) {
      anchors.visible = false;
      this.extraBones.push(anchors);
    }
  }

  /** The ground as it is in the model, and arrows of what touches. */
  #buildContact(forces) {
    const centre = this.whole.getCenter(new Vector3());
    const reach = this.whole.getSize(new Vector3()).length();
    for (const half of this.data.half_spaces ?? []) {
      const plane = groundPlane(half, centre, 3 * reach);
      plane.userData.label = "ground";
      this.scene.add(plane);
    }
    if (!forces?.length || !this.data.contacts?.length) return;
    const box = this.first.getSize(new Vector3()).length();
    this.contact = new ContactForces(this.data.contacts, forces, this.motion, 0.6 * Math.max(box, this.size));
    this.scene.add(this.contact.group);
  }

  #buildSurroundings() {
    const box = this.travels ? this.first : this.whole;
    const centre = box.getCenter(new Vector3());
    const reach = box.getSize(new Vector3()).length();
    this.cell = roundBelow(reach / 6);
    const cells = 40;
    // Under everything that moves, so that it never cuts a hanging mechanism in two.
    const level = (this.data.half_spaces ?? []).find(({ normal }) => normal[2] > 1 - 1e-9);
    const lowest = level ? level.offset : box.min.z < -1e-6 * reach ? box.min.z - 0.04 * reach : 0;
    this.ground = new Group();
    this.ground.position.set(
      Math.round(centre.x / this.cell) * this.cell, Math.round(centre.y / this.cell) * this.cell, lowest,
    );
    this.gridSize = [cells * this.cell, cells];
    this.scene.add(this.ground);
    this.scene.add(new AxesHelper(this.cell));

    this.sky = new HemisphereLight(0xffffff, 0x9aa4b0, 1.9);
    const sun = new DirectionalLight(0xffffff, 2.2);
    sun.position.copy(centre).add(new Vector3(0.5, -0.7, 1.5).multiplyScalar(reach));
    sun.target.position.copy(centre);
    this.scene.add(this.sky, sun, sun.target);
    if (this.bodies.length <= MAX_SHADOW_BODIES && !this.travels) this.#castShadows(sun, reach);
  }

  #castShadows(sun, reach) {
    this.renderer.shadowMap.enabled = true;
    sun.castShadow = true;
    sun.shadow.mapSize.set(2048, 2048);
    Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.01 * reach, far: 5 * reach });
    sun.shadow.normalBias = 0.002 * reach;
    const shade = new Mesh(new PlaneGeometry(...[1, 1].map((s) => s * this.gridSize[0])), new ShadowMaterial({ opacity: 0.16 }));
    shade.receiveShadow = true;
    shade.position.z = -0.0005 * reach;
    this.ground.add(shade);
    for (const body of this.bodies) {
      body.traverse((part) => {
        part.castShadow = part.isMesh === true;
      });
    }
  }

  #paintTheme() {
    this.renderer.setClearColor(styled("sky"));
    this.anchorPaint.color.set(styled("bone"));
    if (this.grid) {
      this.ground.remove(this.grid);
      this.grid.dispose();
    }
    this.grid = new GridHelper(...this.gridSize, styled("ground-strong"), styled("ground")).rotateX(Math.PI / 2);
    this.grid.material.transparent = true;
    this.grid.material.opacity = 0.75;
    this.ground.add(this.grid);
    this.invalidate();
  }

  #name(object, label) {
    object.traverse((part) => {
      part.userData.label = label;
      if (part.isMesh) this.pickable.push(part);
    });
  }

  /** A point of a body (or of the world) in the world. */
  #place(body, point) {
    const place = new Vector3(...point);
    const group = this.bodies[body];
    return group ? place.applyQuaternion(group.quaternion).add(group.position) : place;
  }

  /** The mean of the centres of mass. */
  #middle() {
    const sum = new Vector3();
    this.bodies.forEach((_, i) => sum.add(this.comOf(i)));
    return sum.multiplyScalar(1 / Math.max(this.bodies.length, 1));
  }

  comOf(body) {
    return this.#place(body, this.data.bodies[body].com);
  }

  #resize() {
    const { clientWidth, clientHeight } = this.container;
    if (!clientWidth || !clientHeight) return;
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.camera.aspect = clientWidth / clientHeight;
    this.camera.updateProjectionMatrix();
    this.invalidate();
  }
}
