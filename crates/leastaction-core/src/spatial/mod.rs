//! Spatial algebra: poses, twists, wrenches, momenta and inertias, angular part first, on fixed arrays.
//!
//! | quantity | type | components |
//! |---|---|---|
//! | pose `X_AB` | [`Pose`] | rotation and position of frame B in A |
//! | twist `V` | [`Twist`] | angular, linear velocity |
//! | wrench `F` | [`Wrench`] | torque, force |
//! | momentum `μ` | [`Momentum`] | angular, linear momentum |
//! | inertia `G` | [`Inertia`] | mass, first moment, rotational inertia about the origin |
//! | articulated inertia `Ĝ` | [`ArticulatedInertia`] | symmetric 6×6 |

mod inertia;
mod pose;
mod principal;
mod quat;
mod sixd;
mod vec3;

pub use inertia::{ArticulatedInertia, Inertia, Sym3};
pub use pose::Pose;
#[doc(hidden)]
pub use principal::principal;
pub use quat::Quat;
pub use sixd::{Momentum, Twist, Wrench};
pub use vec3::{Mat3, Vec3};
