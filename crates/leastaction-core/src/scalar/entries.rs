//! Arrays of a few numbers, written out.
//!
//! A loop over the entries of a small array is unrolled by the compiler in the end, but only after every pass over loops has
//! seen it; a kernel that is inlined as a whole has thousands of them, and they were half of the time it took to build.
//! Kernels use these functions instead of `array::from_fn` and `array::map` for another reason, too: those are not always
//! inlined into large functions, and a call per entry costs more than the entry.
#![expect(
    unsafe_code,
    reason = "an array of a written-out length is the array of the same length as a parameter"
)]

use std::mem::transmute_copy;

/// `[f(0), …, f(N − 1)]`.
#[inline(always)]
pub fn by_entry<T: Copy, const N: usize>(f: impl Fn(usize) -> T) -> [T; N] {
    // SAFETY: in every arm the array has N entries of type T.
    unsafe {
        match N {
            1 => transmute_copy(&[f(0)]),
            2 => transmute_copy(&[f(0), f(1)]),
            3 => transmute_copy(&[f(0), f(1), f(2)]),
            4 => transmute_copy(&[f(0), f(1), f(2), f(3)]),
            5 => transmute_copy(&[f(0), f(1), f(2), f(3), f(4)]),
            6 => transmute_copy(&[f(0), f(1), f(2), f(3), f(4), f(5)]),
            8 => transmute_copy(&[f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)]),
            12 => transmute_copy(&[f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11)]),
            _ => {
                let mut out = [f(0); N];
                for i in 1..N {
                    out[i] = f(i);
                }
                out
            }
        }
    }
}

/// `f(0)`, …, `f(N − 1)` in turn.
#[inline(always)]
pub fn each_entry<const N: usize>(mut f: impl FnMut(usize)) {
    if N > 6 {
        for i in 0..N {
            f(i);
        }
        return;
    }
    if N > 0 {
        f(0);
    }
    if N > 1 {
        f(1);
    }
    if N > 2 {
        f(2);
    }
    if N > 3 {
        f(3);
    }
    if N > 4 {
        f(4);
    }
    if N > 5 {
        f(5);
    }
}
