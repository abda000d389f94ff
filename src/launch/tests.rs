//! Launches with artificial environments.

use std::time::Duration;

use super::backend::{Environment, ROWS, Row};
use super::builder::Launch;
use super::request::Defaults;
use super::run::run;
use crate::communicator::{Communicator, Options};
use crate::error::{JobCause, JobError};
use crate::machine::Machine;
use crate::transport::tcp::JoinError;

/// Runs the threads of a launch in that environment.
fn job<R: Send>(
    launch: Launch,
    environment: &[(&str, &str)],
    body: impl Fn(Communicator) -> R + Sync,
) -> Result<Vec<R>, JobError> {
    let variable = |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    let (row, joined, request) = launch.start(&variable, false)?;
    assert_eq!(row.name, "local");
    run(joined, row.threads, |endpoint| request.communicator(endpoint), body)
}

fn ranks(launch: Launch, environment: &[(&str, &str)]) -> Vec<String> {
    job(launch, environment, |comm| comm.topology().text()).unwrap()
}

#[test]
fn environment_overrides_the_program() {
    let program = Launch::default().topology("ring:4").choose("alltoall", "ring");
    assert_eq!(ranks(program.clone(), &[]), ["ring:4"; 4]);
    assert_eq!(ranks(program, &[("NECKLACE_TOPOLOGY", "torus:2x3")]), ["torus:2x3"; 6]);
    assert_eq!(ranks(Launch::default().ranks(5), &[("NECKLACE_RANKS", "3")]), ["complete:3"; 3]);
}

#[test]
fn named_network_overrides_the_function_of_ranks() {
    let program = Launch::default().ranks(5).topology_for(|ranks| format!("ring:{ranks}"));
    assert_eq!(ranks(program.clone(), &[]), ["ring:5"; 5]);
    assert_eq!(ranks(program.clone(), &[("NECKLACE_RANKS", "3")]), ["ring:3"; 3]);
    assert_eq!(ranks(program.clone().topology("line:5"), &[]), ["line:5"; 5]);
    assert_eq!(ranks(program, &[("NECKLACE_TOPOLOGY", "complete:5")]), ["complete:5"; 5]);
}

#[test]
fn invalid_values_are_refused_by_name() {
    let refused = [("NECKLACE_RANKS", "0"), ("NECKLACE_RANKS", "many")];
    let timeouts = ["NECKLACE_TIMEOUT", "NECKLACE_ARRIVAL_TIMEOUT"];
    let values = ["-1", "0", "1.5", "soon", "OFF", " off", "99999999999999999999"];
    let refused_timeouts = timeouts.iter().flat_map(|name| values.map(|value| (*name, value)));
    for (name, value) in refused.into_iter().chain(refused_timeouts) {
        let message = job(Launch::default(), &[(name, value)], |_| ()).unwrap_err().to_string();
        assert!(message.contains(name) && message.contains(value), "{message}");
    }
    let message = job(Launch::default().ranks(3), &[("NECKLACE_TOPOLOGY", "ring:4")], |_| ()).unwrap_err().to_string();
    assert!(message.contains("3 ranks do not fit ring:4"), "{message}");
    assert!(message.contains("use 4 ranks") && message.contains("such as complete:3"), "{message}");
}

#[test]
fn process_without_a_launcher_is_told_how_to_start() {
    let (run, mpirun, tcp, mpi) = ("`necklace run", "`mpirun", "feature `tcp`", "feature `mpi`");
    let alone = |backends: &[&str]| {
        let built = |row: &Row| backends.contains(&row.name);
        let environment = Environment::new(&|_| None, true, &built).unwrap();
        environment.backend().unwrap_err().to_string()
    };
    let says = |words: &str, all: &[&str]| assert!(all.iter().all(|one| words.contains(one)), "{words}");
    let [all, with_tcp, with_mpi] = [&["local", "tcp", "mpi"][..], &["local", "tcp"], &["local", "mpi"]].map(alone);
    says(&all, &[run, mpirun, "NECKLACE_BACKEND=mpi", "NECKLACE_ROOT"]);
    says(&with_tcp, &[run, mpirun, mpi, "NECKLACE_ROOT"]);
    says(&with_mpi, &[mpirun, "NECKLACE_BACKEND=mpi", tcp]);
    says(&alone(&["local"]), &[tcp, "`mpi`"]);
    assert!(![&all, &with_tcp].iter().any(|words| words.contains(tcp)));
    assert!(![&all, &with_mpi].iter().any(|words| words.contains(mpi)));
}

#[test]
fn backend_rows_are_distinct_and_built_ones_can_be_entered() {
    for (at, row) in ROWS.iter().enumerate() {
        assert_eq!(ROWS.iter().position(|other| other.name == row.name), Some(at));
        assert_eq!(row.built, row.enter.is_some(), "{}", row.name);
        assert_eq!(row.threads, row.command.is_empty(), "{}", row.name);
    }
}

#[test]
fn launch_of_threads_ignores_the_environment() {
    let environment = [
        ("NECKLACE_BACKEND", "tcp"),
        ("NECKLACE_RANKS", "3"),
        ("NECKLACE_TOPOLOGY", "ring:3"),
        ("NECKLACE_MACHINE", "cray"),
    ];
    assert_eq!(ranks(Launch::threads().ranks(2), &environment), ["complete:2"; 2]);
    let error = Launch::threads().connect().unwrap_err();
    assert!(matches!(error.cause(), JobCause::NotProcesses), "{error}");
}

#[test]
fn endpoints_have_the_prices_of_their_backend() {
    let (_, joined, _) = Launch::threads().ranks(2).start(&|_| None, false).unwrap();
    assert!(joined.endpoints.iter().all(|endpoint| endpoint.machine() == Machine::THREADS));
    let one = |name: &str| match name {
        "NECKLACE_RANK" => Some("0".to_owned()),
        "NECKLACE_SIZE" => Some("1".to_owned()),
        _ => None,
    };
    let (row, joined, _) = Launch::from_env().start(&one, true).unwrap();
    assert_eq!((row.name, joined.endpoints[0].machine()), ("tcp", Machine::TCP));
}

fn joined(launch: Launch, environment: &[(&str, &str)]) -> Result<Communicator, JobError> {
    launch.connect_by(&|name| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn rank_with_an_invalid_request_does_not_join() {
    let rank = [("NECKLACE_RANK", "1"), ("NECKLACE_SIZE", "4"), ("NECKLACE_ROOT", "127.0.0.1:1")];
    let refused = |launch, name, value, words: &[&str]| {
        let message = joined(launch, &[&rank[..], &[(name, value)]].concat()).unwrap_err().to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    };
    refused(Launch::default(), "NECKLACE_TOPOLOGY", "ring:5", &["4 ranks do not fit ring:5"]);
    refused(Launch::default().topology("torus:4x4"), "NECKLACE_INSECURE", "0", &["4 ranks do not fit torus:4x4"]);
    refused(Launch::default(), "NECKLACE_RANKS", "5", &["NECKLACE_RANKS is 5", "NECKLACE_SIZE is 4"]);
    refused(Launch::default(), "NECKLACE_TIMEOUT", "0", &["NECKLACE_TIMEOUT"]);
    refused(Launch::default(), "NECKLACE_KEY_FILE", "/no/such/file", &["/no/such/file"]);
}

#[test]
fn wait_for_rank_0_ends_with_the_timeout() {
    let rank = [("NECKLACE_RANK", "1"), ("NECKLACE_SIZE", "2"), ("NECKLACE_ROOT", "127.0.0.1:1")];
    let error = joined(Launch::default(), &[&rank[..], &[("NECKLACE_TIMEOUT", "1")]].concat()).unwrap_err();
    let JobCause::Join(JoinError::Unreachable { waited, .. }) = error.cause() else { panic!("{error}") };
    assert_eq!(*waited, Duration::from_secs(1));
    let quick = Launch::default().options(Options::default().timeout(Duration::from_millis(100)));
    let error = joined(quick, &rank).unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:1") && error.to_string().contains("100ms"), "{error}");
}

#[test]
fn algorithms_are_chosen_for_alltoall_or_by_collective() {
    let chosen = |text: &str| {
        job(Launch::default().ranks(4), &[("NECKLACE_ALGORITHM", text)], |comm| {
            let name = |c| comm.explain(&c, 8).unwrap().algorithm.name();
            (name(crate::collective::Collective::Alltoall), name(crate::collective::Collective::Allgather))
        })
    };
    assert_eq!(chosen("ring").unwrap()[0].0, "ring");
    assert_eq!(chosen("alltoall=direct-xor,allgather=ring").unwrap()[1], ("direct-xor".into(), "ring".into()));
    let several = "bruck:radix=3,ports=all";
    assert_eq!(chosen(several).unwrap()[0].0, several);
    let both = chosen(&format!("alltoall={several},allgather=ring")).unwrap();
    assert_eq!(both[1], (several.into(), "ring".into()));
    let message = chosen("bruck:radix=3,prots=all").unwrap_err().to_string();
    assert!(message.contains("bruck: found \"prots=all\""), "{message}");
    for twice in ["ring,bruck:radix=3", "alltoall=ring,allgather=ring,alltoall=direct"] {
        let message = chosen(twice).unwrap_err().to_string();
        assert!(message.ends_with("expected one algorithm for \"alltoall\""), "{message}");
    }
    let message = chosen("allgather=ring,brick").unwrap_err().to_string();
    assert!(message.starts_with("NECKLACE_ALGORITHM: ") && message.contains("direct-rotated"), "{message}");
}

#[test]
fn environment_sets_the_machine() {
    let chosen = |text: &str| {
        let launch = Launch::default().ranks(8).options(Options::default().machine(Machine::FREE.with_byte(1)));
        job(launch, &[("NECKLACE_MACHINE", text)], |comm| {
            comm.explain(&crate::collective::Collective::Alltoall, 8).unwrap().algorithm.name()
        })
    };
    // Few messages, or little volume.
    assert!(chosen("free:message=1s").unwrap().iter().all(|name| name.starts_with("bruck")));
    assert!(chosen("free:byte=1s").unwrap().iter().all(|name| name.starts_with("direct")));
    let error = chosen("free:bytes=1s").unwrap_err();
    assert!(matches!(error.cause(), JobCause::Machine { .. }), "{error}");
    let words = "NECKLACE_MACHINE: unknown key \"bytes\" of a machine; expected one of startup, ";
    assert!(error.to_string().starts_with(words), "{error}");
}

#[test]
fn environment_sets_timeouts_and_turns_them_off() {
    let program = Options::default().timeout(Duration::from_secs(3)).arrival_timeout(Duration::from_secs(4));
    let program = Defaults { options: program, ..Defaults::default() };
    let timeouts = |variables: &[(&str, &str)]| {
        let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).into());
        let options = program.options(&variable).unwrap();
        (options.join_timeout(), format!("{options:?}"))
    };
    let (silence, arrival) = ("NECKLACE_TIMEOUT", "NECKLACE_ARRIVAL_TIMEOUT");
    let off = format!("{:?}", Duration::MAX);
    for (variables, expected) in [
        (&[][..], ("3s", "4s")),
        (&[(silence, "5")], ("5s", "4s")),
        (&[(arrival, "6")], ("3s", "6s")),
        (&[(silence, "off")], (&off, "4s")),
        (&[(silence, "7"), (arrival, "off")], ("7s", &off)),
    ] {
        let (join, options) = timeouts(variables);
        let words = format!("silence: {}, arrival: {}", expected.0, expected.1);
        assert!(options.contains(&words), "{variables:?}: {options}");
        assert_eq!(format!("{join:?}"), expected.0);
    }
}
