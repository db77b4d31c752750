//! From a model to a mechanism that an integrator can run: what is changed, what is left out, what is refused.

use std::collections::HashSet;

use leastaction::contact::{ContactSettings, Impacts, Turns};
use leastaction::integrator::maximal::{Composition, ContactDerivative, MaximalOptions, RotationMap};
use leastaction::integrator::minimal::Policy;
use leastaction::integrator::{Integrator, Method, MethodOptions};
use leastaction::io::{Diagnostic, SourceMap};
use leastaction::mechanism::{
    HalfSpaceDescription, JointRole, JointType, Mechanism, MechanismBuilder, ModelDescription, Origin,
    PerCoordinate,
};

use crate::changes;
use crate::choice::{
    Choice, ContactMode, EventMode, FrictionMode, Ignore, IterationName, LimitMode, MapName,
};
use crate::failure::Failure;
use crate::model::Model;
use crate::settings::Settings;

/// At most so many refused elements are listed.
const LISTED: usize = 20;

/// An element that changes the motion and that an integrator may not support.
#[derive(Clone, Debug, PartialEq)]
pub struct Special {
    /// What it is.
    pub kind: Ignore,
    /// The element, as a user would name it.
    pub element: String,
    /// What about it.
    pub what: String,
    /// Where it was read from.
    pub origin: Option<Origin>,
    /// True if no integrator supports it.
    pub nowhere: bool,
}

/// A mechanism ready to run.
#[derive(Debug)]
pub struct Served {
    /// The mechanism, with what is ignored left out.
    pub mechanism: Mechanism,
    /// The integrator.
    pub method: Method,
    /// Its options.
    pub options: MethodOptions,
    /// What was left out, in sentences.
    pub ignored: Vec<String>,
    /// What was chosen and should be known, in sentences.
    pub notes: Vec<String>,
}

/// Which special elements of a mechanism an integrator supports.
fn serves(method: Method, kind: Ignore, mechanism: &Mechanism) -> bool {
    match kind {
        Ignore::Loops | Ignore::Rolling => method == Method::Maximal,
        // In poses not beside rolling.
        Ignore::Friction => method != Method::Maximal || mechanism.constraints().is_empty(),
        Ignore::Mimic | Ignore::Couplings => true,
    }
}

/// The integrator for a mechanism when the user names none.
fn default_method(mechanism: &Mechanism) -> Method {
    let constrained = mechanism.loop_joints().next().is_some() || !mechanism.constraints().is_empty();
    if constrained { Method::Maximal } else { Method::Minimal }
}

/// A model with what the settings change about it.
#[derive(Debug)]
pub struct Changed {
    /// As data.
    pub description: ModelDescription,
    /// Built.
    pub mechanism: Mechanism,
    /// What was left out, in sentences.
    pub ignored: Vec<String>,
}

/// Applies what the settings change about the model.
///
/// # Errors
/// If what is left is no model.
pub fn change(model: &Model, built: Mechanism, settings: &Settings) -> Result<Changed, Failure> {
    let mut description = model.description.clone();
    let mut changed = false;
    if let Some(gravity) = settings.gravity {
        description.gravity = gravity;
        changed = true;
    }
    if !settings.set.is_empty() {
        changes::apply(&mut description, &settings.set, settings.keep_inertia == Some(true))?;
        changed |= description != model.description;
    }
    if settings.undamped == Some(true) {
        for joint in &mut description.joints {
            joint.damping = PerCoordinate::default();
            joint.friction = PerCoordinate::default();
        }
        changed = true;
    }
    if settings.friction == Some(FrictionMode::Off) {
        leave_out(&mut description, &built, &[Ignore::Friction]);
        changed = true;
    }
    let mut ignored = Vec::new();
    if !settings.ignore.is_empty() {
        for special in specials(&description, &built) {
            if settings.ignore.contains(&special.kind) {
                let place = model.reading.sources.locate(special.origin);
                let place =
                    place.map(|at| format!(" ({}:{})", at.file.display(), at.line)).unwrap_or_default();
                ignored.push(format!("{}: {}{place}", special.element, special.what));
            }
        }
        leave_out(&mut description, &built, &settings.ignore);
        changed = true;
    }
    if settings.ground == Some(true) && !description.surfaces.is_empty() {
        description.half_spaces.push(HalfSpaceDescription::ground());
        changed = true;
    }
    let mut mechanism = if changed { rebuild(description.clone(), &model.reading.sources)? } else { built };
    if settings.limits != Some(LimitMode::Enforce) {
        mechanism.release_limits();
    }
    if settings.contact == Some(ContactMode::Off) {
        mechanism.set_contacts(Vec::new());
    }
    Ok(Changed { description, mechanism, ignored })
}

/// Applies what the settings change about the model, chooses the integrator, and refuses what it does not support.
pub fn prepare(model: &Model, built: Mechanism, settings: &Settings) -> Result<Served, Failure> {
    let Changed { description, mut mechanism, ignored } = change(model, built, settings)?;
    let mut notes = Vec::new();
    let method = choose(settings, &mut mechanism, &mut notes)?;
    notes.extend(tell_contact(model, settings, &mechanism));
    refuse(&description, &mechanism, method, &model.reading.sources)?;
    let mut order = settings.order.or((method == Method::Minimal).then_some(4));
    if !mechanism.contacts().is_empty() && order.is_some_and(|order| order > 2) {
        notes.push("contact is stepped at order 2; `--contact off` keeps the order".into());
        order = Some(2);
    }
    let mut options = MethodOptions { order, tolerance: settings.tolerance, ..Default::default() };
    options.policy = match settings.iteration {
        Some(IterationName::Newton) => Policy::Newton,
        Some(IterationName::Chord) => Policy::Chord,
        Some(IterationName::Mass) => Policy::Mass,
        Some(IterationName::Automatic) | None => Policy::Automatic,
    };
    if settings.iteration.is_some() && method != Method::Minimal {
        return Err(Failure::new(format!("the {} integrator has no `--iteration`", method.name()))
            .help("use `--integrator minimal`, or leave the flag out"));
    }
    options.maximal = MaximalOptions {
        rotation_map: match settings.rotation_map {
            Some(MapName::Cayley) => RotationMap::Cayley,
            Some(MapName::Sine) | None => RotationMap::Sine,
        },
        composition: composition_of(model, settings.order),
        enforce_limits: settings.limits == Some(LimitMode::Enforce),
        contact: ContactSettings {
            impacts: settings.impacts.map(|mode| match mode {
                EventMode::Stepped => Impacts::Stepped,
                EventMode::Located => Impacts::Located,
            }),
            turns: settings.turns.map(|mode| match mode {
                EventMode::Stepped => Turns::Stepped,
                EventMode::Located => Turns::Located,
            }),
            ..ContactSettings::default()
        },
        contact_derivative: settings
            .relaxed
            .map_or(ContactDerivative::Exact, |speed| ContactDerivative::Relaxed { speed: Some(speed) }),
    };
    if settings.rotation_map.is_some() && method != Method::Maximal {
        return Err(Failure::new(format!("the {} integrator has no `--rotation-map`", method.name()))
            .help("use `--integrator maximal`, or leave the flag out"));
    }
    Ok(Served { mechanism, method, options, ignored, notes })
}

/// That geoms of MJCF touch, where nobody asked for it: it decides about the integrator.
fn tell_contact(model: &Model, settings: &Settings, mechanism: &Mechanism) -> Option<String> {
    let mut surfaces = model.description.surfaces.iter();
    let at = surfaces.find_map(|surface| model.reading.sources.locate(surface.origin))?;
    let is_mjcf = at.file.extension().is_some_and(|e| e.eq_ignore_ascii_case("xml") || e == "mjcf");
    let asked = settings.contact.is_some() || settings.ground == Some(true);
    if asked || !is_mjcf || mechanism.contacts().is_empty() {
        return None;
    }
    let pairs = count_pairs(mechanism);
    Some(format!("{pairs} of geoms may touch: steps in poses of order 2; `--contact off` lets them pass"))
}

fn count_pairs(mechanism: &Mechanism) -> String {
    match mechanism.contact_pairs().len() {
        1 => "1 pair".to_owned(),
        pairs => format!("{pairs} pairs"),
    }
}

/// The integrator: what the user names, or for surfaces that touch the one that knows contact.
fn choose(
    settings: &Settings,
    mechanism: &mut Mechanism,
    notes: &mut Vec<String>,
) -> Result<Method, Failure> {
    let touches = !mechanism.contacts().is_empty();
    let asked = settings.contact == Some(ContactMode::On) || settings.ground == Some(true);
    if asked && !touches {
        return Err(Failure::new("nothing of the model can touch").help(
            "give bodies surfaces: geoms in MJCF, `surfaces` in JSON, `<collision>` in URDF with `--ground`",
        ));
    }
    if let Some(method) = settings.integrator {
        if touches && method != Method::Maximal {
            let pairs = count_pairs(mechanism);
            return Err(Failure::new(format!(
                "the {} integrator has no contact, and {pairs} of the model's surfaces can touch",
                method.name()
            ))
            .help("use `--integrator maximal`, or `--contact off` to let bodies pass through each other"));
        }
        return Ok(method);
    }
    if !touches {
        return Ok(default_method(mechanism));
    }
    let Err(error) = leastaction::integrator::maximal::Maximal::default().workspace(mechanism) else {
        return Ok(Method::Maximal);
    };
    if asked {
        return Err(Failure::from_error(&error).help("`--contact off` runs the model without contact"));
    }
    notes.push(format!("surfaces do not touch: {error}"));
    mechanism.set_contacts(Vec::new());
    Ok(default_method(mechanism))
}

/// The composition that a reference file was made with, unless another order is asked for.
fn composition_of(model: &Model, order: Option<u32>) -> Option<Composition> {
    let case = model.case.as_ref().filter(|case| order.is_none_or(|order| order == case.order))?;
    match case.composition? {
        "yoshida" => Some(Composition::Yoshida),
        _ => Some(Composition::Suzuki),
    }
}

pub(crate) fn rebuild(description: ModelDescription, sources: &SourceMap) -> Result<Mechanism, Failure> {
    MechanismBuilder::from(description).build().map_err(|error| {
        let diagnostics = error.problems.iter().map(|p| Diagnostic::from_problem(p, sources)).collect();
        Failure::new("the model can't be used with these flags").with_diagnostics(diagnostics)
    })
}

/// Every element of a model that some integrator does not support, in the order of the file.
pub fn specials(description: &ModelDescription, built: &Mechanism) -> Vec<Special> {
    let mut found = Vec::new();
    let mut add = |kind, element: String, what: String, origin| {
        found.push(Special { kind, element, what, origin, nowhere: false });
    };
    for joint in &description.joints {
        let element = format!("joint `{}`", joint.name);
        if !joint.friction.is_zero() {
            let values: Vec<String> = joint.friction.values().map(|x| x.to_string()).collect();
            add(
                Ignore::Friction,
                element.clone(),
                format!("Coulomb friction {}", values.join(", ")),
                joint.origin,
            );
        }
        // A fixed joint has no coordinate that could follow another.
        if let Some(mimic) = joint.mimic.as_ref().filter(|_| joint.kind != JointType::Fixed) {
            add(Ignore::Mimic, element.clone(), format!("mimic of joint `{}`", mimic.joint), joint.origin);
        }
        let id = built.joint_by_name(&joint.name);
        let closes_loop = id.is_some_and(|id| built.joint(id).role == JointRole::Loop);
        if closes_loop {
            add(
                Ignore::Loops,
                element,
                format!("{} joint that closes a loop", joint.kind.name()),
                joint.origin,
            );
        }
    }
    for coupling in &description.couplings {
        let what = match &coupling.of {
            Some(of) => format!("coupling to joint `{of}`"),
            None => "coupling to a constant".to_owned(),
        };
        add(Ignore::Couplings, format!("joint `{}`", coupling.joint), what, coupling.origin);
    }
    for tendon in &description.tendons {
        add(Ignore::Couplings, format!("tendon `{}`", tendon.name), "fixed tendon".into(), tendon.origin);
    }
    for constraint in &description.constraints {
        let what = format!("rolling or sliding constraint on body `{}`", constraint.body());
        add(Ignore::Rolling, format!("constraint `{}`", constraint.name()), what, None);
    }
    for special in found.iter_mut().filter(|special| special.kind == Ignore::Friction) {
        let joint =
            description.joints.iter().find(|joint| special.element == format!("joint `{}`", joint.name));
        special.nowhere =
            joint.is_some_and(|joint| matches!(joint.kind, JointType::Spherical | JointType::Floating));
    }
    found
}

/// Removes all elements of these kinds.
pub fn leave_out(description: &mut ModelDescription, built: &Mechanism, kinds: &[Ignore]) {
    for kind in kinds {
        match kind {
            Ignore::Friction => {
                description.joints.iter_mut().for_each(|joint| joint.friction = PerCoordinate::default());
            }
            Ignore::Mimic => description.joints.iter_mut().for_each(|joint| joint.mimic = None),
            Ignore::Couplings => {
                description.couplings.clear();
                description.tendons.clear();
            }
            Ignore::Loops => {
                let loops: HashSet<&str> =
                    built.loop_joints().map(|id| built.joint(id).name.as_str()).collect();
                description.joints.retain(|joint| !loops.contains(joint.name.as_str()));
                // A coupling or mimic of a joint that is gone has no meaning.
                description.couplings.retain(|c| !loops.contains(c.joint.as_str()));
            }
            Ignore::Rolling => description.constraints.clear(),
        }
    }
}

fn refuse(
    description: &ModelDescription,
    mechanism: &Mechanism,
    method: Method,
    sources: &SourceMap,
) -> Result<(), Failure> {
    let refused: Vec<Special> = specials(description, mechanism)
        .into_iter()
        .filter(|special| special.nowhere || !serves(method, special.kind, mechanism))
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    let mut kinds: Vec<Ignore> = refused.iter().map(|special| special.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let diagnostics = refused.iter().take(LISTED).map(|special| {
        let mut remedy = format!("`--ignore {}` leaves it out", special.kind.word());
        let methods = [Method::Minimal, Method::Maximal];
        let other = methods.into_iter().find(|other| serves(*other, special.kind, mechanism));
        if let Some(other) = other.filter(|_| !special.nowhere) {
            remedy = format!("`--integrator {}` supports it; {remedy}", other.name());
        }
        let message = format!("{}, which the {} integrator does not support", special.what, method.name());
        Diagnostic::error(special.element.clone(), message, remedy).at(sources.locate(special.origin))
    });
    let flag = kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(",");
    let elements = if refused.len() == 1 { "element" } else { "elements" };
    Err(Failure::new(format!(
        "the {} integrator does not support {} {elements} of the model",
        method.name(),
        refused.len()
    ))
    .help(format!("`--ignore {flag}` runs without; the summary and the report then say so"))
    .with_diagnostics(diagnostics.collect()))
}
