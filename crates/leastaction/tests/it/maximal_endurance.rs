//! Long runs of loops at orders above 2, folded poses, and linkages whose data is off by its last digits.

use leastaction::integrator::maximal::{Maximal, MaximalState, MaximalWorkspace};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::samples::{bennett, four_bar, platform, rhombus_chain, slider_crank};
use leastaction::mechanism::{
    Coordinates, JointType, Mechanism, MechanismBuilder, ModelDescription, PerCoordinate,
};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

fn started(mechanism: &Mechanism, order: u32) -> (Maximal, MaximalWorkspace, MaximalState) {
    let engine = Maximal { order, ..Maximal::default() };
    let mut ws = engine.workspace(mechanism).expect("served");
    let state = engine.start(mechanism, &mut ws, &mechanism.start_state()).expect("closed");
    (engine, ws, state)
}

fn total((kinetic, potential): (f64, f64)) -> f64 {
    kinetic + potential
}

#[test]
fn the_redundant_four_bar_takes_a_million_steps_of_order_4() {
    let mechanism = build(four_bar());
    let (engine, mut ws, mut state) = started(&mechanism, 4);
    const STEPS: u32 = 1_000_000;
    let (mut first, mut gap) = ((f64::INFINITY, f64::NEG_INFINITY), 0.0f64);
    for step in 0..STEPS {
        let report = engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.02).expect("step");
        assert_eq!(report.splits + report.fallbacks, 0, "step {step}");
        // Not every step: reading out costs as much as a step.
        if step % 7 == 0 {
            gap = gap.max(engine.gap(&mechanism, &mut ws, &state));
            let energy = total(ws.energy(&state));
            if step < STEPS / 10 {
                first = (first.0.min(energy), first.1.max(energy));
            }
            let within = first.0 - 1e-3 <= energy && energy <= first.1 + 1e-3;
            assert!(within, "step {step}: {energy} beyond {first:?}");
        }
    }
    println!("gap {gap:.1e} m, energy of the first tenth {first:?}");
    assert!(gap <= 1e-12, "{gap:e}");
}

#[test]
fn the_bennett_linkage_takes_a_hundred_thousand_steps_of_order_6_without_halving() {
    let mechanism = build(bennett());
    let (engine, mut ws, mut state) = started(&mechanism, 6);
    let start = total(ws.energy(&state));
    let mut band = 0.0f64;
    for step in 0..100_000 {
        let report = engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.03).expect("step");
        assert_eq!((report.splits, report.fallbacks, report.dropped_rank), (0, 0, 3), "step {step}");
        band = band.max((total(ws.energy(&state)) - start).abs());
    }
    println!("energy within {band:.1e} J");
    assert!(band < 1e-5, "{band:e}");
}

#[test]
fn chains_of_rhombi_pass_through_folded_poses() {
    for k in 1..=10 {
        for order in [4, 6] {
            let mechanism = build(rhombus_chain(k));
            let (engine, mut ws, mut state) = started(&mechanism, order);
            let (start, mut band, mut most) = (total(ws.energy(&state)), 0.0f64, 0.0f64);
            for step in 0..300 {
                engine
                    .step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.01)
                    .unwrap_or_else(|e| panic!("{k} rhombi, order {order}, step {step}: {e}"));
                let gap = engine.gap(&mechanism, &mut ws, &state);
                assert!(gap < 1e-11, "{k} rhombi, order {order}, step {step}: {gap:e}");
                let energy = ws.energy(&state);
                most = most.max(energy.0);
                band = band.max((total(energy) - start).abs());
            }
            println!("{k} rhombi, order {order}: energy within {:.1e} of the kinetic", band / most);
            assert!(band < 1e-2 * most, "{k} rhombi, order {order}: {band:e} of {most:e}");
        }
    }
}

/// At a fold the forces of a step are large for a moment: links that took it for tension lost energy there, 1 J in 30 s.
#[test]
fn chains_of_rhombi_keep_their_energy_at_order_2_too() {
    for push in [0.0, 1e-3, -0.03] {
        let mechanism = build(rhombus_chain(3));
        let engine = Maximal { order: 2, ..Maximal::default() };
        let mut ws = engine.workspace(&mechanism).expect("served");
        let mut start = mechanism.start_state();
        start.v[0] = push;
        let mut state = engine.start(&mechanism, &mut ws, &start).expect("closed");
        let before = total(ws.energy(&state));
        const STEPS: usize = 10_000;
        let mut tenths = [0.0; 10];
        for step in 0..STEPS {
            engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.01).expect("step");
            tenths[10 * step / STEPS] += 10.0 / STEPS as f64 * (total(ws.energy(&state)) - before);
        }
        println!("push {push}: mean energies of the tenths {tenths:.3?} J");
        assert!(tenths.iter().all(|mean| mean.abs() < 0.1), "push {push}: {tenths:?}");
    }
}

/// The model in another size, so that it moves alike in times that go with the root of the size, every placement off by `eps`
/// of it in length, and in angle as well if axes are `turned`.
fn misaligned(mut model: ModelDescription, eps: f64, size: f64, turned: bool) -> Mechanism {
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    };
    let angle = if turned { eps } else { 0.0 };
    for body in &mut model.bodies {
        body.com = body.com.map(|x| x * size);
        body.mass *= size.powi(3);
        body.inertia = body.inertia.map(|x| x * size.powi(5));
    }
    for joint in &mut model.joints {
        for placement in [&mut joint.parent_placement, &mut joint.child_placement] {
            let [px, py, pz] = placement.p.map(|x| (x + eps * random()) * size);
            // Linkages in a plane stay in it where axes are not turned.
            placement.p = if turned { [px, py, pz] } else { [placement.p[0] * size, py, pz] };
            let [w, x, y, z] = placement.q;
            let q = [w, x + angle * random(), y + angle * random(), z + angle * random()];
            let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
            placement.q = q.map(|x| x / norm);
        }
        if let Some(PerCoordinate::One(k)) = joint.spring.as_mut().map(|s| &mut s.stiffness) {
            *k *= size.powi(4);
        }
        let slides = joint.kind == JointType::Prismatic;
        for state in model.states.values_mut() {
            if let Some(Coordinates::One(v)) = state.v.get_mut(&joint.name) {
                *v *= if slides { size.sqrt() } else { 1.0 / size.sqrt() };
            }
        }
    }
    build(model)
}

/// Largest change of the energy in 60 s of the metre-sized machine, of the largest kinetic energy; and the largest gap of rows
/// out of use, in sizes. Or why it stopped.
fn energy_band(
    model: ModelDescription,
    eps: f64,
    size: f64,
    order: u32,
    turned: bool,
) -> Result<(f64, f64), String> {
    let mechanism = misaligned(model, eps, size, turned);
    let engine = Maximal { order, ..Maximal::default() };
    let mut ws = engine.workspace(&mechanism).map_err(|e| e.to_string())?;
    let mut state = engine.start(&mechanism, &mut ws, &mechanism.start_state()).map_err(|e| e.to_string())?;
    let start = total(ws.energy(&state));
    let (mut band, mut most, mut open) = (0.0f64, 0.0f64, 0.0f64);
    for step in 0..6000 {
        let h = 0.01 * size.sqrt();
        let report = engine
            .step(&mechanism, &mut ws, &mut state, Input { u: &[] }, h)
            .map_err(|e| format!("step {step}, band {:.1e}: {e}", band / most))?;
        let energy = ws.energy(&state);
        most = most.max(energy.0);
        band = band.max((total(energy) - start).abs());
        open = open.max(report.inconsistency);
    }
    Ok((band / most, open / size))
}

fn check_misaligned(model: fn() -> ModelDescription, orders: &[u32]) {
    check_rounded(model, orders, &[1e-3, 1.0, 10.0], &[1e-7, 1e-6, 1e-5, 1e-4], 3.0);
}

fn check_rounded(model: fn() -> ModelDescription, orders: &[u32], sizes: &[f64], off: &[f64], wider: f64) {
    for &order in orders {
        for &size in sizes {
            let (aligned, open) = energy_band(model(), 0.0, size, order, true).expect("aligned");
            assert_eq!(open, 0.0, "aligned data is closed");
            for &eps in off {
                let (band, open) = energy_band(model(), eps, size, order, true)
                    .unwrap_or_else(|e| panic!("order {order}, {size} m, {eps:e}: {e}"));
                println!(
                    "order {order}, {size} m, off by {eps:.0e}: {band:.1e} ({aligned:.1e}), open by {open:.1e}"
                );
                assert!(band <= wider * aligned, "order {order}, {size} m, {eps:e}: {band:e} {aligned:e}");
                assert!((0.1 * eps..30.0 * eps).contains(&open), "what is left open is told: {open:e}");
            }
        }
    }
}

#[test]
fn four_bars_of_rounded_data_move_as_aligned_ones() {
    check_misaligned(four_bar, &[2, 4, 6]);
}

#[test]
fn slider_cranks_of_rounded_data_move_as_aligned_ones() {
    check_misaligned(slider_crank, &[2, 4, 6]);
}

#[test]
fn platforms_of_rounded_data_move_as_aligned_ones() {
    check_misaligned(platform, &[2, 4, 6]);
}

/// Which rows of a Bennett linkage are in use changes as it moves: its frames must be aligned for its energy not to show it.
#[test]
fn bennett_linkages_of_rounded_data_move_as_aligned_ones() {
    check_misaligned(bennett, &[2, 4, 6]);
}

/// A rhombus of sides that are off does not fold, but turns off into another branch of its poses: its lengths must be made equal
/// again for it to go straight through, and its energy with it.
#[test]
fn rhombi_of_rounded_data_fold_as_aligned_ones() {
    // Order 4: at order 6 the band of aligned rhombi is itself a matter of how near to a fold some step happens to end.
    check_rounded(|| rhombus_chain(1), &[4], &[1e-3, 1.0, 10.0], &[1e-7, 1e-6, 1e-5, 1e-4], 10.0);
    check_rounded(|| rhombus_chain(3), &[4], &[1.0], &[1e-5], 10.0);
}

/// Where only lengths are off and axes stay parallel every row closes: that the sides were meant to be equal is told by their digits.
#[test]
fn rhombi_of_rounded_lengths_in_a_plane_fold_as_aligned_ones() {
    for order in [2, 4] {
        let (aligned, _) = energy_band(rhombus_chain(1), 0.0, 1.0, order, false).expect("aligned");
        for eps in [1e-7, 1e-6, 1e-5, 1e-4] {
            let (band, open) = energy_band(rhombus_chain(1), eps, 1.0, order, false)
                .unwrap_or_else(|e| panic!("order {order}, {eps:e}: {e}"));
            println!("order {order}, off by {eps:.0e}: {band:.1e} ({aligned:.1e}), moved by {open:.1e}");
            assert!(band <= 10.0 * aligned, "order {order}, {eps:e}: {band:e} {aligned:e}");
            assert!((1e-3 * eps..30.0 * eps).contains(&open), "what is moved is told: {open:e}");
        }
    }
}

/// Sides of few digits that differ by more than their last one are meant to: nothing is moved.
#[test]
fn lengths_that_differ_by_more_than_their_digits_stay() {
    for by in [1e-3, 0.01] {
        let mut model = rhombus_chain(1);
        for joint in model.joints.iter_mut().filter(|j| j.name == "right0") {
            joint.parent_placement.p[2] -= by;
        }
        let mechanism = build(model);
        let (engine, mut ws, mut state) = started(&mechanism, 4);
        let report = engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 1e-3).expect("step");
        assert_eq!(report.inconsistency, 0.0, "longer by {by}");
    }
}

/// Sides that are off by far more than the loops are open by are meant to be: they stay, and the linkage turns off at its fold.
#[test]
fn a_linkage_that_is_not_quite_a_rhombus_stays_so() {
    let lengthened = |by: f64| {
        let mut model = rhombus_chain(1);
        for joint in model.joints.iter_mut().filter(|j| j.name == "right0") {
            joint.parent_placement.p[2] -= by;
        }
        misaligned(model, 1e-7, 1.0, true)
    };
    let reach = |by: f64| {
        let mechanism = lengthened(by);
        let (engine, mut ws, mut state) = started(&mechanism, 4);
        let mut gap = 0.0f64;
        for _ in 0..20 {
            let report = engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 1e-3).expect("step");
            gap = gap.max(report.inconsistency);
        }
        gap
    };
    assert!(
        reach(0.0) < 1e-6 && reach(1e-4) < 1e-6,
        "frames move by the digits that are missing, not by what is meant"
    );
}

#[test]
#[ignore = "minutes: prints the whole table of rounded data"]
fn the_whole_table_of_rounded_data() {
    let models: [(&str, fn() -> ModelDescription); 6] = [
        ("four-bar", four_bar),
        ("slider-crank", slider_crank),
        ("bennett", bennett),
        ("platform", platform),
        ("3 rhombi", || rhombus_chain(3)),
        ("1 rhombus", || rhombus_chain(1)),
    ];
    for ((name, model), turned) in models.into_iter().flat_map(|m| [(m, true), (m, false)]) {
        for order in [2, 4, 6] {
            for size in [1e-3, 1.0, 10.0] {
                for eps in [0.0, 1e-7, 1e-6, 1e-5, 1e-4] {
                    let found = match energy_band(model(), eps, size, order, turned) {
                        Ok((band, open)) => format!("{band:.1e}, off by {open:.1e}"),
                        Err(error) => error,
                    };
                    let axes = if turned { "axes turned" } else { "lengths only" };
                    println!("{name}, {axes}, order {order}, {size} m, {eps:.0e}: {found}");
                }
            }
        }
    }
}
