//! Basis functions of clamped B-splines and their derivatives.

use leastaction::spline::BSpline;

use super::{Golden, scale};

pub(super) fn check(golden: &mut Golden) {
    let cases = golden.value["cases"].as_array().expect("cases").len();
    for i in 0..cases {
        let at = format!("/cases/{i}");
        for key in ["n_control", "degree", "duration"] {
            golden.input(format!("{at}/{key}"));
        }
        let case = golden.value.pointer(&at).expect("case").clone();
        let number = |key: &str| case[key].as_u64().and_then(|x| usize::try_from(x).ok()).expect("number");
        let spline =
            BSpline::new(number("n_control"), number("degree"), case["duration"].as_f64().expect("time"))
                .expect("valid spline");
        golden.compare("knots", &format!("{at}/knots"), spline.knots(), 1e-14 * spline.duration().max(1.0));
        for (row, entry) in case["table"].as_array().expect("table").iter().enumerate() {
            let pointer = format!("{at}/table/{row}");
            golden.input(format!("{pointer}/t"));
            let t = entry["t"].as_f64().expect("time");
            let (first, table) = spline.basis_derivatives(t, spline.degree());
            golden.compare("first", &format!("{pointer}/first"), &[first as f64], 1e-12);
            for d in 0..=spline.degree() {
                let pointer = format!("{pointer}/derivatives/{d}");
                let tolerance = 1e-12 * scale(&golden.numbers(&pointer), 1.0);
                golden.compare("derivatives", &pointer, &table[d], tolerance);
            }
        }
    }
}
