//! `necklace run`, with real processes. Where something is awaited it is asked for again and again, up to a generous limit.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod support;

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use support::{directory, printed, stderr, stdout};

/// A test's own directory, where keys are kept too, and a mark in the environment of all that it starts.
struct Place {
    directory: PathBuf,
    mark: String,
}

impl Place {
    fn new(name: &str) -> Self {
        let directory = directory(&format!("run_{name}"));
        fs::create_dir(directory.join("keys")).unwrap();
        Self { mark: format!("{}-{name}", std::process::id()), directory }
    }

    /// The command; what follows `--` is a script of each rank's if it is one word.
    fn command(&self, arguments: &[&str]) -> Command {
        // A hangup is ignored where that is inherited, as from `nohup`; whoever runs the tests may have been started so.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_necklace"), "run"])
            .current_dir(&self.directory)
            .stdin(Stdio::null());
        match arguments {
            [options @ .., "--", script] => command.args(options).args(["--", "sh", "-c", script]),
            _ => command.args(arguments),
        };
        // Whatever the tests are run with is not for the ranks.
        for (name, _) in std::env::vars_os().filter(|(name, _)| has(name.as_encoded_bytes(), b"NECKLACE_")) {
            command.env_remove(name);
        }
        command.env("RUST_MARK", &self.mark).env("XDG_RUNTIME_DIR", self.directory.join("keys"));
        command
    }

    /// Runs it to the end, after which nothing is left.
    fn run(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(self.left(), Vec::<String>::new(), "{arguments:?}");
        output
    }

    fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
        Running { out: BufReader::new(child.stdout.take().unwrap()), child }
    }

    /// What still runs or lies about: processes with the mark, keys.
    fn left(&self) -> Vec<String> {
        let keys = fs::read_dir(self.directory.join("keys")).unwrap();
        let keys = keys.map(|entry| entry.unwrap().path().display().to_string());
        self.processes().into_iter().map(|(process, name)| format!("{process:?} {name}")).chain(keys).collect()
    }

    /// The processes with the mark that have not ended, and what they are called with.
    fn processes(&self) -> Vec<(Pid, String)> {
        let mark = format!("RUST_MARK={}\0", self.mark);
        let all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let marked = all.filter(|path| has(&fs::read(path.join("environ")).unwrap_or_default(), mark.as_bytes()));
        let named = marked.filter_map(|path| {
            let number = Pid::from_raw(path.file_name()?.to_str()?.parse().ok()?)?;
            let words = String::from_utf8_lossy(&fs::read(path.join("cmdline")).ok()?).replace('\0', " ");
            // What has ended and is not asked for has no words any more.
            (!words.is_empty()).then_some((number, words))
        });
        named.collect()
    }

    /// One of the command's own processes.
    fn called(&self, which: &str) -> Option<Pid> {
        let is_it = |name: &str| name.contains(&format!("necklace {which} "));
        self.processes().into_iter().find_map(|(process, name)| is_it(&name).then_some(process))
    }

    fn nothing_is_left(&self) {
        until("nothing is left", || self.left().is_empty().then_some(()).ok_or_else(|| self.left()));
    }

    /// A stand-in for ssh, whose hosts are called as one likes. It greets, as login scripts do.
    fn stand_in(&self) -> String {
        self.script(
            "stand in.sh",
            r#"printf 'Welcome to %s, it is full of \0necklaces\nNo newline: ' "$1"
               host=$1; shift
               case $host in
                 down*) echo "connect to host $host: No route to host" >&2; exit 255;;
                 rude*) exec yes 'You are not welcome';;
                 cut*) exit 0;;
                 old*) cat "$host"; exec sleep 1000;;
               esac
               cd /; export NECKLACE_RANK=stale NECKLACE_ADDRESS=of-the-host HOST_NAME=$host
               exec sh -c "$*""#,
        )
    }

    fn script(&self, name: &str, text: &str) -> String {
        let path = self.directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        format!("'{}'", path.display())
    }
}

impl Drop for Place {
    /// What a failing test leaves does not stay.
    fn drop(&mut self) {
        for (process, _) in self.processes() {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// A job under way, whose launcher leads a process group.
struct Running {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Running {
    /// The next lines of standard output.
    fn lines(&mut self, count: usize) -> Vec<String> {
        let mut lines: Vec<String> = self.out.by_ref().lines().take(count).map(Result::unwrap).collect();
        assert_eq!(lines.len(), count, "{lines:?}");
        lines.sort();
        lines
    }

    fn launcher(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed()).unwrap()
    }

    fn send(&self, signal: Signal) {
        kill_process(self.launcher(), signal).unwrap();
    }

    /// Its status, the rest of its output, and what it complained of.
    fn end(mut self) -> (ExitStatus, String, String) {
        let mut complaints = self.child.stderr.take().unwrap();
        let reader = thread::spawn(move || {
            let mut text = String::new();
            complaints.read_to_string(&mut text).unwrap();
            text
        });
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest, reader.join().unwrap())
    }
}

/// Asks until it is so.
fn until<T, E: std::fmt::Debug>(what: &str, mut ask: impl FnMut() -> Result<T, E>) -> T {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        match ask() {
            Ok(found) => return found,
            Err(error) => assert!(Instant::now() < limit, "{what}: {error:?}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// The lines of a rank, without its prefix.
fn of_rank(text: &str, rank: usize) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix(&format!("[{rank}] "))).collect()
}

fn ended_well(output: &Output) -> String {
    assert_eq!((output.status.code(), stderr(output).as_str()), (Some(0), ""), "{}", stdout(output));
    stdout(output)
}

/// What each rank says of itself once it runs; it runs until it is ended.
const ENDLESS: &str = "echo rank $NECKLACE_RANK at $NECKLACE_ROOT; sleep 1000; sleep 1000";

/// The same, and it does not want to end.
const STUBBORN: &str = "trap '' TERM INT HUP; echo rank $NECKLACE_RANK at $NECKLACE_ROOT; while :; do sleep 1000; done";

/// It has children in its own group and, as `timeout` does, in others.
const PARENT: &str = "sleep 1000 & timeout 1000 sleep 1000 & (sleep 1000; sleep 1000) & \
    echo rank $NECKLACE_RANK at $NECKLACE_ROOT; wait";

#[test]
fn a_rank_learns_who_it_is() {
    let place = Place::new("who");
    let script = "env | grep ^NECKLACE_ | sort; wc -c <$NECKLACE_KEY_FILE; stat -c %a:%u $NECKLACE_KEY_FILE; \
        stat -c %a:%u $(dirname $NECKLACE_KEY_FILE); pwd; od -An -tx1 $NECKLACE_KEY_FILE | tr -d ' \\n'";
    let mut command = place.command(&["--topology", "ring:3", "--timeout", "7", "--", script]);
    // Of another job, of this host, of this user's.
    for stale in ["RANK", "SIZE", "ROOT", "ROOT_HELD", "KEY_FILE", "RENDEZVOUS", "INSECURE", "BACKEND", "RANKS"] {
        command.env(format!("NECKLACE_{stale}"), "stale");
    }
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
            assert!(Path::new(&key_file).starts_with(place.directory.join("keys")) && !Path::new(&key_file).exists());
            let held = lines.contains(&"NECKLACE_ROOT_HELD=1");
            assert_eq!(held, rank == 0);
            let user = fs::metadata(&place.directory).map(|about| std::os::unix::fs::MetadataExt::uid(&about)).unwrap();
            let rest = [
                "NECKLACE_SIZE=3".to_owned(),
                "NECKLACE_TIMEOUT=7".to_owned(),
                "NECKLACE_TOPOLOGY=ring:3".to_owned(),
                "32".to_owned(),
                format!("600:{user}"),
                format!("700:{user}"),
                place.directory.display().to_string(),
            ];
            keys.push(lines.pop().unwrap().to_owned());
            let own = ["NECKLACE_RANK=", "NECKLACE_ROOT", "NECKLACE_KEY_FILE="];
            lines.retain(|line| !own.iter().any(|own| line.starts_with(own)));
            let expected = [&["NECKLACE_ADDRESS=127.0.0.1", "NECKLACE_ALGORITHM=ring"].map(str::to_owned)[..], &rest];
            assert_eq!(lines, expected.concat());
            assert_eq!(of_rank(&text, rank).last(), first.last());
        }
    }
    assert!(keys[0].len() == 64 && keys[0] != keys[3]);
    place.nothing_is_left();
}

#[test]
fn the_key_is_in_no_argument_and_no_variable() {
    let place = Place::new("key");
    let script = "od -An -tx1 $NECKLACE_KEY_FILE | tr -d ' \\n'; echo; echo $NECKLACE_KEY_FILE; exec sleep 1000";
    let mut job = place.start(&["-n", "2", "--no-prefix", "--", script]);
    let mut lines = job.lines(4);
    lines.sort_by_key(|line| line.starts_with('/'));
    let key = fs::read(&lines[3]).unwrap();
    let processes = place.processes();
    assert!(processes.len() >= 5, "{processes:?}");
    for (process, name) in processes {
        for file in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{}/{file}", process.as_raw_nonzero())).unwrap();
            assert!(!has(&text, &key) && !has(&text, lines[0].as_bytes()), "{name}");
        }
    }
    job.send(Signal::TERM);
    assert_eq!(job.end().0.code(), Some(143));
    place.nothing_is_left();
}

#[test]
fn the_number_of_ranks_is_one_that_all_agree_on() {
    let place = Place::new("size");
    let said = |arguments: &[&str]| {
        let options = [arguments, &["--", "echo $NECKLACE_SIZE $NECKLACE_TOPOLOGY"]].concat();
        let text = ended_well(&place.run(&options));
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
        (&["-n", "2", "--timeout", "0"], &["--timeout"]),
        (&["-n", "2", "--hosts", "a:0"], &["slots of a"]),
        (&["-n", "2", "--hosts", "-oProxyCommand=x"], &["HOST:SLOTS"]),
        (&["-n", "2", "--hosts", "localhost,b"], &["b cannot reach rank 0 on localhost", "--root-address"]),
        (&["-n", "2", "--hosts", "b", "--agent", "'unclosed"], &["--agent", "no command"]),
        (&["-n", "2", "--agent", "ssh"], &["--hosts"]),
    ] {
        let output = place.run(&[arguments, &["--", "echo started"]].concat());
        let error = stderr(&output);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{arguments:?}: {error}");
        assert!(words.iter().all(|word| error.contains(word)), "{arguments:?}: {error}");
    }
    assert_eq!(place.run(&["-n", "2"]).status.code(), Some(2));
    let from_environment = place.command(&["-v", "--", ":"]).env("NECKLACE_TOPOLOGY", "ring:5").output().unwrap();
    assert_eq!(stderr(&from_environment).lines().count(), 5);
}

#[test]
fn output_comes_in_whole_lines_with_the_rank_in_front() {
    let place = Place::new("lines");
    let script = "for part in a b c d e f g h; do printf $part; printf $part >&2; done; echo; echo >&2; printf last; \
        printf 'its last' >&2";
    let output = place.run(&["-n", "12", "--", script]);
    assert_eq!(output.status.code(), Some(0));
    for (text, last) in [(stdout(&output), "last"), (stderr(&output), "its last")] {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort();
        let expected = (0..12).flat_map(|rank| [format!("[{rank:2}] abcdefgh"), format!("[{rank:2}] {last}")]);
        assert_eq!(lines, expected.collect::<Vec<_>>());
        assert!(text.ends_with('\n'));
    }
    let plain = ended_well(&place.run(&["-n", "2", "--no-prefix", "--", "echo '[me]'"]));
    assert_eq!(plain, "[me]\n[me]\n");
}

#[test]
fn bytes_that_are_no_text_and_lines_without_end_come_through() {
    let place = Place::new("bytes");
    let odd = place.run(&["-n", "1", "--", r"printf '\377\000\n\200'"]);
    assert_eq!(odd.stdout, b"[0] \xff\0\n[0] \x80\n");
    // As long as may be, a byte longer, and many of both kinds from two ranks at once.
    let long = |length: usize, count: usize| {
        format!("for i in $(seq {count}); do head -c {length} /dev/zero | tr '\\0' $NECKLACE_RANK; echo; done")
    };
    let text = ended_well(&place.run(&["-n", "2", "--", &long(1 << 20, 2)]));
    assert!(text.lines().count() == 4 && text.lines().all(|line| line.len() == (1 << 20) + 4));
    let text = ended_well(&place.run(&["-n", "2", "--", &long(3 * (1 << 20) + 1, 3)]));
    assert_eq!(text.lines().count(), 2 * 3 * 4);
    for rank in 0..2 {
        let whole = of_rank(&text, rank).concat().replace(" [continued]", "");
        assert_eq!(whole, rank.to_string().repeat(3 * (3 * (1 << 20) + 1)));
    }
}

#[test]
fn arguments_arrive_as_they_are_and_input_is_empty() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new("arguments");
    let mut command = place.command(&["-n", "1"]);
    let odd = std::ffi::OsStr::from_bytes(b"a b'\"$x\n\xff");
    command.args(["printf", "%s|"]).args([odd, "".as_ref(), "-n".as_ref(), "--help".as_ref()]);
    assert_eq!(command.output().unwrap().stdout, b"[0] a b'\"$x\n[0] \xff||-n|--help|\n");
    let mut command = place.command(&["-n", "2", "--", "wc -c; echo $RUST_ODD"]);
    let mut child = command
        .env("RUST_ODD", odd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Nobody reads it, and nobody waits for its end.
    let stdin = child.stdin.take();
    let mut text = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    drop(stdin);
    assert!(has(&text, b"[0] 0\n") && has(&text, b"[1] 0\n") && has(&text, b"\xff\n"), "{text:?}");
}

#[test]
fn the_first_failure_ends_the_job_and_gives_its_status() {
    let place = Place::new("failure");
    for (how, status, words) in [
        ("exit 7", 7, "rank 1 on %H ended with status 7"),
        ("kill -9 $$", 137, "rank 1 on %H was killed by signal 9 (SIGKILL)"),
        ("kill -SEGV $$", 139, "rank 1 on %H was killed by signal 11 (SIGSEGV)"),
    ] {
        for rest in if status == 7 { &[ENDLESS, STUBBORN][..] } else { &[ENDLESS] } {
            let script = format!("test $NECKLACE_RANK != 1 || {{ echo my last words >&2; {how}; }}; {rest}");
            let output = place.run(&["-n", "3", "--", &script]);
            let (error, host) = (stderr(&output), rustix::system::uname().nodename().to_string_lossy().into_owned());
            assert_eq!(output.status.code(), Some(status), "{how}: {error}");
            assert_eq!(error, format!("[1] my last words\nerror: {}\n", words.replace("%H", &host)));
        }
    }
    // Some have ended well before, and what ended well is none.
    let output = place.run(&["-n", "3", "--", "test $NECKLACE_RANK != 2 || { sleep 0.2; exit 3; }"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn the_others_are_asked_to_end_before_they_are_ended() {
    let place = Place::new("asked");
    let script = "case $NECKLACE_RANK in 0) trap 'echo asked; exit 5' TERM; echo ready >flag; while :; do sleep 0.01; done;; \
        1) until test -e flag; do sleep 0.01; done; exit 4;; esac";
    let output = place.run(&["-n", "2", "--", script]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(4), "[0] asked\n"), "{}", stderr(&output));
}

#[test]
fn a_program_that_cannot_be_started_is_named_with_the_reason() {
    let place = Place::new("start");
    fs::write(place.directory.join("no-program"), "").unwrap();
    let cases =
        [("no-such-program", 127, "No such file"), ("./none", 127, "No such file"), ("./no-program", 126, "denied")];
    for (program, status, why) in cases {
        let output = place.run(&["-n", "3", program, "argument"]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{error}");
        assert!(error.contains(&format!("{program} cannot be started")) && error.contains(why), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    // Relative to where the command was started.
    place.script("own.sh", "echo here");
    assert_eq!(ended_well(&place.run(&["-n", "1", "./own.sh", "x"])), "[0] here\n");
}

#[test]
fn signals_to_the_launcher_end_everything() {
    let place = Place::new("signals");
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        for script in [ENDLESS, PARENT] {
            let mut job = place.start(&["-n", "3", "--", script]);
            job.lines(3);
            job.send(signal);
            let (ended, _, error) = job.end();
            assert_eq!((ended.code(), error.as_str()), (Some(status), ""), "{script}");
            assert_eq!(place.left(), Vec::<String>::new());
        }
    }
    // Those that do not want to are ended all the same, sooner if it is said twice.
    for times in [1, 2] {
        let mut job = place.start(&["-n", "2", "--", STUBBORN]);
        job.lines(2);
        for _ in 0..times {
            job.send(Signal::INT);
            // The same signal twice at once is one.
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(job.end().0.code(), Some(130));
        place.nothing_is_left();
    }
}

#[test]
fn a_launcher_that_is_killed_leaves_nothing() {
    let place = Place::new("killed");
    for script in [ENDLESS, STUBBORN, PARENT] {
        for group in [false, true] {
            let mut job = place.start(&["-n", "3", "--", script]);
            let lines = job.lines(3);
            let root = lines[0].rsplit_once(' ').unwrap().1.to_owned();
            assert!(TcpListener::bind(&root).is_err(), "{root} is held");
            assert_eq!(fs::read_dir(place.directory.join("keys")).unwrap().count(), 1);
            if group {
                kill_process_group(job.launcher(), Signal::KILL).unwrap();
            } else {
                job.send(Signal::KILL);
            }
            assert_eq!(job.end().0.signal(), Some(9));
            place.nothing_is_left();
            drop(until("the port is free", || TcpListener::bind(&root)));
        }
    }
}

#[test]
fn a_launcher_that_is_killed_at_any_moment_leaves_nothing() {
    let place = Place::new("moments");
    for moment in 0..60 {
        let job = place.start(&["-n", "4", "--", ENDLESS]);
        thread::sleep(Duration::from_micros(250 * moment));
        job.send(Signal::KILL);
        job.end();
        place.nothing_is_left();
    }
}

#[test]
fn an_agent_or_a_guard_that_is_killed_fails_the_job() {
    let place = Place::new("agents");
    for (which, words) in [("agent", "the agent on"), ("guard", "guards the ranks has ended")] {
        for script in [ENDLESS, STUBBORN, PARENT] {
            let mut job = place.start(&["-n", "3", "--", script]);
            job.lines(3);
            kill_process(place.called(which).unwrap(), Signal::KILL).unwrap();
            let (status, _, error) = job.end();
            assert_eq!(status.code(), Some(1), "{error}");
            assert!(error.contains(words), "{error}");
            place.nothing_is_left();
        }
    }
}

#[test]
fn an_agent_that_is_killed_at_any_moment_leaves_nothing() {
    let place = Place::new("agent_moments");
    for moment in 0..30 {
        let job = place.start(&["-n", "6", "--", ENDLESS]);
        let agent = until("there is an agent", || place.called("agent").ok_or("there is none"));
        thread::sleep(Duration::from_micros(150 * moment));
        kill_process(agent, Signal::KILL).unwrap();
        let (status, _, error) = job.end();
        assert_eq!(status.code(), Some(1), "{error}");
        place.nothing_is_left();
    }
}

#[test]
fn what_a_rank_leaves_behind_ends_with_the_job() {
    let place = Place::new("behind");
    let output = place.run(&["-n", "2", "--", "(sleep 1000; echo too late) & echo started"]);
    let text = ended_well(&output);
    assert_eq!((of_rank(&text, 0), of_rank(&text, 1), text.lines().count()), (vec!["started"], vec!["started"], 2));
    // It may say its last word.
    let output = place.run(&["-n", "1", "--", "(sleep 0.1; echo late) & echo started"]);
    assert_eq!(ended_well(&output), "[0] started\n[0] late\n");
}

#[test]
fn a_reader_who_leaves_ends_the_job() {
    let place = Place::new("reader");
    for script in ["while :; do echo line; done", "trap '' PIPE TERM; while :; do echo line; done"] {
        let mut job = place.start(&["-n", "2", "--", script]);
        job.lines(1);
        let Running { mut child, out } = job;
        drop(out);
        let mut error = String::new();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert_eq!((child.wait().unwrap().code(), error.as_str()), (Some(141), ""));
        place.nothing_is_left();
    }
}

#[test]
fn output_that_cannot_be_written_fails_the_job() {
    let place = Place::new("full");
    let mut command = place.command(&["-n", "2", "--", ENDLESS]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot be written: No space left"), "{}", stderr(&output));
    place.nothing_is_left();
}

#[test]
fn a_reader_who_does_not_read_does_not_keep_the_job_from_ending() {
    let place = Place::new("stalled");
    let mut job = place.start(&["-n", "2", "--", "while :; do echo line; done"]);
    job.lines(1);
    thread::sleep(Duration::from_millis(300));
    job.send(Signal::INT);
    let status = until("the job ends", || job.child.try_wait().unwrap().ok_or("it runs"));
    assert_eq!(status.code(), Some(130));
    place.nothing_is_left();
}

#[test]
fn ranks_are_spread_over_hosts() {
    let place = Place::new("hosts");
    let agent = place.stand_in();
    let script = "echo $HOST_NAME $NECKLACE_ROOT $NECKLACE_ADDRESS $(pwd)";
    let hosts = ["-n", "5", "--hosts", "one:2,me@two", "--agent", &agent];
    let text = ended_well(&place.run(&[&hosts[..], &["--", script]].concat()));
    let directory = place.directory.display();
    let root = of_rank(&text, 0)[0].split(' ').nth(1).unwrap();
    assert!(root.starts_with("one:"), "{text}");
    for (rank, host) in ["one", "one", "me@two", "one", "one"].into_iter().enumerate() {
        assert_eq!(of_rank(&text, rank), [format!("{host} {root} of-the-host {directory}")]);
    }
    let named = [&hosts[..], &["--root-address", "fe80::1", "-v", "--", "echo $NECKLACE_ROOT"]].concat();
    let output = place.run(&named);
    assert!(stdout(&output).lines().all(|line| line.contains("] [fe80::1]:")), "{}", stdout(&output));
    assert!(stderr(&output).contains("rank 2 on me@two: process "), "{}", stderr(&output));
    // One host is reached by itself alone.
    let alone = ["-n", "2", "--hosts", "one", "--agent", &agent, "--", "echo $NECKLACE_ROOT"];
    assert!(ended_well(&place.run(&alone)).lines().all(|line| line.contains("] 127.0.0.1:")));
}

#[test]
fn a_failure_on_one_host_ends_the_others() {
    let place = Place::new("elsewhere");
    let agent = place.stand_in();
    let script = format!("test $NECKLACE_RANK != 2 || exit 9; {STUBBORN}");
    let output = place.run(&["-n", "4", "--hosts", "one,two,three", "--agent", &agent, "--", &script]);
    let error = stderr(&output);
    assert_eq!((output.status.code(), error.as_str()), (Some(9), "error: rank 2 on three ended with status 9\n"));
    let mut job = place.start(&["-n", "4", "--hosts", "one,two", "--agent", &agent, "--", STUBBORN]);
    job.lines(4);
    job.send(Signal::KILL);
    job.end();
    place.nothing_is_left();
}

#[test]
fn a_host_that_cannot_be_reached_is_named_with_what_was_said() {
    let place = Place::new("unreached");
    let agent = place.stand_in();
    // A message of another version.
    let message = br#"{"Here":{"version":"0.0.7"}}"#;
    let old = [b"\0necklace agent 1\0m", &(message.len() as u32).to_le_bytes()[..], message].concat();
    fs::write(place.directory.join("old"), old).unwrap();
    fs::write(place.directory.join("old-garbage"), b"\0necklace agent 1\0what is this, then?").unwrap();
    for (host, words) in [
        ("down", &["down: connect to host down: No route to host", "down cannot be reached", "255"][..]),
        ("cut", &["cut cannot be reached", "Welcome to cut"]),
        ("rude", &["rude cannot be reached", "Welcome to rude"]),
        ("old", &["old has necklace 0.0.7, this is"]),
        ("old-garbage", &["old-garbage cannot be reached", "no message of an agent's"]),
    ] {
        for hosts in [format!("{host},one"), format!("one,{host}")] {
            let output = place.run(&["-n", "2", "--hosts", &hosts, "--agent", &agent, "--", ENDLESS]);
            let error = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{hosts}: {error}");
            assert!(words.iter().all(|word| error.contains(word)), "{hosts}: {error}");
            // Others may have started, but nothing is left of them.
            assert_eq!(error.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{error}");
        }
    }
    let output = place.run(&["-n", "1", "--hosts", "one", "--agent", "/no/such/agent", "--", ENDLESS]);
    assert!(output.status.code() == Some(1) && stderr(&output).contains("/no/such/agent"), "{}", stderr(&output));
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let place = Place::new("directory");
    let agent = place.script("elsewhere.sh", "shift; rmdir gone; exec sh -c \"$*\"");
    let gone = place.directory.join("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = place.command(&["-n", "1", "--hosts", "one", "--agent", &agent, "--", "echo started"]);
    // The stand-in starts there too, and looks for it above.
    let script =
        fs::read_to_string(place.directory.join("elsewhere.sh")).unwrap().replace("rmdir gone", "cd ..; rmdir gone");
    fs::write(place.directory.join("elsewhere.sh"), script).unwrap();
    let output = command.current_dir(&gone).output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains(&format!("one: {}: No such file", gone.display())), "{error}");
}

#[test]
fn the_help_says_what_a_rank_finds() {
    let help = printed(&["run", "--help"]);
    for word in
        ["Examples:\n  necklace run", "NECKLACE_RANK", "NECKLACE_KEY_FILE", "Standard input is empty", "Exit status"]
    {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(!printed(&["--help"]).contains("agent"));
}
