//! Tests of the start of a job: the number of ranks and their environment.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::sandbox::{Sandbox, has, until};
use super::{ended_well, of_rank};
use crate::support::{printed, refused, stderr};

#[test]
fn rank_finds_its_number_and_job_in_its_environment() {
    let sandbox = Sandbox::new("who");
    let script = "env | grep ^NECKLACE_ | sort; wc -c <$NECKLACE_KEY_FILE; stat -c %a:%u $NECKLACE_KEY_FILE; \
        stat -c %a:%u $(dirname $NECKLACE_KEY_FILE); pwd; od -An -tx1 $NECKLACE_KEY_FILE | tr -d ' \\n'";
    let mut command =
        sandbox.command(&["--topology", "ring:3", "--timeout", "7", "--arrival-timeout", "off", "--", script]);
    // Variables of another job, of this host, and of this user.
    for stale in ["RANK", "SIZE", "ROOT", "ROOT_HELD", "KEY_FILE", "KEY_LOCKED", "RENDEZVOUS", "INSECURE", "RANKS"] {
        command.env(format!("NECKLACE_{stale}"), "stale");
    }
    command.env("NECKLACE_BACKEND", "tcp");
    command.env("NECKLACE_ADDRESS", "127.0.0.1").env("NECKLACE_ALGORITHM", "ring");
    let mut keys = Vec::new();
    for _ in 0..2 {
        let text = ended_well(&command.output().unwrap());
        let first = of_rank(&text, 0);
        for rank in 0..3 {
            let mut lines = of_rank(&text, rank);
            let value = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap();
            assert_eq!(value("NECKLACE_RANK"), rank.to_string());
            assert!(value("NECKLACE_ROOT").starts_with("127.0.0.1:"));
            let key_file = value("NECKLACE_KEY_FILE").to_owned();
            assert!(Path::new(&key_file).starts_with(sandbox.directory.join("keys")) && !Path::new(&key_file).exists());
            assert_eq!(value("NECKLACE_KEY_LOCKED"), "1");
            let held = lines.contains(&"NECKLACE_ROOT_HELD=1");
            assert_eq!(held, rank == 0);
            let user =
                fs::metadata(&sandbox.directory).map(|about| std::os::unix::fs::MetadataExt::uid(&about)).unwrap();
            let rest = [
                "NECKLACE_SIZE=3".to_owned(),
                "NECKLACE_TIMEOUT=7".to_owned(),
                "NECKLACE_TOPOLOGY=ring:3".to_owned(),
                "32".to_owned(),
                format!("600:{user}"),
                format!("700:{user}"),
                sandbox.directory.display().to_string(),
            ];
            keys.push(lines.pop().unwrap().to_owned());
            let own = ["NECKLACE_RANK=", "NECKLACE_ROOT", "NECKLACE_KEY_"];
            lines.retain(|line| !own.iter().any(|own| line.starts_with(own)));
            let given = ["NECKLACE_ADDRESS=127.0.0.1", "NECKLACE_ALGORITHM=ring", "NECKLACE_ARRIVAL_TIMEOUT=off"];
            let expected = [&given.map(str::to_owned)[..], &rest];
            assert_eq!(lines, expected.concat());
            assert_eq!(of_rank(&text, rank).last(), first.last());
        }
    }
    assert!(keys[0].len() == 64 && keys[0] != keys[3]);
    sandbox.nothing_is_left();
}

#[test]
fn key_appears_in_no_argument_or_variable() {
    let sandbox = Sandbox::new("key");
    let script = "od -An -tx1 $NECKLACE_KEY_FILE | tr -d ' \\n'; echo; echo $NECKLACE_KEY_FILE; exec sleep 1000";
    let mut job = sandbox.start(&["-n", "2", "--no-prefix", "--", script]);
    let mut lines = job.lines(4);
    lines.sort_by_key(|line| line.starts_with('/'));
    let key = fs::read(&lines[3]).unwrap();
    // While a process loads its program, such as `sleep`, it shows no environment.
    let processes = until("all five processes are seen", || {
        let processes = sandbox.processes();
        if processes.len() >= 5 { Ok(processes) } else { Err(format!("{processes:?}")) }
    });
    for (process, name) in processes {
        for file in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{}/{file}", process.as_raw_nonzero())).unwrap();
            assert!(!has(&text, &key) && !has(&text, lines[0].as_bytes()), "{name}");
        }
    }
    job.send(Signal::TERM);
    assert_eq!(job.end().0.code(), Some(143));
    sandbox.nothing_is_left();
}

#[test]
fn conflicting_numbers_of_ranks_are_refused() {
    let sandbox = Sandbox::new("size");
    let said = |arguments: &[&str]| {
        let options = [arguments, &["--", "echo $NECKLACE_SIZE $NECKLACE_TOPOLOGY"]].concat();
        let text = ended_well(&sandbox.run(&options));
        let lines: Vec<&str> = text.lines().map(|line| line.split_once("] ").unwrap().1).collect();
        (lines.len(), lines[0].to_owned())
    };
    assert_eq!(said(&["-n", "2"]), (2, "2".into()));
    assert_eq!(said(&["--topology", "torus:2x3"]), (6, "6 torus:2x3".into()));
    assert_eq!(said(&["-n", "4", "--topology", "hypercube:2"]), (4, "4 hypercube:2".into()));
    assert_eq!(said(&["--hosts", "localhost:3"]), (3, "3".into()));
    for (arguments, words) in [
        (&["-n", "3", "--topology", "ring:4"][..], &["ring:4 has 4 nodes", "-n is 3"][..]),
        (&["--topology", "rong:4"], &["torus:AxB"]),
        (&["--hosts", "a,b"], &["-n N", "--topology"]),
        (&[], &["-n N", "--topology"]),
        (&["-n", "0"], &["from 1 to"]),
        (&["-n", "many"], &["from 1 to"]),
        (&["-n", "2", "--timeout", "0"], &["'0'", "--timeout", "at least 1, or off"]),
        (&["-n", "2", "--timeout", "soon"], &["'soon'", "--timeout", "at least 1, or off"]),
        (&["-n", "2", "--arrival-timeout", "1.5"], &["'1.5'", "--arrival-timeout", "at least 1, or off"]),
        (&["-n", "2", "--hosts", "a:0"], &["slots of a"]),
        (&["-n", "2", "--hosts=-oProxyCommand=x"], &["HOST:SLOTS"]),
        (&["-n", "2", "--hosts", "-oProxyCommand=x"], &["unexpected argument '-o'"]),
        (&["-n", "2", "--hosts", "localhost,b"], &["b cannot reach rank 0 on localhost", "--root-address"]),
        (&["-n", "2", "--root-address", "127.0.0.1:5000"], &["127.0.0.1:5000", "without a port"]),
        (&["-n", "65537"], &["65537", "1 to 65536"]),
        (&["-n", "2", "--hosts", "b", "--remote-shell", "'unclosed"], &["--remote-shell", "not a command"]),
        // A hidden alias.
        (&["-n", "2", "--agent", "ssh"], &["--remote-shell", "--hosts"]),
        (&["--hosts", "localhost:65536,localhost"], &["-n N"]),
        (&["--hosts", "localhost:65536,localhost:1"], &["65537 ranks", "at most 65536"]),
    ] {
        refused(&sandbox.run(&[arguments, &["--", "echo started"]].concat()), words);
    }
    assert_eq!(sandbox.run(&["-n", "2"]).status.code(), Some(2));
    for backend in ["mpi", "local", "stale"] {
        let output =
            sandbox.command(&["-n", "2", "--", "echo started"]).env("NECKLACE_BACKEND", backend).output().unwrap();
        refused(&output, &[&format!("NECKLACE_BACKEND is {backend:?}")]);
    }
    let from_environment = sandbox.command(&["-v", "--", ":"]).env("NECKLACE_TOPOLOGY", "ring:5").output().unwrap();
    assert_eq!(stderr(&from_environment).lines().count(), 5);
}

#[test]
fn arguments_are_passed_unchanged_and_input_is_empty() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new("arguments");
    let mut command = sandbox.command(&["-n", "1"]);
    let odd = std::ffi::OsStr::from_bytes(b"a b'\"$x\n\xff");
    command.args(["printf", "%s|"]).args([odd, "".as_ref(), "-n".as_ref(), "--help".as_ref()]);
    assert_eq!(command.output().unwrap().stdout, b"[0] a b'\"$x\n[0] \xff||-n|--help|\n");
    let mut command = sandbox.command(&["-n", "2", "--", "wc -c; echo $RUST_ODD"]);
    let mut child = command
        .env("RUST_ODD", odd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The input is not read, and nothing waits for its end.
    let stdin = child.stdin.take();
    let mut text = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    drop(stdin);
    assert!(has(&text, b"[0] 0\n") && has(&text, b"[1] 0\n") && has(&text, b"\xff\n"), "{text:?}");
}

#[test]
fn unknown_option_is_refused_before_the_program_only() {
    let sandbox = Sandbox::new("misspelt");
    for (arguments, words) in [
        (&["--timeot", "5", "--", "echo", "started"][..], &["'--timeot'", "'--timeout'", "'PROGRAM --timeot'"][..]),
        (&["--timeot=5", "echo", "started"], &["'--timeot'", "'--timeout'"]),
        (&["-n", "1", "--no-prefx", "echo", "started"], &["'--no-prefx'", "'--no-prefix'"]),
        (&["--host", "localhost", "-n", "1", "--", "echo", "started"], &["'--host'", "'--hosts'"]),
        (&["--rank", "1", "echo", "started"], &["'--rank'", "'--ranks'"]),
        (&["--frobnicate", "--", "echo", "started"], &["'--frobnicate'", "'PROGRAM --frobnicate'"]),
        (&["-n", "1", "-x", "echo", "started"], &["'-x'", "'PROGRAM -x'"]),
        (&["-np", "1", "echo", "started"], &["invalid value 'p' for '--ranks <N>'"]),
        (&["-1", "echo", "started"], &["'-1'"]),
    ] {
        let output = sandbox.command(arguments).output().unwrap();
        refused(&output, words);
        // After --, it would be the program.
        assert!(!stderr(&output).contains("'-- "), "{}", stderr(&output));
    }
    for arguments in [
        &["-n", "1", "echo", "--timeot", "5", "-n", "--", "--help", "-x"][..],
        &["-n", "1", "--", "echo", "--timeot", "5", "-n", "--", "--help", "-x"],
    ] {
        let said = ended_well(&sandbox.command(arguments).output().unwrap());
        assert_eq!(said, "[0] --timeot 5 -n -- --help -x\n", "{arguments:?}");
    }
    // A program whose name begins with a dash can still be started.
    let output = sandbox.command(&["-n", "1", "--", "--timeot", "5"]).output().unwrap();
    assert!(output.status.code() == Some(127) && stderr(&output).contains("--timeot cannot be started"));
}

#[test]
fn unstartable_program_is_named_with_the_reason() {
    let sandbox = Sandbox::new("start");
    fs::write(sandbox.directory.join("no-program"), "").unwrap();
    let cases =
        [("no-such-program", 127, "No such file"), ("./none", 127, "No such file"), ("./no-program", 126, "denied")];
    for (program, status, why) in cases {
        let output = sandbox.run(&["-n", "3", program, "argument"]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{error}");
        assert!(error.contains(&format!("{program} cannot be started")) && error.contains(why), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    // Relative to the working directory of the command.
    sandbox.script("own.sh", "echo here");
    assert_eq!(ended_well(&sandbox.run(&["-n", "1", "./own.sh", "x"])), "[0] here\n");
}

#[test]
fn exceeded_limit_is_named_with_program_and_host() {
    let sandbox = Sandbox::new("limit");
    let command = sandbox.command(&["-n", "40", "sleep", "1000"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 40; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.current_dir(&sandbox.directory).output().unwrap();
    let (error, host) = (stderr(&output), rustix::system::uname().nodename().to_string_lossy().into_owned());
    assert_eq!(output.status.code(), Some(126), "{error}");
    let start = format!("error: {host}: sleep cannot be started: ");
    assert!(error.starts_with(&start) && error.contains("ulimit -n") && error.lines().count() == 1, "{error}");
    sandbox.nothing_is_left();
    let nameless = sandbox.run(&["-n", "1", "", "argument"]);
    assert_eq!(nameless.status.code(), Some(2), "{}", stderr(&nameless));
}

#[test]
fn key_is_found_and_removed_in_any_temporary_directory() {
    let sandbox = Sandbox::new("temporary");
    for temporary in ["keys", ""] {
        let mut command = sandbox.command(&["-n", "2", "--", "cd /; wc -c <$NECKLACE_KEY_FILE"]);
        let output = command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", temporary).output().unwrap();
        let mut lines: Vec<String> = ended_well(&output).lines().map(str::to_owned).collect();
        lines.sort();
        assert_eq!(lines, ["[0] 32", "[1] 32"]);
        sandbox.nothing_is_left();
        assert_eq!(fs::read_dir(&sandbox.directory).unwrap().count(), 1, "{temporary:?}");
    }
}

#[test]
fn help_lists_the_environment_of_a_rank() {
    let help = printed(&["run", "--help"]);
    for word in
        ["Examples:\n  necklace run", "NECKLACE_RANK", "NECKLACE_KEY_FILE", "Standard input is empty", "Exit status"]
    {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(!printed(&["--help"]).contains("agent"));
}

#[test]
fn memory_too_small_for_threads_fails_the_job() {
    let sandbox = Sandbox::new("memory");
    let mut refused = 0;
    // From too little memory for the launcher or the agent, to enough.
    for kilobytes in (10_000..30_000).step_by(2_000) {
        let command = sandbox.command(&["-n", "60", "sleep", "0.1"]);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"")]);
        limited.arg(command.get_program()).args(command.get_args());
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = limited.current_dir(&sandbox.directory).output().unwrap();
        let error = stderr(&output);
        // 101 is the status of a panic.
        assert_ne!(output.status.code(), Some(101), "{kilobytes}: {error}");
        sandbox.nothing_is_left();
        let refusal = error.lines().any(|line| {
            line.starts_with("error: ") && line.contains("a thread") && line.contains("their memory by ulimit -v")
        });
        if refusal {
            assert_eq!(output.status.code(), Some(1), "{kilobytes}: {error}");
            refused += 1;
        }
    }
    assert!(refused > 0);
}

#[test]
fn exceeded_memory_limit_ends_the_job_with_one_error() {
    let sandbox = Sandbox::new("memory_sweep");
    let limited = |kilobytes: u32, command: Command| {
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"")]);
        limited.arg(command.get_program()).args(command.get_args());
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.current_dir(&sandbox.directory).output().unwrap()
    };
    // With less, the system cannot load the command.
    let least = (4_000..200_000).step_by(200).find(|kilobytes| {
        let mut version = Command::new(env!("CARGO_BIN_EXE_necklace"));
        version.arg("--version");
        limited(*kilobytes, version).status.success()
    });
    let least = least.unwrap();
    let (mut refused, mut ended) = (0, 0);
    for kilobytes in (least..least + 8_000).step_by(200) {
        let output = limited(kilobytes, sandbox.command(&["-n", "8", "true"]));
        sandbox.nothing_is_left();
        let error = stderr(&output);
        if output.status.success() {
            assert_eq!(error, "", "{kilobytes}");
            ended += 1;
        } else {
            assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{kilobytes}: {error}");
            assert!(error.starts_with("error: ") && error.contains("ulimit -v"), "{kilobytes}: {error}");
            refused += 1;
        }
    }
    assert!(refused > 0 && ended > 0, "{refused} {ended}");
}

#[test]
fn settings_that_ranks_would_refuse_start_no_rank() {
    let sandbox = Sandbox::new("settings");
    let unknown = "unknown algorithm \"foo\" for alltoall; expected one of auto, native, direct";
    for (algorithm, words) in [("foo", unknown), ("ring,direct", "found \"ring,direct\", expected one algorithm for")] {
        let option = ["-n", "2", "--algorithm", algorithm, "--", "echo started"];
        refused(&sandbox.command(&option).output().unwrap(), &["--algorithm: ", words]);
    }
    for (variable, value, words) in [
        ("NECKLACE_ALGORITHM", "foo", unknown),
        ("NECKLACE_ALGORITHM", "gatherall=ring", "unknown collective \"gatherall\""),
        ("NECKLACE_ALGORITHM", "bruck:radix=1", "expected radix="),
        ("NECKLACE_MACHINE", "cray", "unknown machine \"cray\""),
        ("NECKLACE_TIMEOUT", "0", "a whole number of seconds, at least 1, or off"),
        ("NECKLACE_ARRIVAL_TIMEOUT", "soon", "a whole number of seconds, at least 1, or off"),
        ("NECKLACE_TIMOUT", "5", "did you mean NECKLACE_TIMEOUT?"),
    ] {
        let mut command = sandbox.command(&["-n", "2", "--", "echo started"]);
        refused(&command.env(variable, value).output().unwrap(), &[variable, words]);
    }
}
