"""Our dynamics against Pinocchio's, for URDF files."""

import numpy as np
import pinocchio as pin

from crosscheck_common import Worst


def load(path, floating):
    try:
        if floating:
            return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        return pin.buildModelFromUrdf(str(path))
    except Exception as error:  # Pinocchio raises several kinds.
        raise ValueError(str(error) or type(error).__name__) from error


def coordinates(model, joints, state):
    """Pinocchio's q, and the matrix B with its v = B v of ours (constant for all joints of URDF but planar)."""
    q, out = np.array(state["q"]), pin.neutral(model)
    b = np.zeros((model.nv, model.nv))
    for i in range(1, model.njoints):
        joint = model.joints[i]
        mine = joints[model.names[i]] if model.names[i] in joints else joints["root_joint"]
        jq, jv, iq, iv = mine["q"], mine["v"], joint.idx_q, joint.idx_v
        if mine["kind"] == "floating":
            out[iq : iq + 3] = q[jq + 4 : jq + 7]
            out[iq + 3 : iq + 7] = [*q[jq + 1 : jq + 4], q[jq]]
            b[iv : iv + 3, jv + 3 : jv + 6] = np.eye(3)
            b[iv + 3 : iv + 6, jv : jv + 3] = np.eye(3)
        elif mine["kind"] == "spherical":
            out[iq : iq + 4] = [*q[jq + 1 : jq + 4], q[jq]]
            b[iv : iv + 3, jv : jv + 3] = np.eye(3)
        elif mine["nv"] == 1:
            out[iq : iq + joint.nq] = [np.cos(q[jq]), np.sin(q[jq])] if joint.nq == 2 else [q[jq]]
            b[iv, jv] = 1.0
        else:
            raise ValueError(f"joint {model.names[i]} of kind {mine['kind']} is not compared")
    return out, b


def moving_com(ours, state):
    """Mass and centre of mass of what moves: Pinocchio does not count what is fixed to the ground."""
    mass = sum(b["mass"] for b in ours["bodies"])
    moment, fixed = mass * np.array(state["com"]), 0.0
    for body in ours["bodies"]:
        if body["grounded"]:
            pose = np.array(state["poses"][body["name"]])
            at = pose[:3] + pose[3:].reshape(3, 3) @ body["com"]
            moment = moment - body["mass"] * at
            mass -= body["mass"]
            fixed += body["mass"] * at[2]
    return mass, moment / mass if mass > 0 else moment, fixed


def compare_pinocchio(path, floating, ours):
    """Worst differences over the states; raises ValueError if Pinocchio refuses the file."""
    model = load(path, floating)
    if ours is None:
        return "Pinocchio loads it"
    if floating and not any(j["kind"] == "floating" for j in ours["joints"]):
        return None
    if model.nv != ours["nv"]:
        worst = Worst()
        worst["rnea"] = float("inf")
        return worst
    joints = {j["name"]: j for j in ours["joints"]}
    if floating:
        base = [j for j in ours["joints"] if j["kind"] == "floating"]
        if base:
            joints["root_joint"] = base[0]
    data = model.createData()
    worst = Worst()
    for state in ours["states"]:
        q, b = coordinates(model, joints, state)
        v, a, tau = (np.array(state[k]) for k in ("v", "a", "tau"))
        worst.see("rnea", state["rnea"], b.T @ pin.rnea(model, data, q, b @ v, b @ a))
        mass = pin.crba(model, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        worst.see("mass", np.reshape(state["mass"], mass.shape), b.T @ mass @ b)
        ddq = pin.aba(model, data, q, b @ v, b @ tau).copy()
        worst.see("aba", state["aba"], b.T @ ddq)
        residual = pin.rnea(model, data, q, b @ v, ddq) - b @ tau
        worst.residual(np.array(state["rnea_of_aba"]) - tau, residual)
        pin.framesForwardKinematics(model, data, q)
        for body in ours["bodies"]:
            if model.existFrame(body["name"], pin.FrameType.BODY):
                pose = data.oMf[model.getFrameId(body["name"], pin.FrameType.BODY)]
                worst.see("poses", state["poses"][body["name"]], [*pose.translation, *pose.rotation.flatten()], 1.0)
        mass, com, fixed = moving_com(ours, state)
        if mass > 0:
            worst.see("com", com, pin.centerOfMass(model, data, q), 1.0)
        energy = [pin.computePotentialEnergy(model, data, q), pin.computeKineticEnergy(model, data, q, b @ v)]
        worst.see("energy", [state["potential"] - 9.81 * fixed, state["kinetic"]], energy)
    return worst
