//! Processes that are started as a launcher would start them: this test's program, as many times as there are ranks.

use std::env;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use necklace::{Communicator, Error, connect, launch};

/// Every variable that says anything to a rank.
const FAMILIES: [&str; 6] = ["NECKLACE_", "SLURM_", "OMPI_", "PMI_", "MASTER_", "TORCHELASTIC_"];

/// Not a test by itself: what a started process does.
#[test]
fn a_started_process() {
    let Ok(what) = env::var("STARTED_PROCESS") else { return };
    let sum = |mut comm: Communicator| {
        let mut sum = [0];
        let rank = comm.rank();
        comm.allreduce(&[rank], &mut sum, necklace::op::Sum).map(|()| (rank, comm.size(), sum[0]))
    };
    let said = match &*what {
        "launch" => launch(sum).map(|results| format!("{results:?}")),
        "roots" => launch(|mut comm| {
            let root = comm.rank();
            let outcome = comm.broadcast(&mut [1_u64], root).map_err(|error| error.to_string());
            // Both have sent before either leaves.
            let meeting = env::var("NECKLACE_RENDEZVOUS").unwrap();
            let sent = |rank: usize| PathBuf::from(format!("{}-{rank}", meeting.strip_prefix("file:").unwrap()));
            std::fs::write(sent(root), "").unwrap();
            while !sent(1 - root).exists() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            outcome
        })
        .map(|results| format!("{results:?}")),
        "connect" => connect().map(|comm| format!("{:?}", sum(comm))),
        _ => launch(|comm| {
            assert!(comm.rank() != 1, "rank 1 has had enough");
            format!("{}", sum(comm).unwrap_err())
        })
        .map(|results| format!("{results:?}")),
    };
    let said = said.unwrap_or_else(|error: Error| format!("error: {error}"));
    // The harness keeps what a test prints to itself.
    std::fs::write(env::var("STARTED_SAYS").unwrap(), said).unwrap();
}

struct Started {
    child: Child,
    says: PathBuf,
}

/// Starts this program with these variables and no others of a launcher.
fn start(what: &str, name: &str, environment: &[(&str, &str)]) -> Started {
    let says = env::temp_dir().join(format!("necklace-launch-{name}-{}", std::process::id()));
    let mut command = Command::new(env::current_exe().unwrap());
    for (variable, _) in env::vars_os() {
        let variable = variable.to_string_lossy().into_owned();
        if FAMILIES.iter().any(|family| variable.starts_with(family)) || ["RANK", "WORLD_SIZE"].contains(&&*variable) {
            command.env_remove(variable);
        }
    }
    command.args(["--exact", "launch::a_started_process", "--test-threads=1"]).envs(environment.iter().copied());
    command.env("STARTED_PROCESS", what).env("STARTED_SAYS", &says).stdin(Stdio::null());
    Started { child: command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(), says }
}

impl Started {
    fn says(self) -> String {
        let Output { stdout, stderr, .. } = self.child.wait_with_output().unwrap();
        let said = std::fs::read_to_string(&self.says).unwrap_or_else(|error| {
            panic!("{error}: {}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr))
        });
        std::fs::remove_file(&self.says).unwrap();
        said
    }
}

/// Starts so many, which meet by a file.
fn job(what: &str, name: &str, size: usize, family: (&str, &str)) -> Vec<String> {
    let file = env::temp_dir().join(format!("necklace-launch-{name}-{}-meeting", std::process::id()));
    let meeting = format!("file:{}", file.display());
    let started: Vec<_> = (0..size)
        .map(|rank| {
            let (rank, count) = (rank.to_string(), size.to_string());
            let environment = [(family.0, &*rank), (family.1, &*count), ("NECKLACE_RENDEZVOUS", &*meeting)];
            start(what, &format!("{name}-{rank}"), &environment)
        })
        .collect();
    let said = started.into_iter().map(Started::says).collect();
    assert!(!file.exists());
    said
}

#[test]
fn a_closure_runs_once_in_each_process() {
    let said = job("launch", "closure", 3, ("NECKLACE_RANK", "NECKLACE_SIZE"));
    assert_eq!(said, ["[Ok((0, 3, 3))]", "[Ok((1, 3, 3))]", "[Ok((2, 3, 3))]"]);
}

#[test]
fn processes_of_other_launchers_connect() {
    let said = job("connect", "slurm", 2, ("SLURM_PROCID", "SLURM_NTASKS"));
    assert_eq!(said, ["Ok((0, 2, 1))", "Ok((1, 2, 1))"]);
}

#[test]
fn a_panic_is_an_error_of_its_rank_and_told_to_the_others() {
    let said = job("panic", "panic", 3, ("NECKLACE_RANK", "NECKLACE_SIZE"));
    assert_eq!(said[1], "error: rank 1 panicked: rank 1 has had enough");
    for other in [&said[0], &said[2]] {
        assert!(other.contains("rank 1 panicked: rank 1 has had enough"), "{other}");
    }
}

#[test]
fn a_job_of_one_process_is_a_job() {
    let environment = [("NECKLACE_RANK", "0"), ("NECKLACE_SIZE", "1")];
    assert_eq!(start("connect", "one", &environment).says(), "Ok((0, 1, 0))");
}

#[test]
fn without_a_launcher_a_closure_runs_on_threads_and_a_process_cannot_connect() {
    let threads = start("launch", "threads", &[("NECKLACE_RANKS", "2")]).says();
    assert_eq!(threads, "[Ok((0, 2, 1)), Ok((1, 2, 1))]");
    let alone = start("connect", "alone", &[]).says();
    assert!(alone.starts_with("error: no launcher") && alone.contains("necklace run"), "{alone}");
}

#[test]
fn a_job_that_is_half_there_is_never_one_of_threads() {
    for (name, environment, words) in [
        ("half", &[("WORLD_SIZE", "2")][..], "RANK is not set"),
        ("nowhere", &[("PMI_RANK", "0"), ("PMI_SIZE", "2")], "NECKLACE_RENDEZVOUS"),
        ("twice", &[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("RANK", "0"), ("WORLD_SIZE", "3")], "WORLD_SIZE is 3"),
    ] {
        let said = start("launch", name, environment).says();
        assert!(said.starts_with("error:") && said.contains(words), "{said}");
    }
}

#[test]
fn job_of_ranks_that_each_broadcast_does_not_end_as_a_success() {
    let said = job("roots", "roots", 2, ("NECKLACE_RANK", "NECKLACE_SIZE"));
    for rank in 0..2 {
        let name = format!("necklace-launch-roots-{}-meeting-{rank}", std::process::id());
        std::fs::remove_file(env::temp_dir().join(name)).unwrap();
    }
    // At least by the one that leaves last.
    let told = said.iter().find(|said| said.starts_with("error: ")).unwrap_or_else(|| panic!("{said:?}"));
    assert!(told.contains("broadcast from root 0") && told.contains("broadcast from root 1"), "{told}");
    assert!(said.iter().all(|said| said == "[Ok(())]" || said.starts_with("error: ")), "{said:?}");
}
