//! Arrays, and their Fourier transforms by the definition.

use std::f64::consts::TAU;

use num_complex::Complex;

/// An array with several elements at each index.
#[derive(Clone, Debug)]
pub struct Array {
    extents: Vec<usize>,
    batch: usize,
    values: Vec<Complex<f64>>,
}

impl Array {
    /// Returns an array with the value of each place.
    #[must_use]
    pub fn new(extents: &[usize], batch: usize, value: impl Fn(usize) -> Complex<f64>) -> Self {
        let elements = extents.iter().product::<usize>() * batch;
        Self { extents: extents.to_vec(), batch, values: (0..elements).map(value).collect() }
    }

    /// Returns an element at an index.
    #[must_use]
    pub fn at(&self, index: &[usize], element: usize) -> Complex<f64> {
        let place = index.iter().zip(&self.extents).fold(0, |place, (at, extent)| place * extent + at);
        self.values[place * self.batch + element]
    }

    /// Returns the largest absolute value.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.values.iter().map(|value| value.norm()).fold(0.0, f64::max)
    }

    /// Multiplies each element.
    pub fn scale(&mut self, factor: f64) {
        self.values.iter_mut().for_each(|value| *value *= factor);
    }

    /// Another array, made line by line along an axis.
    fn by_lines(&self, axis: usize, extent: usize, line: impl Fn(&[Complex<f64>]) -> Vec<Complex<f64>>) -> Self {
        let inner = self.extents[axis + 1..].iter().product::<usize>() * self.batch;
        let (from, outer) = (self.extents[axis], self.extents[..axis].iter().product::<usize>());
        let mut extents = self.extents.clone();
        extents[axis] = extent;
        let mut made = Self::new(&extents, self.batch, |_| Complex::default());
        for outer in 0..outer {
            for column in 0..inner {
                let old: Vec<_> = (0..from).map(|row| self.values[(outer * from + row) * inner + column]).collect();
                for (row, value) in line(&old).into_iter().enumerate() {
                    made.values[(outer * extent + row) * inner + column] = value;
                }
            }
        }
        made
    }

    /// Returns the transform along an axis, without a factor.
    #[must_use]
    pub fn transformed(&self, axis: usize, inverse: bool) -> Self {
        let extent = self.extents[axis];
        let sign = if inverse { 1.0 } else { -1.0 };
        let root = |turn: usize| Complex::from_polar(1.0, sign * TAU * (turn % extent) as f64 / extent as f64);
        let roots: Vec<_> = (0..extent).map(root).collect();
        self.by_lines(axis, extent, |line| {
            let frequency = |k: usize| line.iter().enumerate().map(|(j, value)| value * roots[j * k % extent]).sum();
            (0..extent).map(frequency).collect()
        })
    }

    /// Returns the frequencies of smallest absolute value, in a period of `modes`.
    #[must_use]
    pub fn with_modes(&self, axis: usize, modes: usize) -> Self {
        let points = self.extents[axis] as isize;
        if modes as isize == points {
            return self.clone();
        }
        self.by_lines(axis, modes, |line| {
            let mut kept = vec![Complex::default(); modes];
            for (at, value) in line.iter().enumerate() {
                let at = at as isize;
                let frequency = if 2 * at <= points { at } else { at - points };
                if 2 * frequency.abs() <= modes as isize {
                    kept[frequency.rem_euclid(modes as isize) as usize] += value;
                }
            }
            kept
        })
    }

    /// Returns the opposite: zeros for the frequencies that are not there.
    #[must_use]
    pub fn with_points(&self, axis: usize, points: usize) -> Self {
        let modes = self.extents[axis];
        if modes == points {
            return self.clone();
        }
        self.by_lines(axis, points, |line| {
            let mut all = vec![Complex::default(); points];
            for (at, value) in line.iter().enumerate() {
                if 2 * at == modes {
                    all[at] += value / 2.0;
                    all[points - at] += value / 2.0;
                } else if 2 * at < modes {
                    all[at] = *value;
                } else {
                    all[points - (modes - at)] = *value;
                }
            }
            all
        })
    }

    /// Returns the frequencies that are not conjugates of others.
    #[must_use]
    pub fn first_half(&self, axis: usize) -> Self {
        let extent = self.extents[axis];
        let half = if extent == 0 { 0 } else { extent / 2 + 1 };
        self.by_lines(axis, half, |line| line[..half].to_vec())
    }
}
