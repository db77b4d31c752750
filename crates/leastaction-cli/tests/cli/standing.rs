//! Robots of URDF files on the ground.

use super::support::Folder;
use leastaction::io::read_trajectory_csv;

/// A trunk with its origin in its middle and two legs of 0.4 m with balls for feet.
const WALKER: &str = r#"<robot name="walker">
  <link name="trunk">
    <inertial><mass value="8"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.3 0.4 0.2"/></geometry></collision>
  </link>
  <link name="left">
    <inertial><origin xyz="0 0 -0.2"/><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.06 0 -0.4"/><geometry><sphere radius="0.03"/></geometry></collision>
    <collision><origin xyz="-0.06 0 -0.4"/><geometry><sphere radius="0.03"/></geometry></collision>
  </link>
  <link name="right">
    <inertial><origin xyz="0 0 -0.2"/><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.06 0 -0.4"/><geometry><sphere radius="0.03"/></geometry></collision>
    <collision><origin xyz="-0.06 0 -0.4"/><geometry><sphere radius="0.03"/></geometry></collision>
  </link>
  <joint name="left_hip" type="revolute">
    <parent link="trunk"/><child link="left"/><origin xyz="0 0.15 -0.1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="200" velocity="9"/>
  </joint>
  <joint name="right_hip" type="revolute">
    <parent link="trunk"/><child link="right"/><origin xyz="0 -0.15 -0.1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="200" velocity="9"/>
  </joint>
</robot>"#;

fn heights(folder: &Folder) -> Vec<f64> {
    let table = read_trajectory_csv(&folder.path().join("out/trajectory.csv")).unwrap();
    table.column("q.root_joint.pz").unwrap()
}

/// Its root is 0.53 m above its soles, and the file cannot say so.
#[test]
fn a_robot_whose_root_is_not_its_feet_stands_on_the_ground() {
    let folder = Folder::new("standing");
    std::fs::write(folder.path().join("walker.urdf"), WALKER).unwrap();
    let run = "simulate walker.urdf --base floating --ground --hold start --duration 0.5 --no-report --out out --force";
    let said = folder.succeed(run);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("raised to stand on the ground at the start: `trunk` by 0.5300 m"), "{said}");
    let z = heights(&folder);
    assert!(z.iter().all(|z| (z - 0.53).abs() < 1e-3), "{z:?}");
    // A root that the user puts somewhere stays there.
    let said = folder.succeed(&format!("{run} --q root_joint=1,0,0,0,0,0,0.9"));
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(!said.contains("raised"), "{said}");
    assert_eq!(heights(&folder)[0], 0.9);
}
