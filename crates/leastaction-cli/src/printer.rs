//! [`Printer`]: the only place that writes to the terminal.

use std::io::{self, IsTerminal, Write};

use leastaction::io::{Diagnostic, ProblemKind, Severity, printable};
use leastaction_study::listener::Listener;
use serde_json::{Value, json};

use leastaction_study::failure::Failure;

const RED: &str = "31";
const YELLOW: &str = "33";
const CYAN: &str = "36";

/// Where text goes: results to stdout, remarks to stderr; with `--json` one object to stdout and nothing else.
#[derive(Debug)]
pub(crate) struct Printer {
    json: bool,
    color: bool,
    /// What went wrong first on stdout.
    trouble: Option<io::Error>,
    /// Text for a program that listens, in place of stdout.
    kept: Option<String>,
}

impl Printer {
    /// A printer for this process. Colour on a terminal only, and not if `NO_COLOR` is set.
    pub(crate) fn new(json: bool) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { json, color: wanted && able && io::stderr().is_terminal(), trouble: None, kept: None }
    }

    /// A printer for a program that listens: it prints nothing.
    pub(crate) fn silent() -> Self {
        Self { json: true, color: false, trouble: None, kept: Some(String::new()) }
    }

    /// What it would have printed, as JSON; text that is none as it is.
    pub(crate) fn said(self) -> Value {
        let text = self.kept.unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }

    /// Results must arrive: the first error is kept for [`finish`](Self::finish).
    fn write(&mut self, text: &str) {
        if let Some(kept) = &mut self.kept {
            kept.push_str(text);
        } else if self.trouble.is_none() {
            self.trouble = io::stdout().lock().write_all(text.as_bytes()).err();
        }
    }

    /// Everything is written, or why not. A reader that has closed the pipe is no error.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let trouble = self.trouble.take().or_else(|| io::stdout().lock().flush().err());
        match trouble {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::caused_by("the output can't be written", &error)
                    .help("what arrived is incomplete; check the space where it goes"))
            }
            _ => Ok(()),
        }
    }

    /// True if the output is for machines.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// A line of the result.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        if !self.json {
            self.write(&format!("{}\n", printable(text.as_ref())));
        }
    }

    /// Text as it is, also with `--json`: what another program is to read.
    pub(crate) fn raw(&mut self, text: &str) {
        self.write(text);
    }

    /// The result for machines; printed with `--json` only.
    pub(crate) fn object(&mut self, value: &Value) {
        if self.json {
            // JSON may hold the control characters above ASCII as they are, a terminal obeys them.
            let mut text = String::new();
            for c in serde_json::to_string_pretty(value).unwrap_or_default().chars() {
                match c {
                    '\u{7f}'..='\u{9f}' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
                    c => text.push(c),
                }
            }
            text.push('\n');
            self.write(&text);
        }
    }

    /// A remark beside the result.
    pub(crate) fn note(&mut self, text: impl AsRef<str>) {
        if !self.json {
            let label = self.paint(CYAN, "note");
            let _ = writeln!(io::stderr().lock(), "{label}: {}", printable(text.as_ref()));
        }
    }

    /// A problem with its place, excerpt and remedy.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        if self.json {
            return;
        }
        let text = self.painted(&diagnostic.to_string(), diagnostic.severity);
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// The text of a problem, its first `error` or `warning` in colour.
    fn painted(&self, text: &str, severity: Severity) -> String {
        let (word, colour) = match severity {
            Severity::Error => ("error", RED),
            Severity::Warning => ("warning", YELLOW),
        };
        text.replacen(&format!("{word}: "), &format!("{}: ", self.paint(colour, word)), 1)
    }

    /// What is odd about a model, in three lines at most: `check` is the place for all of it.
    pub(crate) fn warnings(&mut self, model: &str, diagnostics: &[Diagnostic]) {
        if let [one] = diagnostics {
            return self.diagnostic(one);
        }
        let kinds = ProblemKind::group(diagnostics);
        for kind in kinds.iter().take(2).filter(|_| !self.json) {
            let _ = writeln!(io::stderr().lock(), "{}", self.painted(&kind.to_string(), kind.first.severity));
        }
        if !diagnostics.is_empty() {
            self.note(format!(
                "`leastaction check {model}` shows all {} warnings with remedies",
                diagnostics.len()
            ));
        }
    }

    /// A failure: its problems, its message, the chain of causes, the remedy.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        if self.json {
            self.object(&json!({"error": {
                "message": failure.message,
                "causes": failure.causes,
                "help": failure.help,
                "diagnostics": failure.diagnostics.iter().map(diagnostic_json).collect::<Vec<_>>(),
                "exit_code": failure.code,
            }}));
            return;
        }
        for diagnostic in &failure.diagnostics {
            self.diagnostic(diagnostic);
        }
        let mut text = format!("{}: {}\n", self.paint(RED, "error"), printable(&failure.message));
        for cause in &failure.causes {
            text.push_str(&format!("  cause: {}\n", printable(cause)));
        }
        if let Some(help) = &failure.help {
            text.push_str(&format!("  help: {}\n", printable(help)));
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    fn paint(&self, colour: &str, word: &str) -> String {
        if self.color { format!("\x1b[1;{colour}m{word}\x1b[0m") } else { word.to_owned() }
    }
}

/// A problem for machines.
pub fn diagnostic_json(diagnostic: &Diagnostic) -> Value {
    let mut value = json!({
        "severity": match diagnostic.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "element": diagnostic.element,
        "message": diagnostic.message,
        "remedy": diagnostic.remedy,
    });
    if let Some(at) = &diagnostic.at {
        value["file"] = json!(at.file.display().to_string());
        value["line"] = json!(at.line);
        value["column"] = json!(at.column);
        value["excerpt"] = json!(at.excerpt);
    }
    value
}

impl Listener for Printer {
    fn line(&mut self, text: &str) {
        Self::line(self, text);
    }
    fn raw(&mut self, text: &str) {
        Self::raw(self, text);
    }
    fn note(&mut self, text: &str) {
        Self::note(self, text);
    }
    fn object(&mut self, value: &Value) {
        Self::object(self, value);
    }
}
