//! [`Group`]: tips of one link against one half-space. A ball around them tells at once that none is near.

use super::super::geometry::LinkPose;
use super::item::{Item, Kind};
use crate::contact_law::Against;
use crate::spatial::Vec3;

/// A link above a half-space.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Above {
    link: usize,
    normal: Vec3,
    offset: f64,
}

impl Above {
    fn of(item: &Item) -> Option<Self> {
        let (Kind::Pair { against: Against::HalfSpace { normal, offset }, .. }, [Some(link), None]) =
            (&item.kind, item.links)
        else {
            return None;
        };
        Some(Self { link, normal: *normal, offset: *offset })
    }
}

/// Items that no sweep finds, by where they are: tips of a link against a half-space, or others.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    above: Option<Above>,
    /// Distance of the farthest tip from the link's centre of mass.
    reach: f64,
    pub(crate) items: std::ops::Range<usize>,
    /// All were far when they were looked at last.
    pub(super) far: bool,
}

impl Group {
    /// Neighbours among the items that are not two bounded shapes, together where one ball holds them.
    pub(super) fn all(items: &[Item]) -> Vec<Self> {
        let mut out: Vec<Self> = Vec::new();
        for (k, item) in items.iter().enumerate().filter(|(_, item)| !item.is_bounded_pair()) {
            let above = Above::of(item);
            match out.last_mut() {
                Some(last) if last.above == above && last.items.end == k => {
                    last.items.end = k + 1;
                    last.reach = last.reach.max(item.reach[0]);
                }
                _ => out.push(Self { above, reach: item.reach[0], items: k..k + 1, far: false }),
            }
        }
        out
    }

    /// The link and the distance of its farthest tip; none of limits and frictions.
    pub(super) fn link(&self) -> Option<(usize, f64)> {
        self.above.map(|above| (above.link, self.reach))
    }

    /// True if no gap can be as small as `gap` at a pose.
    #[inline]
    pub(super) fn is_beyond(&self, gap: f64, poses: &[LinkPose]) -> bool {
        self.above.is_some_and(|a| a.normal.dot(poses[a.link].x) - a.offset - self.reach > gap)
    }
}
