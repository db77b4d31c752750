//! Faults on purpose, for the test that experiments can fail. Only with the feature `sabotage`, which nothing else uses.
//!
//! The environment variable `LEASTACTION_SABOTAGE` chooses one fault; each acts in the lines that name it.

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
    /// `leak`: steps lose a millionth of the momentum, in both variational engines.
    Leak,
    /// `node-weight`: the first Lobatto weight is a thousandth too large.
    NodeWeight,
    /// `slow-links`: every link looks at every other one, in both variational engines.
    SlowLinks,
    /// `slow-jacobian`: every column of a motion Jacobian looks at all others ten times.
    SlowJacobian,
    /// `jacobian-entry`: the first entry of a motion Jacobian is off by a billionth.
    JacobianEntry,
    /// `lost-term`: motions are optimised without the last term of their cost.
    LostTerm,
    /// `draw-count`: draws of a sweep depend on how many there were before.
    DrawCount,
}

/// Every fault with its name.
const FAULTS: [(&str, Fault); 14] = [
    ("newton-sign", Fault::NewtonSign),
    ("frozen-anchor", Fault::FrozenAnchor),
    ("loop-row", Fault::LoopRow),
    ("force-turn", Fault::ForceTurn),
    ("weak-friction", Fault::WeakFriction),
    ("one-stage", Fault::OneStage),
    ("late-direction", Fault::LateDirection),
    ("leak", Fault::Leak),
    ("node-weight", Fault::NodeWeight),
    ("slow-links", Fault::SlowLinks),
    ("slow-jacobian", Fault::SlowJacobian),
    ("jacobian-entry", Fault::JacobianEntry),
    ("lost-term", Fault::LostTerm),
    ("draw-count", Fault::DrawCount),
];

/// True if this fault was chosen.
pub fn chosen(fault: Fault) -> bool {
    static CHOSEN: OnceLock<Option<Fault>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let name = std::env::var("LEASTACTION_SABOTAGE").ok()?;
        FAULTS.iter().find(|(known, _)| *known == name).map(|(_, fault)| *fault)
    });
    *chosen == Some(fault)
}

/// Work that is of no use.
pub fn waste(count: usize) {
    for k in 0..count {
        std::hint::black_box(k);
    }
}
