//! A sign of life for whoever waits at a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Counts rounds on standard error, if that is a terminal and the work takes long.
pub(crate) struct Progress {
    doing: &'static str,
    since: Instant,
    rounds: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// What ends sooner shows nothing.
    const PATIENCE: Duration = Duration::from_millis(500);

    pub(crate) fn new(doing: &'static str) -> Self {
        Self { doing, since: Instant::now(), rounds: 0, bar: None }
    }

    /// A round is through.
    pub(crate) fn round(&mut self) {
        self.rounds += 1;
        if self.bar.is_none() && self.since.elapsed() < Self::PATIENCE {
            return;
        }
        let doing = self.doing;
        let bar = self.bar.get_or_insert_with(|| {
            // Hidden unless standard error is a terminal.
            let bar = ProgressBar::new_spinner().with_message(doing);
            let style = ProgressStyle::with_template("{spinner} {msg}: {pos} rounds, {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        bar.set_position(self.rounds);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
