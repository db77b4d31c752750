//! [`Choice`]: one of a few things, chosen by a word in flags and files.

use leastaction::integrator::Method;
use leastaction::jet::QuantityKind;

/// A word and, for the help, what it means.
pub type Word = (&'static str, &'static str);

/// One of a few things, chosen by a word.
pub trait Choice: Copy + PartialEq + 'static {
    /// All of them.
    const CHOICES: &'static [Self];
    /// Their words in the same order.
    const WORDS: &'static [Word];

    /// How flags and files spell it.
    fn word(self) -> &'static str {
        Self::CHOICES.iter().position(|choice| *choice == self).map_or("", |i| Self::WORDS[i].0)
    }

    /// What a word means.
    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().position(|known| known.0 == word).map(|i| Self::CHOICES[i])
    }
}

/// Makes an enum with its words: the comment of each variant is its help.
#[macro_export]
macro_rules! choices {
    ($($(#[doc = $about:literal])+ $name:ident { $(#[doc = $help:literal] $variant:ident = $word:literal,)+ })+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = $help] $variant,)+
        }

        impl $crate::choice::Choice for $name {
            const CHOICES: &'static [Self] = &[$(Self::$variant,)+];
            const WORDS: &'static [$crate::choice::Word] = &[$(($word, $help),)+];
        }
    )+};
}

/// Words of the library's own lists, which have no help.
macro_rules! named_by_the_library {
    ($($type:ty)+) => {$(
        impl Choice for $type {
            const CHOICES: &'static [Self] = &{
                let mut choices = [<$type>::ALL[0].1; <$type>::ALL.len()];
                let mut i = 0;
                while i < choices.len() {
                    choices[i] = <$type>::ALL[i].1;
                    i += 1;
                }
                choices
            };
            const WORDS: &'static [Word] = &{
                let mut words = [("", ""); <$type>::ALL.len()];
                let mut i = 0;
                while i < words.len() {
                    words[i].0 = <$type>::ALL[i].0;
                    i += 1;
                }
                words
            };
        }
    )+};
}

named_by_the_library!(Method QuantityKind);

choices! {
    /// How the root link of a URDF is held.
    Base {
        /// It moves freely
        Floating = "floating",
        /// It is part of the ground
        Fixed = "fixed",
    }
    /// What of a model can be repaired.
    Repair {
        /// Inertias that no body has
        Inertia = "inertia",
    }
    /// Which shapes a report draws.
    ViewName {
        /// What the author meant to be seen
        Visual = "visual",
        /// What touches
        Collision = "collision",
        /// Both
        Both = "both",
    }
    /// What joint limits do.
    LimitMode {
        /// They hold
        Enforce = "enforce",
        /// Passing one is reported
        Monitor = "monitor",
        /// They are not looked at
        Off = "off",
    }
    /// What the dry friction of joints does.
    FrictionMode {
        /// It acts
        On = "on",
        /// It is left out
        Off = "off",
    }
    /// Whether surfaces touch.
    ContactMode {
        /// They do
        On = "on",
        /// Bodies pass through each other and the ground
        Off = "off",
    }
    /// How impacts, or turns of friction, are stepped.
    EventMode {
        /// Within the step: first order after one
        Stepped = "stepped",
        /// The step is cut there: second order
        Located = "located",
    }
    /// Elements that change the motion and that not every integrator supports.
    Ignore {
        /// Coulomb friction of joints
        Friction = "friction",
        /// Joints that follow another
        Mimic = "mimic",
        /// Polynomial couplings of joints (MJCF `equality joint`) and fixed tendons
        Couplings = "couplings",
        /// Joints that close a loop
        Loops = "loops",
        /// Rolling discs and knife edges
        Rolling = "rolling",
    }
    /// Iteration policies of the minimal integrator; all find the same motion.
    IterationName {
        /// The mass-matrix iteration, and chord where it contracts slowly
        Automatic = "automatic",
        /// A new factorisation in every iteration
        Newton = "newton",
        /// One factorisation, kept while it contracts well
        Chord = "chord",
        /// The mass matrix in every mechanism: what rollouts and sweeps do
        Mass = "mass",
    }
    /// Rotation maps of the maximal integrator.
    MapName {
        /// Conserves a free body's energy to rounding
        Sine = "sine",
        /// Has a solution for every spin
        Cayley = "cayley",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_choices_are_in_the_same_order() {
        assert_eq!(Ignore::from_word("loops"), Some(Ignore::Loops));
        assert_eq!(Ignore::Rolling.word(), "rolling");
        for (name, method) in Method::ALL {
            assert_eq!((Method::from_word(name), method.word()), (Some(method), name));
        }
        assert_eq!(Method::from_word("rk5"), None);
    }
}
