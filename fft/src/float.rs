//! The types that numbers may have.

use bytemuck::Pod;
use num_complex::Complex;
use rustfft::FftNum;

/// A real number of a transform: `f32` or `f64`.
pub trait Float: FftNum + Pod + Default + private::Sealed {}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl Float for f32 {}
impl Float for f64 {}

/// Returns the nearest number.
pub(crate) fn nearest<T: Float>(value: f64) -> T {
    T::from_f64(value).expect("a floating-point number, which has infinities")
}

/// Returns e^(-2πi `turn` / `whole`).
pub(crate) fn root<T: Float>(turn: u128, whole: usize) -> Complex<T> {
    let angle = -std::f64::consts::TAU * ((turn % whole as u128) as f64 / whole as f64);
    Complex::new(nearest(angle.cos()), nearest(angle.sin()))
}
