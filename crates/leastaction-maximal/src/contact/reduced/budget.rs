//! What a step may cost: products spent, and when they are enough.

use super::super::super::graph::Graph;
use super::Reduced;

/// Products after which a part of a step is halved, and those, with iterations on the whole system, after which the step is given up:
/// what has no solution is told in seconds, not minutes. Drops of thirty bodies were solved that took more than 3e10 in a step.
const PART_PRODUCTS: f64 = 2e9;
const MOST_PRODUCTS: f64 = 8e10;
/// What an iteration costs per link beside the factors, in the time of a product; solves with factors that cost as much as they did.
const LINK: f64 = 2e4;
const SOLVES: f64 = 8.0;

impl Reduced {
    /// At the start of a step, nothing has been spent on it.
    pub(crate) fn begin(&mut self) {
        (self.products, self.part_products) = (0.0, 0.0);
    }

    /// An iteration on the whole system counts in the step as well: its factors, and what every link costs beside.
    pub(crate) fn spend_iteration(&mut self, graph: &Graph, links: usize) {
        self.products += graph.flops + LINK * links as f64;
    }

    /// A solve with the factors.
    pub(crate) fn spend_solve(&mut self, graph: &Graph) {
        self.products += graph.flops / SOLVES;
    }

    /// Nor on a part of it.
    pub(crate) fn begin_part(&mut self) {
        self.part_products = 0.0;
    }

    /// True if the part has cost so much that two halves are the better way.
    pub(crate) fn is_part_spent(&self) -> bool {
        self.part_products > PART_PRODUCTS
    }

    /// True if the step has cost so much that more of the same will not help.
    pub(crate) fn is_spent(&self) -> bool {
        self.products > MOST_PRODUCTS
    }
}
