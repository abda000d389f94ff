//! Impossible transforms are refused before anything moves, with an error that names the numbers.

use necklace::Communicator;
use necklace::array::ArrayError;
use necklace::topology::Grid;
use necklace_fft::{Complex, Error, Fft, FftError, Norm};

use crate::jobs::{self, on, watched};

/// The errors of a complex and a real transform on each of three ranks.
fn refused(fft: &Fft) -> Vec<Error> {
    let errors = jobs::run(3, |mut comm| {
        [fft.complex::<f64>(&mut comm).map(|_| ()).unwrap_err(), fft.real::<f32>(&mut comm).map(|_| ()).unwrap_err()]
    });
    errors.unwrap().into_iter().flatten().collect()
}

#[track_caller]
fn says(fft: &Fft, words: &str) {
    for error in refused(fft) {
        assert!(error.to_string().contains(words), "{error}");
    }
}

pub(super) fn impossible_transforms_are_refused_with_the_numbers() {
    watched("impossible transforms are refused with the numbers", || {
        let fft = |extents: &[usize]| Fft::new(extents);
        let grid = |extents: &[usize]| Grid::mesh(extents).unwrap();
        let huge = usize::MAX;
        says(&fft(&[]), "no axis to transform");
        says(&fft(&[4, 6]).axes(&[]), "no axis to transform");
        says(&fft(&[4, 6]).axes(&[0, 2]), "no axis 2; expected 0 to 1");
        says(&fft(&[4, 6]).axes(&[huge]), "; expected 0 to 1");
        says(&fft(&[12]).axes(&[1]), "no axis 1; expected 0 to 0");
        says(&fft(&[4, 6]).axes(&[1, 0, 1]), "axis 1 is to be transformed twice");
        says(&fft(&[4, 6]).grid(&grid(&[2])), "a grid of 2 nodes for 3 ranks; expected 3 nodes");
        says(&fft(&[4, 6]).grid(&grid(&[2, 2])), "a grid of 4 nodes for 3 ranks");
        says(&fft(&[4, 6]).batch(0), "0 elements at each index");
        says(&fft(&[4, 6]).batch(huge), "more than 2^63 - 1");
        says(&fft(&[huge, huge]), "more than 2^63 - 1");
        says(&fft(&[4, 6]).modes(&[4]), "modes of 1 axes given, for an array of 2");
        says(&fft(&[4, 6]).modes(&[4, 7]), "7 modes of axis 1, which has 6 points; expected 1 to 6");
        says(&fft(&[4, 6]).modes(&[0, 6]), "0 modes of axis 0, which has 4 points; expected 1 to 4");
        says(&fft(&[4, 6]).axes(&[1]).modes(&[3, 6]), "expected 4, because it is not transformed");
        says(
            &fft(&[12]).cyclic(),
            "[12] points on 3 ranks cannot be divided cyclically; expected one axis, whose extent is a multiple of 9",
        );
        says(&fft(&[9, 9]).cyclic(), "[9, 9] points");
        says(&fft(&[12]).grid(&grid(&[4])), "a grid of 4 nodes for 3 ranks");
        says(&fft(&[12]).modes(&[6]), "fewer modes than points cannot be set");
        says(&fft(&[12]).modes(&[13]), "13 modes of axis 0");
    });
}

pub(super) fn grid_that_leaves_no_axis_whole_is_refused() {
    watched("grid that leaves no axis whole is refused", || {
        let errors = jobs::run(4, |mut comm| {
            let fft = Fft::new(&[4, 6]).grid(&Grid::mesh(&[2, 2]).unwrap());
            fft.complex::<f64>(&mut comm).map(|_| ()).unwrap_err().to_string()
        });
        for error in errors.unwrap() {
            assert!(
                error.contains("2 axes of several nodes for an array of 2 axes") && error.contains("at most 1"),
                "{error}"
            );
        }
        let errors = jobs::run(4, |mut comm| {
            let fft = Fft::new(&[16]).grid(&Grid::mesh(&[2, 2]).unwrap());
            [fft.complex::<f64>(&mut comm).unwrap_err(), fft.real::<f64>(&mut comm).unwrap_err()]
        });
        for error in errors.unwrap().into_iter().flatten() {
            assert!(error.to_string().contains("a grid with several divided axes cannot be set"), "{error}");
        }
    });
}

pub(super) fn buffers_of_other_lengths_are_refused_and_the_plan_works() {
    watched("buffers of other lengths are refused and the plan works", || {
        let run = jobs::run(2, |mut comm| {
            let zeros = |length: usize| vec![Complex::<f64>::default(); length];
            let length_of = |error: Error| match error {
                Error::Transform { call, at, source, .. } => {
                    assert!(at.file().ends_with("transform_mistakes.rs"), "{at}");
                    let FftError::Length { buffer, found, expected, at_least, .. } = source else { panic!("{source}") };
                    (call, buffer, found, expected, at_least)
                }
                other => panic!("{other}"),
            };
            let mut transform = Fft::new(&[4, 6]).complex(&mut comm).unwrap();
            let (length, scratch) = (transform.len(), transform.scratch_len());
            assert_eq!((length, scratch), (12, 12));
            assert_eq!(
                length_of(transform.forward(&mut zeros(11)).unwrap_err()),
                ("forward", "buffer `data`", 11, 12, true)
            );
            let error = transform.inverse_with_scratch(&mut zeros(12), &mut zeros(3)).unwrap_err();
            assert_eq!(length_of(error), ("inverse_with_scratch", "buffer `scratch`", 3, 12, true));
            let error = transform.forward_into(&mut zeros(12), &mut zeros(13), &mut zeros(12)).unwrap_err();
            assert_eq!(length_of(error), ("forward_into", "buffer `spectrum`", 13, 12, false));
            let error = transform.inverse_into(&mut zeros(12), &mut zeros(13), &mut zeros(12)).unwrap_err();
            assert_eq!(length_of(error), ("inverse_into", "buffer `array`", 13, 12, false));
            transform.forward(&mut zeros(12)).unwrap();

            let mut transform = Fft::new(&[4, 6]).real::<f64>(&mut comm).unwrap();
            let error = transform.forward(&mut [0.0; 11], &mut zeros(8)).unwrap_err();
            assert_eq!(length_of(error), ("forward", "buffer `array`", 11, 12, false));
            let error = transform.inverse(&mut zeros(9), &mut [0.0; 12]).unwrap_err();
            assert_eq!(length_of(error), ("inverse", "buffer `spectrum`", 9, 8, false));
            transform.forward(&mut [0.0; 12], &mut zeros(8)).unwrap();
        });
        run.unwrap();
    });
}

pub(super) fn ranks_that_plan_different_transforms_are_told() {
    watched("ranks that plan different transforms are told", || {
        let fft = Fft::new(&[6, 6]);
        let others = [
            (Fft::new(&[6, 7]), "[6, 7] points"),
            (fft.clone().axes(&[0]), "along [0],"),
            (fft.clone().modes(&[5, 6]), "modes [5, 6]"),
            (fft.clone().grid(&Grid::mesh(&[3]).unwrap()), "grid Some([3])"),
            (fft.clone().transposed(), "transposed true"),
            (fft.clone().norm(Norm::Unitary), "norm Unitary"),
            (fft.clone().batch(2), "batch 2"),
            (fft.clone().portion(100), "portion 100"),
            (fft.clone().overlap(), "overlap true"),
        ];
        let told = |words: &str, plan: &(dyn Fn(&mut Communicator, bool) -> Result<(), Error> + Sync)| {
            let run = jobs::run(3, |mut comm| {
                let differs = comm.rank() == 2;
                plan(&mut comm, differs).unwrap_err().to_string()
            });
            for error in run.unwrap() {
                assert!(error.contains(words) && error.contains("rank 2"), "{error}");
            }
        };
        for (other, words) in &others {
            let fft = |differs| if differs { other } else { &fft };
            told(words, &|comm, differs| fft(differs).complex::<f64>(comm).map(|_| ()));
            told(words, &|comm, differs| fft(differs).real::<f64>(comm).map(|_| ()));
        }
        told("real transform", &|comm, differs| match differs {
            true => fft.real::<f64>(comm).map(|_| ()),
            false => fft.complex::<f64>(comm).map(|_| ()),
        });
        told("numbers of 4 bytes", &|comm, differs| match differs {
            true => fft.complex::<f32>(comm).map(|_| ()),
            false => fft.complex::<f64>(comm).map(|_| ()),
        });
        // Defaults equal the same options set explicitly.
        let run = jobs::run(3, |mut comm| {
            let fft = if comm.rank() == 2 { fft.clone().axes(&[0, 1]).modes(&[6, 6]) } else { fft.clone() };
            fft.complex::<f64>(&mut comm).map(|_| ()).unwrap();
        });
        run.unwrap();
    });
}

pub(super) fn chosen_algorithm_exchanges_the_array() {
    watched("using", || {
        let run = on("torus:2x2").run(|mut comm| {
            let fft = Fft::new(&[8, 8]);
            let mut transform = fft.complex::<f64>(&mut comm.using("torus-exchange")).unwrap();
            // The spectrum of a constant is one number.
            let mut data = vec![Complex::new(1.0, 0.0); transform.len()];
            transform.forward(&mut data).unwrap();
            let sum = data.iter().map(|value| value.norm()).fold(0.0, f64::max);
            assert_eq!(sum, if comm.rank() == 0 { 64.0 } else { 0.0 });
            let error = fft.complex::<f64>(&mut comm.using("no-such")).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("no-such"), "{error}");
        });
        run.unwrap();
    });
}

pub(super) fn rank_that_left_is_an_error_of_the_exchange() {
    watched("rank that left is an error of the exchange", || {
        let errors = jobs::run(2, |mut comm| {
            let mut transform = Fft::new(&[4, 6]).complex::<f64>(&mut comm).unwrap();
            if comm.rank() == 0 {
                return None;
            }
            // Rank 0 has left.
            let error = transform.forward(&mut [Complex::default(); 12]).unwrap_err();
            assert!(matches!(&error, Error::Exchange(_)), "{error}");
            Some(error.to_string())
        });
        let error = errors.unwrap().remove(1).unwrap();
        assert!(error.contains("alltoallw"), "{error}");
    });
}

pub(super) fn failed_exchange_fails_the_transform_on_all_ranks() {
    watched("failed exchange fails the transform on all ranks", || {
        let data = || [Complex::<f64>::default(); 128];
        let pencils = Fft::new(&[8, 8, 8]).grid(&Grid::mesh(&[2, 2]).unwrap());
        // A rank leaves. Those that exchange nothing with it directly are told by those that do.
        let errors = jobs::run(4, |mut comm| {
            let mut transform = pencils.complex::<f64>(&mut comm).unwrap();
            let leaves = comm.rank() == 3;
            (!leaves).then(|| transform.forward(&mut data()).unwrap_err().to_string())
        });
        let errors: Vec<String> = errors.unwrap().into_iter().flatten().collect();
        assert_eq!(errors.len(), 3);
        assert!(errors.iter().all(|error| error.contains("(rank 3 of the job) returned")), "{errors:?}");

        // A rank gives up, with a reason.
        let errors = jobs::run(4, |mut comm| {
            let mut transform = pencils.complex::<f64>(&mut comm).unwrap();
            let mut real = pencils.real::<f64>(&mut comm).unwrap();
            if comm.rank() == 2 {
                transform.abort("no input");
                real.abort("no input");
            }
            let mut spectrum = vec![Complex::default(); real.output().local_len(comm.rank())];
            let errors = [
                transform.inverse(&mut data()).unwrap_err(),
                real.forward(&mut [0.0; 128], &mut spectrum).unwrap_err(),
                // It stays so.
                transform.forward(&mut data()).unwrap_err(),
            ];
            comm.barrier().unwrap();
            errors.map(|error| error.to_string())
        });
        for error in errors.unwrap().into_iter().flatten() {
            assert!(error.contains("rank 2") && error.contains("gave up: no input"), "{error}");
        }
    });
}

pub(super) fn one_rank_is_told_of_axes_that_it_alone_has_wrong() {
    watched("one rank is told of axes that it alone has wrong", || {
        let errors = jobs::run(3, |mut comm| {
            let axes: &[usize] = if comm.rank() == 1 { &[0, 2] } else { &[0, 1] };
            Fft::new(&[4, 6]).axes(axes).complex::<f64>(&mut comm).map(|_| ()).unwrap_err().to_string()
        });
        for (rank, error) in errors.unwrap().iter().enumerate() {
            let words = if rank == 1 { "no axis 2; expected 0 to 1" } else { "along [0, 2]" };
            assert!(error.contains(words), "{error}");
            assert!(rank != 1 || error.starts_with("complex (") && error.contains("transform_mistakes.rs"), "{error}");
        }
    });
}

pub(super) fn array_errors_are_their_own() {
    watched("array errors are their own", || {
        // Memory is checked before divisors are sought: these are primes.
        says(&Fft::new(&[usize::MAX - 58]), "more than 2^63 - 1");
        says(&Fft::new(&[(1 << 62) - 57]), "bytes on one rank");
        // Less than a slice may have, more than can be allocated.
        says(&Fft::new(&[9 << 52]).cyclic(), "bytes on one rank");
        let reals = jobs::run(2, |mut comm| {
            let fft = Fft::new(&[2, 1 << 61]).modes(&[2, 1]);
            fft.real::<f64>(&mut comm).map(|_| ()).unwrap_err().to_string()
        });
        assert!(reals.unwrap().iter().all(|error| error.contains("elements of 8 bytes on one rank")));
        says(&Fft::new(&[1 << 62]), "bytes on one rank; expected at most");
        let error = refused(&Fft::new(&[1 << 62, 4])).remove(0);
        assert!(matches!(error, Error::Array { source: ArrayError::Size { .. }, .. }), "{error}");
    });
}
