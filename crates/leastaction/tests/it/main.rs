//! Integration tests: one module per claim.

#![allow(clippy::print_stdout, reason = "tests print the figures they measured")]

mod agreement;
mod bad_input;
mod baselines;
mod comprehensive_costs;
mod comprehensive_duals;
mod comprehensive_reference;
mod comprehensive_torque;
mod control;
mod conventions;
mod counts_maximal;
mod counts_minimal;
mod documents;
mod examples;
mod file_scale;
mod golden;
mod layers;
mod maximal_derivative;
mod maximal_forces;
mod maximal_loops;
mod maximal_order;
mod maximal_scale;
mod maximal_state;
mod maximal_twins;
mod minimal_driver;
mod minimal_geometry;
mod minimal_order;
mod minimal_scale;
mod minimal_stiff;
mod minimal_twins;
mod mjcf;
mod model_checks;
mod model_json;
mod no_alloc;
mod optimize_direct;
mod optimize_group;
mod optimize_noise;
mod optimize_quantities;
mod optimize_terms;
mod public_face;
mod rows;
mod sdf;
mod support;
mod urdf;
