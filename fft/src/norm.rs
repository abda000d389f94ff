//! Factors of transforms.

/// The factors by which a transform and its inverse multiply. N is the number of points that are
/// transformed: the product of the extents of the transformed axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Norm {
    /// Neither multiplies: forward and then inverse gives N times the array. As FFTW.
    None,
    /// Forward multiplies by 1/N, as mpi4py-fft: the elements of the spectrum are amplitudes.
    Forward,
    /// The inverse multiplies by 1/N, as NumPy.
    #[default]
    Inverse,
    /// Both multiply by 1/√N, so that energy is kept (Parseval).
    Unitary,
}

impl Norm {
    /// Returns the factor of one direction for a number of points.
    pub(crate) fn factor(self, points: f64, inverse: bool) -> f64 {
        match (self, inverse) {
            (Self::Unitary, _) => 1.0 / points.sqrt(),
            (Self::Forward, false) | (Self::Inverse, true) => 1.0 / points,
            _ => 1.0,
        }
    }
}
