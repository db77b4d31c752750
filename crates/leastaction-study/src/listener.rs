//! [`Listener`]: whoever wants to hear what a study says while it works.

use serde_json::Value;

/// Hears results and remarks as they come; the command prints them.
pub trait Listener {
    /// A line of the result for people.
    fn line(&mut self, text: &str);
    /// Text that another program is to read.
    fn raw(&mut self, text: &str);
    /// A remark beside the result.
    fn note(&mut self, text: &str);
    /// The result for machines.
    fn object(&mut self, value: &Value);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence;

impl Listener for Silence {
    fn line(&mut self, _: &str) {}
    fn raw(&mut self, _: &str) {}
    fn note(&mut self, _: &str) {}
    fn object(&mut self, _: &Value) {}
}
