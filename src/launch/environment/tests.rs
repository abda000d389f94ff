use super::*;
use crate::error::JobCause;
use crate::launch::backend::tcp::{Point, Seat};
use crate::launch::claim::several;

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// What the environment makes of this process.
#[derive(Debug, PartialEq)]
enum Said {
    Threads,
    Process(Seat),
    /// A rank of MPI, with the words of whoever says that it is one of several.
    Mpi(Option<String>),
}

/// The backends that a program is built with.
type Built = &'static [&'static str];

const ALL: Built = &["local", "tcp", "mpi"];

fn said(environment: Pairs<'_>) -> Result<Said, JobError> {
    reads(environment, false)
}

fn reads(environment: Pairs<'_>, connects: bool) -> Result<Said, JobError> {
    reads_with(environment, connects, false)
}

fn reads_with(environment: Pairs<'_>, connects: bool, has_mpi: bool) -> Result<Said, JobError> {
    reads_built(environment, connects, if has_mpi { ALL } else { &["local", "tcp"] })
}

fn reads_built(environment: Pairs<'_>, connects: bool, built: Built) -> Result<Said, JobError> {
    let variable = |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    let built = |row: &Row| built.contains(&row.name);
    let environment = Environment::new(&variable, connects, &built)?;
    let (row, claim) = environment.backend()?;
    Ok(match row.name {
        "local" => Said::Threads,
        "tcp" => Said::Process(Seat::read(row, &environment, &claim.unwrap())?),
        _ => Said::Mpi(several(&variable)),
    })
}

fn seat(environment: Pairs<'_>) -> Seat {
    match said(environment) {
        Ok(Said::Process(seat)) => seat,
        other => panic!("{environment:?}: {other:?}"),
    }
}

/// That it is an error which has all of these words.
fn refused(environment: Pairs<'_>, words: &[&str]) {
    refused_with(environment, false, words);
}

fn refused_with(environment: Pairs<'_>, has_mpi: bool, words: &[&str]) {
    says(environment, reads_with(environment, false, has_mpi), words);
}

fn says(environment: Pairs<'_>, said: Result<Said, JobError>, words: &[&str]) {
    let error = said.expect_err(&format!("{environment:?}"));
    let JobCause::Environment(message) = error.cause() else { panic!("{environment:?}: {error:?}") };
    assert_eq!(error.rank(), None);
    for word in words {
        assert!(message.contains(word), "{environment:?} lacks {word:?}: {message}");
    }
}

fn address(text: &str) -> Point {
    Point::Address(text.to_owned(), None)
}

#[test]
fn ranks_are_threads_without_a_launcher() {
    let no_launchers: [Pairs<'_>; 9] = [
        &[],
        &[("NECKLACE_RANKS", "4"), ("NECKLACE_TOPOLOGY", "ring:4")],
        &[("NECKLACE_BACKEND", "local"), ("NECKLACE_RANK", "1"), ("NECKLACE_SIZE", "4")],
        &[("NECKLACE_BACKEND", "local"), ("WORLD_SIZE", "4")],
        &[("WORLD_SIZE", "1"), ("RANK", "0"), ("MASTER_ADDR", "h"), ("MASTER_PORT", "1")],
        &[("SLURM_NTASKS", "1"), ("SLURM_PROCID", "0")],
        &[("SLURM_NTASKS", "1")],
        &[("PMI_SIZE", "1"), ("PMI_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")],
        &[("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0"), ("PMIX_RANK", "0")],
    ];
    for environment in no_launchers {
        assert_eq!(said(environment).unwrap(), Said::Threads, "{environment:?}");
    }
}

#[test]
fn variables_of_necklace_run_are_complete() {
    let seat = seat(&[
        ("NECKLACE_RANK", "3"),
        ("NECKLACE_SIZE", "16"),
        ("NECKLACE_ROOT", "node0:5000"),
        ("NECKLACE_ROOT_HELD", "1"),
        ("NECKLACE_KEY_FILE", "/run/key"),
        ("NECKLACE_KEY_LOCKED", "1"),
        ("NECKLACE_ADDRESS", "fd00::1"),
        ("NECKLACE_INSECURE", "0"),
        // None of this counts.
        ("RANK", "7"),
        ("WORLD_SIZE", "9"),
        ("SLURM_NTASKS", "2"),
    ]);
    let expected = Seat {
        rank: 3,
        size: 16,
        words: "NECKLACE_RANK is 3, NECKLACE_SIZE is 16 (necklace run)".to_owned(),
        point: Some(address("node0:5000")),
        held: true,
        key: Some("/run/key".into()),
        locked: true,
        address: Some("fd00::1".parse().unwrap()),
        insecure: false,
    };
    assert_eq!(seat, expected);
}

#[test]
fn job_of_one_process_needs_no_rendezvous() {
    let own = seat(&[("NECKLACE_RANK", "0"), ("NECKLACE_SIZE", "1")]);
    assert_eq!((own.rank, own.size, own.point), (0, 1, None));
    let other = seat(&[("NECKLACE_BACKEND", "tcp"), ("SLURM_NTASKS", "1")]);
    assert_eq!((other.rank, other.size, other.point), (0, 1, None));
    // Who connects runs no threads, and a launcher there was.
    let alone: [Pairs<'_>; 3] = [
        &[("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "1")],
        &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")],
        &[("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0"), ("PMIX_RANK", "0")],
    ];
    for environment in alone {
        let said = reads(environment, true).unwrap();
        assert!(matches!(&said, Said::Process(seat) if (seat.rank, seat.size) == (0, 1)), "{environment:?}: {said:?}");
    }
    let none: [Pairs<'_>; 3] = [&[], &[("SLURM_NTASKS", "1")], &[("WORLD_SIZE", "1")]];
    for environment in none {
        says(environment, reads(environment, true), &["no launcher has started this process", "`necklace run"]);
    }
    // Those that torchrun would set may be somebody else's.
    refused(&[("PMIX_RANK", "0"), ("RANK", "0"), ("WORLD_SIZE", "1")], &["PMIX_RANK is 0", "PMIX_SIZE is not set"]);
}

#[test]
fn torchrun_gives_the_rendezvous_address() {
    let torchrun = |host, port, store| {
        seat(&[
            ("RANK", "1"),
            ("WORLD_SIZE", "4"),
            ("MASTER_ADDR", host),
            ("MASTER_PORT", port),
            ("TORCHELASTIC_USE_AGENT_STORE", store),
        ])
        .point
    };
    let at = |point: Option<Point>| match point {
        Some(Point::Address(at, Some(advice))) if advice.contains("--master-port") => at,
        other => panic!("{other:?}"),
    };
    assert_eq!(at(torchrun("node0", "29500", "False")), "node0:29500");
    assert_eq!(at(torchrun("node0", "29500", "True")), "node0:29501");
    assert_eq!(at(torchrun("fd00::1", "29500", "")), "[fd00::1]:29500");
    let full = [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "h"), ("MASTER_PORT", "65535")];
    refused(&[&full[..], &[("TORCHELASTIC_USE_AGENT_STORE", "True")]].concat(), &["65535", "--master-port"]);
    refused(&[&full[..3], &[("MASTER_PORT", "x")]].concat(), &["MASTER_ADDR", "MASTER_PORT", "\"x\""]);
    refused(&full[..3], &["MASTER_PORT", "NECKLACE_ROOT", "NECKLACE_RENDEZVOUS=file:"]);
    let own = [("NECKLACE_ROOT", "other:1")];
    assert_eq!(seat(&[&full[..], &own].concat()).point, Some(address("other:1")));
    // Who counts the ranks anew keeps the meeting point.
    let anew = [("NECKLACE_RANK", "5"), ("NECKLACE_SIZE", "8")];
    let seat = seat(&[&full[..], &anew].concat());
    assert!((seat.rank, seat.size) == (5, 8) && matches!(seat.point, Some(Point::Address(at, _)) if at == "h:65535"));
}

#[test]
fn foreign_launchers_need_a_rendezvous_address() {
    for (rank, size, name) in [
        ("SLURM_PROCID", "SLURM_NTASKS", "Slurm"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"),
        ("PMI_RANK", "PMI_SIZE", "PMI"),
        ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MVAPICH"),
    ] {
        let process = [(rank, "2"), (size, "4")];
        refused(&process, &[rank, size, name, "4 ranks", "NECKLACE_ROOT", "NECKLACE_RENDEZVOUS=file:PATH"]);
        let seat_with = |more| seat(&[&process[..], &[more]].concat());
        let meets = seat_with(("NECKLACE_ROOT", "a:1"));
        assert_eq!((meets.rank, meets.size, meets.point), (2, 4, Some(address("a:1"))));
        let meets = seat_with(("NECKLACE_RENDEZVOUS", "file:/tmp/x:y"));
        assert_eq!(meets.point, Some(Point::File("/tmp/x:y".into())));
        // Those that torchrun would set are somebody else's here.
        refused(&[&process[..], &[("MASTER_ADDR", "a"), ("MASTER_PORT", "1")]].concat(), &["NECKLACE_ROOT"]);
    }
}

#[test]
fn incomplete_launcher_variables_are_refused_with_advice() {
    for (set, value, missing, remedy) in [
        ("WORLD_SIZE", "4", "RANK is not set", "torchrun"),
        ("RANK", "0", "WORLD_SIZE is not set", "torchrun"),
        ("SLURM_NTASKS", "8", "SLURM_PROCID is not set", "srun"),
        ("OMPI_COMM_WORLD_SIZE", "2", "OMPI_COMM_WORLD_RANK is not set", "mpirun"),
        ("PMI_SIZE", "2", "PMI_RANK is not set", "mpiexec"),
        ("PMIX_RANK", "1", "PMIX_SIZE is not set", "mpirun"),
        ("MV2_COMM_WORLD_RANK", "0", "MV2_COMM_WORLD_SIZE is not set", "mpirun_rsh"),
        ("NECKLACE_RANK", "0", "NECKLACE_SIZE is not set", "necklace run"),
        ("NECKLACE_SIZE", "1", "NECKLACE_RANK is not set", "necklace run"),
    ] {
        refused(&[(set, value)], &[set, value, missing, remedy, "NECKLACE_BACKEND=local"]);
    }
    refused(&[("NECKLACE_ROOT", "a:1")], &["NECKLACE_ROOT", "a:1", "NECKLACE_RANK"]);
    refused(&[("NECKLACE_RENDEZVOUS", "file:/x")], &["NECKLACE_RENDEZVOUS", "NECKLACE_RANK"]);
    refused(&[("NECKLACE_BACKEND", "tcp")], &["NECKLACE_BACKEND", "NECKLACE_RANK"]);
}

#[test]
fn contradicting_launchers_are_named_with_their_values() {
    let both = |slurm: (&'static str, &'static str)| {
        [
            ("RANK", "3"),
            ("WORLD_SIZE", "8"),
            ("SLURM_PROCID", slurm.0),
            ("SLURM_NTASKS", slurm.1),
            ("MASTER_ADDR", "a"),
            ("MASTER_PORT", "1"),
        ]
    };
    refused(
        &both(("1", "2")),
        &["RANK is 3", "WORLD_SIZE is 8", "SLURM_PROCID is 1", "SLURM_NTASKS is 2", "NECKLACE_RANK"],
    );
    refused(&both(("4", "8")), &["SLURM_PROCID is 4"]);
    // They agree, or one has started this process alone, or speaks of it only half.
    assert_eq!(seat(&both(("3", "8"))).rank, 3);
    assert_eq!(seat(&both(("0", "1"))).rank, 3);
    let half = [("SLURM_NTASKS", "8"), ("PMI_RANK", "1"), ("PMI_SIZE", "8"), ("NECKLACE_ROOT", "a:1")];
    assert_eq!((seat(&half).rank, seat(&half).size), (1, 8));
    // A launcher of its own, in a script of which alone Slurm speaks.
    let mpirun = [("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3"), ("NECKLACE_ROOT", "a:1")];
    let script = [&mpirun[..], &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]].concat();
    assert_eq!((seat(&script).rank, seat(&script).size), (2, 3));
    refused(
        &[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3"), ("PMI_RANK", "1"), ("PMI_SIZE", "3")],
        &["OMPI_COMM_WORLD_RANK is 2", "PMI_RANK is 1"],
    );
    let decided = [&both(("1", "2"))[..], &[("NECKLACE_RANK", "0"), ("NECKLACE_SIZE", "2")]].concat();
    assert_eq!((seat(&decided).rank, seat(&decided).size), (0, 2));
    refused(&[("NECKLACE_ROOT", "a:1"), ("NECKLACE_RENDEZVOUS", "file:b")], &["a:1", "file:b"]);
}

/// Rank 2 of 4, of every family that starts those of MPI.
const OF_MPI: [Pairs<'static>; 5] = [
    &[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "2")],
    &[("PMI_RANK", "2"), ("PMI_SIZE", "4")],
    &[("MV2_COMM_WORLD_RANK", "2"), ("MV2_COMM_WORLD_SIZE", "4")],
    &[("PMIX_RANK", "2")],
    &[("PMI_RANK", "2"), ("PMI_SIZE", "4"), ("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4")],
];

#[test]
fn mpi_ranks_use_mpi_if_it_is_built() {
    for environment in OF_MPI {
        for connects in [false, true] {
            let said = reads_with(environment, connects, true);
            assert!(matches!(said, Ok(Said::Mpi(_))), "{environment:?}: {said:?}");
        }
        // Who says where to meet, or counts the ranks anew, means TCP.
        let with = |more: Pairs<'_>| reads_with(&[environment, more].concat(), false, true);
        let own = [("NECKLACE_RANK", "1"), ("NECKLACE_SIZE", "2"), ("NECKLACE_ROOT", "a:1")];
        assert!(matches!(with(&own).unwrap(), Said::Process(Seat { rank: 1, size: 2, .. })), "{environment:?}");
        assert_eq!(with(&[("NECKLACE_BACKEND", "local")]).unwrap(), Said::Threads);
        if environment.len() > 1 {
            let met = with(&[("NECKLACE_RENDEZVOUS", "file:/x")]).unwrap();
            assert!(matches!(met, Said::Process(Seat { rank: 2, size: 4, .. })), "{environment:?}: {met:?}");
        }
    }
    // Torchrun starts none.
    let torchrun = [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "1")];
    assert!(matches!(reads_with(&torchrun, false, true).unwrap(), Said::Process(_)));
    refused_with(&[("NECKLACE_BACKEND", "tcp"), ("PMI_RANK", "2"), ("PMI_SIZE", "4")], true, &["NECKLACE_ROOT"]);
    refused_with(
        &[("RANK", "1"), ("WORLD_SIZE", "4"), ("PMI_RANK", "2"), ("PMI_SIZE", "4")],
        true,
        &["RANK is 1", "PMI_RANK is 2", "NECKLACE_BACKEND=mpi"],
    );
}

#[test]
fn single_rank_joins_mpi_only_if_requested() {
    let alone = [("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0"), ("PMIX_RANK", "0")];
    assert_eq!(reads_with(&alone, false, true).unwrap(), Said::Threads);
    let mpi = Said::Mpi(None);
    assert_eq!(reads_with(&alone, true, true).unwrap(), mpi);
    for environment in [&alone[..], &[]] {
        let asked = [environment, &[("NECKLACE_BACKEND", "mpi")]].concat();
        for connects in [false, true] {
            assert_eq!(reads_with(&asked, connects, true).unwrap(), mpi, "{asked:?}");
        }
    }
}

#[test]
fn two_backends_at_once_are_refused() {
    for (name, value) in
        [("NECKLACE_ROOT", "a:1"), ("NECKLACE_RENDEZVOUS", "file:/x"), ("NECKLACE_RANK", "0"), ("NECKLACE_SIZE", "2")]
    {
        let both = [("NECKLACE_BACKEND", "mpi"), (name, value)];
        refused_with(&both, true, &["NECKLACE_BACKEND is \"mpi\"", name, value, "unset one"]);
    }
}

#[test]
fn missing_backend_feature_is_named() {
    let none = &[];
    for name in ["local", "tcp", "mpi"] {
        let environment = [("NECKLACE_BACKEND", name)];
        says(
            &environment,
            reads_built(&environment, false, none),
            &[&format!("{name:?}"), &format!("feature `{name}`")],
        );
    }
    // Of several ranks that cannot meet, each says what would help.
    for connects in [false, true] {
        let said = reads_built(OF_MPI[1], connects, none);
        says(OF_MPI[1], said, &["PMI_SIZE is 4", "feature `tcp`", "feature `mpi`"]);
    }
    // What they are told would be for TCP: without that, no feature is missing.
    let told = [OF_MPI[1], &[("NECKLACE_ROOT", "a:1")]].concat();
    let said = reads_built(&told, false, &["local", "mpi"]);
    says(&told, said, &["NECKLACE_ROOT is \"a:1\", for", "feature `tcp`", "unset it", "PMI_SIZE is 4"]);
}

#[test]
fn connect_refuses_the_local_backend() {
    let environment = [("NECKLACE_BACKEND", "local")];
    // No feature would help.
    for built in [&["tcp", "mpi"][..], ALL] {
        let said = reads_built(&environment, true, built);
        says(&environment, said, &["it is `launch` that runs"]);
    }
}

#[test]
fn program_without_mpi_names_the_feature() {
    let feature = "feature `mpi`";
    refused(&[("NECKLACE_BACKEND", "mpi")], &["NECKLACE_BACKEND", feature]);
    for environment in OF_MPI.iter().filter(|environment| environment.len() > 1) {
        refused(environment, &["4 ranks", "NECKLACE_ROOT", feature]);
    }
    refused(&[("PMIX_RANK", "2")], &["PMIX_SIZE is not set", feature]);
    // Nobody else's ranks would be MPI's.
    for environment in [&[("RANK", "0"), ("WORLD_SIZE", "2")][..], &[("NECKLACE_RANK", "0"), ("NECKLACE_SIZE", "2")]] {
        let error = said(environment).unwrap_err();
        assert!(matches!(error.cause(), JobCause::Environment(words) if !words.contains(feature)), "{error}");
    }
}

#[test]
fn mpi_launcher_variables_imply_several_ranks() {
    let several = |environment: Pairs<'_>| match reads_with(environment, true, true) {
        Ok(Said::Mpi(several)) => several,
        other => panic!("{environment:?}: {other:?}"),
    };
    let slurm = [("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8")];
    for (environment, words) in [
        (&slurm[..], "SLURM_NTASKS is 8"),
        // `srun --mpi=pmix`, `mpiexec`, and a launcher that tells no size, of programs that are of
        // another library.
        (&[&slurm[..], &[("PMIX_RANK", "3")]].concat(), "SLURM_NTASKS is 8"),
        (&[("PMI_RANK", "0"), ("PMI_SIZE", "2")], "PMI_SIZE is 2"),
        (
            &[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_RANK", "0")],
            "OMPI_COMM_WORLD_SIZE is 2",
        ),
        (&[("PMIX_RANK", "1")], "PMIX_RANK is 1"),
    ] {
        assert!(several(environment).is_some_and(|said| said.contains(words)), "{environment:?}");
    }
    let one = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")];
    for environment in [
        &one[..],
        &[("NECKLACE_BACKEND", "mpi")],
        // What makes no sense is not asked, where nobody asks.
        &[("NECKLACE_BACKEND", "mpi"), ("WORLD_SIZE", "many")],
        &[&slurm[..], &[("NECKLACE_BACKEND", "mpi"), ("PMI_RANK", "0"), ("PMI_SIZE", "1")]].concat(),
        &[&slurm[..], &[("NECKLACE_BACKEND", "mpi")], &one[..]].concat(),
    ] {
        assert_eq!(several(environment), None, "{environment:?}");
    }
}

#[test]
fn invalid_values_are_refused_by_name() {
    let rank = [("NECKLACE_RANK", "0"), ("NECKLACE_SIZE", "2"), ("NECKLACE_ROOT", "a:1")];
    for (name, value) in [
        ("NECKLACE_RANK", "2"),
        ("NECKLACE_RANK", "-1"),
        ("NECKLACE_RANK", "+1"),
        ("NECKLACE_RANK", ""),
        ("NECKLACE_SIZE", "0"),
        ("NECKLACE_SIZE", "many"),
        ("NECKLACE_SIZE", "99999999999999999999999"),
        ("NECKLACE_BACKEND", "carrier-pigeon"),
        ("NECKLACE_BACKEND", "mpi"),
        ("NECKLACE_ADDRESS", "node0"),
        ("NECKLACE_INSECURE", "yes"),
        ("NECKLACE_ROOT_HELD", "2"),
        ("NECKLACE_KEY_FILE", ""),
        ("NECKLACE_ROOT", ""),
    ] {
        refused(&[&[(name, value)], &rank[..]].concat(), &[name, value]);
    }
    for (name, value) in [("WORLD_SIZE", "0"), ("RANK", "4"), ("SLURM_NTASKS", "4(x2)")] {
        refused(&[&[(name, value)][..], &[("RANK", "0"), ("WORLD_SIZE", "4")]].concat(), &[name, value]);
    }
    refused(&[("RANK", "1"), ("WORLD_SIZE", "1")], &["RANK is 1", "WORLD_SIZE is 1"]);
    for value in ["/tmp/x", "file:", "http://x"] {
        refused(&[("NECKLACE_RENDEZVOUS", value), ("PMI_RANK", "0"), ("PMI_SIZE", "2")], &[value, "file:PATH"]);
    }
}
