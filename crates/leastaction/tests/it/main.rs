//! Integration tests: one module per claim.

mod agreement;
mod bad_input;
mod baselines;
mod comprehensive_costs;
mod comprehensive_duals;
mod comprehensive_torque;
mod conventions;
mod golden;
mod layers;
mod maximal_loops;
mod maximal_order;
mod mjcf;
mod model_json;
mod no_alloc;
mod support;
mod urdf;
