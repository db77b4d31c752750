//! [`ContactMemory`]: what steps with contact need beside the workspace.

use super::super::geometry::Side;
use super::super::graph::Graph;
use super::super::layout::{Closure, ClosureKind, Layout};
use super::super::ldu::{Ldu, Six, System};
use super::super::state::MaximalState;
use super::super::workspace::Iterate;
use super::broad::Broad;
use super::cluster::Cluster;
use super::ground::Group;
use super::item::{Inventory, Item, Kind, items};
use super::options::Options;
use super::reduced::{Member, Reduced};
use super::tied::{TiedRow, TiedSystem};
use crate::contact_law::{ContactSettings, Law, Manifold, Touch};
use crate::integrator::ContactCounts;
use crate::mechanism::Mechanism;
use crate::spatial::Mat3;

/// One item while a step is solved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// Takes part in the problem at hand.
    pub(crate) active: bool,
    /// Open at the start of the interval.
    pub(crate) was_open: bool,
    /// Closed at the start node and at the end node.
    pub(crate) start: Touch,
    pub(crate) end: Touch,
    /// Normal and tangents at the node whose forces act.
    pub(crate) frame: Mat3,
    /// Rows of the forces (start) and of the velocities (end), by link: `[Ω; v]` of the joint point, world axes; B's are negative.
    pub(crate) force_rows: [[Six; 3]; 2],
    pub(crate) rate_rows: [[Six; 3]; 2],
    /// What the gap may be at the end: zero, or less where the start is inside.
    pub(crate) floor: f64,
    pub(crate) law: Law,
    /// Bound of a friction over the interval, and the sign of sliding where it is prescribed.
    pub(crate) bound: f64,
    pub(crate) sign: Option<f64>,
    /// Velocity and impulse, the impulse before a line search, and its proposed change.
    pub(crate) u: [f64; 3],
    pub(crate) gam: [f64; 3],
    pub(crate) base: [f64; 3],
    pub(crate) change: [f64; 3],
    /// Residual of the law.
    pub(crate) residual: [f64; 3],
    /// `B̃⁻¹ r` and `B̃⁻¹ A` of the elimination.
    pub(crate) offset: [f64; 3],
    pub(crate) stiffness: [[f64; 3]; 3],
    /// Closure and first row in it, for contacts between two links.
    pub(crate) place: Option<(usize, usize)>,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            active: false,
            was_open: true,
            start: Touch::default(),
            end: Touch::default(),
            frame: Mat3::identity(),
            force_rows: [[[0.0; 6]; 3]; 2],
            rate_rows: [[[0.0; 6]; 3]; 2],
            floor: 0.0,
            law: Law::new(0.0, 1.0),
            bound: 0.0,
            sign: None,
            u: [0.0; 3],
            gam: [0.0; 3],
            base: [0.0; 3],
            change: [0.0; 3],
            residual: [0.0; 3],
            offset: [0.0; 3],
            stiffness: [[0.0; 3]; 3],
            place: None,
        }
    }
}

/// Memory of steps with contact.
#[derive(Clone, Debug)]
pub(crate) struct ContactMemory {
    pub(crate) options: Options,
    pub(crate) items: Vec<Item>,
    /// By contact of the mechanism: its items.
    pub(crate) places: Vec<std::ops::Range<usize>>,
    pub(crate) probes: Vec<Probe>,
    /// Items that no sweep finds: the ground, limits, friction.
    pub(crate) groups: Vec<Group>,
    /// Items near enough to take part, in their order; no other is active.
    pub(crate) live: Vec<usize>,
    /// Rows over several joints, and what solves for them.
    pub(crate) tied: Vec<TiedRow>,
    pub(crate) tied_system: TiedSystem,
    /// Pairs of shapes with edges, and which pairs are near.
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) broad: Broad,
    /// The features of the pair that was looked at last.
    pub(crate) manifold: Box<Manifold>,
    /// Number of the interval that was opened last.
    pub(crate) stamp: u64,
    /// By link: its farthest point that may touch another body.
    pub(crate) link_reach: Vec<f64>,
    /// The linear solver, with closures for contacts between links behind those of the mechanism.
    pub(crate) layout: Layout,
    pub(crate) graph: Graph,
    pub(crate) ldu: Ldu,
    pub(crate) system: System,
    /// The contact problem in the impulses alone, and the right-hand side without contacts that belongs to it.
    pub(crate) reduced: Reduced,
    pub(crate) bare: System,
    /// Links and rows of the closures for contacts, as built and as wanted.
    built: Vec<(usize, usize, usize)>,
    wanted: Vec<(usize, usize, usize)>,
    /// Incoming momenta about the joint points and constants of the coordinate rows, without contact.
    pub(crate) incoming: Vec<Six>,
    pub(crate) known: Vec<f64>,
    /// Changes of the interval velocities.
    pub(crate) change: Vec<Six>,
    /// The guess that a solve started from.
    pub(crate) guess: Iterate,
    pub(crate) smoothing: f64,
    /// What is left of the equations but the laws at the evaluated iterate.
    pub(crate) unbalanced: f64,
    /// The node problem: velocities and rates with their base, wrenches, multipliers, blocks of the links, momenta.
    pub(crate) node: NodeMemory,
    /// The start of a part, to go back to.
    pub(crate) backup: MaximalState,
    /// What inputs had done by then.
    pub(crate) backup_work: f64,
    /// Energy of motion and of weights and springs there.
    pub(crate) backup_energy: (f64, f64),
    pub(crate) backup_actuation: Vec<f64>,
    /// Contact impulses at the start node and the end node of the last step, over A, world axes; limits: first number.
    pub(crate) start_impulse: Vec<[f64; 3]>,
    pub(crate) end_impulse: Vec<[f64; 3]>,
    /// The same per link: torque in link axes, force in world axes.
    pub(crate) on_links: [Vec<Six>; 2],
    /// Distances at the last node of what was near, and the poses there.
    pub(crate) end_gap: Vec<f64>,
    pub(crate) end_poses: Vec<super::super::geometry::LinkPose>,
    /// The same as forces at the node that the last step started from.
    pub(crate) force: Vec<[f64; 3]>,
    /// Contact points and gaps at that node.
    pub(crate) point: Vec<[f64; 3]>,
    pub(crate) gap: Vec<f64>,
    /// Normal forces and slips there.
    pub(crate) normal: Vec<f64>,
    pub(crate) slip: Vec<f64>,
    /// Items that have such numbers, impulses at the end node, and distances there.
    pub(crate) told: Vec<usize>,
    pub(crate) ended: Vec<usize>,
    pub(crate) seen: Vec<usize>,
    /// Closed contacts by the links that they are between.
    pub(crate) between: Vec<([usize; 2], usize)>,
    pub(crate) counts: ContactCounts,
}

/// Unknowns of the node problem.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeMemory {
    /// `[Ω; v]` of the joint points.
    pub(crate) w: Vec<Six>,
    pub(crate) w_base: Vec<Six>,
    pub(crate) rate: Vec<f64>,
    pub(crate) rate_base: Vec<f64>,
    pub(crate) wrench: Vec<Six>,
    pub(crate) wrench_base: Vec<Six>,
    pub(crate) lam: Vec<Six>,
    pub(crate) lam_base: Vec<Six>,
    /// Forces of the coordinates' rows, for the residual.
    pub(crate) force: Vec<f64>,
    /// Momenta about the joint points.
    pub(crate) momentum: Vec<Six>,
    pub(crate) residual: Vec<Six>,
    /// Velocities and end impulses to go back to.
    pub(crate) before: Vec<Six>,
    pub(crate) scale: f64,
}

impl NodeMemory {
    fn new(n: usize, nc: usize, nv: usize) -> Self {
        Self {
            w: vec![[0.0; 6]; n],
            w_base: vec![[0.0; 6]; n],
            rate: vec![0.0; nv],
            rate_base: vec![0.0; nv],
            wrench: vec![[0.0; 6]; n],
            wrench_base: vec![[0.0; 6]; n],
            lam: vec![[0.0; 6]; nc],
            lam_base: vec![[0.0; 6]; nc],
            force: vec![0.0; nv],
            momentum: vec![[0.0; 6]; n],
            residual: vec![[0.0; 6]; n],
            before: vec![[0.0; 6]; n],
            scale: 1.0,
        }
    }
}

impl ContactMemory {
    pub(crate) fn new(
        mechanism: &Mechanism,
        layout: &mut Layout,
        settings: ContactSettings,
        nq: usize,
        nv: usize,
    ) -> Self {
        let Inventory { items, places, clusters, tied } = items(mechanism, layout);
        // Coordinates with a limit or friction have a force row.
        for item in &items {
            if let Kind::Limit { at, .. } | Kind::Friction { at, .. } = item.kind {
                layout.links[at.link].joint.rows.has_rows = true;
            }
        }
        let options = Options::new(layout, &items, settings);
        let graph = Graph::new(layout);
        let (n, nc, count) = (layout.links.len(), layout.closures.len(), items.len());
        let broad = Broad::new(&items, &clusters);
        let mut link_reach = vec![0.0f64; n];
        for item in items.iter().filter(|item| item.is_bounded_pair()) {
            for x in 0..2 {
                if let Some(i) = item.links[x] {
                    link_reach[i] = link_reach[i].max(item.reach[x]);
                }
            }
        }
        Self {
            options,
            places,
            probes: vec![Probe::default(); count],
            groups: Group::all(&items),
            live: Vec::with_capacity(count),
            tied,
            tied_system: TiedSystem::default(),
            clusters,
            broad,
            manifold: Box::default(),
            stamp: 0,
            link_reach,
            ldu: Ldu::new(layout, &graph, nv),
            system: System::new(layout, nv),
            graph,
            reduced: Reduced::default(),
            bare: System::default(),
            built: Vec::new(),
            wanted: Vec::new(),
            incoming: vec![[0.0; 6]; n],
            known: vec![0.0; nv],
            change: vec![[0.0; 6]; n],
            guess: Iterate {
                w: vec![[0.0; 6]; n],
                wrench: vec![[0.0; 6]; n],
                lam: vec![[0.0; 6]; nc],
                limit: vec![0.0; nv],
            },
            smoothing: 0.0,
            unbalanced: 0.0,
            node: NodeMemory::new(n, nc, nv),
            backup: MaximalState::new(layout, (1, 0), nq, nv),
            backup_work: 0.0,
            backup_energy: (0.0, 0.0),
            backup_actuation: Vec::with_capacity(layout.places.len()),
            start_impulse: vec![[0.0; 3]; count],
            end_impulse: vec![[0.0; 3]; count],
            on_links: [vec![[0.0; 6]; n], vec![[0.0; 6]; n]],
            end_gap: vec![f64::INFINITY; count],
            end_poses: Vec::with_capacity(n),
            force: vec![[0.0; 3]; count],
            point: vec![[0.0; 3]; count],
            gap: vec![f64::NAN; count],
            normal: vec![0.0; count],
            slip: vec![0.0; count],
            told: Vec::with_capacity(count),
            ended: Vec::with_capacity(count),
            seen: Vec::with_capacity(count),
            between: Vec::with_capacity(count),
            counts: ContactCounts::default(),
            items,
            layout: layout.clone(),
        }
    }

    /// Gives every active contact between two links its rows in a closure; builds the linear solver anew if the pairs of links
    /// that may touch have changed, and allocates only then.
    pub(crate) fn place(&mut self, base: &Layout) {
        self.wanted.clear();
        let first = base.closures.len();
        for &k in &self.live {
            let (item, probe) = (&self.items[k], &mut self.probes[k]);
            probe.place = None;
            if !(probe.active && item.is_between_links()) {
                continue;
            }
            let (Some(a), Some(b)) = (item.links[0], item.links[1]) else { continue };
            let found = self.wanted.iter().rposition(|w| (w.0, w.1) == (a, b) && w.2 == 3);
            let at = match found {
                Some(at) => {
                    self.wanted[at].2 = 6;
                    probe.place = Some((first + at, 3));
                    continue;
                }
                None => {
                    self.wanted.push((a, b, 3));
                    self.wanted.len() - 1
                }
            };
            probe.place = Some((first + at, 0));
        }
        self.layout.row_tolerance = base.row_tolerance;
        if self.wanted == self.built {
            return;
        }
        self.built.clone_from(&self.wanted);
        self.layout.closures.truncate(first);
        for &(a, b, rows) in &self.wanted {
            self.layout.closures.push(Closure {
                kind: ClosureKind::Coordinates,
                index: 0,
                a: Some(a),
                b: Some(b),
                rows,
                name: String::new(),
            });
        }
        let nv = self.known.len();
        let (size, kept) = (std::mem::take(&mut self.ldu.size), std::mem::take(&mut self.ldu.kept));
        self.graph = Graph::new(&self.layout);
        self.ldu = Ldu::new(&self.layout, &self.graph, nv);
        self.system = System::new(&self.layout, nv);
        self.ldu.size[..first].copy_from_slice(&size[..first]);
        self.ldu.kept[..first].copy_from_slice(&kept[..first]);
    }

    /// What takes part, in its order.
    pub(crate) fn taking_part(&self) -> impl Iterator<Item = (&Item, &Probe)> {
        self.live.iter().map(|k| (&self.items[*k], &self.probes[*k])).filter(|(_, probe)| probe.active)
    }

    /// Keeps the impulses as the base of a line search.
    pub(crate) fn keep_impulses(&mut self) {
        for &k in &self.live {
            self.probes[k].base = self.probes[k].gam;
        }
    }

    /// Impulses a part of the way from the base.
    pub(crate) fn move_impulses(&mut self, length: f64) {
        for &k in &self.live {
            let probe = &mut self.probes[k];
            if probe.active {
                probe.gam = std::array::from_fn(|m| probe.base[m] + length * probe.change[m]);
            }
        }
    }

    /// The active contacts as a problem in their impulses.
    pub(crate) fn begin_reduced(&mut self) {
        let Self { items, probes, live, reduced, options, .. } = self;
        reduced.members.clear();
        let mut n = 0;
        for &k in live.iter().filter(|k| probes[**k].active) {
            let (item, probe) = (&items[k], &probes[k]);
            let rows = item.rows();
            let bound = if item.is_bilateral() {
                Some((f64::INFINITY, None))
            } else {
                item.is_friction().then_some((probe.bound, probe.sign))
            };
            let scale = item.arm / (item.rho * options.speed);
            let law = Law { rho: item.rho, smoothing: 0.0, ..probe.law };
            reduced.members.push(Member { item: k, first: n, rows, law, bound, scale });
            n += rows;
        }
        reduced.resize(n);
        for member in &reduced.members {
            let probe = &probes[member.item];
            for r in 0..member.rows {
                (reduced.u0[member.first + r], reduced.g0[member.first + r]) = (probe.u[r], probe.gam[r]);
            }
        }
    }

    /// Right-hand side of one impulse of an item.
    pub(crate) fn push_alone(&mut self, k: usize, row: usize) {
        let Self { items, probes, tied, system, .. } = self;
        system.rest();
        let mut unit = [0.0; 3];
        unit[row] = 1.0;
        push(&items[k], &probes[k], tied, &unit, system);
    }

    /// The whole right-hand side with the proposed changes of the impulses.
    pub(crate) fn push_changes(&mut self) {
        let Self { items, probes, tied, live, system, bare, .. } = self;
        system.clone_from(bare);
        for &k in live.iter().filter(|k| probes[**k].active) {
            push(&items[k], &probes[k], tied, &probes[k].change, system);
        }
    }

    /// No changes of the impulses.
    pub(crate) fn reset_changes(&mut self) {
        for &k in &self.live {
            self.probes[k].change = [0.0; 3];
        }
    }

    /// Takes what the last solution moves the contacts by as a column of the problem in the impulses.
    pub(crate) fn read_column(&mut self, column: usize) {
        let Self { items, probes, tied, system, reduced, .. } = self;
        let n = reduced.n;
        for member in &reduced.members {
            let u = velocity_of(&items[member.item], &probes[member.item], tied, system);
            for r in 0..member.rows {
                reduced.w[(member.first + r) * n + column] = u[r];
            }
        }
    }

    /// What the residual alone moves the contacts by, added to their velocities.
    pub(crate) fn read_residual(&mut self) {
        let Self { items, probes, tied, system, reduced, .. } = self;
        for member in &reduced.members {
            let u = velocity_of(&items[member.item], &probes[member.item], tied, system);
            for r in 0..member.rows {
                reduced.u0[member.first + r] += u[r];
            }
        }
        reduced.g.copy_from_slice(&reduced.g0);
    }

    /// Proposed changes of the impulses from the problem in them.
    pub(crate) fn take_reduced(&mut self) {
        let Self { probes, reduced, .. } = self;
        for member in &reduced.members {
            let change = &mut probes[member.item].change;
            *change = [0.0; 3];
            for r in 0..member.rows {
                change[r] = reduced.g[member.first + r] - reduced.g0[member.first + r];
            }
        }
    }

    /// Proposed changes of the impulses after a solve; false if one is not finite.
    pub(crate) fn propose(&mut self) -> bool {
        let Self { items, probes, live, system, .. } = self;
        for &k in live.iter() {
            let (item, probe) = (&items[k], &mut probes[k]);
            if !probe.active {
                continue;
            }
            match (&item.kind, probe.place) {
                (Kind::Pair { .. }, Some((c, first))) => {
                    probe.change = std::array::from_fn(|k| system.closure[c][first + k]);
                }
                (Kind::Pair { .. }, None) => {
                    let du = probe.rates_by(item, &probe.rate_rows, &system.body);
                    for k in 0..3 {
                        let s = &probe.stiffness[k];
                        probe.change[k] = -probe.offset[k] - (s[0] * du[0] + s[1] * du[1] + s[2] * du[2]);
                    }
                }
                (Kind::Limit { at, sign, .. }, _) => {
                    let rate = sign * system.rate[at.v];
                    probe.change = [-probe.offset[0] - probe.stiffness[0][0] * rate, 0.0, 0.0];
                }
                (Kind::Friction { at, .. }, _) => {
                    let rate = system.rate[at.v];
                    probe.change = [-probe.offset[0] - probe.stiffness[0][0] * rate, 0.0, 0.0];
                }
                // Solved for beside the factored matrix.
                (Kind::Tied { .. }, _) => {}
            }
            if probe.change.iter().any(|x| !x.is_finite()) {
                return false;
            }
        }
        true
    }

    /// Largest residual of a law, as a speed of the model.
    pub(crate) fn worst_law(&self) -> f64 {
        self.taking_part().fold(0.0, |m, (item, probe)| {
            let scale = item.arm / (item.rho * self.options.speed);
            probe.residual.iter().fold(m, |m, r| m.max(r.abs() * scale))
        })
    }

    /// Contacts that were made soft are hard again.
    pub(crate) fn harden(&mut self) {
        for &k in &self.live {
            self.probes[k].law.compliance = 0.0;
        }
    }

    /// True if a contact or limit takes part.
    pub(crate) fn any_active(&self) -> bool {
        self.live.iter().any(|k| self.probes[*k].active)
    }
}

/// Adds an item's impulse to a right-hand side.
fn push(item: &Item, probe: &Probe, tied: &[TiedRow], impulse: &[f64; 3], system: &mut System) {
    match item.kind {
        Kind::Pair { .. } => {
            for x in 0..2 {
                if let Some(i) = item.links[x] {
                    probe.add_impulse(x, impulse, 1.0, &mut system.body[i]);
                }
            }
        }
        Kind::Limit { at, sign, .. } => system.force[at.v] += sign * impulse[0],
        Kind::Friction { at, .. } => system.force[at.v] += impulse[0],
        Kind::Tied { row, .. } => tied[row].push(impulse[0], &mut system.body),
    }
}

/// Velocities of an item in a solution.
fn velocity_of(item: &Item, probe: &Probe, tied: &[TiedRow], system: &System) -> [f64; 3] {
    match item.kind {
        Kind::Pair { .. } => probe.rates_by(item, &probe.rate_rows, &system.body),
        Kind::Limit { at, sign, .. } => [sign * system.rate[at.v], 0.0, 0.0],
        Kind::Friction { at, .. } => [system.rate[at.v], 0.0, 0.0],
        Kind::Tied { row, .. } => [tied[row].rate(&system.body), 0.0, 0.0],
    }
}

/// A link's frame for contacts at one side.
#[inline]
pub(crate) fn link_at(
    side: &Side,
    poses: &[super::super::geometry::LinkPose],
    link: Option<usize>,
) -> crate::contact_law::Link {
    match link {
        Some(i) => crate::contact_law::Link { rot: side.rot[i], pos: poses[i].x },
        None => crate::contact_law::Link::ground(),
    }
}
