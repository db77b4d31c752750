//! Flags that say which quantity: what `jacobian` and `motion` share.

use leastaction::jet::QuantityKind;
use leastaction_study::choice::Choice;
use leastaction_study::field::{Field, Kind};
use leastaction_study::quantity::{FrameChoice, QuantityChoice, With};

use crate::verb::Given;

pub(crate) const QUANTITY: Field =
    Field::flag("quantity", "QUANTITY", Kind::Word(QuantityKind::WORDS), "What to evaluate").required();
pub(crate) const ORDER: Field = Field::flag(
    "order",
    "K",
    Kind::Count(0, 1_000_000),
    "Order of the time derivative: 0 the quantity itself, 1 its rate",
)
.default("0");
pub(crate) const OF: Field = Field::flag("of", "BODY|FRAME", Kind::Text, "Body or frame it belongs to");
pub(crate) const FRAME: Field =
    Field::flag("frame", "FRAME", Kind::Word(FrameChoice::WORDS), "Frame it is expressed in")
        .default("local");
pub(crate) const WITH: Field =
    Field::flag("with", "WHAT", Kind::Word(With::WORDS), "What torques include besides inertia and gravity")
        .many();

/// The quantity that the flags name.
pub(crate) fn quantity(given: &Given<'_>) -> QuantityChoice {
    QuantityChoice {
        quantity: given.choice("quantity").unwrap_or(QuantityKind::Torque),
        order: given.count("order").unwrap_or(0) as usize,
        of: given.text("of").map(str::to_owned),
        frame: given.choice("frame").unwrap_or(FrameChoice::Local),
        passive: !given.texts("with").is_empty(),
    }
}
