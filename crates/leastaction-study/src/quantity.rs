//! Quantities of comprehensive motion by name: what `jacobian` and `motion` share.

use leastaction::jet::{JetWorkspace, Quantity, QuantityFrame, QuantityKind, Target};
use leastaction::mechanism::Mechanism;

use crate::choices;
use crate::failure::Failure;

/// Which quantity, of what, in which frame, to which order.
#[derive(Clone, Debug)]
pub struct QuantityChoice {
    /// What to evaluate.
    pub quantity: QuantityKind,
    /// Order of the time derivative: 0 the quantity itself, 1 its rate.
    pub order: usize,
    /// Body or frame it belongs to.
    pub of: Option<String>,
    /// Frame it is expressed in.
    pub frame: FrameChoice,
    /// Torques include springs, dampers and armature of the joints.
    pub passive: bool,
}

choices! {
    /// Local or world.
    FrameChoice {
        /// Axes and origin of the body or frame itself
        Local = "local",
        /// World axes, about the world origin
        World = "world",
    }
    /// What torques include besides inertia and gravity.
    With {
        /// Springs, dampers and armature of the joints
        Passive = "passive",
    }
}

/// Orders beyond this are refused: factorials and powers of time leave no digits.
const MAX_ORDER: usize = 12;

impl QuantityChoice {
    /// A workspace of the right order, and the quantity.
    ///
    /// # Errors
    /// If the order is too high or the target does not exist.
    pub fn prepare(&self, mechanism: &Mechanism) -> Result<(JetWorkspace<f64>, Quantity), Failure> {
        if self.order > MAX_ORDER {
            return Err(Failure::new(format!("order {} is not supported", self.order))
                .help(format!("take an order of at most {MAX_ORDER}")));
        }
        let mut jets = JetWorkspace::new(mechanism, self.quantity.force_order(self.order));
        jets.include_passive(self.passive);
        let frame = match self.frame {
            FrameChoice::Local => QuantityFrame::Local,
            FrameChoice::World => QuantityFrame::World,
        };
        let target = match &self.of {
            Some(name) if self.quantity.needs_target() => {
                let body = mechanism.body_by_name(name).map(Target::body);
                let target =
                    body.or_else(|| mechanism.frame_by_name(name).map(|id| Target::frame(mechanism, id)));
                Some(target.ok_or_else(|| unknown(mechanism, name))?)
            }
            Some(_) => {
                return Err(Failure::new(format!("{} belongs to the whole mechanism", self.quantity.name()))
                    .help("leave `--of` out"));
            }
            None if self.quantity.needs_target() => {
                return Err(Failure::new(format!("{} of what?", self.quantity.name()))
                    .help("name a body or frame with `--of NAME`; `leastaction info MODEL` lists them"));
            }
            None => None,
        };
        Ok((jets, Quantity { kind: self.quantity, order: self.order, frame, target }))
    }

    /// Unit of a value at one order, for plots.
    pub fn unit(&self, order: usize) -> String {
        let per = match order {
            0 => String::new(),
            1 => "/s".to_owned(),
            order => format!("/s^{order}"),
        };
        let parts: &[&str] = match self.quantity {
            QuantityKind::Pose => &["1", "m"],
            QuantityKind::Orientation => &["1"],
            QuantityKind::Point | QuantityKind::Com => &["m"],
            QuantityKind::Velocity => &["rad/s", "m/s"],
            QuantityKind::Torque | QuantityKind::LinkForce | QuantityKind::JointForce => &["N m", "N"],
            _ => &["kg m²/s", "kg m/s"],
        };
        parts.iter().map(|part| format!("{part}{per}")).collect::<Vec<_>>().join(", ")
    }

    /// Names of the rows of a value (or of its Jacobian) at one order.
    pub fn rows(&self, mechanism: &Mechanism, order: usize, of_jacobian: bool) -> Vec<String> {
        let parts: Vec<String> = match (self.quantity, of_jacobian) {
            (QuantityKind::Torque, _) => mechanism.v_labels(),
            (QuantityKind::Point | QuantityKind::Com, _) => named(&["x", "y", "z"]),
            (QuantityKind::Orientation, true) => named(&["wx", "wy", "wz"]),
            (QuantityKind::Pose, false) => {
                named(&["r00", "r01", "r02", "r10", "r11", "r12", "r20", "r21", "r22", "px", "py", "pz"])
            }
            (QuantityKind::Orientation, false) => {
                named(&["r00", "r01", "r02", "r10", "r11", "r12", "r20", "r21", "r22"])
            }
            (QuantityKind::Pose | QuantityKind::Velocity, _) => named(&["wx", "wy", "wz", "vx", "vy", "vz"]),
            (QuantityKind::LinkForce | QuantityKind::JointForce, _) => {
                named(&["nx", "ny", "nz", "fx", "fy", "fz"])
            }
            _ => named(&["lx", "ly", "lz", "px", "py", "pz"]),
        };
        let name = self.quantity.name();
        let of = self.of.as_ref().map(|of| format!(".{of}")).unwrap_or_default();
        let rate = if order == 0 { String::new() } else { format!(".d{order}") };
        parts.into_iter().map(|part| format!("{name}{of}{rate}.{part}")).collect()
    }
}

fn named(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn unknown(mechanism: &Mechanism, name: &str) -> Failure {
    let mut known: Vec<&str> = mechanism.bodies().iter().map(|body| body.name.as_str()).collect();
    known.extend(mechanism.frames().iter().map(|frame| frame.name.as_str()));
    Failure::new(format!("there is no body or frame `{name}` in `{}`", mechanism.name()))
        .suggest(name, &known)
}
