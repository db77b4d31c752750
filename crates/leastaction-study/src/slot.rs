//! [`Slot`]: where a setting keeps what was said, typed for the code that uses it.

use std::path::PathBuf;

use crate::choice::Choice;
use crate::field::{Assignment, Value};

/// A typed place for the values of one field.
pub trait Slot {
    /// What was said; nothing if nothing was.
    fn given(&self) -> Vec<Value>;
    /// Takes values of the field's kind in place of what was said before.
    fn hold(&mut self, values: Vec<Value>);
}

/// Slots that hold one value or none: how to wrap it, how to unwrap it.
macro_rules! single {
    ($($type:ty: $x:ident => $value:expr, $pattern:pat => $back:expr;)+) => {$(
        impl Slot for Option<$type> {
            fn given(&self) -> Vec<Value> {
                self.iter().map(|$x| $value).collect()
            }
            fn hold(&mut self, values: Vec<Value>) {
                if let Some($pattern) = values.into_iter().next_back() {
                    *self = $back;
                }
            }
        }
    )+};
}

single! {
    String: x => Value::Text(x.clone()), Value::Text(x) => Some(x);
    PathBuf: x => Value::Path(x.clone()), Value::Path(x) => Some(x);
    f64: x => Value::Number(*x), Value::Number(x) => Some(x);
    u32: x => Value::Count(u64::from(*x)), Value::Count(x) => u32::try_from(x).ok();
    u64: x => Value::Count(*x), Value::Count(x) => Some(x);
    bool: x => Value::Switch(*x), Value::Switch(x) => Some(x);
    [f64; 3]: x => Value::Numbers(x.to_vec()), Value::Numbers(x) => x.try_into().ok();
    RandomVelocity: x => Value::Numbers(vec![f64::from(x.seed), x.most]), Value::Numbers(x) => RandomVelocity::of(&x);
}

/// A seed and the largest magnitude of what is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomVelocity {
    /// What the numbers are drawn from.
    pub seed: u32,
    /// Their largest magnitude.
    pub most: f64,
}

impl RandomVelocity {
    /// From the two numbers of a list.
    pub fn of(numbers: &[f64]) -> Option<Self> {
        match numbers {
            [seed, most] if seed.fract() == 0.0 && (0.0..4294967296.0).contains(seed) && *most > 0.0 => {
                Some(Self { seed: *seed as u32, most: *most })
            }
            _ => None,
        }
    }
}

impl<C: Choice> Slot for Option<C> {
    fn given(&self) -> Vec<Value> {
        self.iter().map(|choice| Value::Text(choice.word().to_owned())).collect()
    }
    fn hold(&mut self, values: Vec<Value>) {
        if let Some(Value::Text(word)) = values.last() {
            *self = C::from_word(word);
        }
    }
}

impl<C: Choice> Slot for Vec<C> {
    fn given(&self) -> Vec<Value> {
        self.iter().map(|choice| Value::Text(choice.word().to_owned())).collect()
    }
    fn hold(&mut self, values: Vec<Value>) {
        self.clear();
        for value in values {
            if let Value::Text(word) = value {
                self.extend(C::from_word(&word));
            }
        }
    }
}

impl Slot for Vec<PathBuf> {
    fn given(&self) -> Vec<Value> {
        self.iter().map(|path| Value::Path(path.clone())).collect()
    }
    fn hold(&mut self, values: Vec<Value>) {
        self.clear();
        for value in values {
            if let Value::Path(path) = value {
                self.push(path);
            }
        }
    }
}

impl Slot for Vec<String> {
    fn given(&self) -> Vec<Value> {
        self.iter().map(|text| Value::Text(text.clone())).collect()
    }
    fn hold(&mut self, values: Vec<Value>) {
        self.clear();
        for value in values {
            if let Value::Text(text) = value {
                self.push(text);
            }
        }
    }
}

/// One joint or input at a time: what is said about one leaves what was said about the others.
impl Slot for Vec<Assignment> {
    fn given(&self) -> Vec<Value> {
        self.iter().map(|assignment| Value::Assignment(assignment.clone())).collect()
    }
    fn hold(&mut self, values: Vec<Value>) {
        for value in values {
            if let Value::Assignment(assignment) = value {
                self.retain(|other| other.name != assignment.name);
                self.push(assignment);
            }
        }
    }
}
