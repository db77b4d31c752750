//! The outward sweep of states side by side, node by node.
//!
//! A number of four states fills a register, so nodes are not worth keeping together: taken one by one, a segment's pose and
//! velocity stay in registers, and node 0, which does not move while a step is solved, is placed once. Operation by operation
//! this is `Residual::outward`, with the same bits.

use super::lanes::Lanes;
use super::residual::{Point, Residual, sym_times, times_constant, times_vector, turn_about_z};
use super::scheme::Scheme;
use super::segments::{GROUND, Motion, Segment, Segments};
use crate::scalar::Real;
use crate::spatial::{Mat3, Momentum, Pose, Twist, Vec3};

#[inline(always)]
fn vector_at<T: Real, const N: usize>(x: &Vec3<Lanes<T, N>>, k: usize) -> Vec3<T> {
    Vec3([x.0[0].0[k], x.0[1].0[k], x.0[2].0[k]])
}
#[inline(always)]
fn put_vector<T: Real, const N: usize>(out: &mut Vec3<Lanes<T, N>>, k: usize, x: Vec3<T>) {
    out.0[0].0[k] = x.0[0];
    out.0[1].0[k] = x.0[1];
    out.0[2].0[k] = x.0[2];
}
#[inline(always)]
fn twist_at<T: Real, const N: usize>(x: &Twist<Lanes<T, N>>, k: usize) -> Twist<T> {
    Twist::new(vector_at(&x.ang, k), vector_at(&x.lin, k))
}
#[inline(always)]
fn put_twist<T: Real, const N: usize>(out: &mut Twist<Lanes<T, N>>, k: usize, x: Twist<T>) {
    put_vector(&mut out.ang, k, x.ang);
    put_vector(&mut out.lin, k, x.lin);
}
#[inline(always)]
fn pose_at<T: Real, const N: usize>(x: &Pose<Lanes<T, N>>, k: usize) -> Pose<T> {
    let mut rot = Mat3::zero();
    for i in 0..3 {
        for j in 0..3 {
            rot.0[i][j] = x.rot.0[i][j].0[k];
        }
    }
    Pose::new(rot, vector_at(&x.pos, k))
}
#[inline(always)]
fn put_pose<T: Real, const N: usize>(out: &mut Pose<Lanes<T, N>>, k: usize, x: &Pose<T>) {
    for i in 0..3 {
        for j in 0..3 {
            out.rot.0[i][j].0[k] = x.rot.0[i][j];
        }
    }
    put_vector(&mut out.pos, k, x.pos);
}

impl<T: Real, const N: usize> Residual<T, N> {
    /// Poses, columns, velocities and momenta of all segments. `first` is false where the base is that of the last call.
    #[inline(always)]
    pub(crate) fn outward_by_node(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        point: &Point<T, N>,
        first: bool,
    ) {
        for (i, segment) in segments.list.iter().enumerate() {
            if segment.motion == Motion::Ball {
                let (before, v) = self.frame_before(segment, point);
                self.outward_ball(i, segments, scheme, point, before, v);
            } else {
                let c = segment.coordinate;
                self.rates[c] = self.rate(scheme, point.delta[c]);
                for k in 0..N {
                    if first || k > 0 {
                        self.place_node(i, segment, point, k);
                    }
                    let column = twist_at(&self.columns[c], k);
                    let v = match segment.parent {
                        GROUND => Twist::zero(),
                        parent => twist_at(&self.velocities[parent], k),
                    };
                    put_twist(&mut self.column_rates[c], k, v.cross(column));
                    put_twist(&mut self.velocities[i], k, v + column * self.rates[c].0[k]);
                }
            }
            if segment.massless {
                self.momenta[i] = Momentum::zero();
                self.moments[i] = Vec3::zero();
                continue;
            }
            for k in 0..N {
                self.momentum_at_node(i, segment, k);
            }
        }
    }

    /// Pose and column of a turn or slide at node `k`.
    #[inline(always)]
    fn place_node(&mut self, i: usize, segment: &Segment, point: &Point<T, N>, k: usize) {
        let place = &segment.placement;
        let before = if segment.parent == GROUND {
            Pose::new(Mat3::constant(place.rot), Vec3::zero())
        } else {
            let parent = pose_at(&self.poses[segment.parent], k);
            let pos = times_vector(&parent.rot, place.pos) + parent.pos;
            Pose::new(times_constant(&parent.rot, &place.rot), pos)
        };
        let c = segment.coordinate;
        let (delta, axis) = (point.delta[c].0[k], before.rot.column(2));
        if segment.motion == Motion::Turn {
            put_pose(&mut self.poses[i], k, &turn_about_z(&before, delta + point.base[c]));
            put_twist(&mut self.columns[c], k, Twist::new(axis, before.pos.cross(axis)));
        } else {
            let x = if segment.droppable { delta } else { delta + point.base[c] };
            put_pose(&mut self.poses[i], k, &Pose::new(before.rot, before.pos + axis * x));
            put_twist(&mut self.columns[c], k, Twist::new(Vec3::zero(), axis));
        }
    }

    /// Momentum of one body about the origin, by its centre of mass, at node `k`.
    #[inline(always)]
    fn momentum_at_node(&mut self, i: usize, segment: &Segment, k: usize) {
        let (pose, v) = (pose_at(&self.poses[i], k), twist_at(&self.velocities[i], k));
        let p = times_vector(&pose.rot, segment.com) + pose.pos;
        let f = (v.lin + v.ang.cross(p)).scale(segment.mass);
        let spin = pose.rot.tr_mul(v.ang);
        let l = pose.rot * sym_times(&segment.about_com, spin);
        put_vector(&mut self.momenta[i].ang, k, l + p.cross(f));
        put_vector(&mut self.momenta[i].lin, k, f);
        put_vector(&mut self.moments[i], k, p.scale(segment.mass));
    }
}
