//! A sign of life for whoever waits at a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Counts rounds, or what else there is, on standard error, if that is a terminal and the work takes long.
pub(crate) struct Progress {
    doing: &'static str,
    what: &'static str,
    since: Instant,
    count: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// What ends sooner shows nothing.
    const PATIENCE: Duration = Duration::from_millis(500);

    pub(crate) fn new(doing: &'static str) -> Self {
        Self::of(doing, "rounds")
    }

    /// Of something else than rounds.
    pub(crate) fn of(doing: &'static str, what: &'static str) -> Self {
        Self { doing, what, since: Instant::now(), count: 0, bar: None }
    }

    /// A round is through.
    pub(crate) fn round(&mut self) {
        self.reach(self.count + 1);
    }

    /// How many are through.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// So many are through.
    pub(crate) fn reach(&mut self, count: u64) {
        self.count = count;
        if self.bar.is_none() && self.since.elapsed() < Self::PATIENCE {
            return;
        }
        let (doing, what) = (self.doing, self.what);
        let bar = self.bar.get_or_insert_with(|| {
            // Hidden unless standard error is a terminal.
            let bar = ProgressBar::new_spinner().with_message(doing);
            let style =
                ProgressStyle::with_template(&format!("{{spinner}} {{msg}}: {{human_pos}} {what}, {{elapsed}}"));
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        bar.set_position(self.count);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
