//! `resume`: goes on with a run that was stopped, from its last checkpoint.

use std::path::{Path, PathBuf};

use leastaction_study::checkpoint::Checkpoint;
use leastaction_study::failure::Failure;
use leastaction_study::field::{Field, Kind};
use leastaction_study::{model, scenario, simulation};

use super::{simulate, sweep};
use crate::printer::Printer;
use crate::verb::{Given, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "resume",
    about: "Go on with a run or sweep that was stopped, killed or ran out of room",
    more: "The files come out byte for byte as those of a run that nothing stopped, but for its wall time.

Example:
  leastaction resume leastaction-out/robot",
    fields: &[Field::argument("DIR", Kind::Path, "Folder of the run or sweep")],
    groups: &[],
    verbs: &[],
    run,
};

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let named = given.path("DIR").unwrap_or(Path::new("."));
    if named.join("sweep.json").is_file() {
        return sweep::resume(named, printer);
    }
    let checkpoint = Checkpoint::read(named)?;
    let folder = absolute(named)?;
    // Paths of the scenario, and so what the summary says of them, are those of the first command.
    let directory = &checkpoint.header.directory;
    std::env::set_current_dir(directory).map_err(|error| {
        Failure::caused_by(format!("the run began in `{}`", directory.display()), &error)
            .help("its model and inputs are looked for there")
    })?;
    let settings = scenario::parse(&checkpoint.header.scenario, Path::new("the checkpoint"))
        .map_err(|problems| Failure::new("the checkpoint can't be used").with_diagnostics(problems))?;
    let name = settings.model.clone().unwrap_or_default();
    let (model, built) = model::load(&name, &settings.reading())?;
    let prepared = simulation::prepare_as_said(settings, model, built, simulation::Given::default())?;
    let (mut plan, _) = prepared.plan()?;
    let durable = prepared.resume(&folder, &mut plan, checkpoint)?;
    simulate::go(&prepared, plan, durable, named, printer)
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize()
        .map_err(|error| Failure::caused_by(format!("can't use the folder `{}`", path.display()), &error))
}
