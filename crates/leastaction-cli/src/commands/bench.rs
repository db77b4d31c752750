//! `bench`: times steps and kernels, one JSON line per case, in the form of the peers' benchmark.

use std::path::Path;

use leastaction_lab::bench::{self, Bench, Calls, Kernel, KernelBench, LinearizeBench, StepBench, StepCalls};
use leastaction_lab::bench_jacobian::{Count, JacobianBench};
use leastaction_lab::bench_newton::{NewtonBench, Part};
use leastaction_lab::bench_optimize::OptimizeBench;
use leastaction_lab::compare::Peers;
use leastaction_study::choice::Choice;
use leastaction_study::failure::Failure;
use leastaction_study::field::{COUNT, Field, Kind};
use leastaction_study::settings::Group;

use crate::printer::Printer;
use crate::verb::{Given, MODEL, OUT, Verb};

const MODELS: Field = MODEL.many();
const BATCHES: Field = Field::flag("batches", "B", COUNT, "Number of batches");
const CALLS: Field =
    Field::flag("calls", "N", COUNT, "Make exactly N calls and time them together, for instruction counts")
        .conflicts(&["batches"]);
const ORDER: Field =
    Field::flag("order", "N", Kind::Count(1, u32::MAX as u64), "Order of accuracy of the step").default("2");
const STEP: Field = Field::flag("step", "S", Kind::Positive, "Time step in seconds").default("0.005");

pub(crate) const VERB: Verb = Verb {
    name: "bench",
    about: "Time steps and kernels; one JSON line per case",
    more: "",
    fields: &[
        Field::flag(
            "compare",
            "OLD.json",
            Kind::Path,
            "Lines of an earlier run: print ratios, fail above the threshold",
        ),
        Field::flag("threshold", "X", Kind::Positive, "Largest ratio to the earlier run that passes")
            .default("1.1"),
        Field::switch("peers", "Time the peers too (makes a Python environment of its own) and print ratios"),
        Field::flag("only", "SYSTEMS", Kind::Text, "With --peers: only these, for example mujoco,pinocchio")
            .requires("peers"),
        Field::switch(
            "native",
            "With --peers: compile Pinocchio header-only for this processor (ten minutes)",
        )
        .requires("peers"),
        Field::switch("quick", "With --peers: fewer models").requires("peers"),
        Field::flag("rounds", "N", COUNT, "With --peers: rounds in which peers and leastaction take turns")
            .default("3")
            .requires("peers"),
        Field::flag(
            "python",
            "PATH",
            Kind::Path,
            "With --peers: a Python that has the peers, instead of a new environment",
        )
        .requires("peers"),
        Field { help: "With --peers: folder for models, environment and peers.json", ..OUT }
            .requires("peers"),
    ],
    groups: &[],
    verbs: &[
        Verb {
            name: "step",
            about: "Time per step of an integrator: the mean over N steps from the start state, of each short piece the best of several runs",
            fields: &[
                MODELS,
                Field::flag("steps", "N", COUNT, "Steps of a run").default("1000"),
                Field::flag(
                    "repeat",
                    "R",
                    COUNT,
                    "Number of runs; 1 takes exactly N steps, for instruction counts",
                ),
                Field::flag(
                    "budget",
                    "S",
                    Kind::Positive,
                    "Seconds to spend per model when --repeat is not given",
                )
                .default("1"),
            ],
            groups: &[Group::Step, Group::Read, Group::Change],
            run: step,
            ..CASE
        },
        Verb {
            name: "kernel",
            about: "Time per call of rnea, aba or crba: the minimum over many batches of 2 ms",
            fields: &[
                Field::argument("KERNEL", Kind::Word(Kernel::WORDS), "The kernel"),
                MODELS,
                BATCHES.default("300"),
                CALLS,
            ],
            run: kernel,
            ..CASE
        },
        Verb {
            name: "jacobian",
            about: "Time per Jacobian of torques (with rates to order K), per product, gradient and Jacobian of the last link",
            fields: &[
                MODELS,
                Field::flag("order", "K", Kind::Count(0, 255), "Highest time derivative of the torque")
                    .default("1"),
                BATCHES.default("300"),
                CALLS.help("Make exactly N calls at order K and nothing else, for instruction counts"),
                Field::flag("count", "COUNT", Kind::Word(Count::WORDS), "What the calls are")
                    .default("jacobian")
                    .requires("calls"),
            ],
            run: jacobian,
            ..CASE
        },
        Verb {
            name: "linearize",
            about: "Time of a linearised step of the minimal integrator",
            fields: &[MODELS, ORDER, STEP, BATCHES.default("100"), CALLS],
            run: linearize,
            ..CASE
        },
        Verb {
            name: "newton",
            about: "Time of the residual of a variational step, or of residual and full Newton direction",
            fields: &[
                Field::argument("PART", Kind::Word(Part::WORDS), "What is evaluated"),
                MODELS,
                ORDER,
                STEP,
                BATCHES.default("100"),
                CALLS,
            ],
            run: newton,
            ..CASE
        },
        Verb {
            name: "optimize",
            about: "Time to the solution of a problem file: the median of several solves",
            fields: &[
                Field::argument("PROBLEM", Kind::Text, "Problem files, or reference data files").many(),
                Field::flag("repeat", "R", COUNT, "Number of solves; the line has their median")
                    .default("20"),
                Field::switch(
                    "growth",
                    "Also time an iteration while control points and samples are doubled",
                ),
            ],
            groups: &[],
            run: optimize,
            ..CASE
        },
    ],
    run,
};

const CASE: Verb =
    Verb { name: "", about: "", more: "", fields: &[], groups: &[Group::Read], verbs: &[], run };

/// Without a case: the peers.
fn run(given: &Given<'_>, _: &mut Printer) -> Result<u8, Failure> {
    if !given.switch("peers") {
        return Err(Failure::new("nothing to time").help(
            "`leastaction bench step @chain/32`, or `leastaction bench --peers`; see `leastaction bench --help`",
        ));
    }
    let path = |id| given.path(id).map(Path::to_owned);
    Peers {
        only: given.text("only").map(str::to_owned),
        native: given.switch("native"),
        quick: given.switch("quick"),
        rounds: given.count("rounds").unwrap_or(3),
        python: path("python"),
        out: path("out"),
    }
    .run()
}

fn time(bench: &dyn Bench, models: &str, given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let older = given.path("compare").map(|path| (path, given.number("threshold").unwrap_or(1.1)));
    bench::run(bench, &given.texts(models), older, printer)
}

fn calls(given: &Given<'_>) -> Calls {
    Calls {
        batches: given.count("batches").unwrap_or(1),
        calls: given.count("calls"),
        reading: given.settings().reading(),
    }
}

fn step_calls(given: &Given<'_>) -> StepCalls {
    StepCalls {
        order: given.count("order").map_or(2, |n| n as u32),
        step: given.number("step").unwrap_or(0.005),
        calls: calls(given),
    }
}

fn step(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let bench = StepBench {
        settings: given.settings(),
        steps: given.count("steps").unwrap_or(1000),
        repeat: given.count("repeat"),
        budget: given.number("budget").unwrap_or(1.0),
    };
    time(&bench, "MODEL", given, printer)
}

fn kernel(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let bench = KernelBench { kernel: given.choice("KERNEL").unwrap_or(Kernel::Rnea), calls: calls(given) };
    time(&bench, "MODEL", given, printer)
}

fn jacobian(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let bench = JacobianBench {
        order: given.count("order").map_or(1, |n| n as usize),
        calls: calls(given),
        count: given.choice("count").unwrap_or(Count::Jacobian),
    };
    time(&bench, "MODEL", given, printer)
}

fn linearize(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    time(&LinearizeBench { cases: step_calls(given) }, "MODEL", given, printer)
}

fn newton(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let bench =
        NewtonBench { part: given.choice("PART").unwrap_or(Part::Residual), cases: step_calls(given) };
    time(&bench, "MODEL", given, printer)
}

fn optimize(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let bench = OptimizeBench { repeat: given.count("repeat").unwrap_or(20), growth: given.switch("growth") };
    time(&bench, "PROBLEM", given, printer)
}
