"""Our dynamics against MuJoCo's smooth dynamics, for MJCF files."""

import mujoco
import numpy as np

from crosscheck_common import Worst, multiply, rotation

WORDS = {0: "free", 1: "ball", 2: "slide", 3: "hinge"}


def names(model):
    """Our name of every MuJoCo joint."""
    found = []
    for i in range(model.njnt):
        body = model.jnt_bodyid[i]
        body = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or f"body{body}"
        found.append(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, i) or f"{body}/{WORDS[int(model.jnt_type[i])]}")
    return found


def coordinates(model, joints, state):
    """qpos, qvel, the matrix B with qvel = B v, and its change times v."""
    q, v = np.array(state["q"]), np.array(state["v"])
    qpos, qvel = model.qpos0.copy(), np.zeros(model.nv)
    b, change = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    for i, name in enumerate(names(model)):
        joint = joints[name]
        iq, iv = model.jnt_qposadr[i], model.jnt_dofadr[i]
        jq, jv = joint["q"], joint["v"]
        if joint["kind"] == "floating":
            r0, q0 = rotation(qpos[iq + 3 : iq + 7]), qpos[iq + 3 : iq + 7].copy()
            turn = multiply(q0, q[jq : jq + 4])
            qpos[iq : iq + 3] += r0 @ q[jq + 4 : jq + 7]
            qpos[iq + 3 : iq + 7] = turn
            r = rotation(turn)
            b[iv : iv + 3, jv + 3 : jv + 6] = r
            b[iv + 3 : iv + 6, jv : jv + 3] = np.eye(3)
            change[iv : iv + 3] = r @ np.cross(v[jv : jv + 3], v[jv + 3 : jv + 6])
        elif joint["kind"] == "spherical":
            qpos[iq : iq + 4] = q[jq : jq + 4]
            b[iv : iv + 3, jv : jv + 3] = np.eye(3)
        else:
            qpos[iq] += q[jq]
            b[iv, jv] = 1.0
    return qpos, b @ v, b, change


def activate(model, data, controls, inputs, ours):
    """Our input of an actuator with a state of its own is that state."""
    for name, activated in zip(ours["inputs"], ours["activated"]):
        if activated:
            data.act[model.actuator_actadr[controls.index(name)]] = inputs[name]


def compare_mujoco(path, _floating, ours):
    """Worst differences over the states; raises ValueError if MuJoCo refuses the file."""
    model = mujoco.MjModel.from_xml_path(str(path))
    if ours is None:
        return "MuJoCo loads it"
    joints = {j["name"]: j for j in ours["joints"]}
    data = mujoco.MjData(model)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    worst = Worst()
    controls = [
        mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i) or f"actuator{i}" for i in range(model.nu)
    ]
    for state in ours["states"]:
        qpos, qvel, b, change = coordinates(model, joints, state)
        data.qpos[:], data.qvel[:] = qpos, qvel
        inputs = dict(zip(ours["inputs"], state["u"]))
        data.ctrl[:] = [inputs.get(name, 0.0) for name in controls]
        activate(model, data, controls, inputs, ours)
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        qacc = b @ np.array(state["a"]) + change
        bias = np.zeros(model.nv)
        mujoco.mj_rne(model, data, 0, bias)
        theirs = b.T @ (mass @ qacc + bias)
        worst.see("rnea", state["rnea"], theirs)
        worst.see("mass", np.reshape(state["mass"], mass.shape), b.T @ mass @ b)
        tau = np.linalg.solve(b.T, np.array(state["tau"]))
        back = lambda acceleration: np.linalg.solve(b, acceleration - change)
        worst.see("aba", state["aba"], back(np.linalg.solve(mass, tau - bias)))
        worst.residual(np.array(state["rnea_of_aba"]) - state["tau"], 0.0)
        for i in range(1, model.nbody):
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i) or f"body{i}"
            worst.see("poses", state["poses"][name], [*data.xpos[i], *data.xmat[i]], 1.0)
        worst.see("com", state["com"], data.subtree_com[0], 1.0)
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
        worst.see("energy", [state["potential"], state["kinetic"]], data.energy)
        applied = b.T @ (data.qfrc_passive + data.qfrc_actuator)
        worst.see("applied", state["applied"], applied, 1e-3)
        forces = dict(zip(controls, data.actuator_force))
        worst.see("forces", state["forces"], [forces[name] for name in ours["inputs"]], 1e-3)
        worst.see("accel", state["acceleration"], back(data.qacc_smooth))
    return worst
