//! Memory does not grow with duration.

use super::support::Folder;
use std::process::Stdio;

/// Largest memory of a run in kB, as the system counts it.
fn peak(folder: &Folder, steps: u64) -> u64 {
    let arguments = format!(
        "simulate @double-pendulum --integrator rk4 --step 0.001 --duration {} --out out",
        steps as f64 * 1e-3
    );
    let mut child = folder.command(&arguments).stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        if let Ok(text) = std::fs::read_to_string(&status)
            && let Some(line) = text.lines().find(|line| line.starts_with("VmHWM:"))
        {
            let kb = line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0);
            peak = peak.max(kb);
        }
        match child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success());
                return peak;
            }
            None => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
}

fn assert_flat(long: u64) {
    let folder = Folder::new(&format!("memory-{long}"));
    let (short, long) = (peak(&folder, 10_000), peak(&folder, long));
    assert!(short > 1000, "{short} kB: not measured");
    assert!(long < short + 20_000, "{short} kB for 10,000 steps, {long} kB for the long run");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_flat_over_a_hundred_thousand_steps() {
    assert_flat(100_000);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "writes 0.6 GB to disk"]
fn memory_is_flat_over_a_million_steps() {
    assert_flat(1_000_000);
}
