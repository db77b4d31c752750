//! Instruction counts of this program's own runs, by valgrind where it is there: the same on a busy machine.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use leastaction_study::failure::Failure;

/// True if valgrind can be started.
pub(crate) fn can_count() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|out| out.status.success())
}

/// Counts of many runs, two at a time: counts do not depend on what else runs.
pub(crate) fn count_all(runs: &[String]) -> Result<Vec<(f64, String)>, Failure> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<(f64, String), Failure>>>> =
        runs.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(k) else { break };
            let counted = count(&run.split(' ').collect::<Vec<_>>());
            if let Ok(mut slot) = results[k].lock() {
                *slot = Some(counted);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let missing = || Err(Failure::new("a count was not made"));
    results.into_iter().map(|slot| slot.into_inner().ok().flatten().unwrap_or_else(missing)).collect()
}

/// Instructions of this program run with these arguments, and what it printed.
pub(crate) fn count(arguments: &[&str]) -> Result<(f64, String), Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::caused_by("the path of this program is not known", &error))?;
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(own)
        .args(arguments)
        .output()
        .map_err(|error| Failure::caused_by("valgrind can't be started", &error))?;
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let counted = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<f64>().ok());
    match counted {
        Some(instructions) if out.status.success() => {
            Ok((instructions, String::from_utf8_lossy(&out.stdout).into_owned()))
        }
        _ => Err(Failure::new(format!("valgrind could not count `{}`", arguments.join(" ")))
            .help(text.lines().last().unwrap_or("it printed nothing").to_owned())),
    }
}
