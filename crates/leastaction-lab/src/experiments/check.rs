//! [`Check`]: an expectation as code, with its origin, and what was measured.

use serde_json::{Value, json};

/// Where a measured number must lie.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
    Within(f64, f64),
}

/// Whether an expectation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It holds.
    Passes,
    /// It does not, and that is known: a loss with its reason.
    Loses,
    /// It does not.
    Fails,
}

impl Verdict {
    /// For people.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Passes => "pass",
            Self::Loses => "loss",
            Self::Fails => "FAIL",
        }
    }
}

/// An expectation and what was measured. Not a number never passes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    what: String,
    origin: String,
    bound: Bound,
    measured: f64,
    reason: Option<String>,
}

impl Check {
    /// `measured` may not exceed `bound`.
    pub(crate) fn at_most(
        what: impl Into<String>,
        origin: impl Into<String>,
        measured: f64,
        bound: f64,
    ) -> Self {
        Self { what: what.into(), origin: origin.into(), bound: Bound::AtMost(bound), measured, reason: None }
    }

    /// `measured` must reach `bound`.
    pub(crate) fn at_least(
        what: impl Into<String>,
        origin: impl Into<String>,
        measured: f64,
        bound: f64,
    ) -> Self {
        Self {
            what: what.into(),
            origin: origin.into(),
            bound: Bound::AtLeast(bound),
            measured,
            reason: None,
        }
    }

    /// `measured` must lie from `low` to `high`.
    pub(crate) fn within(
        what: impl Into<String>,
        origin: impl Into<String>,
        measured: f64,
        (low, high): (f64, f64),
    ) -> Self {
        Self {
            what: what.into(),
            origin: origin.into(),
            bound: Bound::Within(low, high),
            measured,
            reason: None,
        }
    }

    /// The same where missing the bound is a known loss: it is listed with its reason and fails nothing.
    pub(crate) fn or_loss(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Whether it holds.
    pub(crate) fn verdict(&self) -> Verdict {
        let holds = match self.bound {
            Bound::AtMost(bound) => self.measured <= bound,
            Bound::AtLeast(bound) => self.measured >= bound,
            Bound::Within(low, high) => (low..=high).contains(&self.measured),
        };
        match (holds, &self.reason) {
            (true, _) => Verdict::Passes,
            // Who did not arrive at all has not merely lost.
            (false, Some(_)) if self.measured.is_finite() => Verdict::Loses,
            (false, _) => Verdict::Fails,
        }
    }

    /// What is expected.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// Where the expectation comes from.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The reason of a loss.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref().filter(|_| self.verdict() == Verdict::Loses)
    }

    /// What was measured, for people.
    pub(crate) fn measured(&self) -> String {
        short(self.measured)
    }

    /// The bound, for people.
    pub(crate) fn bound(&self) -> String {
        match self.bound {
            Bound::AtMost(bound) => format!("≤ {}", short(bound)),
            Bound::AtLeast(bound) => format!("≥ {}", short(bound)),
            Bound::Within(low, high) => format!("{} to {}", short(low), short(high)),
        }
    }

    /// For machines.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "what": self.what,
            "origin": self.origin,
            "bound": self.bound(),
            "measured": self.measured,
            "shown": self.measured(),
            "verdict": self.verdict().word().to_lowercase(),
            "reason": self.reason(),
        })
    }
}

/// Three digits: `0.0123`, `4.56e-13`, `1230`.
pub(crate) fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if !x.is_finite() {
        return if x.is_nan() { "not a number".into() } else { "infinite".into() };
    }
    let decade = x.abs().log10().floor() as i32;
    if !(-3..=4).contains(&decade) {
        let text = format!("{x:.2e}");
        return text.replace(".00e", "e");
    }
    let decimals = (2 - decade).max(0) as usize;
    let text = format!("{x:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (2.0 / 3.0, "0.667"),
            (1234.5, "1234"),
            (1e-13, "1e-13"),
            (4.567e-13, "4.57e-13"),
            (123_456.0, "1.23e5"),
            (f64::NAN, "not a number"),
        ] {
            assert_eq!(short(x), text);
        }
    }

    #[test]
    fn what_is_not_a_number_never_passes() {
        for check in [
            Check::at_most("", "", f64::NAN, 1.0),
            Check::at_least("", "", f64::NAN, 1.0),
            Check::within("", "", f64::NAN, (0.0, 1.0)),
        ] {
            assert_eq!(check.verdict(), Verdict::Fails);
        }
    }

    #[test]
    fn a_known_loss_is_no_failure_and_keeps_its_reason() {
        let lost = Check::at_most("", "", 2.0, 1.0).or_loss("first-order methods do less work");
        assert_eq!(lost.verdict(), Verdict::Loses);
        assert!(lost.reason().is_some());
        let won = Check::at_most("", "", 0.5, 1.0).or_loss("unused");
        assert_eq!((won.verdict(), won.reason()), (Verdict::Passes, None));
    }
}
