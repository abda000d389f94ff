//! Fourier transforms of distributed arrays.
//!
//! Each rank of a [Necklace](necklace) communicator (a thread, a process over TCP or one of MPI)
//! has a part of an array. [`Fft`] plans a transform of any number of dimensions, with any extents
//! and any number of ranks:
//!
//! ```
//! use necklace_fft::{Complex, Fft};
//!
//! // Two ranks transform a wave of an array of 4 x 8 x 6 elements.
//! let peaks = necklace::local::run(2, |mut comm| {
//!     let rank = comm.rank();
//!     let mut transform = Fft::new(&[4, 8, 6]).complex::<f64>(&mut comm)?;
//!     // Which elements a rank has, and in which order. Here: a range of the first axis.
//!     let wave = |at: &[usize]| std::f64::consts::TAU * (3.0 * at[1] as f64 / 8.0 + at[2] as f64 / 6.0);
//!     let elements = transform.input().elements(rank);
//!     let mut data: Vec<_> = elements.map(|(_, at)| Complex::from_polar(1.0, wave(&at))).collect();
//!
//!     transform.forward(&mut data)?;
//!     let peaks = transform.output().elements(rank).filter(|(index, _)| data[*index].norm() > 1.0);
//!     Ok::<_, necklace_fft::Error>(peaks.map(|(_, at)| at.to_vec()).collect::<Vec<_>>())
//! })?;
//! let peaks: Vec<Vec<usize>> = peaks.into_iter().flat_map(Result::unwrap).collect();
//! assert_eq!(peaks, [[0, 3, 1]]);
//! # Ok::<(), necklace::JobError>(())
//! ```
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | elements | complex ([`Fft::complex`]) and real ([`Fft::real`], n / 2 + 1 frequencies along the last axis), of `f32` and `f64` |
//! | axes | all, or [some](Fft::axes); several elements at each index by [`batch`](Fft::batch) |
//! | division | slabs or pencils, chosen by the machine's prices, or [a grid](Fft::grid) |
//! | output | divided as the input is, or as the last exchange leaves it ([`transposed`](Fft::transposed)), with fewer exchanges |
//! | factors | [`Norm`]: none, 1/N in either direction, 1/√N in both |
//! | 3/2 rule | [`modes`](Fft::modes): fewer frequencies than points |
//! | one axis | in four steps, or [cyclic](Fft::cyclic) with one exchange |
//!
//! # How it works
//!
//! A rank transforms along the axes that it has whole. Then the array is
//! [redistributed](necklace::Communicator::redistribute_init), so that it has another axis whole,
//! and so on. The exchange is Necklace's `alltoallw`, among the ranks of one axis of the grid only,
//! by the algorithm that is [chosen](necklace::Communicator::choose) for `alltoallv`. Elements are
//! sent from where they lie, and received where they belong. `rustfft` and `realfft` transform the
//! single lines.
//!
//! A planned transform can be executed any number of times. It has communicators of its own. An
//! execution allocates nothing but its scratch memory, once, unless the caller passes that.
//!
//! # From other libraries
//!
//! | FFTW over MPI | mpi4py-fft | here |
//! |---|---|---|
//! | `fftw_mpi_local_size_3d` | `newDistArray`, `local_slice` | [`Transform::input`], [`Distribution::local_len`] |
//! | `fftw_mpi_plan_dft_3d` | `PFFT(comm, shape)` | `Fft::new(shape).complex(comm)` |
//! | `fftw_mpi_plan_dft_r2c_3d` | `PFFT(comm, shape, dtype=float)` | `Fft::new(shape).real(comm)` |
//! | `FFTW_MPI_TRANSPOSED_OUT` | what `PFFT` does | [`Fft::transposed`] |
//! | `howmany` of `fftw_mpi_plan_many_dft` | | [`Fft::batch`] |
//! | slabs | `grid=(-1,)` | `.grid(&Grid::line(ranks))` |
//! | | `padding=[1.5, 1.5, 1.5]` of M modes | `Fft::new` of 3 M / 2 points, and [`Fft::modes`] |
//! | real numbers in place | | [`Fft::real`] has two buffers |
//! | no factor | 1/N forward | [`Norm::None`], [`Norm::Forward`]; 1/N in the inverse unless set |

mod builder;
mod error;
mod float;
mod layout;
mod lines;
mod norm;
mod one_axis;
mod pipeline;
mod real;
mod real_lines;
mod route;
mod transform;

pub use builder::Fft;
pub use error::{Error, FftError};
pub use float::Float;
pub use necklace::array::Distribution;
pub use norm::Norm;
pub use num_complex::Complex;
pub use real::RealTransform;
pub use transform::Transform;
