use super::*;
use crate::error::JobCause;
use crate::launch::backend::tcp::{RankSettings, RendezvousPoint};
use crate::launch::claim::several;

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// The backend that the environment selects for this process.
#[derive(Debug, PartialEq)]
enum Selected {
    Threads,
    Process(RankSettings),
    /// A rank of MPI, with the claim that it is one of several.
    Mpi(Option<String>),
}

/// The backends that a program is built with.
type Built = &'static [&'static str];

const ALL: Built = &["local", "tcp", "mpi"];

fn said(environment: Pairs<'_>) -> Result<Selected, JobError> {
    reads(environment, false)
}

fn reads(environment: Pairs<'_>, connects: bool) -> Result<Selected, JobError> {
    reads_with(environment, connects, false)
}

fn reads_with(environment: Pairs<'_>, connects: bool, has_mpi: bool) -> Result<Selected, JobError> {
    reads_built(environment, connects, if has_mpi { ALL } else { &["local", "tcp"] })
}

fn reads_built(environment: Pairs<'_>, connects: bool, built: Built) -> Result<Selected, JobError> {
    let variable = |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    let built = |row: &Row| built.contains(&row.name);
    let environment = Environment::new(&variable, connects, &built)?;
    let (row, claim) = environment.backend()?;
    Ok(match row.name {
        "local" => Selected::Threads,
        "tcp" => Selected::Process(RankSettings::read(row, &environment, &claim.unwrap())?),
        _ => Selected::Mpi(several(&variable)),
    })
}

fn settings(environment: Pairs<'_>) -> RankSettings {
    match said(environment) {
        Ok(Selected::Process(seat)) => seat,
        other => panic!("{environment:?}: {other:?}"),
    }
}

/// Checks that the environment is an error that contains all of these texts.
fn refused(environment: Pairs<'_>, words: &[&str]) {
    refused_with(environment, false, words);
}

fn refused_with(environment: Pairs<'_>, has_mpi: bool, words: &[&str]) {
    says(environment, reads_with(environment, false, has_mpi), words);
}

fn says(environment: Pairs<'_>, said: Result<Selected, JobError>, words: &[&str]) {
    let error = said.expect_err(&format!("{environment:?}"));
    assert!(!matches!(error.cause(), JobCause::Join(_) | JobCause::Call(_)), "{environment:?}: {error}");
    assert_eq!(error.rank(), None);
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{environment:?} lacks {word:?}: {message}");
    }
}

fn address(text: &str) -> RendezvousPoint {
    RendezvousPoint::Address(text.to_owned(), None)
}

#[test]
fn ranks_without_a_launcher_are_threads() {
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
        assert_eq!(said(environment).unwrap(), Selected::Threads, "{environment:?}");
    }
}

#[test]
fn necklace_run_sets_all_settings() {
    let settings = settings(&[
        ("NECKLACE_RANK", "3"),
        ("NECKLACE_SIZE", "16"),
        ("NECKLACE_ROOT", "node0:5000"),
        ("NECKLACE_ROOT_HELD", "1"),
        ("NECKLACE_KEY_FILE", "/run/key"),
        ("NECKLACE_KEY_LOCKED", "1"),
        ("NECKLACE_ADDRESS", "fd00::1"),
        ("NECKLACE_INSECURE", "0"),
        ("NECKLACE_HOST", "shelf 3"),
        // These do not count.
        ("RANK", "7"),
        ("WORLD_SIZE", "9"),
        ("SLURM_NTASKS", "2"),
    ]);
    let expected = RankSettings {
        rank: 3,
        size: 16,
        source: "NECKLACE_RANK is 3, NECKLACE_SIZE is 16 (necklace run)".to_owned(),
        point: Some(address("node0:5000")),
        held: true,
        key: Some("/run/key".into()),
        locked: true,
        started: false,
        address: Some("fd00::1".parse().unwrap()),
        insecure: false,
        host: Some("shelf 3".to_owned()),
    };
    assert_eq!(settings, expected);
}

#[test]
fn job_of_one_process_has_no_rendezvous() {
    let own = settings(&[("NECKLACE_RANK", "0"), ("NECKLACE_SIZE", "1")]);
    assert_eq!((own.rank, own.size, own.point), (0, 1, None));
    let other = settings(&[("NECKLACE_BACKEND", "tcp"), ("SLURM_NTASKS", "1")]);
    assert_eq!((other.rank, other.size, other.point), (0, 1, None));
    // A program that connects runs no threads, and a launcher has started it.
    let alone: [Pairs<'_>; 3] = [
        &[("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "1")],
        &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")],
        &[("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0"), ("PMIX_RANK", "0")],
    ];
    for environment in alone {
        let said = reads(environment, true).unwrap();
        assert!(
            matches!(&said, Selected::Process(found) if (found.rank, found.size) == (0, 1)),
            "{environment:?}: {said:?}"
        );
    }
    let none: [Pairs<'_>; 3] = [&[], &[("SLURM_NTASKS", "1")], &[("WORLD_SIZE", "1")]];
    for environment in none {
        says(environment, reads(environment, true), &["no launcher has started this process", "`necklace run"]);
    }
    // Another launcher may have set the variables of torchrun.
    refused(&[("PMIX_RANK", "0"), ("RANK", "0"), ("WORLD_SIZE", "1")], &["PMIX_RANK is 0", "PMIX_SIZE is not set"]);
}

#[test]
fn torchrun_gives_the_rendezvous_address() {
    let torchrun = |host, port, store| {
        settings(&[
            ("RANK", "1"),
            ("WORLD_SIZE", "4"),
            ("MASTER_ADDR", host),
            ("MASTER_PORT", port),
            ("TORCHELASTIC_USE_AGENT_STORE", store),
        ])
        .point
    };
    let at = |point: Option<RendezvousPoint>| match point {
        Some(RendezvousPoint::Address(at, Some(advice))) if advice.contains("--master-port") => at,
        other => panic!("{other:?}"),
    };
    assert_eq!(at(torchrun("node0", "29500", "False")), "node0:29500");
    assert_eq!(at(torchrun("node0", "29500", "True")), "node0:29501");
    assert_eq!(at(torchrun("fd00::1", "29500", "")), "[fd00::1]:29500");
    let full = [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "h"), ("MASTER_PORT", "65535")];
    refused(&[&full[..], &[("TORCHELASTIC_USE_AGENT_STORE", "True")]].concat(), &["65535", "--master-port"]);
    refused(&[&full[..3], &[("MASTER_PORT", "x")]].concat(), &["MASTER_PORT: found \"x\"", "1 to 65535"]);
    refused(&full[..3], &["MASTER_PORT", "NECKLACE_ROOT", "NECKLACE_RENDEZVOUS=file:"]);
    let own = [("NECKLACE_ROOT", "other:1")];
    assert_eq!(settings(&[&full[..], &own].concat()).point, Some(address("other:1")));
    // With ranks renumbered by the user, the rendezvous address stays.
    let renumbered = [("NECKLACE_RANK", "5"), ("NECKLACE_SIZE", "8")];
    let settings = settings(&[&full[..], &renumbered].concat());
    assert!(
        (settings.rank, settings.size) == (5, 8)
            && matches!(settings.point, Some(RendezvousPoint::Address(at, _)) if at == "h:65535")
    );
}

#[test]
fn launchers_without_a_rendezvous_need_one_of_necklace() {
    for (rank, size, name) in [
        ("SLURM_PROCID", "SLURM_NTASKS", "Slurm"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"),
        ("PMI_RANK", "PMI_SIZE", "PMI"),
        ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MVAPICH"),
    ] {
        let process = [(rank, "2"), (size, "4")];
        refused(&process, &[rank, size, name, "4 ranks", "NECKLACE_ROOT", "NECKLACE_RENDEZVOUS=file:PATH"]);
        let settings_with = |more| settings(&[&process[..], &[more]].concat());
        let meets = settings_with(("NECKLACE_ROOT", "a:1"));
        assert_eq!((meets.rank, meets.size, meets.point), (2, 4, Some(address("a:1"))));
        let meets = settings_with(("NECKLACE_RENDEZVOUS", "file:/tmp/x:y"));
        assert_eq!(meets.point, Some(RendezvousPoint::File("/tmp/x:y".into())));
        // The variables of torchrun do not count here.
        refused(&[&process[..], &[("MASTER_ADDR", "a"), ("MASTER_PORT", "1")]].concat(), &["NECKLACE_ROOT"]);
    }
}

#[test]
fn incomplete_family_is_an_error_with_a_remedy() {
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
fn contradictory_families_are_an_error_unless_overridden() {
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
    // The families agree, or one has started this process alone, or one is incomplete.
    assert_eq!(settings(&both(("3", "8"))).rank, 3);
    assert_eq!(settings(&both(("0", "1"))).rank, 3);
    let half = [("SLURM_NTASKS", "8"), ("PMI_RANK", "1"), ("PMI_SIZE", "8"), ("NECKLACE_ROOT", "a:1")];
    assert_eq!((settings(&half).rank, settings(&half).size), (1, 8));
    // A launcher that runs in a script which Slurm has started alone.
    let mpirun = [("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3"), ("NECKLACE_ROOT", "a:1")];
    let script = [&mpirun[..], &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]].concat();
    assert_eq!((settings(&script).rank, settings(&script).size), (2, 3));
    refused(
        &[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3"), ("PMI_RANK", "1"), ("PMI_SIZE", "3")],
        &["OMPI_COMM_WORLD_RANK is 2", "PMI_RANK is 1"],
    );
    let decided = [&both(("1", "2"))[..], &[("NECKLACE_RANK", "0"), ("NECKLACE_SIZE", "2")]].concat();
    assert_eq!((settings(&decided).rank, settings(&decided).size), (0, 2));
    refused(&[("NECKLACE_ROOT", "a:1"), ("NECKLACE_RENDEZVOUS", "file:b")], &["a:1", "file:b"]);
}

/// Rank 2 of 4, by every family that starts programs of MPI.
const OF_MPI: [Pairs<'static>; 5] = [
    &[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "2")],
    &[("PMI_RANK", "2"), ("PMI_SIZE", "4")],
    &[("MV2_COMM_WORLD_RANK", "2"), ("MV2_COMM_WORLD_SIZE", "4")],
    &[("PMIX_RANK", "2")],
    &[("PMI_RANK", "2"), ("PMI_SIZE", "4"), ("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4")],
];

#[test]
fn launchers_of_mpi_select_mpi_if_it_is_built() {
    for environment in OF_MPI {
        for connects in [false, true] {
            let said = reads_with(environment, connects, true);
            assert!(matches!(said, Ok(Selected::Mpi(_))), "{environment:?}: {said:?}");
        }
        // A rendezvous, or ranks renumbered by the user, mean TCP.
        let with = |more: Pairs<'_>| reads_with(&[environment, more].concat(), false, true);
        let own = [("NECKLACE_RANK", "1"), ("NECKLACE_SIZE", "2"), ("NECKLACE_ROOT", "a:1")];
        assert!(
            matches!(with(&own).unwrap(), Selected::Process(RankSettings { rank: 1, size: 2, .. })),
            "{environment:?}"
        );
        assert_eq!(with(&[("NECKLACE_BACKEND", "local")]).unwrap(), Selected::Threads);
        if environment.len() > 1 {
            let met = with(&[("NECKLACE_RENDEZVOUS", "file:/x")]).unwrap();
            assert!(
                matches!(met, Selected::Process(RankSettings { rank: 2, size: 4, .. })),
                "{environment:?}: {met:?}"
            );
        }
    }
    // Torchrun starts no programs of MPI.
    let torchrun = [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "1")];
    assert!(matches!(reads_with(&torchrun, false, true).unwrap(), Selected::Process(_)));
    refused_with(&[("NECKLACE_BACKEND", "tcp"), ("PMI_RANK", "2"), ("PMI_SIZE", "4")], true, &["NECKLACE_ROOT"]);
    refused_with(
        &[("RANK", "1"), ("WORLD_SIZE", "4"), ("PMI_RANK", "2"), ("PMI_SIZE", "4")],
        true,
        &["RANK is 1", "PMI_RANK is 2", "NECKLACE_BACKEND=mpi"],
    );
}

#[test]
fn job_of_one_is_of_mpi_only_if_requested() {
    let alone = [("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0"), ("PMIX_RANK", "0")];
    assert_eq!(reads_with(&alone, false, true).unwrap(), Selected::Threads);
    let mpi = Selected::Mpi(None);
    assert_eq!(reads_with(&alone, true, true).unwrap(), mpi);
    for environment in [&alone[..], &[]] {
        let request = [environment, &[("NECKLACE_BACKEND", "mpi")]].concat();
        for connects in [false, true] {
            assert_eq!(reads_with(&request, connects, true).unwrap(), mpi, "{request:?}");
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
fn missing_backend_is_named() {
    let none = &[];
    for name in ["local", "tcp", "mpi"] {
        let environment = [("NECKLACE_BACKEND", name)];
        says(
            &environment,
            reads_built(&environment, false, none),
            &[&format!("{name:?}"), &format!("feature `{name}`")],
        );
    }
    // Ranks that cannot join name the features that would help.
    for connects in [false, true] {
        let said = reads_built(OF_MPI[1], connects, none);
        says(OF_MPI[1], said, &["PMI_SIZE is 4", "feature `tcp`", "feature `mpi`"]);
    }
    // The rendezvous is for TCP. Without it, no feature is missing.
    let told = [OF_MPI[1], &[("NECKLACE_ROOT", "a:1")]].concat();
    let said = reads_built(&told, false, &["local", "mpi"]);
    says(&told, said, &["NECKLACE_ROOT is \"a:1\", for", "feature `tcp`", "unset it", "PMI_SIZE is 4"]);
}

#[test]
fn backend_local_does_not_connect() {
    let environment = [("NECKLACE_BACKEND", "local")];
    // No feature would help.
    for built in [&["tcp", "mpi"][..], ALL] {
        let said = reads_built(&environment, true, built);
        says(&environment, said, &["only `launch` runs"]);
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
    // These launchers do not start programs of MPI.
    for environment in [&[("RANK", "0"), ("WORLD_SIZE", "2")][..], &[("NECKLACE_RANK", "0"), ("NECKLACE_SIZE", "2")]] {
        let error = said(environment).unwrap_err();
        assert!(matches!(error.cause(), JobCause::Incomplete { .. }), "{error}");
        assert!(!error.to_string().contains(feature), "{error}");
    }
}

#[test]
fn ranks_of_mpi_are_several_unless_mpi_has_started_one() {
    let several = |environment: Pairs<'_>| match reads_with(environment, true, true) {
        Ok(Selected::Mpi(several)) => several,
        other => panic!("{environment:?}: {other:?}"),
    };
    let slurm = [("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8")];
    for (environment, words) in [
        (&slurm[..], "SLURM_NTASKS is 8"),
        // `srun --mpi=pmix`, `mpiexec`, and a launcher that tells no size, for programs of another
        // library.
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
        // Invalid variables do not count.
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
        ("NECKLACE_HOST", ""),
        ("NECKLACE_ROOT_HELD", "2"),
        ("NECKLACE_KEY_FILE", ""),
        ("NECKLACE_ROOT", ""),
    ] {
        refused(&[&[(name, value)], &rank[..]].concat(), &[name, value]);
    }
    for (name, value) in [("WORLD_SIZE", "0"), ("RANK", "4"), ("SLURM_NTASKS", "4(x2)")] {
        refused(&[&[(name, value)][..], &[("RANK", "0"), ("WORLD_SIZE", "4")]].concat(), &[name, value]);
    }
    refused(&[("RANK", "1"), ("WORLD_SIZE", "1")], &["RANK: found \"1\"", "less than 1", "WORLD_SIZE"]);
    for value in ["/tmp/x", "file:", "http://x"] {
        refused(&[("NECKLACE_RENDEZVOUS", value), ("PMI_RANK", "0"), ("PMI_SIZE", "2")], &[value, "file:PATH"]);
    }
}
