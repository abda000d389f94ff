//! Tests of the command line: exit codes, help, closed pipes.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::support::{directory, necklace, printed, refused, stderr};

#[test]
fn misuse_exits_with_2_and_names_the_remedy() {
    for (arguments, expected) in [
        (&[][..], "Usage: necklace"),
        (&["frobnicate"], "frobnicate"),
        (&["--frobnicate"], "--frobnicate"),
        (&["plan"], "--topology"),
        (&["plan", "--topology", "ring:4"], "--collective"),
        (&["plan", "--list", "--json", "-"], "--json"),
        (&["plan", "--list", "--ports", "one"], "--ports"),
        (&["plan", "--list", "--topology", "ring:0"], "expected an extent from 1"),
        (&["cost"], "--topology"),
        (&["verify"], "FILE"),
        (&["verify", "one", "two"], "two"),
    ] {
        refused(&necklace(arguments), &[expected]);
    }
    let commands = ["plan", "cost", "simulate"];
    for (commands, topology, rest, expected) in [
        (&commands[..], "ring:0", &["alltoall"][..], "expected an extent from 1"),
        (&commands, "rong:4", &["alltoall"], "torus:AxB"),
        (&commands, "graph:@/no/such/file", &["alltoall"], "/no/such/file"),
        (&commands, "how:8,8,2", &["alltoall"], "found \"8\", expected a window from 1 to 7"),
        (&commands, "ring:4", &["alltoal"], "reduce_scatter"),
        (&commands, "ring:4", &["alltoall", "--algorithm", "brick"], "direct-rotated"),
        (&commands, "ring:4", &["alltoall", "--algorithm", "ring:radix=2"], "expected no parameters"),
        (&commands, "ring:4", &["alltoall", "--algorithm", "bruck:radix=1"], "expected radix=2..2147483647"),
        (&commands, "ring:4", &["alltoall", "--algorithm", "bruck:"], "or ports=one|all"),
        (&commands, "ring:6", &["alltoall", "--algorithm", "direct-xor"], "a power of two; there are 6"),
        (&commands, "mesh:4x4", &["alltoall", "--algorithm", "torus-exchange"], "it needs a torus"),
        (&commands, "ring:4", &["broadcast", "--root", "4"], "0 to 3"),
        (&commands, "ring:4", &["broadcast", "--root", "-1"], "-1"),
        (&commands, "ring:4", &["broadcast", "--root", "99999999999"], "99999999999"),
        (&commands, "ring:4", &["alltoall", "--root", "0"], "alltoall has no root"),
        (&commands, "ring:4", &["alltoall", "--bytes", "1,x"], "such as 8, 4K, 1M or 1G"),
        (&commands, "ring:4", &["alltoall", "--bytes", "-1"], "-1"),
        (
            &commands,
            "ring:4",
            &["alltoall", "--machine", "cray"],
            "unknown machine \"cray\"; expected one of threads, tcp, mpi, paragon",
        ),
        (&commands, "ring:4", &["alltoall", "--machine", "unit:hops=1us"], "unknown key \"hops\" of a machine"),
        (
            &commands[..1],
            "ring:4",
            &["alltoall", "--algorithm", "native"],
            "a backend that has collectives of its own, such as MPI",
        ),
        (&commands[..1], "ring:4", &["alltoall", "--json"], "--json"),
        (&commands[..1], "ring:4", &["alltoall", "--ports", "two"], "one, one-send, same-value, all, unlimited"),
        (&commands[1..], "ring:4", &["alltoall", "--bytes="], "such as 8"),
        (&commands[1..], "ring:4", &["alltoall", "--bytes", "8,1K,8"], "--bytes: duplicate value 8"),
        (&commands[1..], "ring:4", &["alltoall", "--bytes", "1024,1K"], "--bytes: duplicate value 1024"),
        (
            &commands[1..],
            "ring:6",
            &["alltoall", "--algorithm", "bruck,ring,bruck:radix=2"],
            "--algorithm: duplicate value bruck",
        ),
        (&commands[1..], "ring:6", &["alltoall", "--topology", "torus:6"], "--topology: duplicate value ring:6"),
    ] {
        // `cost` and `simulate` need a size.
        let size = if rest.iter().any(|word| word.starts_with("--bytes")) { &[][..] } else { &["--bytes=1"] };
        for command in commands {
            let on = [command, "--topology", topology, "--collective"];
            refused(&necklace(&[&on, rest, size].concat()), &[expected]);
        }
    }
    for command in &commands[1..] {
        refused(&necklace(&[command, "--topology=ring:4", "--collective=alltoall"]), &["--bytes"]);
    }
}

#[test]
fn two_outputs_to_one_file_are_refused() {
    let directory = directory("two_documents");
    let (file, again) = (directory.join("same"), directory.join(".").join("same"));
    let (file, again) = (file.to_str().unwrap(), again.to_str().unwrap());
    let on = ["--topology", "ring:3", "--collective", "alltoall"];
    let sized = [&on[..], &["--bytes", "8"]].concat();
    let commands = [
        #[cfg(feature = "draw")]
        ([&["plan"], &on[..]].concat(), ["--json", "--svg"]),
        ([&["cost"], &sized[..]].concat(), ["--csv", "--plot"]),
        ([&["simulate"], &sized[..]].concat(), ["--csv", "--plot"]),
        (vec!["bench", "--ranks", "2", "--bytes", "8", "--rounds", "1"], ["--csv", "--plot"]),
        (vec!["tune", "--ranks", "2", "--bytes", "4K", "--rounds", "1"], ["--out", "--csv"]),
    ];
    for (command, [one, other]) in &commands {
        // A missing file, an existing one, a link, and standard output.
        for turn in 0..4 {
            let (first, second) = [(file, file), (file, again), (file, again), ("-", "-")][turn];
            if turn == 2 {
                let target = directory.join("target");
                std::fs::write(&target, "what was there before").unwrap();
                std::os::unix::fs::symlink(&target, file).unwrap();
            }
            let output = necklace(&[&command[..], &[one, first, other, second]].concat());
            refused(&output, &[one, other, "both write to "]);
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), "what was there before");
        std::fs::remove_file(file).unwrap();
    }
    let (command, [one, other]) = &commands[0];
    printed(&[&command[..], &[one, file, other, directory.join("another").to_str().unwrap()]].concat());
}

#[test]
fn block_sizes_have_the_same_units_in_every_command() {
    for command in ["plan", "cost", "simulate", "bench", "tune"] {
        let help = printed(&[command, "--help"]);
        assert!(help.contains("suffixes K, M and G stand for powers of 1024"), "{help}");
    }
    let on = ["--topology", "ring:3", "--collective", "alltoall", "--bytes", "1G"];
    for command in ["plan", "cost", "simulate"] {
        assert!(printed(&[&[command], &on[..]].concat()).contains("1073741824"), "{command}");
    }
}

/// Returns the options and positional arguments of a subcommand that take a value, from its help.
fn taking_values(command: &str) -> Vec<String> {
    let help = printed(&[command, "--help"]);
    let names = help.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches(|c| c != '-' && c != '<' && c != '[');
        let (name, _) = line.split_once([' ', '=']).unwrap_or((line, ""));
        let short = name.trim_end_matches(',').len() == 2 && line.len() > 4;
        let option = if short { line[4..].split(' ').next()? } else { name };
        let value = line.starts_with('-') && line.contains(" <") && option.starts_with("--");
        value.then(|| option.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.push(String::new());
    names
}

#[test]
fn long_arguments_are_shortened_in_errors() {
    const LONG: usize = 100_000;
    const MOST: usize = 2000;
    let on: &[&str] = &["--topology=ring:4", "--collective=alltoall"];
    let sized = [on, &["--bytes=8"]].concat();
    let bench = ["--ranks=2", "--bytes=8", "--rounds=1"];
    // A change of the help's layout must not hide options from this test.
    let commands: [(&str, &[&str], usize); 8] = [
        ("plan", on, 12),
        ("cost", &sized, 8),
        ("simulate", &sized, 8),
        ("verify", &[], 0),
        ("bench", &bench, 8),
        ("run", &["--ranks=1", "--hosts=localhost"], 7),
        ("sweep", &["--ranks=1"], 3),
        ("tune", &["--ranks=2", "--bytes=4K", "--rounds=1"], 6),
    ];
    let long = |start: &str, part: &str| start.to_owned() + &part.repeat(LONG / part.len());
    let values = [
        long("", "ä"),
        long("", "1"),
        long("", "a b "),
        long("", "a,"),
        long("graph:@", "a"),
        long("threads:", "a=1,"),
    ];
    let mut seen = 0;
    let mut check = |arguments: &[&str]| {
        let output = necklace(arguments);
        let error = stderr(&output);
        let short: Vec<String> = arguments.iter().map(|text| text.chars().take(40).collect()).collect();
        assert!(
            error.len() <= MOST,
            "{short:?}: {} bytes: {}",
            error.len(),
            error.chars().take(300).collect::<String>()
        );
        seen += usize::from(output.status.code() != Some(0));
    };
    for (command, base, least) in commands {
        let options = taking_values(command);
        assert!(options.len() > least, "{command}: {options:?}");
        for option in &options {
            // A repeated option would be the only reported error.
            let base = base.iter().copied().filter(|given| !given.starts_with(&format!("{option}=")));
            let base: Vec<&str> = [command].into_iter().chain(base).collect();
            for value in &values {
                let given = if option.is_empty() { value.clone() } else { format!("{option}={value}") };
                let program: &[&str] = if command == "run" && !option.is_empty() { &["true"] } else { &[] };
                check(&[&base[..], &[&given], program].concat());
            }
        }
    }
    check(&[&values[0]]);
    check(&[&format!("--{}", values[0])]);
    check(&["plan", &format!("--{}=1", values[0])]);
    // An existing network.
    let mesh = format!("--topology={}", long("mesh:1", "x1"));
    check(&["plan", &mesh, "--collective=alltoall", "--algorithm=torus-exchange"]);
    check(&["cost", &mesh, &mesh, "--collective=alltoall", "--bytes=8"]);
    check(&["run", "--ranks=2", &mesh, "true"]);
    assert!(seen > 200, "only {seen} errors");
}

#[test]
fn failed_commands_exit_with_1() {
    let plan = ["plan", "--topology", "ring:4", "--collective", "scan", "--json"];
    let cases = [
        [&plan[..], &["/no/such/directory/file"]].concat(),
        [&plan[..], &[env!("CARGO_TARGET_TMPDIR")]].concat(),
        vec!["plan", "--topology", "hypercube:18", "--collective", "alltoall"],
        vec!["verify", "/no/such/file"],
    ];
    for arguments in cases {
        let output = necklace(&arguments);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.starts_with("error: ") && !error.contains("--help"), "{arguments:?}: {error}");
    }
}

#[test]
fn help_has_examples_and_the_version_of_the_package() {
    assert_eq!(printed(&["--version"]), concat!("necklace ", env!("CARGO_PKG_VERSION"), "\n"));
    for command in ["plan", "cost", "simulate", "verify", "bench", "tune", "run"] {
        assert!(printed(&[command, "--help"]).contains("Examples:\n  necklace "), "{command}");
    }
    assert!(printed(&["--help"]).contains("Examples:\n  necklace "));
}

#[test]
fn examples_in_the_help_run() {
    let directory = directory("examples");
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_necklace")).parent().unwrap();
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
    // In this order, because some commands read the files of earlier ones.
    for (command, least) in [("plan", 9), ("verify", 2), ("cost", 6)] {
        let help = printed(&[command, "--help"]).replace("\\\n", " ");
        let examples: Vec<&str> = help.lines().map(str::trim).filter(|line| line.starts_with("necklace ")).collect();
        assert!(examples.len() >= least, "{help}");
        for example in examples {
            let line = example.split(" | python3").next().unwrap();
            let output =
                Command::new("sh").args(["-c", line]).current_dir(&directory).env("PATH", &path).output().unwrap();
            assert!(output.status.success(), "{line}: {}", stderr(&output));
        }
    }
}

#[test]
fn closed_pipe_fails_documents_only() {
    let long = ["--topology", "torus:16x16", "--collective", "alltoall", "--algorithm", "torus-exchange"];
    // An incomplete document is a failure; an unread text is not.
    for (more, expected) in [(&["--json", "-"][..], 1), (&[], 0)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_necklace"));
        let command = command.arg("plan").args(long).args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        if !more.is_empty() {
            stdout.read_exact(&mut [0; 10]).unwrap();
        }
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(expected), ""), "{more:?}");
    }
}
