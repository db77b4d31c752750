//! [`Tape`]: everything that a run carries from step to step as bytes, bit for bit.
//!
//! One function per type says which parts belong on the tape, and serves both ways: it hands them over when a checkpoint is
//! written, and takes them back in the same order when the run goes on. Numbers that are not numbers survive.

use leastaction::integrator::ContactCounts;
use leastaction::mechanism::{State, WarmStart};

/// Bytes on their way out or in.
#[derive(Debug)]
pub struct Tape<'a> {
    way: Way<'a>,
}

#[derive(Debug)]
enum Way<'a> {
    Out(Vec<u8>),
    /// What is left to read; `None` after it has run out.
    In(Option<&'a [u8]>),
}

impl<'a> Tape<'a> {
    /// An empty tape to write on.
    pub fn writer() -> Self {
        Self { way: Way::Out(Vec::new()) }
    }

    /// A tape to read.
    pub fn reader(bytes: &'a [u8]) -> Self {
        Self { way: Way::In(Some(bytes)) }
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        match self.way {
            Way::Out(bytes) => bytes,
            Way::In(_) => Vec::new(),
        }
    }

    /// Whether a tape that is read had exactly what was asked of it.
    pub fn is_used_up(&self) -> bool {
        matches!(self.way, Way::In(Some([])))
    }

    fn is_reading(&self) -> bool {
        matches!(self.way, Way::In(_))
    }

    fn bytes<const N: usize>(&mut self, value: [u8; N]) -> [u8; N] {
        match &mut self.way {
            Way::Out(bytes) => {
                bytes.extend(value);
                value
            }
            Way::In(left) => match left.and_then(|bytes| bytes.split_first_chunk::<N>()) {
                Some((first, rest)) => {
                    *left = Some(rest);
                    *first
                }
                None => {
                    *left = None;
                    value
                }
            },
        }
    }

    /// The length of a list whose items take at least a byte each: what is damaged asks for no memory.
    fn length(&mut self, own: usize) -> usize {
        let mut length = own as u64;
        length.pass(self);
        let most = match &self.way {
            Way::Out(_) => own,
            Way::In(left) => left.map_or(0, <[u8]>::len),
        };
        if length as usize > most {
            self.way = Way::In(None);
            return 0;
        }
        length as usize
    }
}

/// What can be on a tape.
pub trait OnTape {
    /// Writes itself, or becomes what is read.
    fn pass(&mut self, tape: &mut Tape<'_>);
}

macro_rules! numbers {
    ($($type:ty),+) => {$(
        impl OnTape for $type {
            fn pass(&mut self, tape: &mut Tape<'_>) {
                *self = <$type>::from_le_bytes(tape.bytes(self.to_le_bytes()));
            }
        }
    )+};
}
numbers!(u8, u32, u64, f32, f64);

impl OnTape for usize {
    fn pass(&mut self, tape: &mut Tape<'_>) {
        let mut number = *self as u64;
        number.pass(tape);
        *self = number as usize;
    }
}

impl OnTape for bool {
    fn pass(&mut self, tape: &mut Tape<'_>) {
        let mut byte = u8::from(*self);
        byte.pass(tape);
        *self = byte != 0;
    }
}

impl OnTape for String {
    fn pass(&mut self, tape: &mut Tape<'_>) {
        let mut bytes = std::mem::take(self).into_bytes();
        bytes.pass(tape);
        *self = String::from_utf8_lossy(&bytes).into_owned();
    }
}

/// Keeps the memory of the list that is read into.
impl<T: OnTape + Default> OnTape for Vec<T> {
    fn pass(&mut self, tape: &mut Tape<'_>) {
        let length = tape.length(self.len());
        if tape.is_reading() {
            self.clear();
            self.resize_with(length, T::default);
        }
        self.iter_mut().for_each(|item| item.pass(tape));
    }
}

impl<T: OnTape + Default> OnTape for Option<T> {
    fn pass(&mut self, tape: &mut Tape<'_>) {
        let mut is_there = self.is_some();
        is_there.pass(tape);
        if tape.is_reading() {
            // What is there already keeps its names.
            *self = if is_there { Some(self.take().unwrap_or_default()) } else { None };
        }
        if let Some(value) = self {
            value.pass(tape);
        }
    }
}

impl<T: OnTape, const N: usize> OnTape for [T; N] {
    fn pass(&mut self, tape: &mut Tape<'_>) {
        self.iter_mut().for_each(|item| item.pass(tape));
    }
}

impl<A: OnTape, B: OnTape> OnTape for (A, B) {
    fn pass(&mut self, tape: &mut Tape<'_>) {
        self.0.pass(tape);
        self.1.pass(tape);
    }
}

/// Says which fields of a type are on the tape.
#[macro_export]
macro_rules! on_tape {
    ($type:ty: $($field:ident),+ $(,)?) => {
        impl $crate::tape::OnTape for $type {
            fn pass(&mut self, tape: &mut $crate::tape::Tape<'_>) {
                $($crate::tape::OnTape::pass(&mut self.$field, tape);)+
            }
        }
    };
}

on_tape!(State: t, q, v, act, inputs, warm);

impl OnTape for Option<WarmStart> {
    fn pass(&mut self, tape: &mut Tape<'_>) {
        let mut parts = self.take().map(|warm| (warm.integrator, warm.data));
        parts.pass(tape);
        *self = parts.map(|(integrator, data)| WarmStart { integrator, data });
    }
}

on_tape!(
    ContactCounts: interval_iterations, node_iterations, paths, splits, impacts, scaled, turns, left_out, inside,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_back_with_its_bits() {
        let state = State {
            t: -0.0,
            q: vec![1.0 / 3.0, f64::INFINITY, 5e-324],
            warm: Some(WarmStart { integrator: "x-2".into(), data: vec![f64::MIN_POSITIVE] }),
            ..State::default()
        };
        let mut written = (state.clone(), (Some(vec![(1u32, true)]), (f64::NAN, [7u64, u64::MAX])));
        let mut tape = Tape::writer();
        written.pass(&mut tape);
        let bytes = tape.into_bytes();
        let mut read = (State::default(), (None::<Vec<(u32, bool)>>, (0.0f64, [0u64; 2])));
        let mut tape = Tape::reader(&bytes);
        read.pass(&mut tape);
        assert!(tape.is_used_up());
        assert_eq!((&read.0, &read.1.0, read.1.1.1), (&state, &written.1.0, [7, u64::MAX]));
        assert!(read.1.1.0.is_nan() && read.0.t.is_sign_negative());
    }

    #[test]
    fn a_damaged_tape_is_noticed_and_asks_for_no_memory() {
        let mut list = vec![1.0f64; 100];
        let mut tape = Tape::writer();
        list.pass(&mut tape);
        let mut bytes = tape.into_bytes();
        for length in 0..bytes.len() {
            let mut tape = Tape::reader(&bytes[..length]);
            Vec::<f64>::new().pass(&mut tape);
            assert!(!tape.is_used_up());
        }
        bytes[7] = 0xff;
        let (mut tape, mut read) = (Tape::reader(&bytes), Vec::<f64>::new());
        read.pass(&mut tape);
        assert!(!tape.is_used_up() && read.is_empty());
    }
}
