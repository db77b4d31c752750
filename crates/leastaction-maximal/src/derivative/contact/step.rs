//! Steps with contact, differentiated: what is taken over while they are solved. (9.19), (9.22)

use super::super::StepDerivative;
use super::Pressed;
use super::pairs::Problem;
use super::pose_product::RelaxedLink;
use super::switches::ContactSwitch;
use crate::contact::{Between, ContactMemory};
use crate::contact_law::Impacts;
use crate::integrator::{Input, StepError, StepReport};
use crate::ldu::{angular, linear};
use crate::mechanism::Mechanism;
use crate::read_out::assemble_node_at;
use crate::residual::{assemble, closure_rows};
use crate::rotation_map::RotationMap;
use crate::state::MaximalState;
use crate::workspace::MaximalWorkspace;
use crate::{ContactDerivative, Maximal};

/// Speed, of the model's, within which a contact is near a switch.
const NEAR: f64 = 1e-6;

impl StepDerivative {
    /// Contacts, limits and frictions of the last step that were within 1e-6 m/s (for links of 1 m) of a switch: where they open,
    /// close, stick or slip the exact derivative is one-sided.
    #[must_use]
    pub fn contact_switches(&self) -> &[ContactSwitch] {
        &self.touching.switches.list
    }

    /// Forgets the contacts of the step before.
    fn clear_contact(&mut self, mem: &ContactMemory) {
        self.touching.landed = false;
        self.touching.relaxed = false;
        self.touching.nodes = 0;
        self.touching.switches.list.clear();
        self.touching.switches.limit = NEAR * mem.options.speed;
    }

    /// Differentiates the interval just solved, before it is accepted.
    pub(crate) fn capture_contact_interval(
        &mut self,
        ws: &mut MaximalWorkspace,
        mem: &mut ContactMemory,
        map: RotationMap,
        state: &MaximalState,
        u: &[f64],
    ) {
        self.touching.nodes = 0;
        self.touching.landed = false;
        self.touching.switches.list.clear();
        let base = ws.layout.closures.len();
        let between = Between {
            map,
            h: ws.step.h,
            start: &state.side,
            end: &ws.trial.side,
            poses: &ws.trial.poses,
            w: &ws.iterate.w,
        };
        let mut problem = Problem {
            layout: &ws.layout,
            smoothing: mem.smoothing,
            start_w: &state.contact.w,
            switches: &mut self.touching.switches,
        };
        let (rows, impulses) = problem.interval(&between, &state.poses, &mem.items, &mut mem.probes);
        let mut pressed = Pressed::new(&ws.layout, mem.known.len(), rows);
        let mut ldu = pressed.matrix(&mem.ldu, base);
        let (ends, system) = (&pressed.graph().ends, &mut mem.system);
        assemble(true, map, &ws.layout, ends, state, &ws.step, &ws.iterate, &mut ws.trial, &mut ldu, system);
        self.stages[0].keep(&ws.layout, pressed.graph(), &ldu);
        self.capture_slopes(&ws.layout, &ws.step, map, state, &ws.iterate, &ws.trial, u, 0);
        pressed.enter(base, &mut ldu, &state.side, &ws.trial.side);
        let stage = &mut self.stages[0];
        impulses
            .entries()
            .iter()
            .for_each(|(row, column, block)| stage.rows_by_both.push(*row, *column, *block));
        stage.contact = Some(Box::new(pressed));
        stage.ldu = ldu;
        self.touching.end.clear();
        if mem.smoothing > 0.0 {
            let ends = ws.trial.poses.iter().zip(&ws.iterate.w);
            self.touching.end.extend(ends.map(|(pose, w)| RelaxedLink {
                q: pose.q,
                x: pose.x,
                omega: angular(w),
                v: linear(w),
            }));
        }
    }

    /// Differentiates the node problem just solved: the only one of a step, or the first or second of an impact.
    pub(crate) fn capture_contact_node(
        &mut self,
        ws: &mut MaximalWorkspace,
        mem: &mut ContactMemory,
        state: &MaximalState,
        per_step: Option<f64>,
    ) {
        let touching = &mut self.touching;
        if touching.nodes == 1 {
            std::mem::swap(&mut self.end, &mut touching.landing);
            touching.kick.node.clone_from(&touching.landing.node);
            touching.kick.fill_momenta(&ws.layout, state);
            touching.landed = true;
        }
        touching.nodes += 1;
        touching.q.clone_from(&state.q);
        let (base, end) = (ws.layout.closures.len(), &mut self.end);
        end.node.take(&ws.layout, &ws.step.rows, state, &mem.node.w, &mem.node.rate);
        end.fill_slopes(&ws.layout, state, &state.momentum, (&mem.node.wrench, &mem.node.lam));
        // Velocities at the start of the step: the state still has them.
        let mut problem = Problem {
            layout: &ws.layout,
            smoothing: mem.smoothing,
            start_w: &state.contact.w,
            switches: &mut touching.switches,
        };
        let (w, slopes) = (&mem.node.w, &mut end.rows_by_pose);
        let rows = problem.node(&state.poses, w, per_step, &mem.items, &mem.probes, slopes);
        let mut pressed = Pressed::new(&ws.layout, mem.known.len(), rows);
        let (mut ldu, mut graph) = (pressed.matrix(&mem.ldu, base), pressed.graph().clone());
        let mut swap = |ws: &mut MaximalWorkspace, mem: &mut ContactMemory| {
            std::mem::swap(&mut ws.ldu, &mut ldu);
            std::mem::swap(&mut ws.graph, &mut graph);
            std::mem::swap(&mut ws.system, &mut mem.system);
        };
        swap(ws, mem);
        assemble_node_at(ws, &state.side, Some(&state.inertia));
        swap(ws, mem);
        pressed.enter(base, &mut ldu, &state.side, &state.side);
        end.per_step = per_step.unwrap_or(0.0);
        end.contact = Some(Box::new(pressed));
        end.ldu = ldu;
    }
}

impl Maximal {
    /// Takes a step with contact and differentiates it: exactly, or as the relaxed step.
    pub(in super::super) fn differentiate_contact(
        &self,
        mechanism: &Mechanism,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        input: Input<'_>,
        h: f64,
        slope: &mut StepDerivative,
    ) -> Result<StepReport, StepError> {
        if slope.parameters.len() > 0 {
            return Err(StepError::Unsupported {
                integrator: "the derivative of a step of maximal",
                what: "parameters of the model with contact".into(),
                remedy: "use `--contact off`, or differentiate by state and inputs only".into(),
            });
        }
        closure_rows(&ws.layout, &state.side, &state.poses, &mut ws.step.rows);
        let start = &mut slope.start;
        start.node.take(&ws.layout, &ws.step.rows, state, &state.contact.w, &state.contact.rate);
        start.gauge.fill([0.0; 6]);
        start.gauge_lam.fill([0.0; 6]);
        start.fill_momenta(&ws.layout, state);
        start.gauge.fill([0.0; 6]);
        slope.chart.fill(&ws.layout, &slope.start.node, &state.poses, state.t)?;
        if let Some(mem) = &ws.contact {
            slope.clear_contact(mem);
        }
        if let ContactDerivative::Relaxed { speed } = self.contact_derivative {
            self.relax(mechanism, ws, state, input, h, speed, slope)?;
            slope.touching.relaxed = true;
            return self.step_with_contact(mechanism, ws, state, input, h, None);
        }
        slope.saved.save(state);
        let (time, before) = (state.t, ws.contact_counts());
        let report = self.step_with_contact(mechanism, ws, state, input, h, Some(&mut *slope))?;
        let (after, located) =
            (ws.contact_counts(), ws.contact.as_ref().is_some_and(|m| m.options.impacts == Impacts::Located));
        let what = if report.splits > 0 {
            "derivative of a step that had to be split"
        } else if located && report.events > 0 {
            "derivative of a step with a located impact"
        } else if after.turns > before.turns {
            "derivative of a step that is cut where friction turns"
        } else if after.scaled > before.scaled {
            "derivative of a step whose restitution was scaled"
        } else {
            return Ok(report);
        };
        state.restore(&ws.layout, &slope.saved);
        Err(StepError::Singular {
            time,
            what,
            joint: "of the mechanism".into(),
            remedy: "take a smaller step or another state, or use the relaxed derivative",
        })
    }
}
