//! Arrays in and out: rows are read where they are, results are new, getters are views. The only file with `unsafe`.
//!
//! A batch has leading axes with one common stride, so that slices of a table and broadcast vectors are read in place.
//! Whatever would need a copy is refused with the cast to type.

#![allow(unsafe_code)]

use numpy::ndarray::ArrayView1;
use numpy::npyffi::NPY_ARRAY_WRITEABLE;
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyList, PyTuple};

use crate::errors::{layout_error, not_finite, shape_error};

/// Numbers of a result from which on it is asked first whether there is memory for them: 64 MB.
const LARGE: usize = 1 << 23;

/// One argument: a vector that stands for every row, or one vector per row.
pub(crate) struct Rows<'py> {
    name: &'static str,
    width: usize,
    /// Numbers between the beginnings of two rows; 0 for a vector that stands for every row.
    stride: usize,
    data: *const f64,
    /// Leading axes; none for a single vector.
    lead: Option<Vec<usize>>,
    rows: usize,
    /// A single vector that came as a list or a number.
    own: Vec<f64>,
    /// Keeps the memory.
    _owner: Option<Bound<'py, PyArrayDyn<f64>>>,
}

/// What a thread without the interpreter reads.
#[derive(Clone, Copy)]
pub(crate) struct Reader {
    data: *const f64,
    stride: usize,
    width: usize,
}

// SAFETY: it only reads, and whoever makes one keeps the array alive while threads use it. Python code that writes into the
// array meanwhile can spoil numbers, not memory.
unsafe impl Send for Reader {}
// SAFETY: as above.
unsafe impl Sync for Reader {}

impl Reader {
    /// Row `r`.
    #[inline]
    pub(crate) fn row(&self, r: usize) -> &[f64] {
        // SAFETY: `Rows::new` has checked that all rows lie inside the array.
        unsafe { std::slice::from_raw_parts(self.data.add(r * self.stride), self.width) }
    }

    /// Memory from the beginning of the first of these rows to the end of the last, and how far rows are apart.
    pub(crate) fn rows(&self, range: std::ops::Range<usize>) -> (&[f64], usize) {
        let length = if range.is_empty() { 0 } else { (range.len() - 1) * self.stride + self.width };
        // SAFETY: as in `row`; what lies between two rows is of the same array.
        (unsafe { std::slice::from_raw_parts(self.data.add(range.start * self.stride), length) }, self.stride)
    }
}

impl<'py> Rows<'py> {
    /// Reads the argument `name`, whose vectors have `width` numbers.
    pub(crate) fn new(value: &Bound<'py, PyAny>, name: &'static str, width: usize) -> PyResult<Self> {
        if let Ok(array) = value.cast::<PyArrayDyn<f64>>() {
            expect_unmasked(array, name)?;
            return Self::of_array(array, name, width);
        }
        let py = value.py();
        if let Ok(array) = value.cast::<PyUntypedArray>() {
            let found = format!("an array of {}", array.dtype());
            return Err(layout_error(py, name, &found, &format!("give `{name}.astype(np.float64)`")));
        }
        if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
            return Ok(Self::of_vector(vec![value.extract()?; width], name));
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            let numbers: Vec<f64> = value.extract().map_err(|_| {
                let remedy =
                    format!("give `np.array({name}, dtype=np.float64)`: rows in a list would be copied");
                layout_error(py, name, "a list that is not one vector of numbers", &remedy)
            })?;
            if numbers.len() != width {
                return Err(shape_error(py, name, &format!("({width},)"), &format!("({},)", numbers.len())));
            }
            return Ok(Self::of_vector(numbers, name));
        }
        if value.hasattr("__dlpack__")? {
            let numpy = py.import("numpy")?;
            let array = numpy.call_method1("from_dlpack", (value,)).map_err(|error| {
                let remedy = format!("bring `{name}` to the CPU first");
                layout_error(py, name, &format!("an array that NumPy can't take: {error}"), &remedy)
            })?;
            if array.cast::<PyUntypedArray>().is_ok() {
                return Self::new(&array, name, width);
            }
        }
        let found = format!("a {}", value.get_type().name()?);
        Err(layout_error(py, name, &found, "give a NumPy array of float64"))
    }

    /// The argument, or a vector in its place.
    pub(crate) fn or(
        value: Option<&Bound<'py, PyAny>>,
        name: &'static str,
        width: usize,
        default: impl FnOnce() -> Vec<f64>,
    ) -> PyResult<Self> {
        match value {
            Some(value) if !value.is_none() => Self::new(value, name, width),
            _ => Ok(Self::of_vector(default(), name)),
        }
    }

    fn of_vector(own: Vec<f64>, name: &'static str) -> Self {
        let (data, width) = (own.as_ptr(), own.len());
        Self { name, width, stride: 0, data, lead: None, rows: 1, own, _owner: None }
    }

    fn of_array(array: &Bound<'py, PyArrayDyn<f64>>, name: &'static str, width: usize) -> PyResult<Self> {
        let py = array.py();
        let (shape, strides) = (array.shape(), array.strides());
        let Some((&last, lead)) = shape.split_last() else {
            let number = array.call_method0("item")?;
            return Self::new(&number, name, width);
        };
        if last != width {
            let dots = if lead.is_empty() { "" } else { "…, " };
            let tail = if lead.is_empty() { "," } else { "" };
            return Err(shape_error(py, name, &format!("({dots}{width}{tail})"), &tuple(shape)));
        }
        let refuse =
            |found: &str| layout_error(py, name, found, &format!("give `np.ascontiguousarray({name})`"));
        let data = array.data().cast_const();
        let empty = shape.contains(&0);
        if !data.is_aligned() && !empty {
            return Err(refuse("memory that is not aligned"));
        }
        let size = size_of::<f64>() as isize;
        if width > 1 && !empty && strides[lead.len()] != size {
            return Err(refuse("rows whose numbers are not side by side"));
        }
        let rows: usize = lead.iter().product();
        let mut stride = 0;
        if !empty && rows > 1 {
            // One stride for all leading axes; axes of length one have none.
            let axes: Vec<(usize, isize)> =
                lead.iter().copied().zip(strides.iter().copied()).filter(|(n, _)| *n > 1).collect();
            let inner = axes.last().map_or(0, |(_, s)| *s);
            for pair in axes.windows(2) {
                if pair[0].1 != pair[1].1 * pair[1].0 as isize {
                    return Err(refuse("leading axes without a common stride"));
                }
            }
            if inner < 0 || inner % size != 0 {
                return Err(refuse("rows in reverse or at odd places"));
            }
            stride = (inner / size) as usize;
        }
        Ok(Self {
            name,
            width,
            stride,
            data,
            lead: (!lead.is_empty()).then(|| lead.to_vec()),
            rows,
            own: Vec::new(),
            _owner: Some(array.clone()),
        })
    }

    /// For threads without the interpreter.
    pub(crate) fn reader(&self) -> Reader {
        let data = if self.own.is_empty() { self.data } else { self.own.as_ptr() };
        Reader { data, stride: if self.lead.is_some() { self.stride } else { 0 }, width: self.width }
    }

    /// Row `r`.
    #[inline]
    pub(crate) fn row(&self, r: usize) -> &[f64] {
        let r = if self.lead.is_some() { r } else { 0 };
        // SAFETY: as in `Reader::row`; the array is kept by `self`.
        unsafe { std::slice::from_raw_parts(self.data.add(r * self.stride), self.width) }
    }

    /// True if it is a batch.
    pub(crate) fn is_batch(&self) -> bool {
        self.lead.is_some()
    }

    /// Leading axes.
    pub(crate) fn lead(&self) -> Option<&[usize]> {
        self.lead.as_deref()
    }

    /// Number of vectors.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Refuses what is not finite, with the row.
    pub(crate) fn expect_finite(&self, py: Python<'_>) -> PyResult<()> {
        for r in 0..self.rows {
            if !all_finite(self.row(r)) {
                let row = self.is_batch().then_some(r);
                return Err(not_finite(py, self.name, row));
            }
        }
        Ok(())
    }

    fn overlaps(&self, from: *const f64, numbers: usize) -> bool {
        let length = if self.rows == 0 { 0 } else { (self.rows - 1) * self.stride + self.width };
        let (a, b) = (self.data as usize, from as usize);
        let size = size_of::<f64>();
        a < b + numbers * size && b < a + length * size
    }
}

/// Refuses an array some of whose numbers do not count: read in place they would.
fn expect_unmasked(array: &Bound<'_, PyArrayDyn<f64>>, name: &str) -> PyResult<()> {
    if array.is_exact_instance_of::<PyUntypedArray>() || !array.hasattr("mask")? {
        return Ok(());
    }
    Err(layout_error(array.py(), name, "an array with a mask", &format!("give `{name}.filled(…)`")))
}

/// True if no number is infinite or not a number.
#[inline]
pub(crate) fn all_finite(values: &[f64]) -> bool {
    values.iter().fold(0.0, |sum, x| sum + x * 0.0) == 0.0
}

/// The leading axes that the arguments agree on.
pub(crate) fn common_lead(py: Python<'_>, arguments: &[&Rows<'_>]) -> PyResult<Option<Vec<usize>>> {
    let mut lead: Option<&[usize]> = None;
    for argument in arguments {
        match (lead, argument.lead()) {
            (_, None) => {}
            (None, own) => lead = own,
            (Some(lead), Some(own)) if lead == own => {}
            (Some(lead), Some(own)) => {
                let shape = |lead: &[usize]| tuple(&[lead, &[argument.width]].concat());
                return Err(shape_error(py, argument.name, &shape(lead), &shape(own)));
            }
        }
    }
    Ok(lead.map(<[usize]>::to_vec))
}

/// Where results go.
pub(crate) struct Output<'py> {
    array: Bound<'py, PyArrayDyn<f64>>,
    data: *mut f64,
    numbers: usize,
}

/// Rows of results that threads write, each its own.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    data: *mut f64,
    width: usize,
}

// SAFETY: every row is written by one thread only, and whoever makes a writer keeps the array.
unsafe impl Send for Writer {}
// SAFETY: as above.
unsafe impl Sync for Writer {}

impl Writer {
    /// Row `r`; each row must be taken by one thread only.
    #[expect(clippy::mut_from_ref, reason = "threads share the writer, and every row belongs to one of them")]
    pub(crate) fn row(&self, r: usize) -> &mut [f64] {
        // SAFETY: `Output` has as many rows as the batch, and no row is taken twice at a time.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(r * self.width), self.width) }
    }
}

impl<'py> Output<'py> {
    /// A new array of zeros, leading axes first. One that does not fit into memory raises `MemoryError`.
    pub(crate) fn new(py: Python<'py>, lead: Option<&[usize]>, tail: &[usize]) -> PyResult<Self> {
        let shape = [lead.unwrap_or_default(), tail].concat();
        let numbers = shape.iter().try_fold(1usize, |product, n| product.checked_mul(*n));
        // The numpy crate panics where there is no memory: whether there is some is asked before it matters.
        let fits = |numbers: usize| numbers < LARGE || Vec::<f64>::new().try_reserve_exact(numbers).is_ok();
        if !numbers.is_some_and(fits) {
            let message = format!("an array of shape {} does not fit into memory", tuple(&shape));
            return Err(PyMemoryError::new_err(message));
        }
        Ok(Self::of(PyArrayDyn::zeros(py, shape, false)))
    }

    fn of(array: Bound<'py, PyArrayDyn<f64>>) -> Self {
        let (data, numbers) = (array.data(), array.shape().iter().product());
        Self { array, data, numbers }
    }

    /// Memory of the caller's, or a new array.
    pub(crate) fn take(
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
        lead: Option<&[usize]>,
        tail: &[usize],
        arguments: &[&Rows<'_>],
    ) -> PyResult<Self> {
        let Some(out) = out.filter(|out| !out.is_none()) else { return Self::new(py, lead, tail) };
        let shape = [lead.unwrap_or_default(), tail].concat();
        let remedy = format!("give `np.empty({}, dtype=np.float64)`", tuple(&shape));
        let Ok(array) = out.cast::<PyArrayDyn<f64>>() else {
            return Err(layout_error(py, "out", "not an array of float64", &remedy));
        };
        if array.shape() != shape {
            return Err(shape_error(py, "out", &tuple(&shape), &tuple(array.shape())));
        }
        // SAFETY: the flags of a living array.
        let flags = unsafe { (*array.as_array_ptr()).fields.flags };
        if flags & NPY_ARRAY_WRITEABLE == 0 {
            return Err(layout_error(py, "out", "an array that must not be written", &remedy));
        }
        let own = Self::of(array.clone());
        if !array.is_c_contiguous() || !own.data.is_aligned() {
            return Err(layout_error(py, "out", "an array that is not in C order", &remedy));
        }
        if own.numbers > 0 && arguments.iter().any(|rows| rows.overlaps(own.data, own.numbers)) {
            return Err(layout_error(py, "out", "memory that an input lies in", &remedy));
        }
        Ok(own)
    }

    /// Whether two outputs share memory.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let span =
            |output: &Self| (output.data.addr(), output.data.addr() + output.numbers * size_of::<f64>());
        let ((begin, end), (from, to)) = (span(self), span(other));
        begin.max(from) < end.min(to)
    }

    /// The array.
    pub(crate) fn into_array(self) -> Bound<'py, PyArrayDyn<f64>> {
        self.array
    }

    /// All numbers.
    pub(crate) fn numbers(&mut self) -> &mut [f64] {
        // SAFETY: the array is C-ordered, kept by `self`, and was checked to be writeable or made here.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.numbers) }
    }

    /// For threads without the interpreter: rows of `width` numbers.
    pub(crate) fn writer(&self, width: usize) -> Writer {
        Writer { data: self.data, width }
    }
}

/// A read-only view of numbers that `owner` keeps and never changes or moves.
pub(crate) fn view<'py>(owner: Bound<'py, PyAny>, numbers: &[f64]) -> Bound<'py, PyArray1<f64>> {
    // SAFETY: callers pass a slice inside an immutable object, which the array then keeps alive.
    let array = unsafe { PyArray1::borrow_from_array(&ArrayView1::from(numbers), owner) };
    // SAFETY: the flags of an array that nobody else has seen.
    unsafe { (*array.as_array_ptr()).fields.flags &= !NPY_ARRAY_WRITEABLE };
    array
}

/// A shape as Python writes it.
pub(crate) fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        all => format!("({})", all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
