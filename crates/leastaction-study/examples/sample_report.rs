//! Writes a report of a made-up motion, for the browser test and for looking at the viewer.
//!
//! `cargo run -p leastaction-study --example sample_report -- FILE.html [pendulum|four-bar|parade|chain|still]`
//!
//! `pendulum` is two bodies without shapes, `four-bar` a closed loop of three, `parade` has every shape and joint kind, a loop, rude names
//! and a long thinned run, `chain` is 100 bodies over 1,000,000 samples, `still` is one frame.

use std::path::Path;
use std::process::ExitCode;

use leastaction::mechanism::{Placement, Shape, Visual};
use leastaction_study::report::{
    self, FrameThinner, PlotThinner, ReportData, Scene, SceneBody, SceneJoint, SummaryRow,
};

#[expect(clippy::print_stderr, reason = "a program for developers")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = arguments.first() else {
        eprintln!("usage: sample_report FILE.html [pendulum|four-bar|parade|chain|still]");
        return ExitCode::from(2);
    };
    let data = match arguments.get(1).map_or("pendulum", String::as_str) {
        "pendulum" => pendulum(1001),
        "still" => pendulum(1),
        "four-bar" => four_bar(),
        "parade" => parade(),
        "chain" => chain(100, 1_000_000),
        other => {
            eprintln!("unknown sample `{other}`");
            return ExitCode::from(2);
        }
    };
    match report::write(Path::new(path), &data) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write {path}: {error}");
            ExitCode::from(2)
        }
    }
}

const STEP: f64 = 0.01;

fn revolute(name: &str, parent: Option<usize>, child: usize, parent_anchor: [f64; 3]) -> SceneJoint {
    SceneJoint {
        name: name.to_owned(),
        kind: "revolute".to_owned(),
        parent,
        child,
        parent_anchor,
        parent_axis: [0.0, 1.0, 0.0],
        child_axis: [0.0, 1.0, 0.0],
        ..SceneJoint::default()
    }
}

fn rod(name: String) -> SceneBody {
    SceneBody { name, com: [0.0, 0.0, -0.5], visuals: Vec::new() }
}

/// The pose of something at `p`, turned by `angle` about a unit axis.
fn pose(p: [f64; 3], axis: [f64; 3], angle: f64) -> [f64; 7] {
    let (s, c) = (0.5 * angle).sin_cos();
    [p[0], p[1], p[2], c, s * axis[0], s * axis[1], s * axis[2]]
}

/// Rods of 1 m that hang from each other at the given angles about y.
fn hang(angles: impl Iterator<Item = f64>, poses: &mut Vec<f64>) {
    let (mut x, mut z) = (0.0, 0.0);
    poses.clear();
    for angle in angles {
        poses.extend(pose([x, 0.0, z], [0.0, 1.0, 0.0], angle));
        x -= angle.sin();
        z -= angle.cos();
    }
}

fn origin(mut data: ReportData) -> ReportData {
    data.configuration =
        "model = \"sample\"\nintegrator = \"none\"\nstep = 0.01\n\n[output]\nreport = true\n".into();
    data.versions = vec![("leastaction".into(), env!("CARGO_PKG_VERSION").into())];
    data.model_hash = "0123456789abcdef0123456789abcdef".into();
    data
}

fn pendulum(samples: usize) -> ReportData {
    let mut frames = FrameThinner::new(2);
    let mut plots = [
        PlotThinner::new("energy-error", "Energy error, relative", "", true, ["|E - E₀| / |E₀|"]),
        PlotThinner::new("momentum", "Momentum", "kg m²/s", false, ["lx", "ly", "lz"]),
        PlotThinner::new("joint-positions", "Joint positions", "rad", false, ["shoulder", "elbow"]),
        PlotThinner::new("iterations", "Newton iterations", "", false, ["iterations"]),
    ];
    let mut poses = Vec::new();
    for i in 0..samples {
        let t = STEP * i as f64;
        let [a, b] = [0.9 * (2.2 * t).cos(), 1.4 * (3.1 * t).cos() - 0.3 * (7.0 * t).sin()];
        hang([a, b].into_iter(), &mut poses);
        frames.push(t, &poses);
        plots[0].push(t, &[1e-9 * ((5.0 * t).sin().powi(2) + 1e-4 * t)]);
        plots[1].push(t, &[0.0, -4.0 * (2.2 * t).sin(), 0.1]);
        plots[2].push(t, &[a, b]);
        plots[3].push(t, &[if i % 17 == 0 { 3.0 } else { 2.0 }]);
    }
    origin(ReportData {
        title: "double-pendulum".into(),
        subtitle: "a sample motion, step 0.01 s".into(),
        summary: vec![
            SummaryRow::new("steps", samples.to_string(), "step 0.01 s"),
            SummaryRow::new("wall time", "0.012 s", "83,000 steps/s"),
            SummaryRow::new("energy error, max", "1.00e-9", "relative; rms 6.1e-10"),
            SummaryRow::new("worst gap", "0 m", "no loops"),
            SummaryRow::new("iterations", "2.06", "mean; at most 3"),
            SummaryRow::new("limits passed", "none", ""),
        ],
        scene: Scene {
            bodies: vec![rod("upper".into()), rod("lower".into())],
            joints: vec![
                revolute("shoulder", None, 0, [0.0; 3]),
                revolute("elbow", Some(0), 1, [0.0, 0.0, -1.0]),
            ],
            ..Scene::default()
        },
        frames: frames.frames(),
        plots: plots.iter().map(PlotThinner::plot).collect(),
        ..ReportData::default()
    })
}

/// A crank that goes round, a coupler and a rocker; the joint of the last two closes the loop.
fn four_bar() -> ReportData {
    const CRANK: f64 = 0.4;
    const COUPLER: f64 = 1.0;
    const ROCKER: f64 = 0.8;
    const GROUND: f64 = 1.0;
    let mut frames = FrameThinner::new(3);
    let mut angles =
        PlotThinner::new("joint-positions", "Angles", "rad", false, ["crank", "coupler", "rocker"]);
    let mut poses = Vec::new();
    for i in 0..=800 {
        let t = STEP * f64::from(i);
        let crank = 1.5 * t;
        let [x, z] = [CRANK * crank.cos(), CRANK * crank.sin()];
        // The far end of coupler and rocker: where two circles meet, seen from the end of the crank.
        let [dx, dz] = [GROUND - x, -z];
        let distance = dx.hypot(dz);
        let inner =
            ((COUPLER.powi(2) + distance.powi(2) - ROCKER.powi(2)) / (2.0 * COUPLER * distance)).acos();
        let coupler = dz.atan2(dx) + inner;
        let [ex, ez] = [x + COUPLER * coupler.cos(), z + COUPLER * coupler.sin()];
        let rocker = ez.atan2(ex - GROUND);
        poses.clear();
        for (p, angle) in [([0.0, 0.0, 0.0], crank), ([x, 0.0, z], coupler), ([GROUND, 0.0, 0.0], rocker)] {
            // About -y, so that the angle goes from x to z.
            poses.extend(pose(p, [0.0, -1.0, 0.0], angle));
        }
        frames.push(t, &poses);
        angles.push(t, &[crank, coupler, rocker]);
    }
    let link = |name: &str, length: f64| SceneBody {
        name: name.to_owned(),
        com: [0.5 * length, 0.0, 0.0],
        visuals: Vec::new(),
    };
    let closure = SceneJoint {
        child_anchor: [ROCKER, 0.0, 0.0],
        closes_loop: true,
        ..revolute("closure", Some(1), 2, [COUPLER, 0.0, 0.0])
    };
    origin(ReportData {
        title: "four-bar".into(),
        summary: vec![SummaryRow::new("samples", "801", "step 0.01 s")],
        scene: Scene {
            bodies: vec![link("crank", CRANK), link("coupler", COUPLER), link("rocker", ROCKER)],
            joints: vec![
                revolute("crank pivot", None, 0, [0.0; 3]),
                revolute("crank pin", Some(0), 1, [CRANK, 0.0, 0.0]),
                revolute("rocker pivot", None, 2, [GROUND, 0.0, 0.0]),
                closure,
            ],
            ..Scene::default()
        },
        frames: frames.frames(),
        plots: vec![angles.plot()],
        ..ReportData::default()
    })
}

fn parade() -> ReportData {
    const KINDS: [&str; 8] =
        ["revolute", "prismatic", "cylindrical", "universal", "planar", "spherical", "floating", "fixed"];
    let shapes = [
        Shape::Box { size: [0.5, 0.3, 0.2] },
        Shape::Sphere { radius: 0.25 },
        Shape::Cylinder { radius: 0.15, length: 0.5 },
        Shape::Capsule { radius: 0.12, length: 0.4 },
        Shape::Ellipsoid { radii: [0.3, 0.2, 0.12] },
        Shape::Mesh { file: "package://robot/meshes/hand.stl".into(), scale: [1.0; 3] },
    ];
    let mut scene = Scene::default();
    for (i, kind) in KINDS.into_iter().enumerate() {
        let visuals = shapes.get(i).map(|shape| Visual {
            shape: shape.clone(),
            placement: Placement { p: [0.0, 0.0, 0.1], ..Placement::default() },
            rgba: (i == 2).then_some([0.9, 0.2, 0.2, 0.6]),
        });
        let name = if i == 1 { "<script>alert(1)</script>".to_owned() } else { format!("{kind} body") };
        scene.bodies.push(SceneBody { name, com: [0.0, 0.0, 0.1], visuals: visuals.into_iter().collect() });
        scene.joints.push(SceneJoint {
            kind: kind.to_owned(),
            child_axis: if kind == "universal" { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] },
            ..revolute(&format!("joint {i}"), None, i, [i as f64, 0.0, 0.5])
        });
    }
    scene.joints.push(SceneJoint { closes_loop: true, ..revolute("closure", Some(6), 7, [0.5, 0.0, 0.0]) });
    let bench = Placement { p: [3.5, 0.0, 0.04], ..Placement::default() };
    scene.world_visuals.push(Visual {
        shape: Shape::Box { size: [8.0, 1.0, 0.08] },
        placement: bench,
        rgba: None,
    });
    let mut frames = FrameThinner::new(KINDS.len());
    let mut joints = PlotThinner::new("joint-positions", "Joint positions", "rad, m", false, KINDS);
    let mut gap = PlotThinner::new("gap", "Constraint violation", "m", true, ["worst gap"]);
    let mut energy = PlotThinner::new("energy", "Total energy", "J", false, ["total"]);
    let mut poses = Vec::new();
    let mut angles = [0.0; KINDS.len()];
    for i in 0..200_000 {
        let t = 1e-4 * i as f64;
        poses.clear();
        for (body, angle) in angles.iter_mut().enumerate() {
            *angle = 0.7 * (t * (1.0 + 0.2 * body as f64)).sin();
            let slide = if matches!(KINDS[body], "prismatic" | "cylindrical" | "planar" | "floating") {
                *angle
            } else {
                0.0
            };
            let turn = if KINDS[body] == "prismatic" { 0.0 } else { *angle };
            poses.extend(pose([body as f64, 0.5 * slide, 0.5], [0.0, 1.0, 0.0], turn));
        }
        frames.push(t, &poses);
        joints.push(t, &angles);
        gap.push(t, &[1e-13 * (40.0 * t).sin().abs().powi(8)]);
        energy.push(t, &[123.456_789 + 1e-8 * (300.0 * t).sin() * t]);
    }
    origin(ReportData {
        title: "Parade of <b>shapes</b> & {{script}}".into(),
        subtitle: "every shape, every joint kind".into(),
        summary: vec![SummaryRow::new("samples", "200,000", "step 0.0001 s")],
        warnings: vec![
            "friction of `joint 0` was ignored (parade.urdf:12)".into(),
            "mesh </li></script><script>alert(2)</script> is shown as a marker".into(),
        ],
        scene,
        frames: frames.frames(),
        plots: [&energy, &joints, &gap].map(PlotThinner::plot).into(),
        ..ReportData::default()
    })
}

fn chain(bodies: usize, samples: usize) -> ReportData {
    let mut frames = FrameThinner::new(bodies);
    let mut joints = PlotThinner::new(
        "joint-positions",
        "Joint positions",
        "rad",
        false,
        (0..bodies).map(|i| format!("joint{i}")),
    );
    let mut poses = Vec::new();
    let mut angles = vec![0.0; bodies];
    for i in 0..samples {
        let t = 1e-5 * i as f64;
        for (k, angle) in angles.iter_mut().enumerate() {
            *angle = 0.9 * (1.3 * t - 0.06 * k as f64).sin();
        }
        hang(angles.iter().copied(), &mut poses);
        frames.push(t, &poses);
        joints.push(t, &angles);
    }
    let tip = [0.0, 0.0, -1.0];
    let joint =
        |i: usize| revolute(&format!("joint{i}"), i.checked_sub(1), i, if i == 0 { [0.0; 3] } else { tip });
    origin(ReportData {
        title: format!("chain of {bodies}"),
        summary: vec![SummaryRow::new("samples", samples.to_string(), "")],
        scene: Scene {
            bodies: (0..bodies).map(|i| rod(format!("link{i}"))).collect(),
            joints: (0..bodies).map(joint).collect(),
            ..Scene::default()
        },
        frames: frames.frames(),
        plots: vec![joints.plot()],
        ..ReportData::default()
    })
}
