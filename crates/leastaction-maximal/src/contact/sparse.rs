//! [`Sparse`]: values by item of which few are not zero. Items go with the square of the bodies, contacts with their number.

/// Values by item; only those that may be other than zero are copied and cleared.
#[derive(Debug, Default)]
pub(crate) struct Sparse<T> {
    values: Vec<T>,
    /// Items whose value was set, in any order, and whether each is among them.
    used: Vec<usize>,
    is_used: Vec<bool>,
}

impl<T: Copy + Default + PartialEq> Sparse<T> {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            values: vec![T::default(); count],
            used: Vec::with_capacity(count),
            is_used: vec![false; count],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    #[inline]
    pub(crate) fn set(&mut self, k: usize, value: T) {
        self.values[k] = value;
        if !self.is_used[k] {
            self.is_used[k] = true;
            self.used.push(k);
        }
    }

    /// All zero.
    pub(crate) fn clear(&mut self) {
        for k in self.used.drain(..) {
            (self.values[k], self.is_used[k]) = (T::default(), false);
        }
    }

    /// Forgets which ones are zero again.
    pub(crate) fn tidy(&mut self) {
        let Self { values, used, is_used } = self;
        used.retain(|k| {
            is_used[*k] = values[*k] != T::default();
            is_used[*k]
        });
    }

    /// Copies another one of the same size, or of none. Does not allocate once sizes agree.
    pub(crate) fn copy_from(&mut self, o: &Self) {
        if self.len() != o.len() {
            *self = Self::new(o.len());
        }
        self.clear();
        for &k in &o.used {
            self.set(k, o.values[k]);
        }
    }
}

impl<T: Copy + Default + PartialEq> Clone for Sparse<T> {
    fn clone(&self) -> Self {
        // With room for all: steps do not allocate.
        let mut out = Self::new(self.len());
        out.copy_from(self);
        out
    }
}

impl<T> std::ops::Index<usize> for Sparse<T> {
    type Output = T;
    #[inline]
    fn index(&self, k: usize) -> &T {
        &self.values[k]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_clears_are_those_of_all_values() {
        let (mut a, mut b) = (Sparse::new(5), Sparse::new(5));
        a.set(3, 1.0);
        a.set(1, 2.0);
        b.set(4, 7.0);
        b.copy_from(&a);
        assert_eq!(b.values(), [0.0, 2.0, 0.0, 1.0, 0.0]);
        b.set(3, 0.0);
        b.tidy();
        b.set(3, 5.0);
        assert_eq!(b.clone().values(), [0.0, 2.0, 0.0, 5.0, 0.0]);
        b.clear();
        assert_eq!(b.values(), [0.0; 5]);
        let mut none = Sparse::default();
        none.copy_from(&a);
        assert_eq!(none.values(), a.values());
    }
}
