//! Typed indices: a body is not a joint.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Position in the mechanism's list.
            #[must_use]
            #[inline(always)]
            pub fn index(self) -> usize {
                self.0 as usize
            }
            /// The id at this position.
            #[must_use]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }
    };
}

id! {
    /// A body of a [`Mechanism`](super::Mechanism).
    BodyId
}
id! {
    /// A joint of a [`Mechanism`](super::Mechanism): tree joints first, then loop joints.
    JointId
}
id! {
    /// A named frame of a [`Mechanism`](super::Mechanism).
    FrameId
}
