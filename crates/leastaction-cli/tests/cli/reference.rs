//! Reference data files run like models, and converted they run the same.

use super::support::{Folder, here};
use leastaction::io::read_trajectory_csv;

/// One file of each schema that holds a model.
const FILES: [&str; 4] = [
    "minimal_floating_tree_forces",
    "maximal_spring_damper_actuated",
    "comprehensive_tree8_k1",
    "optimization_arm3_a",
];

#[test]
fn a_reference_file_and_its_conversion_give_the_same_trajectory() {
    let folder = Folder::new("reference");
    for name in FILES {
        let file = format!("{name}.json");
        let golden = here().join("../../../leastaction/tests/golden").join(&file);
        std::fs::copy(golden, folder.path().join(&file)).unwrap();

        folder.succeed(&format!("simulate {file} --no-report --out {name}"));
        let scenario = folder.succeed(&format!("simulate {file} --no-report --print-config"));
        std::fs::write(folder.path().join("run.toml"), scenario.stdout).unwrap();
        folder.succeed(&format!("convert {file} converted.json"));
        let original = read_trajectory_csv(&folder.path().join(name).join("trajectory.csv")).unwrap();
        let has_inputs = original.layout().groups().iter().any(|group| group.name == "u");
        let inputs = if has_inputs { format!("--inputs {name}/trajectory.csv") } else { String::new() };
        folder.succeed(&format!(
            "simulate converted.json --scenario run.toml {inputs} --out converted --force"
        ));

        let converted = read_trajectory_csv(&folder.path().join("converted/trajectory.csv")).unwrap();
        assert_eq!(original.layout(), converted.layout(), "{name}");
        assert!(original.len() > 10 && original.len() == converted.len(), "{name}: {} rows", original.len());
        let pairs = original.rows().flatten().zip(converted.rows().flatten());
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, leastaction_study::statistics::maximum);
        assert!(worst <= 1e-13, "{name}: {worst}");
    }
}
