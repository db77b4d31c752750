//! [`Machine`]: where and from which version numbers were measured.

use std::process::Command;

use serde_json::{Value, json};

/// Circumstances that times depend on.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    system: String,
    commit: String,
}

impl Machine {
    /// This one.
    pub(crate) fn this() -> Self {
        let processor = std::fs::read_to_string("/proc/cpuinfo")
            .ok()
            .and_then(|text| {
                let line = text.lines().find(|line| line.starts_with("model name"))?;
                Some(line.split_once(':')?.1.trim().to_owned())
            })
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
        let commit = Command::new("git")
            .args(["rev-parse", "--short=10", "HEAD"])
            .output()
            .ok()
            .filter(|out| out.status.success())
            .map_or_else(
                || "unknown".to_owned(),
                |out| String::from_utf8_lossy(&out.stdout).trim().to_owned(),
            );
        Self {
            processor,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            system: std::env::consts::OS.to_owned(),
            commit,
        }
    }

    /// For machines.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "processor": self.processor,
            "cores": self.cores,
            "system": self.system,
            "commit": self.commit,
            "version": env!("CARGO_PKG_VERSION"),
        })
    }

    /// One line.
    pub(crate) fn line(&self) -> String {
        format!(
            "leastaction {} at commit {}, {} cores of {}, {}",
            env!("CARGO_PKG_VERSION"),
            self.commit,
            self.cores,
            self.processor,
            self.system
        )
    }
}
