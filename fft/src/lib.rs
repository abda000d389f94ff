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
//! | elements | complex ([`Fft::complex`]) and real ([`Fft::real`], n / 2 + 1 frequencies along one axis), of `f32` and `f64` |
//! | axes | all, or [some](Fft::axes); several elements at each index by [`batch`](Fft::batch) |
//! | division | slabs or pencils, chosen by the machine's prices, or [a grid](Fft::grid) |
//! | output | divided as the input is (if there is [one axis](Fft::new), into ranges of other lengths), or as the last exchange leaves it ([`transposed`](Fft::transposed)), with fewer exchanges and, for slabs, in another order of memory |
//! | exchanges | in [portions](Fft::portion), each transformed and sent while it is in the cache; over a network they can [overlap](Fft::overlap) with the transforms |
//! | factors | [`Norm`]: none, 1/N in either direction, 1/√N in both |
//! | 3/2 rule | [`modes`](Fft::modes): fewer frequencies than points |
//! | one axis | in four steps, or [cyclic](Fft::cyclic) with one exchange; [limits](Fft::new) if it is divided |
//!
//! # How it works
//!
//! A rank transforms along the axes that it has whole. Then the array is
//! [redistributed](necklace::Communicator::redistribute_portions_init), so that it has another axis
//! whole, and so on. The exchange is Necklace's `alltoallw`, among the ranks of one axis of the grid
//! only, by the algorithm that is [chosen](necklace::Communicator::choose) for `alltoallv`. What a
//! rank has transformed is sent while it is in the cache: a slice of the array, or a portion in a
//! small buffer where its elements are not contiguous. Elements are received where they belong. `rustfft`
//! and `realfft` transform the single lines.
//!
//! A planned transform can be executed any number of times. It has communicators of its own. The
//! first execution in each direction allocates, including scratch memory unless the caller passes
//! it. Later ones allocate nothing, unless exchanges [overlap](Fft::overlap).
//!
//! The ranks are those of any communicator. For processes over TCP, or ranks of MPI, a program also
//! depends on `necklace` with the feature `tcp` or `mpi`, and passes the communicator of
//! [`necklace::launch`](fn@necklace::launch).
//!
//! If an exchange fails on one rank, the transform fails on all ranks that exchange elements with
//! it, directly or through others. [`abort`](Transform::abort) does so on purpose. Ranks that
//! transform in different directions at the same time may wait for each other until the
//! [timeout](necklace::Options::timeout).
//!
//! # From other libraries
//!
//! Transforms from one buffer to another do not keep the contents of the first.
//!
//! | FFTW over MPI | mpi4py-fft | here |
//! |---|---|---|
//! | `fftw_mpi_local_size_3d` | `newDistArray`, `local_slice` | [`Transform::input`], [`Distribution::local_len`] |
//! | `fftw_mpi_plan_dft_3d` | `PFFT(comm, shape)` | `Fft::new(shape).complex(comm)` |
//! | `fftw_mpi_plan_dft_r2c_3d` | `PFFT(comm, shape, dtype=float)` | `Fft::new(shape).real(comm)` |
//! | `fftw_mpi_plan_dft_1d` | | `Fft::new(&[n])` |
//! | `FFTW_MPI_SCRAMBLED_OUT` | | [`Fft::transposed`] of one axis |
//! | `FFTW_MPI_TRANSPOSED_OUT` | what `PFFT` does | [`Fft::transposed`]; the axes of three are in memory in the order 1, 0, 2 in FFTW, 0, 1, 2 in mpi4py-fft, and here 1, 2, 0 for slabs and 0, 1, 2 for pencils |
//! | `FFTW_MPI_TRANSPOSED_IN`, backward | `PFFT.backward` | [`Transform::inverse`] of such a plan |
//! | `howmany` of `fftw_mpi_plan_many_dft` | | [`Fft::batch`] |
//! | slabs | `grid=(-1,)` | [`Fft::grid`] of `Grid::line(ranks)` |
//! | | `padding=[1.5, 1.5, 1.5]` of M modes | `Fft::new` of 3 M / 2 points, and [`Fft::modes`] |
//! | real numbers in place | | [`Fft::real`] has two buffers |
//! | `fftw_execute`, `FFTW_BACKWARD` | `forward`, `backward` | [`Transform::forward`], [`Transform::inverse`] |
//! | no factor | 1/N forward | [`Norm::None`], [`Norm::Forward`]; 1/N in the inverse unless set |
//!
//! | PencilFFTs.jl | 2DECOMP&FFT | here |
//! |---|---|---|
//! | `PencilFFTPlan(dims, Transforms.FFT(), (p, q), comm)` | `decomp_2d_init(nx, ny, nz, p, q)`, `decomp_2d_fft_init` | `Fft::new(shape).grid(&grid).complex(comm)`, with a grid of p x q ranks |
//! | `Transforms.RFFT()` | `decomp_2d_fft_3d` of a real and a complex array | [`Fft::real`] |
//! | `allocate_input`, `allocate_output` | `decomp_2d_fft_get_size` | [`Transform::input`], [`Transform::output`] and a `Vec` each |
//! | `mul!(u_hat, plan, u)`, `plan * u` | `decomp_2d_fft_3d(in, out, DECOMP_2D_FFT_FORWARD)` | [`Transform::forward_into`] |
//! | `ldiv!(u, plan, u_hat)`, `plan \ u_hat` | `decomp_2d_fft_3d(in, out, DECOMP_2D_FFT_BACKWARD)` | [`Transform::inverse_into`] |
//! | the order of memory after a transform | Z-pencils of the output | [`Fft::transposed`], and [`Distribution::order`] of the output |
//! | 1/N backward | no factor | [`Norm::Inverse`], [`Norm::None`] |

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
#[doc(no_inline)]
pub use rustfft::FftNum;
pub use transform::Transform;
