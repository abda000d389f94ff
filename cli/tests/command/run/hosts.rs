//! Tests of ranks on several hosts, with a replacement for ssh.

use std::fs;
use std::thread;

use rustix::process::Signal;

use super::sandbox::Sandbox;
use super::{ENDLESS, STUBBORN, ended_well, of_rank};
use crate::support::{refused, stderr, stdout};

#[test]
fn ranks_are_spread_over_hosts() {
    let sandbox = Sandbox::new("hosts");
    let shell = sandbox.stand_in();
    let script = "echo $HOST_NAME $NECKLACE_ROOT $NECKLACE_ADDRESS $(pwd)";
    let hosts = ["-n", "5", "--hosts", "one:2,me@two", "--remote-shell", &shell];
    let text = ended_well(&sandbox.run(&[&hosts[..], &["--", script]].concat()));
    let directory = sandbox.directory.display();
    let root = of_rank(&text, 0)[0].split(' ').nth(1).unwrap();
    assert!(root.starts_with("one:"), "{text}");
    for (rank, host) in ["one", "one", "me@two", "one", "one"].into_iter().enumerate() {
        assert_eq!(of_rank(&text, rank), [format!("{host} {root} of-the-host {directory}")]);
    }
    let named = [&hosts[..], &["--root-address", "fe80::1", "-v", "--", "echo $NECKLACE_ROOT"]].concat();
    let output = sandbox.run(&named);
    assert!(stdout(&output).lines().all(|line| line.contains("] [fe80::1]:")), "{}", stdout(&output));
    assert!(stderr(&output).contains("rank 2 on me@two: process "), "{}", stderr(&output));
    // With one host, ranks use the loopback address.
    let alone = ["-n", "2", "--hosts", "one", "--remote-shell", &shell, "--", "echo $NECKLACE_ROOT"];
    assert!(ended_well(&sandbox.run(&alone)).lines().all(|line| line.contains("] 127.0.0.1:")));
}

/// Returns the host of each rank.
fn hosts_of(text: &str) -> Vec<String> {
    let ranks = text.lines().count();
    (0..ranks).map(|rank| of_rank(text, rank).concat()).collect()
}

#[test]
fn hostfile_of_open_mpi_or_mpich_is_read() {
    let sandbox = Sandbox::new("hostfile");
    let shell = sandbox.stand_in();
    let file = sandbox.directory.join("hosts.txt");
    let run = |text: &str, more: &[&str]| {
        fs::write(&file, text).unwrap();
        let options = ["--hostfile", "hosts.txt", "--remote-shell", &shell];
        sandbox.run(&[&options[..], more, &["--", "echo $HOST_NAME"]].concat())
    };
    let text = "# the cluster\n\n  one slots=2  # two of them\nme@two:1\r\nnode[08-09] slots=1\n";
    assert_eq!(hosts_of(&ended_well(&run(text, &[]))), ["one", "one", "me@two", "node08", "node09"]);
    assert_eq!(hosts_of(&ended_well(&run("one\ntwo\n", &["-n", "3"]))), ["one", "two", "one"]);
    let long = format!("one{}\n", " ".repeat(5 << 20));
    for (text, more, words) in [
        ("one\n\ntwo 4\n", &[][..], &["--hostfile hosts.txt: line 3: ", "HOST slots=N or HOST:N", "found two 4"][..]),
        ("one slots=none\n", &[], &["line 1: the slots of one are a number from 1 to 65536, not none"]),
        ("one\nn[1-\n", &[], &["line 2: n[1-: brackets do not match"]),
        ("one\nn[1-65536]\n", &[], &["more than 65536 hosts"]),
        ("# nobody\n", &[], &["no line names a host"]),
        (&long, &[], &["more than 4194304 bytes"]),
        ("one\ntwo\n", &[], &["-n N"]),
        ("one\n", &["--hosts", "two"], &["--hostfile", "--hosts", "cannot be used with"]),
    ] {
        refused(&run(text, more), words);
    }
    fs::remove_file(&file).unwrap();
    let output = sandbox.run(&["--hostfile", "hosts.txt", "--", "echo started"]);
    refused(&output, &["--hostfile hosts.txt: No such file"]);
}

#[test]
fn slurm_allocation_names_the_hosts() {
    let sandbox = Sandbox::new("slurm");
    let shell = sandbox.stand_in();
    let run = |nodes: &str, tasks: &str, arguments: &[&str]| {
        let mut command = sandbox.command(&[arguments, &["--", "echo $HOST_NAME"]].concat());
        let output = command.env("SLURM_JOB_NODELIST", nodes).env("SLURM_TASKS_PER_NODE", tasks).output().unwrap();
        assert_eq!(sandbox.left(), Vec::<String>::new());
        output
    };
    let (nodes, by_shell) = ("node[09-10],big", ["--remote-shell", &shell]);
    let all = ["node09", "node09", "node10", "node10", "big"];
    assert_eq!(hosts_of(&ended_well(&run(nodes, "2(x2),1", &by_shell))), all);
    assert_eq!(hosts_of(&ended_well(&run(nodes, "2(x2),1", &["-n", "3", "--remote-shell", &shell]))), all[..3]);
    // The command line overrides Slurm, even if Slurm's variables are invalid.
    assert_eq!(hosts_of(&ended_well(&run(nodes, "2(x2),1", &["--hosts", "localhost:2"]))), ["", ""]);
    let listed = ["--hosts", "node[1-2],node7:2", "-n", "4", "--remote-shell", &shell];
    assert_eq!(hosts_of(&ended_well(&run("nonsense[", "", &listed))), ["node1", "node2", "node7", "node7"]);
    for (nodes, tasks, arguments, words) in [
        ("node[2-1]", "1(x2)", &[][..], &["SLURM_JOB_NODELIST", "expected [1-2]", "--hosts"][..]),
        ("node[1-2]", "2", &[], &["SLURM_TASKS_PER_NODE", "1 nodes", "has 2", "--hosts"]),
        ("node[1-2]", "2(x2)", &["-n", "4", "--topology", "ring:5"], &["ring:5 has 5 nodes"]),
        ("node[1-2]", "", &[], &["-n N"]),
        ("", "2", &["-n", "1", "--remote-shell", "ssh"], &["--remote-shell", "--hosts or --hostfile"]),
    ] {
        refused(&run(nodes, tasks, arguments), words);
    }
}

#[test]
fn failure_on_one_host_ends_the_ranks_on_others() {
    let sandbox = Sandbox::new("elsewhere");
    let shell = sandbox.stand_in();
    let script = format!("test $NECKLACE_RANK != 2 || exit 9; {STUBBORN}");
    let output = sandbox.run(&["-n", "4", "--hosts", "one,two,three", "--remote-shell", &shell, "--", &script]);
    let error = stderr(&output);
    assert_eq!((output.status.code(), error.as_str()), (Some(9), "error: rank 2 on three ended with status 9\n"));
    let mut job = sandbox.start(&["-n", "4", "--hosts", "one,two", "--remote-shell", &shell, "--", STUBBORN]);
    job.lines(4);
    job.send(Signal::KILL);
    job.end();
    sandbox.nothing_is_left();
}

#[test]
fn unreachable_host_is_named_with_the_reason() {
    let sandbox = Sandbox::new("unreached");
    let shell = sandbox.stand_in();
    // A report of another version.
    let message = br#"{"Here":{"version":"0.0.7"}}"#;
    let old = [b"\0necklace agent 1\0m", &(message.len() as u32).to_le_bytes()[..], message].concat();
    fs::write(sandbox.directory.join("old"), old).unwrap();
    fs::write(sandbox.directory.join("old-garbage"), b"\0necklace agent 1\0what is this, then?").unwrap();
    for (host, words) in [
        ("down", &["down: connect to host down: No route to host", "down cannot be reached", "255"][..]),
        ("cut", &["cut cannot be reached", "Welcome to cut"]),
        ("rude", &["rude cannot be reached", "Welcome to rude"]),
        ("old", &["old has necklace 0.0.7, this is"]),
        ("old-garbage", &["old-garbage cannot be reached", "invalid message from the agent"]),
    ] {
        for hosts in [format!("{host},one"), format!("one,{host}")] {
            let output = sandbox.run(&["-n", "2", "--hosts", &hosts, "--remote-shell", &shell, "--", ENDLESS]);
            let error = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{hosts}: {error}");
            assert!(words.iter().all(|word| error.contains(word)), "{hosts}: {error}");
            // Agents on other hosts may have started, but nothing is left of them.
            assert_eq!(error.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{error}");
        }
    }
    // Control characters are escaped, and long output is shortened.
    let noisy = sandbox.script("noisy.sh", r"printf '\n\r\n\033[31mred\a\377\t'; head -c 30000 /dev/zero | tr '\0' x");
    let error = stderr(&sandbox.run(&["-n", "1", "--hosts", "one", "--remote-shell", &noisy, "--", ENDLESS]));
    let (begin, rest) = error.split_once("xxx").unwrap();
    assert!(begin.ends_with(": \\u{1b}[31mred\\u{7}\u{fffd}\\t"), "{error}");
    assert!(rest.len() < 200 && rest.trim_matches('x') == "...\n", "{error}");
    let output = sandbox.run(&["-n", "1", "--hosts", "one", "--remote-shell", "/no/such/shell", "--", ENDLESS]);
    assert!(output.status.code() == Some(1) && stderr(&output).contains("/no/such/shell"), "{}", stderr(&output));
}

#[test]
fn silent_host_fails_the_job_after_the_timeout() {
    thread::scope(|scope| {
        for (hosts, error) in [
            ("silent,two", "silent does not answer: "),
            ("one,mute", "mute does not answer: "),
            ("mute,one", "mute does not answer: "),
            ("old-words,one", "old-words does not start its ranks: "),
        ] {
            scope.spawn(move || silent_host_is_named(hosts, error));
        }
    });
}

fn silent_host_is_named(hosts: &str, error: &str) {
    let sandbox = Sandbox::new(hosts);
    let shell = match hosts.starts_with("silent") {
        true => sandbox.script("silent.sh", "sleep 1000; :"),
        false => sandbox.stand_in(),
    };
    // An agent that sends its first report and nothing more.
    let message = format!(r#"{{"Here":{{"version":"{}"}}}}"#, env!("CARGO_PKG_VERSION"));
    let words = [b"\0necklace agent 1\0m", &(message.len() as u32).to_le_bytes()[..], message.as_bytes()].concat();
    fs::write(sandbox.directory.join("old-words"), words).unwrap();
    let output = sandbox.run(&["-n", "2", "--timeout", "3", "--hosts", hosts, "--remote-shell", &shell, "--", ENDLESS]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{hosts}: {said}");
    assert!(said.starts_with(&format!("error: {error}")) && said.ends_with(" for 3 s\n"), "{hosts}: {said}");
}

#[test]
fn agent_that_started_its_ranks_may_be_silent() {
    let sandbox = Sandbox::new("quiet");
    let shell = sandbox.stand_in();
    let arguments = ["-n", "2", "--timeout", "1", "--hosts", "one,two", "--remote-shell", &shell, "--", "sleep 1.5"];
    ended_well(&sandbox.run(&arguments));
}

#[test]
fn missing_working_directory_is_named() {
    let sandbox = Sandbox::new("directory");
    let shell = sandbox.script("elsewhere.sh", "shift; rmdir gone; exec sh -c \"$*\"");
    let gone = sandbox.directory.join("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = sandbox.command(&["-n", "1", "--hosts", "one", "--remote-shell", &shell, "--", "echo started"]);
    // The replacement for ssh starts in this directory too, so its path is relative to it.
    let script =
        fs::read_to_string(sandbox.directory.join("elsewhere.sh")).unwrap().replace("rmdir gone", "cd ..; rmdir gone");
    fs::write(sandbox.directory.join("elsewhere.sh"), script).unwrap();
    let output = command.current_dir(&gone).output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains(&format!("one: {}: No such file", gone.display())), "{error}");
}
