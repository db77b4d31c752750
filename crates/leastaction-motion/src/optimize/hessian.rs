//! The Hessian of a transcription: (5.3) at every sample, pulled back to the band (5.4).

use super::rows::TermRows;
use super::transcription::{Point, Transcription};
use crate::jet::Samples;
use crate::linalg::Banded;
use crate::simd::{Task, run_widest};

/// Samples whose matrices are assembled at once: as many as quantities are evaluated at once, so that the matrices stay in
/// the nearest cache however many samples there are.
const AT_ONCE: usize = crate::simd::LANES;

/// Which Hessian to assemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HessianKind {
    /// With the curvature of the quantities.
    Exact,
    /// `Jᵀ W J` only.
    GaussNewton,
}

impl Transcription {
    /// Assembles (5.4) over the free control points and the diagonal of its Gauss–Newton part.
    ///
    /// `multipliers` and `barrier` hold λ and Σ per `[sample][row]`; empty means none.
    pub fn hessian(
        &mut self,
        weights: &[f64],
        point: &Point,
        multipliers: &[f64],
        barrier: &[f64],
        kind: HessianKind,
        out: &mut Banded,
        diagonal: &mut [f64],
    ) {
        let (samples, size, nz, n) = (self.table.len(), self.size, self.nz, self.n);
        out.clear();
        diagonal.fill(0.0);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.blocks.resize(size * size, 0.0);
        scratch.weighted.resize(n * size, 0.0);
        scratch.block.resize(n * n, 0.0);
        let mut omega = vec![0.0; self.row_count()];
        self.row_weights(weights, 0, &mut omega);
        // Terms that count for a while only: what acts changes from sample to sample.
        let changes = self.terms.iter().any(|term| term.samples.len() < samples);
        let paced = self.pace.is_some();
        if paced {
            scratch.border.clear();
            scratch.border.resize(samples * size, 0.0);
            scratch.corner = 0.0;
        }
        for first in (0..samples).step_by(AT_ONCE) {
            let group = first..samples.min(first + AT_ONCE);
            scratch.hx.clear();
            scratch.hx.resize(group.len() * size * size, 0.0);
            for (s, hx) in group.clone().zip(scratch.hx.chunks_exact_mut(size * size)) {
                if changes {
                    self.row_weights(weights, s, &mut omega);
                }
                self.add_squares(s, &omega, weights, point, barrier, hx);
                self.add_diagonal(s, hx, diagonal);
                self.add_task_squares(s, point, hx);
            }
            if kind == HessianKind::Exact && nz > 0 {
                scratch.mu.resize(group.len() * nz, 0.0);
                for (s, mu) in group.clone().zip(scratch.mu.chunks_exact_mut(nz)) {
                    self.curvature_weights(s, weights, point, multipliers, mu);
                }
                if scratch.mu.iter().any(|m| *m != 0.0) {
                    let all = Samples { first: 0, times: &self.table.times, x: &point.x };
                    self.quantities.add_hessians(all.part(group.clone()), &scratch.mu, &mut scratch.hx);
                }
            }
            for (s, hx) in group.zip(scratch.hx.chunks_exact(size * size)) {
                if paced {
                    self.add_to_border(s, point, hx, &mut scratch.border, &mut scratch.corner);
                }
                let (blocks, weighted) = (&mut scratch.blocks[..], &mut scratch.weighted[..]);
                let memory = Blocks { blocks, weighted, block: &mut scratch.block };
                run_widest(AddSample { tr: self, s, hx, memory, out });
            }
        }
        self.scratch = scratch;
        if paced {
            self.close_border(weights, point, multipliers);
        }
        if let Some((_, strength)) = self.anchor {
            (0..diagonal.len()).for_each(|i| out.add_diagonal(i, strength));
        }
        for (term, w) in self.terms.iter().zip(weights) {
            if term.control.is_some() {
                let share = w / self.table.n_control as f64;
                for (i, d) in diagonal.iter_mut().enumerate() {
                    out.add_diagonal(i, share);
                    *d += share;
                }
            }
        }
    }

    /// The part of (5.3) without curvature at one sample: `Ω_x + Σ_x + Zᵀ (Ω_z + Σ_z) Z`.
    fn add_squares(
        &self,
        s: usize,
        omega: &[f64],
        weights: &[f64],
        point: &Point,
        barrier: &[f64],
        hx: &mut [f64],
    ) {
        let (size, nz, rows) = (self.size, self.nz, self.row_count());
        let share = self.table.weights[s];
        let sigma = |row: usize| barrier.get(s * rows + row).copied().unwrap_or(0.0);
        for row in 0..size {
            hx[row * size + row] = share * omega[row] + sigma(row);
        }
        for r in 0..nz {
            let w = share * omega[size + r] + sigma(size + r);
            if w != 0.0 {
                add_outer(hx, &point.jacobian[(s * nz + r) * size..][..size], w);
            }
        }
        for (term, w) in self.terms.iter().zip(weights).filter(|(t, _)| t.block > 0 && t.samples.contains(&s))
        {
            self.add_matrix(term, share * w, point, s, hx);
        }
    }

    /// `μ` of (5.3) at one sample: what weighs the curvature of each quantity.
    fn curvature_weights(
        &self,
        s: usize,
        weights: &[f64],
        point: &Point,
        multipliers: &[f64],
        mu: &mut [f64],
    ) {
        let (size, nz, rows) = (self.size, self.nz, self.row_count());
        let share = self.table.weights[s];
        for (r, mu) in mu.iter_mut().enumerate() {
            *mu = multipliers.get(s * rows + size + r).copied().unwrap_or(0.0);
        }
        let acts = |term: &TermRows| term.rows.start >= size && term.samples.contains(&s);
        for (term, w) in self.terms.iter().zip(weights).filter(|(term, _)| acts(term)) {
            let first = s * nz + term.rows.start - size;
            let residual = |k: usize| point.z[first + k] - term.reference_at(s, k);
            for (k, row) in term.rows.clone().enumerate() {
                mu[row - size] += share * w * term.weighted(k, residual);
            }
        }
        self.add_task_curvature(s, point, mu);
    }

    /// `Zᵀ G Z` of a term that is measured by a matrix.
    fn add_matrix(&self, term: &TermRows, weight: f64, point: &Point, s: usize, hx: &mut [f64]) {
        let (size, nz, block) = (self.size, self.nz, term.block);
        let mut line = vec![0.0; size];
        for (k, row) in term.rows.clone().enumerate() {
            let first = term.rows.start + k - k % block;
            let g = &term.matrix[(k % block) * block..][..block];
            line.fill(0.0);
            for (j, g) in g.iter().enumerate() {
                if first + j < size {
                    line[first + j] += weight * g;
                } else {
                    let z = &point.jacobian[(s * nz + first + j - size) * size..][..size];
                    line.iter_mut().zip(z).for_each(|(l, z)| *l += weight * g * z);
                }
            }
            if row < size {
                hx[row * size..(row + 1) * size].iter_mut().zip(&line).for_each(|(h, l)| *h += l);
            } else {
                let z = &point.jacobian[(s * nz + row - size) * size..][..size];
                for (i, z) in z.iter().enumerate().filter(|(_, z)| **z != 0.0) {
                    hx[i * size..(i + 1) * size].iter_mut().zip(&line).for_each(|(h, l)| *h += z * l);
                }
            }
        }
    }

    /// Weight of each squared row at a sample under the weights of the terms.
    fn row_weights(&self, weights: &[f64], s: usize, omega: &mut [f64]) {
        omega.fill(0.0);
        for (term, w) in self.terms.iter().zip(weights).filter(|(term, _)| term.samples.contains(&s)) {
            for (k, row) in term.rows.clone().enumerate() {
                omega[row] += w * term.metric[k];
            }
        }
    }

    /// Diagonal of `Bᵀ H_x B`.
    fn add_diagonal(&self, s: usize, hx: &[f64], diagonal: &mut [f64]) {
        let (n, size, orders) = (self.n, self.size, self.table.orders);
        for a in 0..=self.table.degree {
            let c = self.table.first[s] + a;
            if !self.free.contains(&c) {
                continue;
            }
            let out = &mut diagonal[(c - self.free.start) * n..][..n];
            for d in 0..orders {
                let bd = self.table.derivative_basis(s, d)[a];
                for e in 0..orders {
                    let b = bd * self.table.derivative_basis(s, e)[a];
                    for j in 0..n {
                        out[j] += b * hx[(d * n + j) * size + e * n + j];
                    }
                }
            }
        }
    }

    /// Adds `B_sᵀ H_x B_s` to the band. Blocks of joints by joints lie together, so that every sum runs over long rows.
    #[inline(always)]
    fn add_sample(&self, s: usize, hx: &[f64], memory: Blocks<'_>, out: &mut Banded) {
        let (n, size, orders) = (self.n, self.size, self.table.orders);
        let (p, c0, square) = (self.table.degree, self.table.first[s], n * n);
        let Blocks { blocks, weighted, block } = memory;
        for (row, h) in hx.chunks_exact(size).enumerate() {
            let (d, k) = (row / n, row % n);
            for (e, h) in h.chunks_exact(n).enumerate() {
                blocks[(d * orders + e) * square + k * n..][..n].copy_from_slice(h);
            }
        }
        for b in 0..=p {
            let cb = c0 + b;
            if !self.free.contains(&cb) {
                continue;
            }
            weighted.fill(0.0);
            for d in 0..orders {
                let f = self.table.derivative_basis(s, d)[b];
                if f != 0.0 {
                    add_scaled(weighted, &blocks[d * orders * square..][..orders * square], f);
                }
            }
            for a in b..=p {
                if !self.free.contains(&(c0 + a)) {
                    break;
                }
                block.fill(0.0);
                for e in 0..orders {
                    let f = self.table.derivative_basis(s, e)[a];
                    add_scaled(block, &weighted[e * square..][..square], f);
                }
                for k in 0..n {
                    let column = (cb - self.free.start) * n + k;
                    let from = if a == b { k } else { 0 };
                    let cells = &mut out.column_from(column, column)[(a - b) * n + from - k..][..n - from];
                    let row = &block[k * n + from..][..n - from];
                    for i in 0..cells.len() {
                        cells[i] += row[i];
                    }
                }
            }
        }
    }
}

/// Memory of [`Transcription::add_sample`].
struct Blocks<'a> {
    blocks: &'a mut [f64],
    weighted: &'a mut [f64],
    block: &'a mut [f64],
}

/// [`Transcription::add_sample`], compiled for wide vectors.
struct AddSample<'a, 'b> {
    tr: &'a Transcription,
    s: usize,
    hx: &'a [f64],
    memory: Blocks<'b>,
    out: &'a mut Banded,
}

impl Task for AddSample<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.tr.add_sample(self.s, self.hx, self.memory, self.out);
    }
}

/// `to += f x`.
#[inline(always)]
fn add_scaled(to: &mut [f64], x: &[f64], f: f64) {
    let x = &x[..to.len()];
    for i in 0..to.len() {
        to[i] += f * x[i];
    }
}

/// `h += w j jᵀ`.
#[inline(always)]
fn add_outer(h: &mut [f64], j: &[f64], w: f64) {
    let size = j.len();
    for (a, ja) in j.iter().enumerate() {
        let f = w * ja;
        if f != 0.0 {
            add_scaled(&mut h[a * size..(a + 1) * size], j, f);
        }
    }
}
