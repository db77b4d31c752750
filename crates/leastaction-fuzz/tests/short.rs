//! A short walk through every target and every law; `scripts/fuzz.sh` goes further.

use std::path::Path;

use leastaction_fuzz::{LAWS, Seed, input, judged, random_model, targets};

#[test]
fn damaged_files_are_taken_or_refused_never_worse() {
    let mut findings = Vec::new();
    for target in targets() {
        let seeds = Seed::of(target);
        assert!(seeds.iter().any(|seed| !seed.bytes.is_empty()), "{} has nothing to damage", target.name);
        for index in 0..300 {
            let (bytes, name) = input(target, &seeds, 7, index);
            if let Err(wrong) = judged(|| (target.run)(&bytes, Path::new(&name))) {
                findings.push(format!("{} --seed 7 --one {index} ({name}): {wrong}", target.name));
            }
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn whole_files_are_taken_by_their_readers() {
    for target in targets() {
        for seed in Seed::of(target) {
            judged(|| (target.run)(&seed.bytes, Path::new(&seed.name)))
                .unwrap_or_else(|wrong| panic!("{} {}: {wrong}", target.name, seed.name));
        }
    }
}

#[test]
fn random_mechanisms_obey_the_laws() {
    let mut findings = Vec::new();
    // The last ones were found by longer walks: a row of a loop that nearly follows from others was dropped by some and kept by others;
    // a loop whose closing point is merely near an axis was taken for one of rounded data; a mechanism is locked altogether.
    for number in (0..150).chain([20_261_178_799_802, 1_118_019_211, 1_118_003_724]) {
        let model = random_model(number);
        for law in LAWS {
            if let Err(wrong) = judged(|| (law.holds)(&model)) {
                findings.push(format!("mechanism {number}, {}: {wrong}", law.name));
            }
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// What longer walks have found, made again from its three numbers.
#[test]
fn what_was_found_stays_mended() {
    for (name, seed, index) in [
        ("mjcf", 11, 118),
        ("mesh", 11, 122_680),
        ("mjcf", 11, 166_729),
        ("sdf", 1, 9757),
        ("mesh", 1, 56_906),
    ] {
        let target = targets().find(|target| target.name == name).unwrap();
        let (bytes, file) = input(target, &Seed::of(target), seed, index);
        assert_eq!(
            judged(|| (target.run)(&bytes, Path::new(&file))),
            Ok(()),
            "{name} --seed {seed} --one {index}"
        );
    }
}

/// The harness sees what it is there to see.
#[test]
fn panics_wrong_answers_and_broken_laws_are_noticed() {
    assert!(judged(|| panic!("on purpose")).unwrap_err().starts_with("panic"));
    assert_eq!(judged(|| Err("wrong".into())), Err("wrong".into()));
    let mut model = random_model(3);
    let law = LAWS.iter().find(|law| law.name.starts_with("forward dynamics")).unwrap();
    assert_eq!((law.holds)(&model), Ok(()));
    model.start.v.iter_mut().for_each(|v| *v = f64::NAN);
    assert!((law.holds)(&model).is_err());
}

/// Bodies as far away as numbers go leave a contact problem no digits: the step is given up by what it has cost, and a step of many
/// bodies in touch costs far more per iteration than its links.
#[test]
fn what_has_no_solution_is_told_in_seconds() {
    let target = targets().find(|target| target.name == "mjcf").unwrap();
    let seeds = Seed::of(target);
    let humanoid = seeds.iter().find(|seed| seed.name == "humanoid.xml").expect("our humanoid");
    let text = std::str::from_utf8(&humanoid.bytes).unwrap();
    for (usual, damaged) in [
        (
            r#"name="head" type="sphere" size="0.09" pos="0 0 0.31""#,
            r#"type="sphere" size="0.09" pos="0 0 4294967296""#,
        ),
        (
            r#"name="right_forearm" pos="0 -0.03 -0.3""#,
            r#"name="right_forearm" pos="18446744073709551615 -0.03 -0.3""#,
        ),
    ] {
        assert!(text.contains(usual), "{usual}");
        let bytes = text.replacen(usual, damaged, 1).into_bytes();
        judged(|| (target.run)(&bytes, Path::new(&humanoid.name)))
            .unwrap_or_else(|wrong| panic!("{damaged}: {wrong}"));
    }
}
