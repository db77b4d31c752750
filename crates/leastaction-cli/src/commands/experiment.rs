//! `experiment`: makes published results again, with pages, numbers and a verdict.

use std::path::Path;

use leastaction_lab::experiment::{self, Options};
use leastaction_study::failure::Failure;
use leastaction_study::field::{Field, Kind};

use crate::printer::Printer;
use crate::verb::{Given, OUT, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "experiment",
    about: "Make published figures and tables again, and compare with what they claim",
    more: "",
    fields: &[
        Field::argument(
            "NAME",
            Kind::Text,
            "Names of experiments, `all`, `list`, or `results` (writes docs/results.md from the last runs)",
        )
        .many(),
        Field::switch("quick", "Shorter runs and fewer sizes; every expectation is still checked"),
        Field { help: "Folder for pages and numbers [default: leastaction-out/experiments]", ..OUT },
        Field::flag(
            "robots",
            "DIR",
            Kind::Path,
            "Folder of robots: that of example-robot-data, or one with talos.urdf",
        ),
        Field::flag(
            "from",
            "DIR",
            Kind::Path,
            "With `results`: folder the JSON files are read from [default: --out]",
        ),
        Field::flag(
            "project",
            "DIR",
            Kind::Path,
            "With `results`: the project whose docs/results.md and README.md are written",
        )
        .default("."),
    ],
    groups: &[],
    verbs: &[],
    run,
};

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let path = |id| given.path(id).map(Path::to_owned);
    let options = Options {
        names: given.texts("NAME"),
        quick: given.switch("quick"),
        out: path("out"),
        robots: path("robots"),
        from: path("from"),
        project: path("project").unwrap_or_default(),
    };
    experiment::run(options, printer)
}
