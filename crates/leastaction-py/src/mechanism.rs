//! `Mechanism`: a model ready for computing, shared by everything that is made from it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};

use leastaction::dynamics::Dynamics;
use leastaction::io::{Reading, read_model_json, write_model_json, write_urdf};
use leastaction::mechanism::{
    BodyId, FrameId, JointRole, JointType, Mechanism as Model3, ModelDescription, State as CoreState,
};
use leastaction::spatial::Pose;
use leastaction_study::model::{self, Model};
use leastaction_study::scenario;
use leastaction_study::serve;
use leastaction_study::settings::{Group, Settings};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};

use crate::arrays::view;
use crate::errors::{failure_error, to_python, unknown_name};
use crate::keywords;
use crate::state::State;

/// What `load` can be told.
pub(crate) const LOAD: &[Group] = &[Group::Read, Group::Change];

/// A model as it was read, what was said about it, and the mechanism it comes to.
#[derive(Debug)]
pub(crate) struct Shared {
    /// As it was read.
    pub(crate) model: Model,
    /// Built, before anything was changed.
    pub(crate) built: Model3,
    /// What was said when it was loaded.
    pub(crate) settings: Settings,
    /// With what the settings change.
    pub(crate) mechanism: Model3,
    /// The same as data.
    description: ModelDescription,
    ignored: Vec<String>,
    gravity: [f64; 3],
    hash: String,
    /// Where quaternions begin, and of which joint.
    quaternions: Vec<(usize, String)>,
    workspaces: Mutex<Vec<Dynamics>>,
}

impl Shared {
    pub(crate) fn new(
        model: Model,
        built: Model3,
        settings: Settings,
    ) -> Result<Self, leastaction_study::failure::Failure> {
        let changed = serve::change(&model, built.clone(), &settings)?;
        let mechanism = changed.mechanism;
        let quaternions = mechanism
            .tree_joints()
            .filter(|id| matches!(mechanism.joint(*id).kind, JointType::Spherical | JointType::Floating))
            .map(|id| (mechanism.q_range(id).start, mechanism.joint(id).name.clone()))
            .collect();
        let hash = model::hash(&model.description);
        let gravity = mechanism.gravity().0;
        Ok(Self {
            model,
            built,
            settings,
            mechanism,
            description: changed.description,
            ignored: changed.ignored,
            gravity,
            hash,
            quaternions,
            workspaces: Mutex::new(Vec::new()),
        })
    }

    /// Lends memory to `work`; one per thread that computes.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Dynamics, &Model3) -> R) -> R {
        // Never waits: a lock that a fork has copied in its locked state must not hang.
        let kept = match self.workspaces.try_lock() {
            Ok(mut kept) => kept.pop(),
            Err(TryLockError::Poisoned(kept)) => kept.into_inner().pop(),
            Err(TryLockError::WouldBlock) => None,
        };
        let mut dynamics = kept.unwrap_or_else(|| Dynamics::new(&self.mechanism));
        let result = work(&mut dynamics, &self.mechanism);
        if let Ok(mut kept) = self.workspaces.try_lock() {
            kept.push(dynamics);
        }
        result
    }

    /// The joint whose quaternion is not of unit length.
    pub(crate) fn stretched(&self, q: &[f64]) -> Option<&str> {
        let off = |at: usize| (q[at..at + 4].iter().map(|x| x * x).sum::<f64>() - 1.0).abs() > 1e-6;
        self.quaternions.iter().find(|(at, _)| off(*at)).map(|(_, joint)| joint.as_str())
    }
}

/// A body or a frame on one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Body(BodyId),
    Frame(FrameId),
}

impl Place {
    /// The body, none for the world, and the pose on it.
    pub(crate) fn on(self, mechanism: &Model3) -> (Option<BodyId>, Pose) {
        match self {
            Self::Body(body) => (Some(body), Pose::identity()),
            Self::Frame(frame) => {
                let frame = &mechanism.frames()[frame.index()];
                (frame.body, frame.placement)
            }
        }
    }
}

/// Living mechanisms by what they were made from.
static LIVING: Mutex<Option<HashMap<String, Weak<Shared>>>> = Mutex::new(None);

/// A mechanism: bodies, joints, loops, and everything that can be computed from them.
///
/// Made by `load` or by `Model.build`. It never changes; simulators, states and problems keep it alive.
///
/// >>> import leastaction as la
/// >>> la.load("@chain/3")
/// <Mechanism `chain-3`: 3 bodies, nq 3, nv 3, nu 0>
#[pyclass(frozen, module = "leastaction._core", weakref)]
#[derive(Debug)]
pub(crate) struct Mechanism {
    pub(crate) shared: Arc<Shared>,
}

impl Mechanism {
    /// A body or frame by name.
    pub(crate) fn place(&self, py: Python<'_>, name: &str) -> PyResult<Place> {
        let mechanism = &self.shared.mechanism;
        if let Some(body) = mechanism.body_by_name(name) {
            return Ok(Place::Body(body));
        }
        mechanism.frame_by_name(name).map(Place::Frame).ok_or_else(|| {
            let bodies = mechanism.bodies().iter().map(|body| body.name.as_str());
            let known: Vec<&str> = bodies.chain(mechanism.frames().iter().map(|f| f.name.as_str())).collect();
            unknown_name(py, "body or frame", name, &known)
        })
    }

    fn slice<'py>(
        &self,
        py: Python<'py>,
        joint: &str,
        range: fn(&Model3, leastaction::mechanism::JointId) -> std::ops::Range<usize>,
    ) -> PyResult<Bound<'py, PySlice>> {
        let mechanism = &self.shared.mechanism;
        match mechanism.joint_by_name(joint).filter(|id| mechanism.joint(*id).role == JointRole::Tree) {
            Some(id) => {
                let range = range(mechanism, id);
                Ok(PySlice::new(py, range.start as isize, range.end as isize, 1))
            }
            None => Err(unknown_name(py, "joint", joint, &model::moving_joints(mechanism))),
        }
    }
}

#[pymethods]
impl Mechanism {
    /// Name of the model.
    #[getter]
    fn name(&self) -> &str {
        self.shared.mechanism.name()
    }
    /// Number of positions.
    #[getter]
    fn nq(&self) -> usize {
        self.shared.mechanism.nq()
    }
    /// Number of velocities.
    #[getter]
    fn nv(&self) -> usize {
        self.shared.mechanism.nv()
    }
    /// Number of inputs.
    #[getter]
    fn nu(&self) -> usize {
        self.shared.mechanism.nu()
    }
    /// Number of bodies.
    #[getter]
    fn nb(&self) -> usize {
        self.shared.mechanism.nb()
    }
    /// Total mass in kg.
    #[getter]
    fn mass(&self) -> f64 {
        self.shared.mechanism.mass()
    }
    /// Gravitational acceleration in m/s², a read-only view.
    #[getter]
    fn gravity<'py>(this: &Bound<'py, Self>) -> Bound<'py, PyArray1<f64>> {
        view(this.clone().into_any(), &this.get().shared.gravity)
    }
    /// Names of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.shared.mechanism.inputs().to_vec()
    }
    /// Names of the joints of the tree that move, in the order of the velocities.
    #[getter]
    fn joints(&self) -> Vec<String> {
        model::moving_joints(&self.shared.mechanism).iter().map(|name| (*name).to_owned()).collect()
    }
    /// Names of the joints that close loops.
    #[getter]
    fn loop_joints(&self) -> Vec<String> {
        let mechanism = &self.shared.mechanism;
        mechanism.loop_joints().map(|id| mechanism.joint(id).name.clone()).collect()
    }
    /// Names of the bodies.
    #[getter]
    fn bodies(&self) -> Vec<String> {
        self.shared.mechanism.bodies().iter().map(|body| body.name.clone()).collect()
    }
    /// Names of the frames on bodies.
    #[getter]
    fn frames(&self) -> Vec<String> {
        self.shared.mechanism.frames().iter().map(|frame| frame.name.clone()).collect()
    }
    /// Names of the states that the model has.
    #[getter]
    fn states(&self) -> Vec<String> {
        self.shared.mechanism.states().keys().cloned().collect()
    }
    /// Labels of the positions: `JOINT` or `JOINT.part`.
    #[getter]
    fn q_labels(&self) -> Vec<String> {
        self.shared.mechanism.q_labels()
    }
    /// Labels of the velocities.
    #[getter]
    fn v_labels(&self) -> Vec<String> {
        self.shared.mechanism.v_labels()
    }
    /// Hash of the model: two runs with one hash ran one model.
    #[getter]
    fn hash(&self) -> &str {
        &self.shared.hash
    }
    /// What `ignore` left out, in sentences.
    #[getter]
    fn ignored(&self) -> Vec<String> {
        self.shared.ignored.clone()
    }
    /// Warnings of the reader: dictionaries with severity, element, message, remedy and place.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let list =
            self.shared.model.reading.diagnostics.iter().map(leastaction_cli::diagnostic_json).collect();
        to_python(py, &serde_json::Value::Array(list))
    }

    /// Where the positions of a joint are: `q[mech.q_slice("knee")]`.
    #[pyo3(signature = (joint, /))]
    fn q_slice<'py>(&self, py: Python<'py>, joint: &str) -> PyResult<Bound<'py, PySlice>> {
        self.slice(py, joint, Model3::q_range)
    }
    /// Where the velocities of a joint are: `v[mech.v_slice("knee")]`.
    #[pyo3(signature = (joint, /))]
    fn v_slice<'py>(&self, py: Python<'py>, joint: &str) -> PyResult<Bound<'py, PySlice>> {
        self.slice(py, joint, Model3::v_range)
    }

    /// The state the model starts from.
    fn start_state(&self) -> State {
        State::of(&self.shared, self.shared.mechanism.start_state())
    }
    /// All joints at zero, at rest.
    fn neutral_state(&self) -> State {
        State::of(&self.shared, self.shared.mechanism.neutral_state())
    }
    /// A state by name; see `states`.
    #[pyo3(signature = (name, /))]
    fn named_state(&self, py: Python<'_>, name: &str) -> PyResult<State> {
        let states = self.shared.mechanism.states();
        match states.get(name) {
            Some(state) => Ok(State::of(&self.shared, state.clone())),
            None => {
                let known: Vec<&str> = states.keys().map(String::as_str).collect();
                Err(unknown_name(py, "state", name, &known))
            }
        }
    }
    /// A state from positions and velocities; what is left out is as at the start.
    #[pyo3(signature = (q = None, v = None, t = 0.0))]
    fn state<'py>(
        &self,
        py: Python<'py>,
        q: Option<&Bound<'py, PyAny>>,
        v: Option<&Bound<'py, PyAny>>,
        t: f64,
    ) -> PyResult<State> {
        let start = self.shared.mechanism.start_state();
        let state = CoreState { t, ..start };
        State::changed(py, &self.shared, state, q, v)
    }

    /// The model as JSON text (`leastaction/model/1`), without what `load` was told to leave out.
    fn to_json(&self) -> String {
        write_model_json(&self.shared.description)
    }
    /// The model as URDF text, and sentences about what URDF can't say.
    fn to_urdf(&self) -> (String, Vec<String>) {
        let (text, lost) = write_urdf(&self.shared.description);
        (text, lost.iter().map(ToString::to_string).collect())
    }

    fn __repr__(&self) -> String {
        let m = &self.shared.mechanism;
        format!("<Mechanism `{}`: {} bodies, nq {}, nv {}, nu {}>", m.name(), m.nb(), m.nq(), m.nv(), m.nu())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let (a, b) = (&self.shared, &other.get().shared);
            Arc::ptr_eq(a, b)
                || (a.model.slug == b.model.slug && a.hash == b.hash && a.settings == b.settings)
        })
    }
    fn __hash__(&self) -> u64 {
        u64::from_str_radix(&self.shared.hash, 16).unwrap_or(0)
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String, String, String))> {
        let shared = &this.get().shared;
        let restore = this.py().import("leastaction._core")?.getattr("_restore_mechanism")?;
        let text = serde_json::to_string(&shared.model.description).unwrap_or_default();
        Ok((restore, (shared.model.slug.clone(), text, shared.settings.to_toml())))
    }
    fn __copy__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }
    fn __deepcopy__<'py>(this: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        this
    }
}

/// Lets files of up to that many bytes be read, in the whole process, where the limit of their kind is lower.
///
/// >>> import leastaction as la
/// >>> la.read_files_up_to(1_000_000_000)
#[pyfunction]
#[pyo3(signature = (bytes, /))]
pub(crate) fn read_files_up_to(bytes: u64) {
    leastaction::io::read_files_up_to(bytes);
}

/// Reads and builds a model: a URDF, MJCF or JSON file, or a built-in such as `@double-pendulum`.
///
/// >>> import leastaction as la
/// >>> la.load("@chain/3", gravity=[0, 0, 0]).gravity
/// array([0., 0., 0.])
#[pyfunction]
#[pyo3(signature = (model, /, **settings))]
pub(crate) fn load(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Mechanism> {
    let name: String = match model.extract() {
        Ok(name) => name,
        Err(_) => py.import("os")?.call_method1("fspath", (model,))?.extract()?,
    };
    let settings = match settings {
        Some(given) => keywords::settings(given, LOAD)?,
        None => Settings::default(),
    };
    let shared = py.detach(|| {
        let (model, built) = model::load(&name, &settings.reading())?;
        Shared::new(model, built, settings)
    });
    Ok(Mechanism { shared: Arc::new(shared.map_err(|failure| failure_error(py, &failure))?) })
}

/// A mechanism from the JSON text of a model.
///
/// >>> import leastaction as la
/// >>> la.from_json(la.load("@chain/3").to_json()).nv
/// 3
#[pyfunction]
#[pyo3(signature = (text, /, name = "model", **settings))]
pub(crate) fn from_json(
    py: Python<'_>,
    text: &str,
    name: &str,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Mechanism> {
    let settings = match settings {
        Some(given) => keywords::settings(given, LOAD)?,
        None => Settings::default(),
    };
    let shared = built(text, name, settings).map_err(|failure| failure_error(py, &failure))?;
    Ok(Mechanism { shared: Arc::new(shared) })
}

fn built(text: &str, slug: &str, settings: Settings) -> Result<Shared, leastaction_study::failure::Failure> {
    let mut reading: Reading = read_model_json(text, Path::new(slug));
    let built = reading.build();
    match (built, reading.description.clone()) {
        (Some(built), Some(description)) => {
            let model = Model { slug: model::slug(slug), description, reading, case: None };
            Shared::new(model, built, settings)
        }
        _ => Err(leastaction_study::failure::Failure::new(format!("`{slug}` can't be used"))
            .with_diagnostics(reading.diagnostics)),
    }
}

/// The living mechanism of that model, or a new one.
#[pyfunction]
pub(crate) fn _restore_mechanism(
    py: Python<'_>,
    slug: &str,
    text: &str,
    settings: &str,
) -> PyResult<Mechanism> {
    let key = format!("{slug}\n{settings}\n{text}");
    let table = || LIVING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shared) = table().as_ref().and_then(|living| living.get(&key)).and_then(Weak::upgrade) {
        return Ok(Mechanism { shared });
    }
    let said = scenario::parse(settings, Path::new("settings"))
        .map_err(|_| crate::errors::internal("settings of a pickled mechanism can't be read"))?;
    let shared = built(text, slug, said).map_err(|failure| failure_error(py, &failure))?;
    let shared = Arc::new(shared);
    let mut table = table();
    let living = table.get_or_insert_default();
    living.retain(|_, weak| weak.strong_count() > 0);
    living.insert(key, Arc::downgrade(&shared));
    Ok(Mechanism { shared })
}
