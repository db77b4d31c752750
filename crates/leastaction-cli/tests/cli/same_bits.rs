//! The same bits on every processor: runs and optimised motions whose files were hashed once. `scripts/same_bits.sh` compares the
//! same with an emulated processor that has neither AVX2 nor fused operations.

use crate::support::{Folder, here};

/// Each line of the record: a hash of the trajectory (and of the state, where there is one), and what is done.
const RECORD: &str = "same_bits.txt";

/// FNV-1a, 64 bits.
fn hash(parts: &[Vec<u8>]) -> u64 {
    parts
        .iter()
        .flatten()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn runs_and_motions_have_the_bits_they_had() {
    let folder = Folder::new("same-bits");
    let root = here().join("../../../..").canonicalize().unwrap();
    let files = |run: &str| {
        ["models/", "examples/"]
            .iter()
            .fold(run.to_owned(), |run, folder| run.replace(folder, &format!("{}/{folder}", root.display())))
    };
    let record = std::fs::read_to_string(here().join(RECORD)).unwrap();
    let mut found = String::new();
    for line in record.lines() {
        let (_, run) = line.split_once("  ").unwrap();
        folder.succeed(&format!("{} --no-report --out out --force", files(run)));
        let mut parts = vec![folder.read("out/trajectory.csv")];
        if run.starts_with("simulate") {
            parts.push(folder.read("out/state.json"));
        }
        let bits = hash(&parts);
        found.push_str(&format!("{bits:016x}  {run}\n"));
    }
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(here().join(RECORD), &found).unwrap();
        return;
    }
    assert_eq!(found.lines().count(), 13);
    assert_eq!(
        found, record,
        "numbers have moved; if that is meant, run with UPDATE_SNAPSHOTS=1 and say so in CHANGELOG.md"
    );
}
