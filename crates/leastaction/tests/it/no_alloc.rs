//! No step and no read-out allocates, for every integrator and every sample.
//!
//! A counting allocator counts per thread, so the test can share its binary with others.

#![expect(unsafe_code, reason = "a global allocator is an unsafe trait; this one only counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::{Mechanism, MechanismBuilder, samples};

use crate::support::{force_tree, mixed_tree};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread while `work` runs.
pub(crate) fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    work();
    COUNT.with(Cell::get) - before
}

/// The trees that every integrator serves.
fn trees() -> Vec<Mechanism> {
    let sample = |d| MechanismBuilder::from(d).build().expect("samples are valid");
    let mut all = vec![
        sample(samples::chain(5)),
        sample(samples::chain_xy(4)),
        sample(samples::ball_chain(3)),
        force_tree(3),
    ];
    all.extend((0..3).map(|seed| mixed_tree(seed, 6)));
    all
}

/// Methods and orders to count; each engine adds its own.
const METHODS: &[(Method, Option<u32>)] = &[
    (Method::Rk4, None),
    (Method::SemiImplicit, None),
    (Method::Dop853, None),
    (Method::Minimal, Some(2)),
    (Method::Minimal, Some(4)),
    (Method::Minimal, Some(6)),
    (Method::Maximal, None),
    (Method::Maximal, Some(4)),
    (Method::Maximal, Some(6)),
];

#[test]
fn steps_and_read_outs_of_every_integrator_do_not_allocate() {
    for mechanism in trees() {
        for (method, order) in METHODS {
            let options = MethodOptions { order: *order, ..Default::default() };
            let mut sim =
                Simulator::new(&mechanism, *method, &options, &mechanism.start_state()).expect("served");
            let u = vec![0.1; mechanism.nu()];
            sim.step(&u, 1e-3).expect("warm-up step");
            sim.state();
            let count = allocations(|| {
                for _ in 0..200 {
                    sim.step(&u, 1e-3).expect("step");
                    std::hint::black_box(sim.state());
                }
            });
            assert_eq!(count, 0, "{method:?} {order:?} on {}", mechanism.name());
        }
    }
}
