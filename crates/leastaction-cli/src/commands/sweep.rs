//! `sweep`: many runs of one scenario on all cores.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use leastaction_study::failure::{CHECK_FAILED, DONE, Failure, INTERRUPTED};
use leastaction_study::field::{COUNT, Field, Kind};
use leastaction_study::output::DEFAULT_FOLDER;
use leastaction_study::settings::Group;
use leastaction_study::sweep::{Asked, Folder, Seen, Sweep, conclude, drive, threads_of};
use serde_json::json;

use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::size::bytes;
use crate::verb::{Given, NO_REPORT, OUT, Verb};

/// Runs that get a report of their own when nothing else is said.
const PLAYED: usize = 3;

pub(crate) const VERB: Verb = Verb {
    name: "sweep",
    about: "Run a scenario many times with numbers that vary; write tables, a summary and a page",
    more: "The file is a scenario with a table [sweep]: how many runs, what varies and how, what is measured. Whatever stops it, the \
           same command goes on with what is missing, and the files come out byte for byte the same.

Examples:
  leastaction sweep examples/cart_pole_sweep.toml
  leastaction sweep sweep.toml --dry-run
  leastaction simulate sweep.toml --run 17",
    fields: &[
        Field::argument("FILE", Kind::Path, "Sweep file (.toml)"),
        Field::flag("runs", "N", COUNT, "Number of runs"),
        Field::flag("seed", "N", Kind::Count(0, i64::MAX as u64), "What the draws depend on"),
        Field::flag("chunk", "N", Kind::Count(1, 1_000_000), "Runs per chunk"),
        Field::flag("threads", "N", Kind::Count(1, 1024), "Threads [default: LEASTACTION_THREADS, or all cores]"),
        Field::flag("memory", "SIZE", Kind::Text, "Use fewer threads where more memory would be taken, as 2GB"),
        Field::flag("play", "N", Kind::Count(0, 1000), "Give so many of the worst runs a report of their own [default: 3]"),
        Field::switch("strict", "Exit with 1 if a run failed"),
        Field::switch("fresh", "Remove what the folder holds of another sweep"),
        Field::switch("dry-run", "Say what would be done, and do nothing"),
        OUT,
        NO_REPORT,
    ],
    groups: &[
        Group::Step,
        Group::Time,
        Group::Start,
        Group::From,
        Group::Input,
        Group::Policy,
        Group::Read,
        Group::Change,
    ],
    verbs: &[],
    run,
};

/// How the work is done.
struct Wish {
    out: PathBuf,
    threads: Option<usize>,
    memory: Option<f64>,
    play: Option<usize>,
    strict: bool,
    fresh: bool,
}

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let path = given.path("FILE").unwrap_or(Path::new(""));
    let mut settings = given.settings();
    // Where the sweep goes is not about its runs.
    (settings.out, settings.report) = (None, None);
    let asked =
        Asked { settings, runs: given.count("runs"), seed: given.count("seed"), chunk: given.count("chunk") };
    let sweep = Sweep::load(path, asked)?;
    let wish = Wish {
        out: given.path("out").map_or_else(|| Path::new(DEFAULT_FOLDER).join(&sweep.name), Path::to_owned),
        threads: given.count("threads").map(|n| n as usize),
        memory: given.text("memory").map(bytes).transpose()?,
        play: (!given.switch("no-report")).then(|| given.count("play").map_or(PLAYED, |n| n as usize)),
        strict: given.switch("strict"),
        fresh: given.switch("fresh"),
    };
    if given.switch("dry-run") {
        return dry_run(&sweep, &wish, printer);
    }
    go(&sweep, &wish, printer)
}

/// Goes on with the sweep of a folder.
pub(super) fn resume(folder: &Path, printer: &mut Printer) -> Result<u8, Failure> {
    let sweep = Sweep::load(&folder.join("sweep.json"), Asked::default())?;
    let wish = Wish {
        out: folder.to_owned(),
        threads: None,
        memory: None,
        play: Some(PLAYED),
        strict: false,
        fresh: false,
    };
    go(&sweep, &wish, printer)
}

fn go(sweep: &Sweep, wish: &Wish, printer: &mut Printer) -> Result<u8, Failure> {
    sweep.notes.iter().for_each(|note| printer.note(note));
    let threads = threads_of(sweep, wish.threads, wish.memory)?;
    let folder = Folder::open(&wish.out, sweep, wish.fresh)?;
    for torn in folder.torn() {
        printer.note(format!("`{torn}`: it is made again"));
    }
    let missing = folder.missing().len() as u64;
    let before = sweep.chunks() - missing;
    if before > 0 {
        printer.note(format!("{before} of {} chunks are there already", sweep.chunks()));
    }
    let stop = stop_flag();
    let progress = Progress::of_runs(sweep.runs, printer.is_json());
    let begin = Instant::now();
    let start = before * sweep.chunk;
    let mut tell = |seen: &Seen| {
        let steps = seen.steps.load(Ordering::Relaxed) as f64 / begin.elapsed().as_secs_f64().max(1e-9);
        let failed = seen.failed.load(Ordering::Relaxed);
        let message = format!("{steps:.0} steps/s  {failed} failed");
        progress.say((start + seen.runs.load(Ordering::Relaxed)).min(sweep.runs), message);
    };
    let driven = drive(sweep, &folder, threads, &stop, &mut tell);
    progress.finish();
    let driven = driven?;
    let out = wish.out.display();
    if !driven.complete {
        let done = sweep.chunks() - folder.missing().len() as u64;
        printer.note(format!(
            "stopped; {done} of {} chunks are kept, and the same command or `leastaction resume {out}` goes on",
            sweep.chunks()
        ));
        printer.object(&json!({"outcome": "interrupted", "chunks": sweep.chunks(), "done": done}));
        return Ok(INTERRUPTED);
    }
    let (summary, page) = conclude(sweep, &folder, &driven, wish.play, &stop)?;
    let mut value = summary.json().clone();
    value["out"] = json!(wish.out.display().to_string());
    printer.object(&value);
    printer.line(format!(
        "{}: {} runs of {} steps, {} failed, in {:.2} s on {threads} threads ({:.0} steps/s)",
        sweep.name,
        sweep.runs,
        sweep.steps(),
        summary.failed,
        driven.wall,
        driven.steps as f64 / driven.wall.max(1e-9)
    ));
    summary.lines().iter().for_each(|line| printer.line(line));
    if let Some(page) = page {
        printer.line(format!("  report         {}", page.display()));
    }
    printer.line(format!("  data           {out}/runs/*.parquet"));
    Ok(if wish.strict && summary.failed > 0 { CHECK_FAILED } else { DONE })
}

fn dry_run(sweep: &Sweep, wish: &Wish, printer: &mut Printer) -> Result<u8, Failure> {
    let threads = threads_of(sweep, wish.threads, wish.memory)?;
    let disk = sweep.bytes_per_chunk() * sweep.chunks() as f64;
    let (worker, columns) = (sweep.bytes_per_worker(), sweep.columns());
    let first: Vec<_> = (0..sweep.runs.min(5)).map(|run| (run, sweep.draws(run))).collect();
    printer.object(&json!({
        "runs": sweep.runs,
        "steps": sweep.steps(),
        "chunk": sweep.chunk,
        "chunks": sweep.chunks(),
        "columns": columns,
        "bytes": disk,
        "threads": threads,
        "bytes_per_worker": worker,
        "hash": sweep.hash(),
        "draws": first.iter().map(|(run, draws)| {
            let mut row = json!({"run": run});
            draws.iter().for_each(|(key, value)| row[*key] = json!(value));
            row
        }).collect::<Vec<_>>(),
    }));
    printer.line(format!("{}: {} runs of {} steps", sweep.name, sweep.runs, sweep.steps()));
    printer.line(format!("  chunks         {} of {} runs", sweep.chunks(), sweep.chunk));
    printer.line(format!("  columns        {}: {}", columns.len(), columns.join(", ")));
    printer.line(format!("  on disk        about {}", size(disk)));
    printer.line(format!("  memory         about {} per thread, {threads} threads", size(worker)));
    printer.line(format!("  folder         {}", wish.out.display()));
    for (run, draws) in first {
        let list: Vec<String> = draws.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        printer.line(format!("  run {run}          {}", list.join(", ")));
    }
    Ok(DONE)
}

fn size(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} kB", b / 1e3),
    }
}
