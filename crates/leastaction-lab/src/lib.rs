//! What proves, not what is used: published results made again (`experiments`), timings (`bench`), timings of peers.

pub mod bench;
mod bench_jacobian;
mod bench_newton;
mod bench_optimize;
mod compare;
pub mod experiment;
mod experiments;
