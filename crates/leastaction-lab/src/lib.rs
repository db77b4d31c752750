//! What proves, not what is used: published results made again (`experiments`), timings (`bench`), timings of peers.

pub mod bench;
pub mod bench_jacobian;
pub mod bench_newton;
pub mod bench_optimize;
pub mod compare;
pub mod experiment;
mod experiments;
