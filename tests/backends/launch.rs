//! Processes that are started as by a launcher: the program of this test, once for each rank.

use std::env;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use log::{Log, Metadata, Record};
use necklace::launch::Launch;
use necklace::permutation::BitMap;
use necklace::topology::{Graph, Topology};
use necklace::transport::trace::Tracing;
use necklace::{Communicator, JobError, connect, launch};

/// Prefixes of all variables that a rank reads.
const FAMILIES: [&str; 6] = ["NECKLACE_", "SLURM_", "OMPI_", "PMI_", "MASTER_", "TORCHELASTIC_"];

/// Not a test by itself: the body of a started process.
#[test]
fn a_started_process() {
    let Ok(what) = env::var("STARTED_PROCESS") else { return };
    let sum = |mut comm: Communicator| {
        let mut sum = [0];
        let rank = comm.rank();
        comm.allreduce(&[rank], &mut sum, necklace::op::Sum).map(|()| (rank, comm.size(), sum[0]))
    };
    let said = match &*what {
        "graph" => Launch::from_env().topology(bridge()).run(network).map(|results| format!("{results:?}")),
        "graphs" => {
            let odd = env::var("NECKLACE_RANK").is_ok_and(|rank| rank == "1");
            let network = if odd { Arc::new(Graph::from_edges([(0, 1), (0, 2)]).unwrap()) } else { bridge() };
            Launch::from_env().topology(network).run(|comm| comm.rank()).map(|results| format!("{results:?}"))
        }
        "logged" => {
            log::set_logger(&Lines).unwrap();
            log::set_max_level(log::LevelFilter::Debug);
            launch(parts).map(|_| Lines::all())
        }
        "hosts" => launch(|mut comm| {
            let hosts = format!("{:?}", comm.hosts());
            comm.choose("allreduce", "two-level").unwrap();
            let mut sum = [0];
            let rank = comm.rank();
            comm.allreduce(&[rank], &mut sum, necklace::op::Sum).unwrap();
            let mut part = comm.split_by_host(0).unwrap();
            let mut members = vec![0; part.size()];
            part.allgather(&[rank], &mut members).unwrap();
            (hosts, sum[0], members)
        })
        .map(|results| format!("{results:?}")),
        "launch" => launch(sum).map(|results| format!("{results:?}")),
        "roots" => launch(|mut comm| {
            let root = comm.rank();
            let outcome = comm.broadcast(&mut [1_u64], root).map_err(|error| error.to_string());
            // Both send before either leaves.
            let meeting = env::var("NECKLACE_RENDEZVOUS").unwrap();
            let sent = |rank: usize| PathBuf::from(format!("{}-{rank}", meeting.strip_prefix("file:").unwrap()));
            std::fs::write(sent(root), "").unwrap();
            while !sent(1 - root).exists() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            outcome
        })
        .map(|results| format!("{results:?}")),
        "follow" => launch(|comm| {
            assert!(comm.rank() != 1, "rank 1 has had enough");
            sum(comm).unwrap()
        })
        .map(|results| format!("{results:?}"))
        .or_else(|error| Ok(format!("{} was the first: {error}", error.rank().unwrap()))),
        "wrapped" => {
            let tracing = Tracing::new();
            let log = tracing.clone();
            let sums = Launch::from_env().wrap(move |endpoint| Arc::new(log.wrap(endpoint))).run(sum);
            sums.map(|results| format!("{results:?}, traced: {}", !tracing.events().is_empty()))
        }
        "threads" => Launch::threads().ranks(2).run(sum).map(|results| format!("{results:?}")),
        "connect" => connect().map(|comm| format!("{:?}", sum(comm))),
        _ => launch(|comm| {
            assert!(comm.rank() != 1, "rank 1 has had enough");
            format!("{}", sum(comm).unwrap_err())
        })
        .map(|results| format!("{results:?}")),
    };
    let said = said.unwrap_or_else(|error: JobError| format!("error: {error}"));
    // The test harness captures what a test prints.
    std::fs::write(env::var("STARTED_SAYS").unwrap(), said).unwrap();
}

/// Collects the log lines of communicators and launches.
struct Lines;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl Lines {
    fn all() -> String {
        LINES.lock().unwrap().join("\n")
    }
}

impl Log for Lines {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        ["necklace::communicator", "necklace::launch"].iter().any(|room| of.target().starts_with(room))
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            LINES.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// A network without a name: 0 - 1 - 2.
fn bridge() -> Arc<Graph> {
    Arc::new(Graph::from_edges([(0, 1), (1, 2)]).unwrap())
}

fn network(mut comm: Communicator) -> (usize, Vec<usize>, usize) {
    let mut all = vec![0; comm.size()];
    let rank = comm.rank();
    comm.allgather(&[rank], &mut all).unwrap();
    (rank, all, comm.topology().edges().len())
}

/// All calls that are planned, of the whole and of its parts: even and odd ranks, and all of them.
fn parts(mut comm: Communicator) {
    let calls = |comm: &mut Communicator| {
        let ranks = comm.size();
        let (ones, places): (Vec<usize>, Vec<usize>) = (vec![1; ranks], (0..ranks).collect());
        comm.alltoall(&vec![1_u8; ranks], &mut vec![0; ranks]).unwrap();
        comm.allgather(&[1_u8], &mut vec![0; ranks]).unwrap();
        comm.alltoallv(&vec![1_u8; ranks], (&ones, &places), &mut vec![0; ranks], (&ones, &places)).unwrap();
        comm.alltoall_init::<u8>(7).unwrap();
    };
    let mut half = comm.split(comm.rank() as u32 % 2, 0).unwrap();
    calls(&mut half);
    calls(&mut comm);
    comm.permute(&BitMap::bit_reversal(2).unwrap(), &[1_u8; 1], &mut [0; 1]).unwrap();
}

#[test]
fn environment_algorithms_reach_parts_and_are_logged() {
    let environment = [
        ("NECKLACE_TOPOLOGY", "ring:4"),
        ("NECKLACE_ALGORITHM", "alltoall=bruck:radix=3,allgather=ring,alltoallv=torus-exchange,permute=straight"),
    ];
    let threads = start("logged", "logged", &environment).says();
    let file = env::temp_dir().join(format!("necklace-launch-logged-{}-meeting", std::process::id()));
    let meeting = format!("file:{}", file.display());
    let processes: Vec<Started> = ["0", "1", "2", "3"]
        .into_iter()
        .map(|rank| {
            let seat = [("NECKLACE_RANK", rank), ("NECKLACE_SIZE", "4"), ("NECKLACE_RENDEZVOUS", &meeting)];
            start("logged", &format!("logged-{rank}"), &[&seat[..], &environment].concat())
        })
        .collect();
    for said in processes.into_iter().map(Started::says).chain([threads]) {
        for line in [
            "NECKLACE_ALGORITHM is \"alltoall=bruck:radix=3,",
            " of 4 in communicator world: alltoall by bruck:radix=3 from now on",
            "planned alltoall of blocks of 1 x 1 bytes (u8) among 4 ranks by bruck:radix=3 on ring:4",
            "planned alltoall of blocks of 7 x 1 bytes (u8) among 4 ranks by bruck:radix=3 on ring:4",
            "planned allgather (split) of blocks of 3 x 8 bytes (i64) among 4 ranks by ring on ring:4",
            "planned allgather of blocks of 1 x 1 bytes (u8) among 4 ranks by ring on ring:4",
            "planned counts of alltoallv of 1-byte elements (u8) among 4 ranks by torus-exchange on ring:4",
            "planned alltoallv of 1-byte elements (u8) among 4 ranks by torus-exchange on ring:4",
            "planned permute",
            // Even and odd ranks of a ring of four are not linked.
            ": alltoall by bruck:radix=3 from now on",
            "planned alltoall of blocks of 1 x 1 bytes (u8) among 2 ranks by bruck:radix=3 on complete:2",
            "planned alltoall of blocks of 7 x 1 bytes (u8) among 2 ranks by bruck:radix=3 on complete:2",
            "planned allgather of blocks of 1 x 1 bytes (u8) among 2 ranks by ring on complete:2",
            ": alltoallv does not inherit torus-exchange: torus-exchange does not fit alltoall on complete:2",
            "planned alltoallv of 1-byte elements (u8) among 2 ranks by direct on complete:2",
        ] {
            assert!(said.contains(line), "{line:?} is not in\n{said}");
        }
    }
}

#[test]
fn launch_uses_a_custom_topology() {
    assert_eq!(
        start("graph", "graph-threads", &[]).says(),
        "[(0, [0, 1, 2], 2), (1, [0, 1, 2], 2), (2, [0, 1, 2], 2)]"
    );
    let said = job("graph", "graph", 3, ("NECKLACE_RANK", "NECKLACE_SIZE"));
    assert_eq!(said, [0, 1, 2].map(|rank| format!("[({rank}, [0, 1, 2], 2)]")));
    // The environment has priority, and a network that does not fit the job is refused.
    let said = start("graph", "graph-named", &[("NECKLACE_TOPOLOGY", "ring:3")]).says();
    assert!(said.starts_with("[(0, [0, 1, 2], 3)"), "{said}");
    let said = start("graph", "graph-ranks", &[("NECKLACE_RANKS", "4")]).says();
    assert!(said.starts_with("error: Launch::topology (") && said.contains("): 4 ranks do not fit graph"), "{said}");
}

#[test]
fn ranks_with_different_custom_topologies_do_not_start() {
    for said in job("graphs", "graphs", 3, ("NECKLACE_RANK", "NECKLACE_SIZE")) {
        assert!(
            said.starts_with("error: ")
                && said.matches(" calls start of 3 ranks on graph").count() >= 2
                && said.contains(", links "),
            "{said}"
        );
    }
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

/// Starts `size` processes, which find each other through a file.
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
fn closure_runs_once_in_each_process() {
    let said = job("launch", "closure", 3, ("NECKLACE_RANK", "NECKLACE_SIZE"));
    assert_eq!(said, ["[Ok((0, 3, 3))]", "[Ok((1, 3, 3))]", "[Ok((2, 3, 3))]"]);
}

#[test]
fn processes_on_named_hosts_are_split_by_host() {
    let file = env::temp_dir().join(format!("necklace-launch-hosts-{}-meeting", std::process::id()));
    let meeting = format!("file:{}", file.display());
    let started: Vec<Started> = [Some("b"), Some("a"), Some("b"), None, None]
        .into_iter()
        .enumerate()
        .map(|(rank, host)| {
            let rank = rank.to_string();
            let seat = [("NECKLACE_RANK", &*rank), ("NECKLACE_SIZE", "5"), ("NECKLACE_RENDEZVOUS", &*meeting)];
            let host = host.map(|host| ("NECKLACE_HOST", host));
            start("hosts", &format!("hosts-{rank}"), &seat.into_iter().chain(host).collect::<Vec<_>>())
        })
        .collect();
    let said: Vec<String> = started.into_iter().map(Started::says).collect();
    let hosts = "\"Some([0, 1, 0, 2, 2])\"";
    let parts = ["[0, 2]", "[1]", "[0, 2]", "[3, 4]", "[3, 4]"];
    assert_eq!(said, parts.map(|part| format!("[({hosts}, 10, {part})]")));
}

#[test]
fn processes_of_foreign_launchers_connect() {
    let said = job("connect", "slurm", 2, ("SLURM_PROCID", "SLURM_NTASKS"));
    assert_eq!(said, ["Ok((0, 2, 1))", "Ok((1, 2, 1))"]);
}

#[test]
fn panic_is_an_error_of_its_rank_and_reported_to_all() {
    let said = job("panic", "panic", 3, ("NECKLACE_RANK", "NECKLACE_SIZE"));
    assert_eq!(said[1], "error: rank 1 panicked: rank 1 has had enough");
    for other in [&said[0], &said[2]] {
        assert!(other.contains("rank 1 panicked: rank 1 has had enough"), "{other}");
    }
}

#[test]
fn panic_after_a_failure_names_the_culprit() {
    let said = job("follow", "follow", 3, ("NECKLACE_RANK", "NECKLACE_SIZE"));
    assert_eq!(said[1], "1 was the first: rank 1 panicked: rank 1 has had enough");
    for rank in [0, 2] {
        assert!(said[rank].starts_with(&format!("1 was the first: rank {rank}: call ")), "{}", said[rank]);
        assert!(said[rank].ends_with(": rank 1 panicked: rank 1 has had enough"), "{}", said[rank]);
    }
}

#[test]
fn endpoints_of_processes_and_threads_are_wrapped() {
    let said = job("wrapped", "wrapped", 2, ("NECKLACE_RANK", "NECKLACE_SIZE"));
    assert_eq!(said, ["[Ok((0, 2, 1))], traced: true", "[Ok((1, 2, 1))], traced: true"]);
    let threads = start("wrapped", "wrapped-threads", &[("NECKLACE_RANKS", "2")]).says();
    assert_eq!(threads, "[Ok((0, 2, 1)), Ok((1, 2, 1))], traced: true");
}

#[test]
fn launch_of_threads_ignores_the_environment() {
    let environment =
        [("NECKLACE_RANK", "1"), ("NECKLACE_SIZE", "4"), ("NECKLACE_TOPOLOGY", "moebius:2"), ("NECKLACE_TIMEOUT", "x")];
    assert_eq!(start("threads", "of-threads", &environment).says(), "[Ok((0, 2, 1)), Ok((1, 2, 1))]");
}

#[test]
fn job_of_one_process_runs() {
    let environment = [("NECKLACE_RANK", "0"), ("NECKLACE_SIZE", "1")];
    assert_eq!(start("connect", "one", &environment).says(), "Ok((0, 1, 0))");
}

#[test]
fn without_launcher_threads_run_and_connect_fails() {
    let threads = start("launch", "threads", &[("NECKLACE_RANKS", "2")]).says();
    assert_eq!(threads, "[Ok((0, 2, 1)), Ok((1, 2, 1))]");
    let alone = start("connect", "alone", &[]).says();
    assert!(alone.starts_with("error: no launcher") && alone.contains("necklace run"), "{alone}");
}

#[test]
fn incomplete_environment_never_starts_threads() {
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
fn conflicting_broadcasts_fail_the_process_job() {
    let said = job("roots", "roots", 2, ("NECKLACE_RANK", "NECKLACE_SIZE"));
    for rank in 0..2 {
        let name = format!("necklace-launch-roots-{}-meeting-{rank}", std::process::id());
        std::fs::remove_file(env::temp_dir().join(name)).unwrap();
    }
    // At least the rank that leaves last reports it.
    let told = said.iter().find(|said| said.starts_with("error: ")).unwrap_or_else(|| panic!("{said:?}"));
    assert!(told.contains("broadcast from root 0") && told.contains("broadcast from root 1"), "{told}");
    assert!(said.iter().all(|said| said == "[Ok(())]" || said.starts_with("error: ")), "{said:?}");
}
