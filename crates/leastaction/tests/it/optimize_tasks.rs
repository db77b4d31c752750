//! Goals and constraints on frames.

use leastaction::mechanism::{Mechanism, MechanismBuilder, samples};
use leastaction::optimize::{
    BoundaryState, InverseOptions, MotionProblem, Sampling, Solution, SolveOptions, SolveStatus, Target,
    TaskConstraint, TaskKind, Term, Transcription, ViaPoint, When, Wish, infer, solve,
};
use leastaction::spatial::{Mat3, Vec3};

fn arm() -> Mechanism {
    MechanismBuilder::from(samples::chain_xy(4)).build().expect("valid")
}

/// From a configuration to rest, wherever the constraints lead.
fn problem(mechanism: &Mechanism, tasks: Vec<TaskConstraint>) -> MotionProblem {
    let n = mechanism.nv();
    let rest = |coordinate| ViaPoint { t: 1.0, coordinate, order: 1, value: 0.0 };
    MotionProblem {
        duration: 1.0,
        degree: 5,
        n_control: 14,
        sampling: Sampling::exact(5),
        start: BoundaryState::at_rest(&[0.3, -0.4, 0.5, 0.2]),
        end: BoundaryState::default(),
        terms: ["joint_jerk", "torque"]
            .iter()
            .map(|name| Term::by_name(name, mechanism, 1.0).expect("a term"))
            .collect(),
        limits: Vec::new(),
        via: (0..n).map(rest).collect(),
        passive: false,
        tasks,
    }
}

fn tip(mechanism: &Mechanism) -> Target {
    let last = mechanism.tree_joints().last().map(|id| mechanism.joint(id).child).expect("a link");
    Target::body(last)
}

/// Where the tip is after a known change of posture: a goal that can be reached.
fn reachable(mechanism: &Mechanism) -> (Vec3, Mat3) {
    let mut jets = leastaction::jet::JetWorkspace::<f64>::new(mechanism, -1);
    jets.forward_from_derivatives(&[0.9, 0.2, -0.3, 0.6], &[&[0.0; 4]]).expect("finite");
    let (rotation, place) = jets.pose_jets(&tip(mechanism));
    (place[0], rotation[0])
}

fn solved(tr: &mut Transcription, weights: &[f64]) -> Solution {
    let solution =
        solve(tr, weights, None, &SolveOptions::default(), &mut |_| Wish::Continue).expect("valid");
    assert_eq!(solution.status, SolveStatus::Solved, "{:?} {:.1e}", solution.tasks, solution.kkt_residual);
    solution
}

#[test]
fn a_hand_reaches_a_place_with_its_configuration_free_and_its_weights_come_back() {
    let mechanism = arm();
    let (place, rotation) = reachable(&mechanism);
    let task = |kind, when| TaskConstraint { name: "hand".into(), target: tip(&mechanism), kind, when };
    let w = [0.7, 0.3];
    for tasks in [
        vec![task(TaskKind::Position { at: place }, When::At(1.0))],
        vec![task(TaskKind::Orientation { at: rotation }, When::At(1.0))],
        vec![task(TaskKind::Position { at: place }, When::At(0.6))],
    ] {
        let mut tr = Transcription::with_jets(&mechanism, &problem(&mechanism, tasks)).expect("valid");
        let solution = solved(&mut tr, &w);
        assert!(
            solution.tasks[0].violation <= 1e-10 && solution.kkt_residual <= 1e-8,
            "{:?}",
            solution.tasks
        );
        // The conditions of optimality with multipliers of the goal hold: only then the weights are these.
        let found = infer(&mut tr, &solution.theta, &InverseOptions::default());
        let l1: f64 = found.weights.iter().zip(&w).map(|(a, b)| (a - b).abs()).sum();
        assert!(!found.unexplained() && l1 < 1e-6, "{:?} {l1:.1e}", found.weights);
    }
}

#[test]
fn a_hand_keeps_out_of_balls_and_behind_planes() {
    let mechanism = arm();
    let (place, _) = reachable(&mechanism);
    let goal = TaskConstraint {
        name: "goal".into(),
        target: tip(&mechanism),
        kind: TaskKind::Position { at: place },
        when: When::At(1.0),
    };
    let mut tr =
        Transcription::with_jets(&mechanism, &problem(&mechanism, vec![goal.clone()])).expect("valid");
    let free = solved(&mut tr, &[1.0, 0.0]);
    // A ball around the middle of the free way, and a plane just before its highest point.
    let way = |solution: &Solution| -> Vec<Vec3> {
        let mut jets = leastaction::jet::JetWorkspace::<f64>::new(&mechanism, -1);
        let times: Vec<f64> = (0..=50).map(|i| f64::from(i) / 50.0).collect();
        let table = tr.table.resampled(times).expect("inside");
        let mut x = vec![0.0; table.len() * table.orders * 4];
        table.add_states(&solution.theta.high, 4, &mut x);
        x.chunks_exact(table.orders * 4)
            .map(|row| {
                jets.forward_from_derivatives(&row[..4], &[&[0.0; 4]]).expect("finite");
                jets.pose_jets(&tip(&mechanism)).1[0]
            })
            .collect()
    };
    let places = way(&free);
    let centre = places[25];
    let radius = 0.04f64.min(0.4 * (centre - places[0]).norm()).min(0.4 * (centre - place).norm());
    let ball = TaskConstraint {
        name: "ball".into(),
        kind: TaskKind::KeepOut { centre: centre + Vec3([0.3 * radius, 0.0, 0.2 * radius]), radius },
        when: When::During(0.0, 1.0),
        ..goal.clone()
    };
    // How far the free way bends away from the straight one: a plane lets it bend half as far.
    let chord = places[50] - places[0];
    let chord = chord.scale(1.0 / chord.norm());
    let bend = |p: &Vec3| {
        let d = *p - places[0];
        d - chord.scale(d.dot(chord))
    };
    let widest = places.iter().map(bend).max_by(|a, b| a.norm().total_cmp(&b.norm())).expect("places");
    let normal = widest.scale(-1.0 / widest.norm());
    let plane = TaskConstraint {
        name: "plane".into(),
        kind: TaskKind::HalfSpace { normal, offset: normal.dot(places[0]) - 0.5 * widest.norm() },
        when: When::During(0.0, 1.0),
        ..goal.clone()
    };
    // Seen from behind the start along the straight way, in a view half as wide as the free way is.
    let far = places.iter().max_by(|a, b| bend(a).norm().total_cmp(&bend(b).norm())).expect("places");
    let apex = places[0] - chord.scale(0.3);
    let slope = 0.5 * widest.norm() / chord.dot(*far - apex);
    let view = TaskConstraint {
        name: "view".into(),
        kind: TaskKind::InView { apex, axis: chord, slope },
        when: When::During(0.0, 1.0),
        ..goal.clone()
    };
    let mut tr =
        Transcription::with_jets(&mechanism, &problem(&mechanism, vec![goal.clone(), view])).expect("valid");
    let seen = solved(&mut tr, &[1.0, 0.0]);
    assert!(seen.tasks[1].violation <= 1e-10 && seen.tasks[1].multiplier > 0.0, "{:?}", seen.tasks);
    assert!(seen.kkt_residual <= 1e-8 && seen.objective > free.objective);
    let mut tr =
        Transcription::with_jets(&mechanism, &problem(&mechanism, vec![goal, ball, plane])).expect("valid");
    let solution = solved(&mut tr, &[1.0, 0.0]);
    assert!(solution.tasks.iter().all(|t| t.violation <= 1e-10), "{:?}", solution.tasks);
    assert!(solution.tasks[2].multiplier > 0.0, "{:?}", solution.tasks);
    assert!(solution.objective >= free.objective, "{} {}", solution.objective, free.objective);
    assert!(solution.kkt_residual <= 1e-8, "{:.1e}", solution.kkt_residual);
}

#[test]
fn a_free_duration_is_the_one_of_the_textbook() {
    // A reach of minimum jerk over D in T costs 360 w D² / T⁶ (half the mean square); with c per second the best T is
    // (2160 w D² / c)^(1/7).
    let mechanism = MechanismBuilder::from(samples::chain(1)).build().expect("valid");
    for (distance, jerk, second) in [(0.8, 1.0, 1.0), (0.01, 3.0, 200.0), (2.0, 1e-6, 1e-3)] {
        let problem = MotionProblem {
            start: BoundaryState::still(&[0.1]),
            end: BoundaryState::still(&[0.1 + distance]),
            terms: vec![Term::by_name("joint_jerk", &mechanism, 1.0).expect("a term")],
            via: Vec::new(),
            ..problem(&mechanism, Vec::new())
        };
        let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
        let options = SolveOptions { time_weight: Some(second), ..SolveOptions::default() };
        let solution = solve(&mut tr, &[jerk], None, &options, &mut |_| Wish::Continue).expect("valid");
        assert_eq!(solution.status, SolveStatus::Solved);
        let best = (2160.0 * jerk * distance * distance / second).powf(1.0 / 7.0);
        assert!((solution.duration / best - 1.0).abs() < 1e-7, "{} {best}", solution.duration);
        let cost = 360.0 * jerk * distance * distance / best.powi(6);
        assert!((solution.objective / cost - 1.0).abs() < 1e-6, "{} {cost}", solution.objective);
    }
}

#[test]
fn a_free_duration_beside_goals_and_a_ball_is_a_minimum() {
    let mechanism = arm();
    let (place, rotation) = reachable(&mechanism);
    let hand =
        |name: &str, kind, when| TaskConstraint { name: name.into(), target: tip(&mechanism), kind, when };
    let always = When::During(0.0, 1.0);
    let goal = hand("goal", TaskKind::Position { at: place }, When::At(1.0));
    let turned = hand("turned", TaskKind::Orientation { at: rotation }, When::At(1.0));
    let goals = vec![goal, turned];
    let mut tr = Transcription::with_jets(&mechanism, &problem(&mechanism, goals.clone())).expect("valid");
    let options = SolveOptions { time_weight: Some(0.5), ..SolveOptions::default() };
    let weights = [1e-3, 1e-3];
    let free = solve(&mut tr, &weights, None, &options, &mut |_| Wish::Continue).expect("valid");
    assert_eq!(free.status, SolveStatus::Solved);
    // A ball that the way without it goes through.
    let mut jets = leastaction::jet::JetWorkspace::<f64>::new(&mechanism, -1);
    let table = tr.table.resampled(vec![0.5 * free.duration]).expect("inside");
    let mut x = vec![0.0; table.orders * 4];
    table.add_states(&free.theta.high, 4, &mut x);
    jets.forward_from_derivatives(&x[..4], &[&[0.0; 4]]).expect("finite");
    let middle = jets.pose_jets(&tip(&mechanism)).1[0];
    let ball =
        hand("ball", TaskKind::KeepOut { centre: middle + Vec3([0.01, 0.0, 0.01]), radius: 0.05 }, always);
    let all = problem(&mechanism, [goals, vec![ball]].concat());
    let mut tr = Transcription::with_jets(&mechanism, &all).expect("valid");
    let found = solve(&mut tr, &weights, None, &options, &mut |_| Wish::Continue).expect("valid");
    assert_eq!(found.status, SolveStatus::Solved);
    assert!(
        found.kkt_residual <= 1e-8 && found.tasks.iter().all(|t| t.violation <= 1e-9),
        "{:?}",
        found.tasks
    );
    assert!(found.tasks[2].multiplier > 0.0, "{:?}", found.tasks);
    let total = found.objective + 0.5 * found.duration;
    assert!(total > free.objective + 0.5 * free.duration);
    // At durations a little off, the best motion of that duration costs more.
    for factor in [0.98, 1.02] {
        let other = all.stretched(factor * found.duration);
        let mut tr = Transcription::with_jets(&mechanism, &other).expect("valid");
        let start = leastaction::optimize::ControlPoints::new(found.theta.high.clone());
        let near = solve(&mut tr, &weights, Some(&start), &SolveOptions::default(), &mut |_| Wish::Continue)
            .expect("valid");
        assert_eq!(near.status, SolveStatus::Solved);
        assert!(near.objective + 0.5 * other.duration > total * (1.0 + 1e-7), "{factor}: {near:?}");
    }
}
