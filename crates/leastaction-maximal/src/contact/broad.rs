//! [`Broad`]: which pairs of shapes are near each other, by balls around them swept along an axis.

use super::super::geometry::{LinkPose, Side};
use super::cluster::Cluster;
use super::item::{Item, Kind};
use super::memory::link_at;
use crate::spatial::Vec3;

/// A ball around a shape, in the frame of its link; none is the world.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ball {
    link: Option<usize>,
    center: Vec3,
    radius: f64,
}

/// What two shapes are to the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Near {
    /// One contact.
    Item(usize),
    /// Two shapes with edges.
    Cluster(usize),
}

/// Balls, and pairs of them that may touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Broad {
    balls: Vec<Ball>,
    /// By ball: others behind it that it may touch, and what they are together, sorted.
    partners: Vec<Vec<(usize, Near)>>,
    /// Centres in the world and radii with margin.
    world: Vec<(Vec3, f64)>,
    /// Balls by their least coordinate.
    order: Vec<usize>,
    /// Pairs that are near, in the order of the model.
    pub(crate) found: Vec<Near>,
}

impl Broad {
    pub(crate) fn new(items: &[Item], clusters: &[Cluster]) -> Self {
        let mut out = Self::default();
        let in_cluster = |k: usize| clusters.iter().find(|c| c.places().contains(&k));
        let mut k = 0;
        let mut cluster = 0;
        while k < items.len() {
            let item = &items[k];
            let Kind::Pair { tip, center, against } = &item.kind else { break };
            let (near, next) = match in_cluster(k) {
                Some(c) => (Near::Cluster(cluster), k + c.count),
                None => (Near::Item(k), k + 1),
            };
            if let Some((other, radius)) = against.ball() {
                let a = out.ball(Ball { link: item.links[0], center: *center, radius: tip.reach() });
                let b = out.ball(Ball { link: item.links[1], center: other, radius });
                out.partners[a.min(b)].push((a.max(b), near));
            }
            cluster += usize::from(matches!(near, Near::Cluster(_)));
            k = next;
        }
        out.partners.iter_mut().for_each(|list| list.sort_by_key(|(ball, _)| *ball));
        let pairs = out.partners.iter().map(Vec::len).sum();
        out.found.reserve(pairs);
        out.world = vec![(Vec3::zero(), 0.0); out.balls.len()];
        out.order = (0..out.balls.len()).collect();
        out
    }

    fn ball(&mut self, ball: Ball) -> usize {
        self.balls.iter().position(|b| *b == ball).unwrap_or_else(|| {
            self.balls.push(ball);
            self.partners.push(Vec::new());
            self.balls.len() - 1
        })
    }

    /// Finds pairs whose balls, each grown by the margin of its link or of the world, overlap at a pose.
    pub(crate) fn find(&mut self, side: &Side, poses: &[LinkPose], margin: impl Fn(Option<usize>) -> f64) {
        let Self { balls, partners, world, order, found } = self;
        for (ball, at) in balls.iter().zip(world.iter_mut()) {
            let link = link_at(side, poses, ball.link);
            *at = (link.pos + link.rot * ball.center, ball.radius + margin(ball.link));
        }
        let least = |i: usize| world[i].0[0] - world[i].1;
        // Nearly sorted from the last time.
        for m in 1..order.len() {
            let mut at = m;
            while at > 0 && least(order[at - 1]) > least(order[at]) {
                order.swap(at - 1, at);
                at -= 1;
            }
        }
        found.clear();
        for (m, &i) in order.iter().enumerate() {
            let (p, r) = world[i];
            for &j in order[m + 1..].iter().take_while(|j| least(**j) <= p[0] + r) {
                let (q, s) = world[j];
                if (p - q).norm2() > (r + s) * (r + s) {
                    continue;
                }
                let (low, high) = (i.min(j), i.max(j));
                let list = &partners[low];
                let first = list.partition_point(|(ball, _)| *ball < high);
                found.extend(list[first..].iter().take_while(|(b, _)| *b == high).map(|(_, near)| *near));
            }
        }
        // The order of sums must not depend on what came before.
        found.sort_unstable_by_key(|near| match near {
            Near::Item(k) => (0, *k),
            Near::Cluster(k) => (1, *k),
        });
    }
}
