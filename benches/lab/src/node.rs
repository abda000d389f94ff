//! Runs a node: a shell in its own network namespace.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::LabError;

/// A network namespace. It ends when this is dropped, or when its process ends.
#[derive(Debug)]
pub(crate) struct Node {
    number: usize,
    shell: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Node {
    /// Starts the shell. The namespace is ready after the first [`result`](Self::result) of a
    /// script.
    pub(crate) fn start(number: usize) -> Result<Self, LabError> {
        let failed = |error: std::io::Error| LabError::Unavailable(format!("unshare --net sh: {error}"));
        let mut command = Command::new("unshare");
        command.args(["--net", "sh"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut shell = command.spawn().map_err(failed)?;
        let (input, output) = (shell.stdin.take(), shell.stdout.take());
        let output = output.ok_or_else(|| LabError::Unavailable("no pipe from a shell".into()))?;
        Ok(Self { number, shell, input, output: BufReader::new(output) })
    }

    /// Returns the process of the namespace.
    pub(crate) fn process(&self) -> u32 {
        self.shell.id()
    }

    /// Begins a script of shell commands. Its status is that of the last command. All nodes run
    /// their scripts at once.
    pub(crate) fn begin(&mut self, script: &str) -> Result<(), LabError> {
        let script = format!("exec 2>&1\n{script}\necho \"{END}$?\"\n");
        match self.input.as_mut().map(|input| input.write_all(script.as_bytes())) {
            Some(Ok(())) => Ok(()),
            _ => Err(fault(self.number, self.last_words())),
        }
    }

    /// Returns the output of the last script.
    pub(crate) fn result(&mut self) -> Result<String, LabError> {
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).map_err(|error| fault(self.number, error))?;
            match line.trim_end().strip_prefix(END) {
                Some("0") => return Ok(printed),
                Some(_) => return Err(fault(self.number, printed.trim())),
                None if read == 0 => return Err(fault(self.number, self.last_words())),
                None => printed += &line,
            }
        }
    }

    /// Returns the error of creating the namespace. Later errors go to the other pipe.
    fn last_words(&mut self) -> String {
        self.input = None;
        let mut words = String::new();
        if let Some(errors) = self.shell.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut BufReader::new(errors), &mut words);
        }
        format!("its shell ended: {}", words.trim())
    }
}

/// Marks the status of a script.
const END: &str = "script ended with ";

fn fault(node: usize, why: impl ToString) -> LabError {
    LabError::Node { node, why: why.to_string() }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.shell.wait();
    }
}
