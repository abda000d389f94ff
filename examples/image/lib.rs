//! Pictures, and what their transforms are compared with: shared code of the examples of this
//! package.

use std::error::Error;
use std::fs::File;
use std::io::Cursor;
use std::path::Path;

use necklace::Communicator;
use necklace::array::Distribution;
use num_complex::Complex64;
use rustfft::FftPlanner;

/// A grey picture, in row-major order.
pub struct Picture {
    /// The number of columns.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The grey values.
    pub grey: Vec<u8>,
}

impl Picture {
    /// Returns the portrait that the examples transform.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be decoded.
    pub fn portrait() -> Result<Self, Box<dyn Error>> {
        let bytes = include_bytes!("../../testdata/portrait-512.png");
        let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info()?;
        let mut grey = vec![0; reader.output_buffer_size().ok_or("the picture is too large")?];
        let info = reader.next_frame(&mut grey)?;
        if (info.color_type, info.bit_depth) != (png::ColorType::Grayscale, png::BitDepth::Eight) {
            return Err(format!("{:?} of {:?} bits, not grey of 8", info.color_type, info.bit_depth).into());
        }
        grey.truncate(info.buffer_size());
        Ok(Self { width: info.width as usize, height: info.height as usize, grey })
    }

    /// Returns the extents of the array: rows and columns.
    #[must_use]
    pub fn extents(&self) -> [usize; 2] {
        [self.height, self.width]
    }

    /// Returns the grey value of a point.
    #[must_use]
    pub fn at(&self, index: &[usize]) -> f64 {
        f64::from(self.grey[index[0] * self.width + index[1]])
    }

    /// Returns another picture of the same size.
    #[must_use]
    pub fn with(&self, values: &[Complex64]) -> Self {
        let grey = values.iter().map(|value| value.re.round().clamp(0.0, 255.0) as u8).collect();
        Self { grey, ..*self }
    }

    /// Writes the picture to a file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn encode(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut encoder = png::Encoder::new(file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header()?.write_image_data(&self.grey)?;
        Ok(())
    }
}

/// Gathers an array on rank 0. Other ranks get nothing. Collective.
///
/// # Errors
///
/// Fails as a redistribution does.
pub fn gather(
    comm: &mut Communicator,
    part: &[Complex64],
    of: &Distribution,
) -> Result<Vec<Complex64>, Box<dyn Error>> {
    let whole = of.shape().iter().map(|&extent| 0..extent);
    let boxes: Vec<Vec<_>> =
        (0..of.ranks()).map(|rank| whole.clone().map(|range| if rank == 0 { range } else { 0..0 }).collect()).collect();
    let on_rank_0 = Distribution::boxes(of.shape(), &boxes)?;
    let mut all = vec![Complex64::default(); on_rank_0.local_len(comm.rank())];
    comm.redistribute_init(of, &on_rank_0)?.execute(part, &mut all)?;
    Ok(all)
}

/// Transforms a whole matrix on one rank: all rows, then all columns. Does not scale the inverse.
pub fn on_one_rank(matrix: &mut [Complex64], width: usize, inverse: bool) {
    let height = matrix.len() / width;
    let mut planner = FftPlanner::new();
    let mut plan = |len| if inverse { planner.plan_fft_inverse(len) } else { planner.plan_fft_forward(len) };
    let (row, column) = (plan(width), plan(height));
    row.process(matrix);
    for j in 0..width {
        let mut line: Vec<Complex64> = (0..height).map(|i| matrix[i * width + j]).collect();
        column.process(&mut line);
        line.into_iter().enumerate().for_each(|(i, value)| matrix[i * width + j] = value);
    }
}

/// Returns the largest difference between elements; infinity if the lengths differ.
#[must_use]
pub fn difference(found: &[Complex64], wanted: &[Complex64]) -> f64 {
    if found.len() != wanted.len() {
        return f64::INFINITY;
    }
    found.iter().zip(wanted).map(|(found, wanted)| (found - wanted).norm()).fold(0.0, worse)
}

/// Returns the larger error, with NaN as the largest. (`f64::max` would ignore NaN.)
#[must_use]
pub fn worse(one: f64, other: f64) -> f64 {
    if other.is_nan() || other > one { other } else { one }
}
