//! A node: a shell in a network namespace of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::LabError;

/// A network namespace. It lasts as long as this, or the process that holds this.
#[derive(Debug)]
pub(crate) struct Node {
    number: usize,
    shell: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Node {
    /// Starts the shell. Nothing can be done with the namespace before [`result`](Self::result) was heard of a script.
    pub(crate) fn start(number: usize) -> Result<Self, LabError> {
        let failed = |error: std::io::Error| LabError::Unavailable(format!("unshare --net sh: {error}"));
        let mut command = Command::new("unshare");
        command.args(["--net", "sh"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut shell = command.spawn().map_err(failed)?;
        let (input, output) = (shell.stdin.take(), shell.stdout.take());
        let output = output.ok_or_else(|| LabError::Unavailable("no pipe from a shell".into()))?;
        Ok(Self { number, shell, input, output: BufReader::new(output) })
    }

    /// The process whose namespace it is.
    pub(crate) fn process(&self) -> u32 {
        self.shell.id()
    }

    /// Begins a script: shell commands, whose last one's status counts. All nodes work at theirs at the same time.
    pub(crate) fn begin(&mut self, script: &str) -> Result<(), LabError> {
        let script = format!("exec 2>&1\n{script}\necho \"{END}$?\"\n");
        match self.input.as_mut().map(|input| input.write_all(script.as_bytes())) {
            Some(Ok(())) => Ok(()),
            _ => Err(fault(self.number, self.last_words())),
        }
    }

    /// What the script begun last has printed.
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

    /// What stood in the way of the namespace itself, before a script turned errors to the other pipe.
    fn last_words(&mut self) -> String {
        self.input = None;
        let mut words = String::new();
        if let Some(errors) = self.shell.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut BufReader::new(errors), &mut words);
        }
        format!("its shell ended: {}", words.trim())
    }
}

/// Before the status of a script.
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
