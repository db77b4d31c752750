//! MJCF: what is read means what MuJoCo means by it; what is wrong is said with file, line, element and remedy.

use std::fs;
use std::path::{Path, PathBuf};

use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::io::mjcf::{MjcfOptions, read_mjcf, write_mjcf};
use leastaction::io::{Diagnostic, Reading, Severity};
use leastaction::mechanism::samples::{Random, four_bar, random_tree};
use leastaction::mechanism::{
    Coordinates, JointRole, JointType, LawDescription, Mechanism, MechanismBuilder, ModelDescription,
    Placement, State, SurfaceShape,
};

use crate::support::{ALL_KINDS, processor_seconds, random_state};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The MJCF files of a folder of tests, sorted.
fn files(name: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "xml"))
        .collect();
    files.sort();
    files
}

/// Reads a file under its bare name, so that messages are the same everywhere.
fn read_file(path: &Path) -> Reading {
    let text = fs::read_to_string(path).unwrap();
    read_text(&text, path.file_name().unwrap().as_ref(), path.parent().unwrap())
}

fn read_text(text: &str, name: &Path, folder: &Path) -> Reading {
    let folder = folder.to_owned();
    let read_file = Box::new(move |path: &Path| {
        let missing = |_| std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        fs::read_to_string(folder.join(path)).map_err(missing)
    });
    read_mjcf(text, name, &MjcfOptions { read_file, ..Default::default() })
}

fn read(text: &str) -> Reading {
    read_text(text, Path::new("model.xml"), Path::new("nowhere"))
}

/// Reads and builds: the problems of both, and the mechanism if there is no error.
fn load(mut reading: Reading) -> (Vec<Diagnostic>, Option<Mechanism>) {
    let mechanism = reading.build();
    (reading.diagnostics, mechanism)
}

/// A model that must be free of errors.
fn model(text: &str) -> ModelDescription {
    let reading = read(text);
    assert!(!reading.has_errors(), "{:#?}", reading.diagnostics);
    reading.description.unwrap()
}

#[test]
fn every_bad_file_gets_exactly_the_message_on_record() {
    let files = files("bad_input_mjcf");
    assert!(files.len() >= 90, "the corpus is incomplete: {} files", files.len());
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (diagnostics, mechanism) = load(read_file(&path));
        for d in &diagnostics {
            assert!(
                !d.remedy.is_empty() && !d.element.is_empty() && d.at.is_some(),
                "{name}: incomplete: {d}"
            );
        }
        let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        if name.starts_with("listed_") {
            assert!(
                errors == 0 && !diagnostics.is_empty() && mechanism.is_some(),
                "{name}: {diagnostics:#?}"
            );
        } else {
            assert!(errors > 0 && mechanism.is_none(), "{name} is accepted: {diagnostics:#?}");
        }
        let said: String = diagnostics.iter().map(|d| format!("{d}\n")).collect();
        let record = path.with_extension("expected");
        if update {
            fs::write(&record, &said).unwrap();
        }
        let expected = fs::read_to_string(&record).unwrap_or_default();
        if said != expected {
            wrong.push(format!("--- {name}\nsaid:\n{said}\non record:\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "UPDATE_SNAPSHOTS=1 rewrites the record\n{}", wrong.join("\n"));
}

#[test]
fn our_own_files_load_without_errors() {
    for path in files("mjcf") {
        let (diagnostics, mechanism) = load(read_file(&path));
        assert!(mechanism.is_some(), "{}: {diagnostics:#?}", path.display());
    }
}

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Worst difference of two lists, relative to the larger of 1 and the entries.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |w, (x, y)| f64::max(w, (x - y).abs() / y.abs().max(1.0)))
}

/// Position and rotation matrix of every body, by name, at a state.
fn poses(mechanism: &Mechanism, q: &[f64]) -> Vec<(String, Vec<f64>)> {
    let mut dynamics = Dynamics::new(mechanism);
    dynamics.kinematics.update_positions(mechanism, q);
    mechanism
        .body_ids()
        .map(|id| {
            let pose = dynamics.kinematics.body_pose(mechanism, id);
            let rows = pose.rot.0.iter().flatten();
            (mechanism.body(id).name.clone(), pose.pos.0.iter().chain(rows).copied().collect())
        })
        .collect()
}

/// MuJoCo computes in f64 too; both sides round a few dozen operations.
const SAME_AS_MUJOCO: f64 = 1e-13;

#[test]
fn masses_and_poses_are_those_of_mujoco() {
    let text = fs::read_to_string(folder("mjcf").join("mujoco.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut checked = 0;
    for (file, expected) in golden["files"].as_object().unwrap() {
        let reading = read_file(&folder("mjcf").join(file));
        let description = reading.description.clone().unwrap();
        let (_, mechanism) = load(reading);
        let mechanism = mechanism.unwrap();
        for (name, body) in expected["bodies"].as_object().unwrap() {
            let ours = description.bodies.iter().find(|b| b.name == *name).unwrap();
            let mass = [&[ours.mass][..], &ours.com, &ours.inertia].concat();
            assert!(apart(&mass, &numbers(body)) < SAME_AS_MUJOCO, "{file} {name}: {mass:?} {body}");
            checked += 1;
        }
        for (key, bodies) in expected["poses"].as_object().unwrap() {
            let state =
                if key.is_empty() { mechanism.neutral_state() } else { mechanism.states()[key].clone() };
            let ours = poses(&mechanism, &state.q);
            for (name, pose) in bodies.as_object().unwrap() {
                let pose = numbers(pose);
                let ours = &ours.iter().find(|(n, _)| n == name).unwrap().1;
                assert!(apart(ours, &pose) < SAME_AS_MUJOCO, "{file} {key} {name}: {ours:?} {pose:?}");
                checked += 1;
            }
        }
        for (name, ends) in expected["equalities"].as_object().unwrap() {
            let joint = description.joints.iter().find(|j| j.name == *name).unwrap();
            assert_eq!(joint.role, Some(JointRole::Loop));
            let sides = [
                ("parent", &joint.parent, &joint.parent_placement),
                ("child", &joint.child, &joint.child_placement),
            ];
            for (_, body, placement) in sides {
                let expected = numbers(&ends[body]);
                assert!(
                    apart(&placement.p, &expected) < SAME_AS_MUJOCO,
                    "{file} {name} {body}: {placement:?}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 90, "only {checked} comparisons");
}

#[test]
fn accelerations_without_constraints_are_those_of_mujoco() {
    let text = fs::read_to_string(folder("mjcf").join("mujoco.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    for file in ["classes.xml", "belt.xml"] {
        let (_, mechanism) = load(read_file(&folder("mjcf").join(file)));
        let mechanism = mechanism.unwrap();
        let mut dynamics = Dynamics::new(&mechanism);
        let states = golden["files"][file]["accelerations"].as_array().unwrap();
        assert_eq!(states.len(), 3);
        for state in states {
            let (nv, u) = (mechanism.nv(), vec![0.0; mechanism.nu()]);
            let (mut q, mut v, mut theirs) = (mechanism.neutral_state().q, vec![0.0; nv], vec![0.0; nv]);
            for (joint, values) in state.as_object().unwrap() {
                let id = mechanism.joint_by_name(joint).unwrap();
                let values = numbers(values);
                q[mechanism.q_range(id).start] = values[0];
                (v[mechanism.v_range(id).start], theirs[mechanism.v_range(id).start]) =
                    (values[1], values[2]);
            }
            let mut ours = vec![0.0; nv];
            dynamics.acceleration_into(&mechanism, &q, &v, &u, &mut ours);
            let size = theirs.iter().fold(0.0, |m: f64, a| m.max(a.abs()));
            for (a, b) in ours.iter().zip(&theirs) {
                assert!((a - b).abs() < 1e-10 * size, "{file}: {ours:?} {theirs:?}");
            }
        }
    }
}

#[test]
fn coordinates_count_from_the_pose_of_the_file() {
    let m = model(
        "<mujoco><compiler angle='radian'/><worldbody><body name='a'>
         <joint name='j' axis='0 1 0' ref='0.5' springref='0.2' stiffness='3' range='-1 1'/>
         <inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody>
         <keyframe><key name='k' qpos='0.75'/></keyframe></mujoco>",
    );
    let joint = &m.joints[0];
    let spring = joint.spring.as_ref().unwrap();
    assert!((spring.rest.at(0) + 0.3).abs() < 1e-15);
    let limits = joint.limits.as_ref().unwrap();
    assert_eq!((limits.lower.as_ref().unwrap().at(0), limits.upper.as_ref().unwrap().at(0)), (-1.5, 0.5));
    assert_eq!(m.states["k"].q["j"], Coordinates::One(0.25));
}

#[test]
fn several_joints_on_a_body_go_through_massless_bodies_in_order() {
    let m = model(
        "<mujoco><worldbody><body name='a' pos='0 0 1'>
         <joint name='x' type='slide' axis='1 0 0'/><joint name='y' axis='0 1 0' pos='0 0 .1'/><joint/>
         <inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody></mujoco>",
    );
    let chain: Vec<(&str, &str, &str)> =
        m.joints.iter().map(|j| (j.parent.as_str(), j.name.as_str(), j.child.as_str())).collect();
    assert_eq!(chain, [("world", "x", "a/x"), ("a/x", "y", "a/y"), ("a/y", "a/hinge", "a")]);
    assert_eq!(m.joints[0].parent_placement, Placement::at([0.0, 0.0, 1.0]));
    assert_eq!(m.joints[1].parent_placement, Placement::at([0.0, 0.0, 0.1]));
    assert!(m.bodies.iter().take(2).all(|b| b.mass == 0.0));
}

#[test]
fn ranges_of_actuators_and_of_their_joint_are_kept_apart() {
    let m = model(
        "<mujoco><worldbody><body name='a'><joint name='j'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>
         </body><body name='b'><joint name='k' actuatorfrcrange='-3 3'/>
         <inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody><actuator>
         <motor name='m' joint='j' gear='2' ctrlrange='-5 5' forcerange='-4 4'/><motor name='n' joint='j' ctrlrange='-1 1'/>
         <motor name='o' joint='k' gear='2' ctrlrange='-5 5'/></actuator></mujoco>",
    );
    assert_eq!(m.joints[0].limits, None);
    assert_eq!(m.joints[1].limits.as_ref().unwrap().effort, Some(3.0));
    assert_eq!(m.inputs, ["m", "n", "o"]);
    let ranges: Vec<_> = m.laws.iter().map(|law| (law.control_range, law.force_range)).collect();
    assert_eq!(ranges[0], (Some([-5.0, 5.0]), Some([-4.0, 4.0])));
    assert_eq!(ranges[1], (Some([-1.0, 1.0]), None));
    // What the joints can be given: 2 · 4 + 1, and 3.
    let mechanism = MechanismBuilder::from(m.clone()).build().unwrap();
    let of = |name: &str| mechanism.force_range(mechanism.joint_by_name(name).unwrap(), 0);
    assert_eq!((of("j"), of("k")), ([-9.0, 9.0], [-3.0, 3.0]));
}

#[test]
fn only_servos_inherit_the_range_of_their_joint_and_a_range_that_is_given_wins() {
    let range = |defaults: &str, actuator: &str| {
        let text = format!(
            r#"<mujoco><compiler angle="radian"/><default>{defaults}</default><worldbody><body>
            <joint name="j" limited="true" range="-1 1"/><geom size="0.1"/></body></worldbody>
            <actuator>{actuator}</actuator></mujoco>"#
        );
        model(&text).laws.first().and_then(|law| law.control_range)
    };
    // As MuJoCo 4.0.0 reads them.
    let servo = r#"<position kp="5" inheritrange="1"/>"#;
    assert_eq!(range(servo, r#"<position joint="j"/>"#), Some([-1.0, 1.0]));
    assert_eq!(range(servo, r#"<motor joint="j"/>"#), None);
    assert_eq!(range(servo, r#"<velocity joint="j"/>"#), None);
    assert_eq!(range(servo, r#"<motor joint="j" ctrlrange="-7 7"/>"#), Some([-7.0, 7.0]));
    assert_eq!(range(servo, r#"<position joint="j" ctrlrange="-7 7"/>"#), Some([-7.0, 7.0]));
    let motor = r#"<motor ctrlrange="-7 7"/>"#;
    assert_eq!(range(motor, r#"<position joint="j" inheritrange="1"/>"#), Some([-1.0, 1.0]));
}

#[test]
fn flags_switch_forces_off() {
    let body =
        "<worldbody><body name='a'><joint name='j' damping='1' stiffness='2' frictionloss='3' range='-1 1'/>
         <inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody>";
    let m = model(&format!(
        "<mujoco><option><flag gravity='disable' limit='disable' damper='disable' spring='disable'
         frictionloss='disable'/></option>{body}</mujoco>"
    ));
    let joint = &m.joints[0];
    assert_eq!(m.gravity, [0.0; 3]);
    assert!(
        joint.damping.is_zero()
            && joint.friction.is_zero()
            && joint.spring.is_none()
            && joint.limits.is_none()
    );
}

/// A chain of bodies, each inside the one before.
fn nested(n: usize, tag: &str) -> String {
    let open: String = (0..n)
        .map(|i| match tag {
            "body" => format!(
                "<body name='b{i}'><joint name='j{i}'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"
            ),
            _ => format!("<{tag}>"),
        })
        .collect();
    format!("<mujoco><worldbody>{open}{}</worldbody></mujoco>", format!("</{tag}>").repeat(n))
}

/// Seconds that something takes at best.
fn at_best(mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = processor_seconds();
        work();
        best = best.min(processor_seconds() - start);
        if best < HALF_A_SECOND {
            break;
        }
    }
    best
}

const HALF_A_SECOND: f64 = 0.5;

#[test]
fn twenty_thousand_nested_bodies_load_in_half_a_second() {
    let text = nested(20_000, "body");
    let seconds = at_best(|| {
        let (diagnostics, mechanism) = load(read(&text));
        assert!(mechanism.is_some_and(|m| m.nv() == 20_000), "{:?}", diagnostics.first());
    });
    assert!(seconds < HALF_A_SECOND, "{seconds} s");
}

#[test]
fn nesting_without_end_is_refused_at_once() {
    for tag in ["body", "frame", "default", "a"] {
        let text = nested(300_000, tag);
        let seconds = at_best(|| {
            let reading = read(&text);
            assert!(reading.has_errors() && reading.description.is_none(), "{tag}");
            assert!(reading.diagnostics[0].message.contains("nested"), "{}", reading.diagnostics[0]);
        });
        assert!(seconds < HALF_A_SECOND, "{tag}: {seconds} s");
    }
}

#[test]
fn deep_frames_and_classes_do_not_overflow_the_stack() {
    let frames = nested(25_000, "frame");
    assert!(read(&frames).has_errors(), "there is no body in it");
    let classes: String = (0..25_000).map(|i| format!("<default class='c{i}'><geom size='1'/>")).collect();
    let text = format!("<mujoco><default>{classes}{}</mujoco>", "</default>".repeat(25_001));
    let seconds = at_best(|| assert!(read(&text).has_errors()));
    assert!(seconds < HALF_A_SECOND, "{seconds} s");
}

#[test]
fn faults_without_number_are_shown_up_to_a_hundred() {
    let bodies = "<body pos='x y z' dampng='1'><bod/></body>".repeat(20_000);
    let text = format!("<mujoco><worldbody>{bodies}</worldbody></mujoco>");
    let seconds = at_best(|| {
        let reading = read(&text);
        assert!(reading.has_errors() && reading.diagnostics.len() == 101);
        assert!(reading.diagnostics[100].message.contains("more errors"), "{}", reading.diagnostics[100]);
    });
    assert!(seconds < HALF_A_SECOND, "{seconds} s");
}

/// A hinge whose body has its mass from an `inertial`, a `geom` as given and keyframes as given.
fn drawn(geom: &str, keys: &str) -> Reading {
    read(&format!(
        "<mujoco><worldbody><body name='b'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>\
         <geom contype='0' conaffinity='0' {geom}/></body></worldbody><keyframe>{keys}</keyframe></mujoco>"
    ))
}

#[test]
fn drawings_and_keyframes_do_not_stop_a_model() {
    for (geom, keys, what) in [
        ("size='1' rgba=''", "", "`rgba` has 0 numbers, needs 4 numbers"),
        ("size='1' rgba='red'", "", "`rgba` has `red`, which is not a number"),
        ("size='-1'", "", "the `size` of this sphere is `-1`"),
        ("type='box' size='1 -1 1'", "", "the `size` of this box is `1 -1 1`"),
        ("type='capsule' size='1' fromto='1 1 1 1 1 1'", "", "the two points of `fromto` coincide"),
        ("size='1'", "<key qpos='1 2 3 0 0 0 0'/>", "is zero, read as no rotation"),
        ("size='1'", "<key qpos='x'/>", "`qpos` has `x`, which is not a number"),
        ("size='1'", "<key qpos='1 2 3 4 5 6 7 8'/>", "the keyframe is left out"),
    ] {
        let (diagnostics, mechanism) = load(drawn(geom, keys));
        assert!(mechanism.is_some(), "{geom} {keys}: {diagnostics:#?}");
        assert_eq!(diagnostics.len(), 1, "{diagnostics:#?}");
        assert_eq!(diagnostics[0].severity, Severity::Warning);
        assert!(diagnostics[0].message.contains(what), "{}", diagnostics[0]);
    }
    // Where MuJoCo would take the mass from it, a shape matters.
    let heavy = "<mujoco><worldbody><body><joint/><geom size='-1'/></body></worldbody></mujoco>";
    assert!(read(heavy).has_errors());
}

#[test]
fn a_keyframe_without_rotation_keeps_its_position() {
    let mechanism = load(drawn("size='1'", "<key name='k' qpos='1 2 3 0 0 0 0'/>")).1.unwrap();
    assert_eq!(mechanism.states()["k"].q, [1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn includes_stay_in_the_folder_of_the_model_and_those_that_are_allowed() {
    let folder = std::env::temp_dir().join(format!("leastaction-include-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("model/parts")).unwrap();
    fs::create_dir_all(folder.join("common")).unwrap();
    fs::write(folder.join("secret.txt"), "password 12345").unwrap();
    let body = "<x><body name='b'><joint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></x>";
    for file in ["model/parts/b.xml", "common/b.xml"] {
        fs::write(folder.join(file), body).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("../secret.txt", folder.join("model/link.xml")).unwrap();
    let main = folder.join("model/main.xml");
    let including = |file: &str, folders: Vec<PathBuf>| {
        let text = format!("<mujoco><worldbody><include file='{file}'/></worldbody></mujoco>");
        read_mjcf(&text, &main, &MjcfOptions { folders, ..Default::default() })
    };
    assert!(!including("parts/b.xml", vec![]).has_errors());
    assert!(!including("parts/../parts/b.xml", vec![]).has_errors());
    let absolute = folder.join("secret.txt").display().to_string();
    for file in
        ["../secret.txt", "../common/b.xml", "parts/../../secret.txt", "/dev/zero", &absolute, "link.xml"]
    {
        if cfg!(not(unix)) && file == "link.xml" {
            continue;
        }
        let reading = including(file, vec![]);
        let said: String = reading.diagnostics.iter().map(ToString::to_string).collect();
        assert!(said.contains("outside the folder of the model"), "{file}: {said}");
        assert!(!said.contains("password"), "{file}: {said}");
    }
    assert!(!including("../common/b.xml", vec![folder.join("common")]).has_errors());
    // Collections of models keep common parts in folders beside: read if they say that they are MJCF.
    let part = body.replace("<x>", "<mujocoinclude>").replace("</x>", "</mujocoinclude>");
    fs::write(folder.join("common/part.xml"), &part).unwrap();
    fs::write(folder.join("common/part.txt"), &part).unwrap();
    assert!(!including("../common/part.xml", vec![]).has_errors());
    assert!(including("../common/part.txt", vec![]).has_errors(), "not the ending of a model");
    let absolute = folder.join("common/part.xml").display().to_string();
    assert!(including(&absolute, vec![]).has_errors(), "nobody keeps a collection by absolute paths");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn include_bombs_are_refused() {
    // Every file includes two new ones: stopped by the number of files.
    let read_file = Box::new(|path: &Path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Ok(format!("<x><include file='{name}0.xml'/><include file='{name}1.xml'/><site/></x>"))
    });
    let options = MjcfOptions { read_file, ..Default::default() };
    let text = "<mujoco><worldbody><include file='a.xml'/></worldbody></mujoco>";
    let seconds = at_best(|| {
        let reading = read_mjcf(text, Path::new("bomb.xml"), &options);
        assert!(reading.has_errors());
        assert!(
            reading.diagnostics.iter().any(|d| d.message.contains("files")),
            "{:#?}",
            reading.diagnostics
        );
    });
    assert!(seconds < HALF_A_SECOND, "{seconds} s");

    // A large file: stopped by the number of bytes.
    let read_file = Box::new(|_: &Path| Ok("<x><!-- -->".repeat(1000)));
    let options = MjcfOptions { read_file, max_bytes: 5000, ..Default::default() };
    let reading = read_mjcf(text, Path::new("bomb.xml"), &options);
    assert!(reading.diagnostics[0].message.contains("bytes"), "{:#?}", reading.diagnostics);
}

#[test]
fn two_thousand_mutations_of_good_files_never_panic() {
    let good: Vec<String> = files("mjcf").iter().map(|p| fs::read_to_string(p).unwrap()).collect();
    let words =
        ["\"", "<", "/>", "nan", "-1e999", "body", "frame", " ", "class", "\u{fffd}", "0 0 0", "joint", "é"];
    let mut rng = Random::new(20_26);
    let mut pick = |n: usize| usize::try_from(rng.bits() % n.max(1) as u64).unwrap();
    let mut accepted = 0;
    for round in 0..2000 {
        let mut text = good[round % good.len()].clone();
        for _ in 0..=pick(4) {
            let mut at = pick(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let mut end = (at + pick(30)).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let end = end.max(at);
            match pick(4) {
                0 => text.replace_range(at..end, ""),
                1 => text.insert_str(at, words[pick(words.len())]),
                2 => text.replace_range(at..end, words[pick(words.len())]),
                _ => {
                    let copy = text[at..end].to_owned();
                    text.insert_str(at, &copy);
                }
            }
        }
        let reading = read_text(&text, Path::new("mutant.xml"), &folder("mjcf"));
        let refused = reading.has_errors();
        assert!(reading.description.is_some() || refused, "no model and no reason, round {round}");
        let (_, mechanism) = load(reading);
        accepted += usize::from(mechanism.is_some());
    }
    // Most mutations hurt; some, such as changed digits, must not.
    assert!((20..1900).contains(&accepted), "{accepted} accepted");
}

/// Everything that shows whether two mechanisms are the same, at their states of one name.
fn observe(mechanism: &Mechanism, state: &State) -> Vec<f64> {
    let o = Dynamics::new(mechanism).observe(mechanism, &state.q, &state.v);
    let momentum = o.momentum.to_array();
    [&[o.kinetic, o.potential][..], &o.com.0, &momentum].concat()
}

fn same_motion(a: &Mechanism, b: &Mechanism, label: &str) {
    let states: Vec<Option<&String>> = a.states().keys().map(Some).chain([None]).collect();
    for key in states {
        let of = |m: &Mechanism| key.map_or_else(|| m.neutral_state(), |k| m.states()[k].clone());
        let (sa, sb) = (of(a), of(b));
        let (oa, ob) = (observe(a, &sa), observe(b, &sb));
        assert!(apart(&ob, &oa) < 1e-11, "{label} {key:?}: {oa:?} {ob:?}");
        let theirs = poses(b, &sb.q);
        for (name, pose) in poses(a, &sa.q) {
            let other = &theirs.iter().find(|(n, _)| *n == name).unwrap().1;
            assert!(apart(other, &pose) < 1e-12, "{label} {key:?} {name}: {pose:?} {other:?}");
        }
    }
}

#[test]
fn our_own_files_survive_a_round_trip() {
    for path in files("mjcf") {
        let label = path.display().to_string();
        let first = read_file(&path).description.unwrap();
        let (text, said) = write_mjcf(&first);
        assert!(said.iter().all(|d| d.severity == Severity::Warning), "{label}: {said:#?}");
        let second = read(&text);
        assert!(!second.has_errors(), "{label}: {:#?}\n{text}", second.diagnostics);
        let second = second.description.unwrap();
        let build = |m: &ModelDescription| MechanismBuilder::from(m.clone()).build().unwrap();
        same_motion(&build(&first), &build(&second), &label);
        for joint in first.joints.iter().filter(|j| j.role == Some(JointRole::Tree) && j.kind.nv() == 1) {
            let other = second.joints.iter().find(|j| j.name == joint.name).unwrap();
            assert_eq!(
                (&joint.damping, &joint.armature, &joint.friction),
                (&other.damping, &other.armature, &other.friction)
            );
            assert_eq!(
                (&joint.spring, &joint.limits, &joint.actuators),
                (&other.spring, &other.limits, &other.actuators),
                "{label}"
            );
        }
        assert_eq!(first.inputs, second.inputs, "{label}");
        assert_eq!((&first.gravity, &first.wind), (&second.gravity, &second.wind));
        let count =
            |m: &ModelDescription| m.joints.iter().filter(|j| j.role == Some(JointRole::Loop)).count();
        assert_eq!(
            (count(&first), first.couplings.len()),
            (count(&second), second.couplings.len()),
            "{label}"
        );
        // Written again, the text is the same: nothing drifts.
        assert_eq!(write_mjcf(&second).0.lines().count(), text.lines().count(), "{label}");
    }
}

#[test]
fn every_kind_of_joint_survives_a_round_trip() {
    for seed in 0..20 {
        let mut first = random_tree(seed, 9, &ALL_KINDS);
        let mechanism = MechanismBuilder::from(first.clone()).build().unwrap();
        let (q, v) = random_state(&mechanism, seed);
        let state = State { t: 0.25, q, v, ..State::default() };
        first.states.insert("test".into(), mechanism.describe_state(&state));
        let (text, said) = write_mjcf(&first);
        assert!(said.iter().all(|d| d.severity == Severity::Warning), "{seed}: {said:#?}");
        let reading = read(&text);
        assert!(!reading.has_errors(), "{seed}: {:#?}\n{text}", reading.diagnostics);
        let build = |m: &ModelDescription| MechanismBuilder::from(m.clone()).build().unwrap();
        let second = build(&reading.description.unwrap());
        assert!((second.states()["test"].t - 0.25).abs() < 1e-15);
        same_motion(&build(&first), &second, &format!("seed {seed}"));
    }
}

#[test]
fn a_revolute_loop_becomes_two_connects_and_that_is_said() {
    let mut model = four_bar();
    for joint in model.joints.iter_mut().filter(|j| j.role == Some(JointRole::Loop)) {
        joint.kind = JointType::Revolute;
        joint.axis = Some([1.0, 0.0, 0.0]);
    }
    let (text, said) = write_mjcf(&model);
    assert!(said.iter().any(|d| d.message.contains("two `connect`s")), "{said:#?}");
    let read = read(&text).description.unwrap();
    let loops: Vec<JointType> =
        read.joints.iter().filter(|j| j.role == Some(JointRole::Loop)).map(|j| j.kind).collect();
    assert_eq!(loops, [JointType::Spherical, JointType::Spherical]);
}

#[test]
fn what_cannot_be_written_is_said() {
    let mut model = four_bar();
    model.bodies[0].drag = 0.1;
    let (_, said) = write_mjcf(&model);
    assert!(said.iter().any(|d| d.message.contains("drag")), "{said:#?}");
    model.bodies[0].mass = f64::NAN;
    let (text, said) = write_mjcf(&model);
    assert!(text.is_empty() && said.iter().any(|d| d.severity == Severity::Error));
}

#[test]
fn the_four_bar_in_mjcf_is_the_built_in_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/four_bar.xml");
    let ours = read_file(&path).description.unwrap();
    let built_in = MechanismBuilder::from(four_bar()).build().unwrap();
    let from_file = MechanismBuilder::from(ours.clone()).build().unwrap();
    same_motion(&built_in, &from_file, "four-bar");
    let state = from_file.start_state();
    let all = poses(&from_file, &state.q);
    let end = |body: &str, z: f64| -> Vec<f64> {
        let pose = &all.iter().find(|(name, _)| name == body).unwrap().1;
        (0..3).map(|i| pose[i] + pose[3 + 3 * i + 2] * z).collect()
    };
    assert!(apart(&end("coupler", -1.2), &end("rocker", -0.9)) < 1e-15, "the loop is open at the start");
}

/// An L-shaped mesh in the file itself, with scale and rule of inertia by class, and a reference frame.
const ANGLE: &str = r#"<mujoco model="angle">
  <default>
    <default class="wide"><mesh scale="1 2 0.5" inertia="exact"/></default>
  </default>
  <asset>
    <mesh name="angle" class="wide" refpos="0.1 0 0.05" refquat="0.8 0 0.6 0"
      vertex="0.05 -0.02 0.30 0.25 -0.02 0.30 0.25 0.08 0.30 0.15 0.08 0.30 0.15 0.28 0.30 0.05 0.28 0.30
              0.05 -0.02 0.37 0.25 -0.02 0.37 0.25 0.08 0.37 0.15 0.08 0.37 0.15 0.28 0.37 0.05 0.28 0.37"
      face="0 2 1 6 7 8 0 3 2 6 8 9 0 4 3 6 9 10 0 5 4 6 10 11 0 1 7 0 7 6 1 2 8 1 8 7 2 3 9 2 9 8 3 4 10 3 10 9
            4 5 11 4 11 10 5 0 6 5 6 11"/>
  </asset>
  <worldbody>
    <body name="a"><freejoint/><geom type="mesh" mesh="angle" density="500" pos="0.1 0.2 0.3" quat="0.6 0.8 0 0"/></body>
    <body name="b" pos="1 0 0"><freejoint/>
      <geom type="mesh" mesh="angle" mass="2"/><geom type="sphere" size="0.05" mass="1"/>
    </body>
  </worldbody>
</mujoco>"#;

/// Mass, centre, inertia of the bodies of MuJoCo 4.0.0; it keeps vertices in single precision.
fn weighs_as(text: &str, wanted: [(f64, [f64; 3], [f64; 6]); 2]) {
    for (body, (mass, com, inertia)) in model(text).bodies.iter().zip(wanted) {
        assert!((body.mass - mass).abs() < 1e-6 * mass, "{}", body.mass);
        for (a, b) in body.com.iter().zip(com) {
            assert!((a - b).abs() < 1e-7, "{:?} {com:?}", body.com);
        }
        for (a, b) in body.inertia.iter().zip(inertia) {
            assert!((a - b).abs() < 1e-6 * inertia[0], "{:?} {inertia:?}", body.inertia);
        }
    }
}

#[test]
fn masses_of_meshes_are_those_of_mujoco() {
    let exact = [
        (
            1.4,
            [-0.166_600_008, 0.091_375_997, 0.487_068_005],
            [0.044_051_470, 0.042_030_631, 0.003_669_065, 0.000_003_857, 0.001_532_375, 0.009_240_500],
        ),
        (
            3.0,
            [-0.177_733_339, 0.140_000_004, 0.034_600_001],
            [0.095_126_418, 0.052_620_763, 0.140_627_683, 0.039_424_002, 0.008_606_120, -0.003_666_001],
        ),
    ];
    weighs_as(ANGLE, exact);
    let convex = [
        (
            1.75,
            [-0.163_333_341, 0.081_333_331, 0.501_500_003],
            [0.049_374_146, 0.046_681_546, 0.004_784_133, 0.000_209_659, 0.001_308_836, 0.010_921_124],
        ),
        (
            3.0,
            [-0.175_555_561, 0.151_111_114, 0.038_333_334],
            [0.093_883_620, 0.051_945_450, 0.137_787_759, 0.041_161_483, 0.009_445_592, -0.006_342_223],
        ),
    ];
    weighs_as(&ANGLE.replace(r#"inertia="exact""#, r#"inertia="convex""#), convex);
    // Corners without faces are those of their hull, by any rule.
    let (from, to) = (ANGLE.find("face=").unwrap(), ANGLE.find("/>\n  </asset>").unwrap());
    let corners = format!("{}{}", &ANGLE[..from], &ANGLE[to..]);
    weighs_as(&corners, convex);
    weighs_as(&corners.replace(r#" inertia="exact""#, ""), convex);
}

#[test]
fn meshes_in_the_model_file_touch_with_their_corners_where_their_frame_puts_them() {
    // A pyramid whose frame is a quarter turn and a shift away, twice the size.
    let text = r#"<mujoco><asset><mesh name="m" scale="2 2 2" refpos="0 0 0.5" refquat="1 0 1 0"
        vertex="0 0 1  0.1 0 0.5  -0.1 0 0.5  0 0.1 0.5  0 -0.1 0.5"/></asset><worldbody>
        <geom type="plane" size="1 1 1"/>
        <body pos="0 0 2"><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"#;
    let reading = read(text);
    assert!(
        !reading.diagnostics.iter().any(|d| d.message.contains("touches nothing")),
        "{:?}",
        reading.diagnostics
    );
    let model = reading.description.unwrap();
    let SurfaceShape::Points { points } = &model.surfaces[0].shape else { panic!("{:?}", model.surfaces[0]) };
    assert_eq!(points.len(), 5);
    // MuJoCo: the apex is one unit along −x of the geom (`mj_geomDistance` to the plane, `geom_xpos` and mesh vertices).
    let placement = &model.surfaces[0].placement;
    let turn = leastaction::spatial::Quat::from_slice(&placement.q).to_matrix();
    let apex = turn * leastaction::spatial::Vec3([0.0, 0.0, 2.0]) + leastaction::spatial::Vec3(placement.p);
    for (a, b) in apex.0.iter().zip([-1.0, 0.0, 0.0]) {
        assert!((a - b).abs() < 1e-12, "{apex:?}");
    }
}

#[test]
fn a_mesh_that_cannot_be_weighed_says_why() {
    for (change, wanted) in [
        ((r#"inertia="exact""#, r#"inertia="hollow""#), "a mesh with `inertia=\"hollow\"`"),
        (("5 0 6 5 6 11", "5 0 6"), "a mesh (the mesh is not closed (3 edges"),
        (("0 2 1 6 7 8", "0 2 99 6 7 8"), "a mesh (a face names vertex 99, the mesh has 12)"),
    ] {
        let reading = read(&ANGLE.replace(change.0, change.1));
        let texts: Vec<String> = reading.diagnostics.iter().map(ToString::to_string).collect();
        assert!(texts.iter().any(|text| text.contains(wanted)), "{wanted}: {texts:#?}");
    }
    // A body with an inertia of its own does not look at its meshes.
    let own =
        ANGLE.replace("<freejoint/>", r#"<freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>"#);
    assert!(!read(&own.replace("0 2 1 6 7 8", "0 2 99 6 7 8")).has_errors());
}

/// Forces of MuJoCo 4.0.0 (`mj_forward`, `actuator_force`) at two states, controls and states of actuators.
#[test]
fn actuator_forces_are_those_of_mujoco() {
    let reading = read_file(&folder("mjcf").join("actuators.xml"));
    let said: Vec<&str> = reading.diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert!(said.iter().any(|m| m.contains("kind `muscle`") && m.contains("left out")), "{said:?}");
    let (_, mechanism) = load(reading);
    let mechanism = mechanism.unwrap();
    let reference = [0.3, 0.0, -0.1, -0.2];
    let cases = [
        (
            [0.5, -0.3, 0.15, 0.4],
            [0.7, -1.1, 0.3, 2.0],
            [0.6, 0.3, 0.2, 0.1, 0.2, 0.9, -0.1, 1.5, 0.3, -0.7, 0.15, 0.25, 0.4, 1.2],
            [
                0.6,
                -20.0,
                4.7,
                -5.967474079768544,
                -2.2,
                7.35,
                -10.9,
                1.3200000000000003,
                0.7899999999999999,
                -1.924,
                0.6,
                32.38999999999999,
                0.4,
                1.2,
            ],
            [-44.112823901732725 + 0.4422557177878494, 9.0, -9.470016313323457, -85.42777506623192],
        ),
        (
            [-0.6, 0.9, -0.25, -0.7],
            [-1.5, 0.4, -0.8, 0.6],
            [-3.0, -1.2, 0.9, 3.0, -0.5, -2.0, 0.35, 5.0, -0.2, 1.1, 2.0, -1.3, 2.2, -4.0],
            [
                -2.0,
                6.0,
                -2.8,
                31.901730170932595,
                1.42,
                -1.2000000000000002,
                26.4,
                -0.9600000000000002,
                1.6800000000000002,
                1.963,
                1.0,
                -70.70000000000002,
                2.2,
                -0.6,
            ],
            [36.855762862974935 + 1.8628484690838645, -6.0, 27.40941502414001, 160.26538753311596],
        ),
    ];
    for (qpos, v, x, forces, generalised) in cases {
        let q: Vec<f64> = qpos.iter().zip(reference).map(|(q, r)| q - r).collect();
        for (k, expected) in forces.into_iter().enumerate() {
            let found = mechanism.input_force(k, &x, &q, &v);
            assert!(
                (found - expected).abs() < 1e-12 * expected.abs().max(1.0),
                "{}: {found} {expected}",
                mechanism.inputs()[k]
            );
        }
        // With the effort limit of `j2`; springs and dampers are taken out.
        let (mut with, mut without) = ([0.0; 4], [0.0; 4]);
        let mut dynamics = Dynamics::<f64>::new(&mechanism);
        dynamics.applied_forces_into(&mechanism, &q, &v, &x, &mut with);
        for (c, id) in mechanism.tree_joints().filter(|id| mechanism.joint(*id).kind.nv() == 1).enumerate() {
            let joint = mechanism.joint(id);
            without[c] = -joint.stiffness[0] * (q[c] - joint.rest[0]) - joint.damping[0] * v[c];
        }
        for c in [0, 2, 3] {
            let (found, expected) = (with[c] - without[c], generalised[c]);
            assert!((found - expected).abs() < 1e-10, "{c}: {found} {expected}");
        }
        // MuJoCo cuts at the joint what acts at a site, too; ours is the limit of the joint's own actuators.
        let mut x = x;
        x[13] = 0.0;
        dynamics.applied_forces_into(&mechanism, &q, &v, &x, &mut with);
        assert_eq!(with[1] - without[1], generalised[1]);
    }
    // The spring and damper of MuJoCo's `springdamper`, and the inputs of a keyframe.
    let slide = mechanism.joint(mechanism.joint_by_name("slide").unwrap());
    assert!((slide.stiffness[0] - 846.57030412).abs() < 1e-7 && (slide.damping[0] - 41.4819449).abs() < 1e-6);
    assert_eq!(
        mechanism.states()["home"].inputs,
        [0.5, 0.2, 0.1, 0.0, 0.0, 0.0, 0.1, 1.0, 0.4, 0.3, 0.2, 0.1, -0.2, 0.3]
    );
}

#[test]
fn laws_survive_a_round_trip() {
    let first = read_file(&folder("mjcf").join("actuators.xml")).description.unwrap();
    let (text, _) = write_mjcf(&first);
    let second = read(&text).description.unwrap();
    for law in &first.laws {
        let other = second.laws.iter().find(|other| other.input == law.input).unwrap();
        assert_eq!(&LawDescription { origin: other.origin, ..law.clone() }, other);
    }
}

/// MuJoCo's order of actuators, and defaults of the file that an element came from: `mj_id2name`, `dof_damping`,
/// `dof_armature`, `jnt_range` of `attach.xml`.
#[test]
fn copies_bring_what_belongs_to_them_along() {
    let reading = read_file(&folder("mjcf").join("attach.xml"));
    let model = reading.description.clone().unwrap();
    let mut inputs = vec!["shoulder".to_owned()];
    inputs.extend((0..11).map(|i| format!("leaf_{i:02}")));
    inputs.extend(["one/close", "one/turn", "two/close", "two/turn", "gravcomp"].map(str::to_owned));
    assert_eq!(model.inputs.len(), inputs.len(), "{:?}", model.inputs);
    assert!(inputs.iter().all(|input| model.inputs.contains(input)), "{:?}", model.inputs);

    let joint = |name: &str| model.joints.iter().find(|j| j.name == name).unwrap();
    let wrist = joint("two/wrist");
    assert_eq!((wrist.damping.at(0), wrist.armature.at(0)), (0.3, 0.0));
    assert_eq!(wrist.limits.as_ref().unwrap().upper.as_ref().unwrap().at(0), 1.5);
    assert_eq!((joint("leaf_07").damping.at(0), joint("leaf_07").armature.at(0)), (0.0, 0.07));
    assert_eq!(model.joints.iter().filter(|j| j.name.starts_with("tip")).count(), 22);
    assert_eq!(model.couplings.len(), 2, "fingers");
    assert!(!model.joints.iter().any(|j| j.name.contains("alone")));
    assert!(!reading.has_errors());
}

#[test]
fn carried_weight_does_not_fall() {
    let text = "<mujoco><worldbody><body name='a' gravcomp='1'><freejoint/><geom size='0.1' pos='1 2 3'/>
        <body gravcomp='0.5' pos='1 0 0'><joint type='slide' axis='0 0 1'/><geom size='0.1'/></body></body>
        </worldbody></mujoco>";
    let (_, mechanism) = load(read(text));
    let mechanism = mechanism.unwrap();
    let state = mechanism.neutral_state();
    let mut run = Simulator::new(&mechanism, Method::Minimal, &MethodOptions::default(), &state).unwrap();
    run.step(&vec![0.0; mechanism.nu()], 0.01).unwrap();
    // The free body carries all of its weight and stays; the slide half of it, and falls along the joint.
    let (free, slide) = run.state().v.split_at(6);
    assert!(free.iter().all(|v| v.abs() < 1e-12), "{free:?}");
    assert!((slide[0] + 0.5 * 9.81 * 0.01).abs() < 1e-12, "{slide:?}");
}
