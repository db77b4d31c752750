//! Faults on purpose, for the test that experiments can fail. Only with the feature `sabotage`, which nothing else uses.
//!
//! The environment variable `LEASTACTION_SABOTAGE` chooses one fault; each has one line where it acts.

use std::sync::OnceLock;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `newton-sign`: one block of the maximal engine's Newton matrix has the wrong sign.
    NewtonSign,
    /// `frozen-anchor`: the momentum of a ball joint is not carried into the frame of the next step.
    FrozenAnchor,
    /// `loop-row`: each loop joint misses its last row.
    LoopRow,
    /// `force-turn`: the term `N(F) s` of torque Jacobians is missing.
    ForceTurn,
    /// `weak-friction`: the friction cone of contacts is a millionth too narrow.
    WeakFriction,
    /// `one-stage`: an impact's node problem does not complete the half step first.
    OneStage,
    /// `late-direction`: friction of sliding contacts has the direction of the interval's end.
    LateDirection,
}

/// True if this fault was chosen.
pub fn chosen(fault: Fault) -> bool {
    static CHOSEN: OnceLock<Option<Fault>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| match std::env::var("LEASTACTION_SABOTAGE").as_deref() {
        Ok("newton-sign") => Some(Fault::NewtonSign),
        Ok("frozen-anchor") => Some(Fault::FrozenAnchor),
        Ok("loop-row") => Some(Fault::LoopRow),
        Ok("force-turn") => Some(Fault::ForceTurn),
        Ok("weak-friction") => Some(Fault::WeakFriction),
        Ok("one-stage") => Some(Fault::OneStage),
        Ok("late-direction") => Some(Fault::LateDirection),
        _ => None,
    });
    *chosen == Some(fault)
}
