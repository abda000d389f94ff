//! The independent checker of exported schedules. It lies beside the repository where the project
//! is developed; elsewhere the tests that need it say that they are skipped.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Once;

use serde_json::{Value, json};

/// Runs the script for one document after the other: starting Python for each takes longer than
/// most checks. A line of input has the document and the options, a line of output whether the
/// script succeeds, and what it prints.
const LOOP: &str = r#"
import contextlib, io, json, os, sys, traceback
script = sys.argv[1]
sys.path.insert(0, os.path.dirname(script))
code = compile(open(script).read(), script, 'exec')
for line in sys.stdin:
    document, options = json.loads(line)
    own, sys.stdin, sys.argv = sys.stdin, io.StringIO(document), [script, '-'] + options
    said, succeeds = io.StringIO(), True
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            exec(code, {'__name__': '__main__'})
        except SystemExit as end:
            succeeds = end.code in (None, 0)
        except Exception:
            succeeds = False
            traceback.print_exc()
    sys.stdin = own
    print(json.dumps([succeeds, said.getvalue()]), flush=True)
"#;

/// A process of Python that runs [`LOOP`]. It ends with its standard input.
struct Checker {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

thread_local! {
    static CHECKER: RefCell<Option<Checker>> = const { RefCell::new(None) };
}

/// Checks a document with these options of the script. Returns the figures that it prints, or what
/// it says of a document that it refuses; `None` if the checker or Python is missing, unless
/// `NECKLACE_REQUIRE_CHECKER` is set.
///
/// # Panics
///
/// If the checker is missing and must not be, or ends.
#[must_use]
pub fn check_schedule(document: &str, options: &[&str]) -> Option<Result<Value, String>> {
    CHECKER.with_borrow_mut(|checker| {
        if checker.is_none() {
            *checker = Checker::start();
        }
        checker.as_mut().map(|checker| checker.check(document, options))
    })
}

impl Checker {
    fn start() -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/checker/check_schedule.py");
        let mut python = Command::new("python3");
        python.args(["-S", "-c", LOOP]).arg(&script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Some(mut child) = script.is_file().then(|| python.spawn().ok()).flatten() else {
            let missing = format!("python3 or {} is missing", script.display());
            assert!(std::env::var_os("NECKLACE_REQUIRE_CHECKER").is_none(), "{missing}");
            static TOLD: Once = Once::new();
            TOLD.call_once(|| crate::skipped(&format!("the independent check of documents: {missing}")));
            return None;
        };
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Some(Self { child, input, output })
    }

    fn check(&mut self, document: &str, options: &[&str]) -> Result<Value, String> {
        writeln!(self.input.as_mut().unwrap(), "{}", json!([document, options])).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let (succeeds, said): (bool, String) = serde_json::from_str(&line).expect("the checker has ended");
        let lines: Vec<&str> = said.lines().collect();
        match lines[..] {
            [.., figures, "OK"] if succeeds => Ok(serde_json::from_str(figures).unwrap()),
            _ => Err(said),
        }
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        drop(self.input.take());
        // It has nothing more to do.
        let _ = self.child.wait();
    }
}
