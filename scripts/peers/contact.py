"""Contact beside peers, each in its best setting: creep, stop, roll, a heavy stack, bounces, a dropped chain.

    python3 scripts/peers/contact.py [--only mujoco,drake] [--step 0.005]

Run by hand in the environment of `leastaction bench --peers`; prints one line of JSON per number and a table. Ours are the experiments
`ours-contact-stick` and `ours-contact-impact`. A peer that is not installed is named and left out.

Scenes (SI): a block of 0.4 x 0.3 x 0.2 m on 10 degrees, friction 0.5, its drift in 10 s; the same block thrown at 1 m/s on the level,
friction 0.3, its way to rest (exact: 0.16989 m) and what it moves in the second after; a boule of 0.1 m at 2 m/s, friction 0.2, its speed
when it rolls (exact: 10/7); ten boxes of 0.2 x 0.2 x 0.1 m, the top one 100 times heavier, how far the lowest sinks or slides in 1 s; a ball
dropped from 0.4 m above the ground without dissipation where the peer can say that, its energy after 1 s of 3.924 J; a chain of ten balls
of 0.05 m dropped from 0.5 m, its deepest penetration and largest energy rise in 1.5 s.
"""

import argparse
import json
import math

GRAVITY = 9.81
SCENES = ("creep", "stop", "roll", "stack", "bounce", "chain")


def mjcf(bodies, friction, angle=0.0, step=0.005, bounce=False):
    """A model with a plane, turned by `angle` about y, and free bodies with one geom each."""
    gravity = f"{GRAVITY * math.sin(angle)} 0 {-GRAVITY * math.cos(angle)}"
    # The best at rest: elliptic cones, Newton, friction much stiffer than normal forces, and the pass against slip.
    options = f'<option timestep="{step}" gravity="{gravity}" cone="elliptic" solver="Newton" iterations="200" tolerance="1e-14" ' \
              f'impratio="100" noslip_iterations="20" noslip_tolerance="1e-14" integrator="implicitfast"/>'
    # Restitution is a spring without damper: as stiff as the step allows.
    contact = f'solref="{-1.0 / (2 * step) ** 2} 0"' if bounce else f'solref="{2 * step} 1"'
    geoms = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom {shape} mass="{mass}" friction="{friction} 0 0" condim="3" {contact}/>{more}</body>'
        for (x, y, z), shape, mass, more in bodies)
    return f'<mujoco>{options}<worldbody><geom type="plane" size="50 50 1" friction="{friction} 0 0" condim="3" {contact}/>{geoms}</worldbody></mujoco>'


def mujoco_rows(step):
    import mujoco

    def start(xml, v=None):
        model = mujoco.MjModel.from_xml_string(xml)
        data = mujoco.MjData(model)
        if v is not None:
            data.qvel[:6] = v
        mujoco.mj_forward(model, data)
        return model, data

    def run(model, data, seconds):
        for _ in range(round(seconds / step)):
            mujoco.mj_step(model, data)

    box, ball = 'type="box" size="0.2 0.15 0.1"', 'type="sphere" size="0.1"'
    model, data = start(mjcf([((0, 0, 0.1), box, 2.0, "")], 0.5, math.radians(10), step))
    run(model, data, 1.0)  # it sinks first
    x = data.qpos[:3].copy()
    run(model, data, 10.0)
    yield "creep", "drift in 10 s / m", math.dist(x, data.qpos[:3])
    model, data = start(mjcf([((0, 0, 0.1), box, 2.0, "")], 0.3, step=step), [1, 0, 0, 0, 0, 0])
    run(model, data, 0.6)
    way = data.qpos[0]
    run(model, data, 1.0)
    yield "stop", "way / m", way
    yield "stop", "drift in the second after / m", abs(data.qpos[0] - way)
    model, data = start(mjcf([((0, 0, 0.1), ball, 1.0, "")], 0.2, step=step), [2, 0, 0, 0, 0, 0])
    run(model, data, 0.6)
    yield "roll", "speed / m/s", math.hypot(data.qvel[0], data.qvel[1])
    boxes = [((0, 0, 0.05 + 0.1 * k), 'type="box" size="0.1 0.1 0.05"', 100.0 if k == 9 else 1.0, "") for k in range(10)]
    model, data = start(mjcf(boxes, 0.6, step=step))
    before = data.qpos.copy()
    run(model, data, 1.0)
    yield "stack", "largest displacement / m", max(math.dist(before[7 * k:7 * k + 3], data.qpos[7 * k:7 * k + 3]) for k in range(10))
    model, data = start(mjcf([((0, 0, 0.5), ball, 1.0, "")], 0.0, step=step, bounce=True))
    run(model, data, 1.0)
    yield "bounce", "energy / J", 0.5 * data.qvel[2] ** 2 + GRAVITY * (data.qpos[2] - 0.1)
    links = ""
    for _ in range(9):
        links = f'<body pos="0.1 0 0"><joint type="ball"/><geom type="sphere" size="0.05" mass="0.2" friction="0.5 0 0"/>{links}</body>'
    model, data = start(mjcf([((0, 0, 0.55), 'type="sphere" size="0.05"', 0.2, links)], 0.5, step=step))
    deepest, rise, energy = 0.0, 0.0, None
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    for _ in range(round(1.5 / step)):
        mujoco.mj_step(model, data)
        deepest = min([deepest] + [contact.dist for contact in data.contact])
        now = float(data.energy.sum())
        rise = max(rise, now - energy) if energy is not None else 0.0
        energy = now
    yield "chain", "deepest penetration / m", -deepest
    yield "chain", "largest energy rise in a step / J", rise


def drake_rows(step):
    from pydrake.all import (AddMultibodyPlantSceneGraph, Box, CoulombFriction, DiagramBuilder, DiscreteContactApproximation, HalfSpace,
                             RigidTransform, RollPitchYaw, Simulator, SpatialInertia, Sphere, UnitInertia)

    def scene(bodies, friction, angle=0.0):
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, step)
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        plant.mutable_gravity_field().set_gravity_vector([GRAVITY * math.sin(angle), 0, -GRAVITY * math.cos(angle)])
        material = CoulombFriction(friction, friction)
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material)
        made = []
        for k, (p, shape, mass) in enumerate(bodies):
            inertia = (UnitInertia.SolidSphere(shape.radius()) if isinstance(shape, Sphere)
                       else UnitInertia.SolidBox(shape.width(), shape.depth(), shape.height()))
            body = plant.AddRigidBody(f"body{k}", SpatialInertia(mass, [0, 0, 0], inertia))
            plant.RegisterCollisionGeometry(body, RigidTransform(), shape, f"shape{k}", material)
            made.append((body, p))
        plant.Finalize()
        diagram = builder.Build()
        simulator = Simulator(diagram)
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        for body, p in made:
            plant.SetFreeBodyPose(context, body, RigidTransform(RollPitchYaw(0, 0, 0), p))
        return plant, context, simulator, [body for body, _ in made]

    def throw(plant, context, body, v):
        from pydrake.all import SpatialVelocity
        plant.SetFreeBodySpatialVelocity(body, SpatialVelocity([0, 0, 0], v), context)

    def place(plant, context, body):
        return plant.EvalBodyPoseInWorld(context, body).translation()

    block, ball = Box(0.4, 0.3, 0.2), Sphere(0.1)
    plant, context, simulator, bodies = scene([([0, 0, 0.1], block, 2.0)], 0.5, math.radians(10))
    simulator.AdvanceTo(1.0)
    x = place(plant, context, bodies[0])
    simulator.AdvanceTo(11.0)
    yield "creep", "drift in 10 s / m", math.dist(x, place(plant, context, bodies[0]))
    plant, context, simulator, bodies = scene([([0, 0, 0.1], block, 2.0)], 0.3)
    throw(plant, context, bodies[0], [1, 0, 0])
    simulator.AdvanceTo(0.6)
    way = place(plant, context, bodies[0])[0]
    simulator.AdvanceTo(1.6)
    yield "stop", "way / m", way
    yield "stop", "drift in the second after / m", abs(place(plant, context, bodies[0])[0] - way)
    plant, context, simulator, bodies = scene([([0, 0, 0.1], ball, 1.0)], 0.2)
    throw(plant, context, bodies[0], [2, 0, 0])
    simulator.AdvanceTo(0.6)
    v = plant.EvalBodySpatialVelocityInWorld(context, bodies[0]).translational()
    yield "roll", "speed / m/s", math.hypot(v[0], v[1])
    boxes = [([0, 0, 0.05 + 0.1 * k], Box(0.2, 0.2, 0.1), 100.0 if k == 9 else 1.0) for k in range(10)]
    plant, context, simulator, bodies = scene(boxes, 0.6)
    before = [place(plant, context, body) for body in bodies]
    simulator.AdvanceTo(1.0)
    yield "stack", "largest displacement / m", max(math.dist(a, place(plant, context, b)) for a, b in zip(before, bodies))


def dart_rows(step):
    import dartpy as dart
    import numpy as np

    def scene(bodies, friction, angle=0.0, restitution=0.0):
        world = dart.simulation.World()
        world.setTimeStep(step)
        world.setGravity([GRAVITY * math.sin(angle), 0, -GRAVITY * math.cos(angle)])
        ground = dart.dynamics.Skeleton("ground")
        _, plate = ground.createWeldJointAndBodyNodePair()
        node = plate.createShapeNode(dart.dynamics.BoxShape([100, 100, 1]))
        node.createCollisionAspect()
        node.createDynamicsAspect()
        node.setRelativeTranslation([0, 0, -0.5])
        shapes = [node]
        world.addSkeleton(ground)
        made = []
        for k, (p, shape, mass) in enumerate(bodies):
            skeleton = dart.dynamics.Skeleton(f"body{k}")
            joint, body = skeleton.createFreeJointAndBodyNodePair()
            node = body.createShapeNode(shape)
            node.createCollisionAspect()
            node.createDynamicsAspect()
            shapes.append(node)
            body.setInertia(dart.dynamics.Inertia(mass, np.zeros(3), shape.computeInertia(mass)))
            joint.setPositions([0, 0, 0, *p])
            world.addSkeleton(skeleton)
            made.append(skeleton)
        for node in shapes:
            node.getDynamicsAspect().setFrictionCoeff(friction)
            node.getDynamicsAspect().setRestitutionCoeff(restitution)
        return world, made

    def run(world, seconds):
        for _ in range(round(seconds / step)):
            world.step()

    block, ball = dart.dynamics.BoxShape([0.4, 0.3, 0.2]), dart.dynamics.SphereShape(0.1)
    world, bodies = scene([([0, 0, 0.1], block, 2.0)], 0.5, math.radians(10))
    run(world, 1.0)
    x = bodies[0].getPositions()[3:6]
    run(world, 10.0)
    yield "creep", "drift in 10 s / m", math.dist(x, bodies[0].getPositions()[3:6])
    world, bodies = scene([([0, 0, 0.1], block, 2.0)], 0.3)
    bodies[0].setVelocities([0, 0, 0, 1, 0, 0])
    run(world, 0.6)
    way = bodies[0].getPositions()[3]
    run(world, 1.0)
    yield "stop", "way / m", way
    yield "stop", "drift in the second after / m", abs(bodies[0].getPositions()[3] - way)
    world, bodies = scene([([0, 0, 0.1], ball, 1.0)], 0.2)
    bodies[0].setVelocities([0, 0, 0, 2, 0, 0])
    run(world, 0.6)
    yield "roll", "speed / m/s", float(np.linalg.norm(bodies[0].getBodyNode(0).getLinearVelocity()[:2]))
    boxes = [([0, 0, 0.05 + 0.1 * k], dart.dynamics.BoxShape([0.2, 0.2, 0.1]), 100.0 if k == 9 else 1.0) for k in range(10)]
    world, bodies = scene(boxes, 0.6)
    before = [body.getPositions()[3:6] for body in bodies]
    run(world, 1.0)
    yield "stack", "largest displacement / m", max(math.dist(a, b.getPositions()[3:6]) for a, b in zip(before, bodies))
    world, bodies = scene([([0, 0, 0.5], ball, 1.0)], 0.0, restitution=1.0)
    run(world, 1.0)
    body = bodies[0].getBodyNode(0)
    yield "bounce", "energy / J", 0.5 * body.getLinearVelocity()[2] ** 2 + GRAVITY * (bodies[0].getPositions()[5] - 0.1)


PEERS = {"mujoco": mujoco_rows, "drake": drake_rows, "dart": dart_rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PEERS))
    parser.add_argument("--step", type=float, default=0.005)
    given = parser.parse_args()
    rows = []
    for peer in given.only.split(","):
        try:
            for scene, quantity, value in PEERS[peer](given.step):
                rows.append({"section": "contact", "system": peer, "scene": scene, "quantity": quantity, "value": float(value), "step": given.step})
                print(json.dumps(rows[-1]), flush=True)
        except ImportError as error:
            print(f"{peer} is not installed ({error})", flush=True)
        except Exception as error:  # a peer that fails stops nothing else
            print(f"{peer} stopped: {type(error).__name__}: {error}", flush=True)
    width = max((len(f"{r['scene']}: {r['quantity']}") for r in rows), default=0)
    for scene in SCENES:
        for quantity in dict.fromkeys(r["quantity"] for r in rows if r["scene"] == scene):
            values = ", ".join(f"{r['system']} {r['value']:.3e}" for r in rows if (r["scene"], r["quantity"]) == (scene, quantity))
            print(f"{f'{scene}: {quantity}':<{width}}  {values}")


if __name__ == "__main__":
    main()
