//! Every verb and every way to go wrong, word for word.

use super::support::snapshot;

macro_rules! snapshots {
    ($($name:ident: $arguments:expr;)*) => {
        $(
            #[test]
            fn $name() {
                snapshot(stringify!($name), $arguments);
            }
        )*
    };
}

snapshots! {
    version: "--version";
    an_unknown_verb: "simulat @chain/2";
    welcome: "";

    simulate: "simulate @chain/2 --integrator rk4 --duration 0.1 --out out";
    simulate_without_report: "simulate @chain/2 --integrator rk4 --duration 0.1 --no-report --out out";
    simulate_as_json: "simulate @chain/1 --integrator semi-implicit --duration 0.05 --no-report --out out --json";
    simulate_a_scenario: "simulate run.toml";
    simulate_a_scenario_with_flags: "simulate --scenario run.toml --step 0.02 --q hinge=0.2 --print-config";
    simulate_prints_its_scenario: "simulate @ball-chain/1 --q joint0=1,0,0,0 --v joint0=0,0,-2 --gravity 0,0,-1.6 --integrator dop853 --tolerance 1e-9 --print-config";
    simulate_with_limits_passed: "simulate cart.json --integrator rk4 --input push=1 --duration 1 --limits monitor --no-report --out out";
    simulate_with_limits_held: "simulate cart.json --integrator rk4 --input push=1 --duration 1 --no-report --out out";
    simulate_with_friction_and_mimic: "simulate arm.urdf --duration 0.5 --no-report --out out";
    simulate_without_limits: "simulate cart.json --integrator rk4 --input push=1 --duration 1 --limits off --no-report --out out";
    simulate_inputs_from_a_table: "simulate cart.json --integrator rk4 --inputs push.csv --duration 0.5 --no-report --out out";
    simulate_with_elements_ignored: "simulate arm.urdf --integrator rk4 --ignore friction,mimic --duration 0.1 --no-report --out out";
    simulate_from_a_keyframe: "simulate lever.xml --integrator rk4 --contact off --ignore loops,couplings,friction --state up --duration 0.1 --no-report --out out";

    a_loop_closes_by_itself: "simulate @four-bar --duration 0.1 --no-report --out out";
    loops_are_refused_with_their_line: "simulate lever.xml --integrator rk4 --contact off";
    a_start_beyond_a_limit: "simulate arm.urdf --q elbow=-0.5";
    an_unknown_flag: "simulate @chain/2 --integrater rk4";
    an_unknown_integrator: "simulate @chain/2 --integrator rk5";
    an_unknown_joint: "simulate @chain/2 --integrator rk4 --q jont1=1";
    a_wrong_number_of_coordinates: "simulate @ball-chain/2 --integrator rk4 --q joint0=1,0,0";
    a_value_that_is_no_number: "simulate @chain/2 --q joint0=fast";
    an_unknown_input: "simulate cart.json --integrator rk4 --input pusch=1";
    an_unknown_state: "simulate cart.json --integrator rk4 --state leanning";
    an_unknown_start: "simulate cart.json --integrator rk4 --start nothing.json";
    an_unknown_built_in: "simulate @chian/3";
    a_size_that_is_no_number: "simulate @chain/many";
    a_file_that_does_not_exist: "simulate arm.udrf";
    a_model_with_errors: "simulate broken.urdf";
    a_scenario_with_errors: "simulate wrong.toml";
    a_step_of_zero: "simulate @chain/2 --step 0";
    a_duration_shorter_than_a_step: "simulate @chain/2 --integrator rk4 --duration 0.001";
    a_table_that_is_no_table: "simulate cart.json --integrator rk4 --inputs arm.urdf";
    a_failure_as_json: "simulate @chain/2 --integrator rk4 --q jont1=1 --json";

    check: "check @chain/3";
    check_with_errors: "check broken.urdf";
    check_as_json: "check broken.urdf --json";
    check_gives_the_gaps_of_loops: "check lever.xml --q left_hinge=0.1";
    check_lists_what_not_every_integrator_serves: "check arm.urdf";

    info: "info arm.urdf";
    info_with_loops: "info @four-bar";
    info_with_inputs_and_states: "info cart.json";
    info_as_json: "info cart.json --json";
    info_of_a_long_chain: "info @chain/120";

    convert_to_json: "convert arm.urdf out.json";
    convert_says_what_is_lost: "convert cart.json out.urdf";
    convert_to_the_terminal: "convert @chain/1 - --to mjcf";
    convert_to_an_unknown_format: "convert arm.urdf out.txt";
    convert_into_no_folder: "convert arm.urdf nowhere/out.json";

    completions_for_an_unknown_shell: "completions tcsh";
    bench_without_model: "bench step";
}
