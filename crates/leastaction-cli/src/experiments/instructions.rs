//! Instruction counts of this program's own runs, by valgrind where it is there: the same on a busy machine.

use std::process::Command;

use crate::failure::Failure;

/// True if valgrind can be started.
pub(crate) fn can_count() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|out| out.status.success())
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
