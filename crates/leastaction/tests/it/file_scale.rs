//! A hundred thousand links: writing, reading and building take time in proportion, and constant stack.

use std::path::Path;

use leastaction::io::mjcf::{MjcfOptions, read_mjcf, write_mjcf};
use leastaction::io::{
    NpzWriter, Reading, TrajectoryCsvWriter, UrdfOptions, read_model_json, read_trajectory_csv,
    read_trajectory_npz, read_urdf, write_model_json, write_urdf,
};
use leastaction::mechanism::{MechanismBuilder, ModelDescription, samples};
use leastaction::trajectory::TrajectoryLayout;

use crate::support::processor_seconds;

/// Seconds for `links` and for ten times as many. Ten is in proportion; a quadratic step somewhere makes it a hundred. Processor
/// time too depends on who shares the caches, so the best of three decides.
fn in_proportion(what: &str, links: usize, work: impl Fn(usize)) {
    let seconds = |links: usize| {
        let start = processor_seconds();
        work(links);
        processor_seconds() - start
    };
    let (mut few, mut many) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        (few, many) = (few.min(seconds(links)), many.min(seconds(10 * links)));
        println!("{what}: {few:.3} s for {links} links, {many:.3} s for ten times as many");
        if many < 30.0 * few.max(0.01) {
            return;
        }
    }
    panic!("{what}: {few} s, then {many} s");
}

fn round_trip(model: &ModelDescription, written: String, read: impl Fn(&str) -> Reading) {
    let mut reading = read(&written);
    let mechanism = reading.build();
    assert!(mechanism.is_some_and(|m| m.nb() == model.bodies.len()), "{:?}", reading.diagnostics.first());
}

#[test]
fn a_hundred_thousand_links_are_built_in_proportion() {
    in_proportion("build", 10_000, |links| {
        let mechanism = MechanismBuilder::from(samples::chain(links)).build().unwrap();
        assert_eq!(mechanism.nv(), links);
    });
}

#[test]
fn thirty_thousand_links_survive_json_in_proportion() {
    in_proportion("JSON", 3_000, |links| {
        let model = samples::chain(links);
        round_trip(&model, write_model_json(&model), |text| read_model_json(text, Path::new("chain.json")));
    });
}

#[test]
fn thirty_thousand_links_survive_urdf_in_proportion() {
    in_proportion("URDF", 3_000, |links| {
        let model = samples::chain(links);
        round_trip(&model, write_urdf(&model).0, |text| {
            read_urdf(text, Path::new("chain.urdf"), &UrdfOptions::default())
        });
    });
}

#[test]
fn a_hundred_thousand_links_survive_mjcf_in_proportion() {
    in_proportion("MJCF", 10_000, |links| {
        let model = samples::chain(links);
        round_trip(&model, write_mjcf(&model).0, |text| {
            read_mjcf(text, Path::new("chain.xml"), &MjcfOptions::default())
        });
    });
}

#[test]
fn tables_of_three_hundred_thousand_columns_are_written_and_read_in_proportion() {
    let folder = std::env::temp_dir().join(format!("leastaction-wide-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    in_proportion("tables", 3_500, |links| {
        let mechanism = MechanismBuilder::from(samples::chain(links)).build().unwrap();
        let layout = TrajectoryLayout::of(&mechanism);
        assert!(layout.width() > 9 * links);
        let row: Vec<f64> = (0..layout.width()).map(|i| i as f64 / 7.0).collect();
        let [csv, npz] = ["wide.csv", "wide.npz"].map(|name| folder.join(name));
        let mut writer = TrajectoryCsvWriter::create(&csv, &layout).unwrap();
        writer.push(&row).unwrap();
        writer.finish().unwrap();
        let mut writer = NpzWriter::create(&npz, &layout).unwrap();
        writer.push(&row).unwrap();
        writer.finish().unwrap();
        let read = read_trajectory_csv(&csv).unwrap();
        assert_eq!(read.rows().next().unwrap(), row);
        assert_eq!(read, read_trajectory_npz(&npz).unwrap());
    });
    std::fs::remove_dir_all(folder).unwrap();
}
