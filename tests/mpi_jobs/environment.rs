//! Environments that are invalid, or invalid under mpirun.

use crate::job::Job;

/// Checks the error of each of two ranks, or of a process without a launcher.
fn refused(job: Job, words: &[&str]) {
    let ended = job.run().with(0);
    for error in ended.all("error ") {
        assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {ended}");
    }
}

#[test]
fn two_backends_at_once_are_refused() {
    let job = || Job::of(2, "connect").set("NECKLACE_BACKEND", "mpi");
    refused(
        job().set("NECKLACE_ROOT", "127.0.0.1:1"),
        &["NECKLACE_BACKEND is \"mpi\"", "NECKLACE_ROOT is \"127.0.0.1:1\""],
    );
    refused(job().set("NECKLACE_RANK", "0"), &["NECKLACE_BACKEND is \"mpi\"", "NECKLACE_RANK is \"0\""]);
}

#[test]
fn variables_of_necklace_run_count_under_mpirun() {
    // Every process is alone in its job.
    let job = Job::of(2, "connect").set("NECKLACE_RANK", "0").set("NECKLACE_SIZE", "1");
    assert_eq!(job.run().with(0).all("is "), ["(0, 1)", "(0, 1)"]);
    let half = Job::of(2, "launch").set("NECKLACE_RANK", "0");
    refused(half, &["NECKLACE_RANK is 0, but NECKLACE_SIZE is not set"]);
}

#[test]
fn contradictory_launchers_are_refused() {
    let job = Job::of(2, "launch").set("RANK", "5").set("WORLD_SIZE", "8");
    refused(job, &["RANK is 5, WORLD_SIZE is 8 (torchrun)", "unset the variables that do not apply"]);
}

#[test]
fn single_process_of_a_larger_job_is_refused() {
    for job in [Job::alone("connect"), Job::alone("launch")] {
        let job = job.set("SLURM_PROCID", "3").set("SLURM_NTASKS", "8");
        refused(job.clone(), &["SLURM_PROCID is 3, SLURM_NTASKS is 8 (Slurm)", "only one", "srun --mpi=list"]);
        refused(job.set("NECKLACE_BACKEND", "mpi"), &["SLURM_NTASKS is 8 (Slurm)", "only one"]);
    }
}

#[test]
fn settings_that_do_not_fit_are_refused_on_every_rank() {
    for what in ["connect", "launch"] {
        let job = || Job::of(2, what);
        refused(job().set("NECKLACE_RANKS", "3"), &["NECKLACE_RANKS is 3", "MPI has started 2"]);
        refused(job().set("NECKLACE_TOPOLOGY", "ring:5"), &["2 ranks do not fit ring:5 (5 nodes)"]);
        refused(job().set("NECKLACE_TOPOLOGY", "moebius:2"), &["moebius"]);
    }
    refused(
        Job::of(2, "launch").set("NECKLACE_BACKEND", "carrier-pigeon"),
        &["carrier-pigeon", "expected one of mpi, tcp, local"],
    );
    refused(
        Job::of(2, "launch").set("NECKLACE_TIMEOUT", "soon"),
        &["NECKLACE_TIMEOUT: found \"soon\", expected a whole number of seconds"],
    );
    refused(Job::of(2, "launch").set("NECKLACE_ALGORITHM", "brick"), &["brick", "native"]);
}

#[test]
fn launcher_in_a_batch_script_overrides_slurm() {
    for what in ["connect", "launch"] {
        let ended = Job::of(3, what).set("SLURM_PROCID", "0").set("SLURM_NTASKS", "4").run().with(0);
        assert_eq!(ended.all("ends "), ["0"; 3], "{ended}");
        assert!((0..3).all(|rank| ended.all("is ")[rank].contains(&format!("({rank}, 3)"))), "{ended}");
    }
}

#[test]
fn settings_that_fit_the_job_count() {
    let job = Job::of(4, "connect").set("NECKLACE_RANKS", "4").set("NECKLACE_TOPOLOGY", "torus:2x2");
    let job = job.set("NECKLACE_ALGORITHM", "alltoall=direct,allreduce=native").set("NECKLACE_TIMEOUT", "20");
    assert_eq!(job.run().with(0).all("is "), ["(0, 4)", "(1, 4)", "(2, 4)", "(3, 4)"]);
}
