"""Wrong calls: only typed errors, never a panic, never a wrong number."""

import os

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leastaction as la

COUNT = int(os.environ.get("LEASTACTION_WRONG_CALLS", "300"))
CHAIN = la.load("@chain/3")
TREE = la.load("@ball-chain/2")
SIM = la.Simulator(CHAIN, step=0.01)
PLANT = la.Plant(CHAIN, step=0.01, parameters=["mass"])

numbers = st.one_of(
    st.floats(-2, 2), st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, 1e-320]))


@st.composite
def arrays(draw):
    shape = draw(st.lists(st.integers(0, 5), min_size=0, max_size=3))
    if draw(st.booleans()):
        shape = [*shape[:1], draw(st.sampled_from([3, 6, 8]))]
    dtype = draw(st.sampled_from(["f8", "f8", "f8", "f4", "i8", ">f8", "O", "c16", "?"]))
    size = int(np.prod(shape)) if shape else 1
    values = draw(st.lists(numbers, min_size=size, max_size=size))
    with np.errstate(all="ignore"):
        array = np.array(values).reshape(shape)
        array = np.where(np.isfinite(array), array, 0).astype(dtype) if dtype in ("i8", "?") else array.astype(dtype)
    how = draw(st.sampled_from(["as is", "fortran", "reversed", "strided", "unaligned", "frozen", "list", "view"]))
    if how == "fortran":
        array = np.asfortranarray(array)
    elif how == "reversed" and array.ndim:
        array = array[::-1]
    elif how == "strided" and array.ndim:
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    elif how == "unaligned" and dtype == "f8" and array.size:
        raw = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:]
        odd = raw.view("f8").reshape(array.shape)
        odd[...] = array
        array = odd
    elif how == "frozen":
        array.setflags(write=False)
    elif how == "list":
        return array.tolist()
    elif how == "view" and array.ndim:
        array = np.broadcast_to(array, (2, *array.shape))
    return array


anything = st.one_of(arrays(), st.none(), numbers, st.integers(-3, 2**70), st.text(max_size=3), st.booleans(),
                     st.dictionaries(st.sampled_from(["joint0", "x"]), numbers, max_size=2))


@st.composite
def calls(draw):
    mech = draw(st.sampled_from([CHAIN, TREE]))
    one, two, three = draw(anything), draw(anything), draw(anything)
    place = draw(st.sampled_from(["link0", "body0", "nothing", ""]))
    word = draw(st.sampled_from(["rk4", "minimal", "maximal", "dop853", "x"]))
    return draw(st.sampled_from([
        lambda: mech.inverse_dynamics(one, two, three),
        lambda: mech.forward_dynamics(one, two, three, out=draw_out(three)),
        lambda: mech.mass_matrix(one),
        lambda: mech.bias(one, two),
        lambda: mech.pose(place, one),
        lambda: mech.jacobian(place, one, frame=word),
        lambda: mech.energy(one, two),
        lambda: mech.retract(one, two),
        lambda: mech.difference(one, two),
        lambda: mech.state(q=one, v=two),
        lambda: SIM.step(one),
        lambda: la.Simulator(mech, q=one, v=two, order=three),
        lambda: la.Simulator(mech, integrator=word, step=one),
        lambda: la.rollout(mech, one, two, three, steps=2, step=0.01),
        lambda: la.BatchSimulator(mech, 3, q=one, v=two).step(three),
        lambda: la.Plant(CHAIN, step=0.01).pull_back(one, two, three, one, two),
        lambda: la.Plant(TREE, step=0.01).step(one, two, three),
        lambda: PLANT.at(one),
        lambda: PLANT.linearize(one, two, three),
        lambda: PLANT.rollout(one, two, three),
        lambda: PLANT.rollout_pull_back(one, two, three, one, two),
        lambda: mech.with_parameters({"mass": one} if isinstance(one, float) else one),
        lambda: mech.parameters(place),
        lambda: la.Plant(mech, parameters=[place, word], step=one),
        # A step so short that the run would take hours is no wrong call.
        lambda: la.simulate(mech, duration=0.02, step=0.01 if tiny(one) else one, q=two, report=False),
    ]))


def tiny(value):
    return isinstance(value, (float, np.ndarray)) and np.size(value) == 1 and 0 < abs(float(np.ravel(value)[0])) < 1e-4


def draw_out(value):
    return value if isinstance(value, np.ndarray) else None


@given(calls())
@settings(max_examples=COUNT, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_wrong_calls_raise_typed_errors_only(call):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", la.errors.RolloutWarning)
        try:
            result = call()
        except la.errors.LeastActionError:
            return
        except (TypeError, OverflowError) as error:
            # Arguments that are not even of the right type: a text for a number, a number beyond 64 bits.
            assert "PanicException" not in type(error).__name__
            return
    if isinstance(result, np.ndarray):
        assert np.isfinite(result).all()
