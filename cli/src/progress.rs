//! Shows progress on a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Shows how many steps are complete, on standard error if it is a terminal, and only if the work
/// takes long. Shows a bar if the total is known, otherwise a spinner.
pub(crate) struct Progress {
    doing: &'static str,
    what: &'static str,
    total: Option<u64>,
    since: Instant,
    steps: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Minimum duration before anything is shown.
    const PATIENCE: Duration = Duration::from_millis(500);

    pub(crate) fn new(doing: &'static str, what: &'static str) -> Self {
        Self { doing, what, total: None, since: Instant::now(), steps: 0, bar: None }
    }

    /// Sets the total number of steps, if known.
    pub(crate) fn of(mut self, total: Option<u64>) -> Self {
        self.total = total;
        self
    }

    /// Counts a completed step.
    pub(crate) fn step(&mut self) {
        self.steps += 1;
        let steps = self.steps;
        if let Some(bar) = self.bar() {
            bar.set_message("");
            bar.set_position(steps);
        }
    }

    /// Shows how much of the current step is complete. Its total is unknown.
    pub(crate) fn within(&mut self, count: u64, what: &str) {
        let steps = self.steps;
        if let Some(bar) = self.bar() {
            bar.set_message(format!(", then {count} {what}"));
            bar.set_position(steps);
        }
    }

    /// Returns the bar; `None` before the minimum duration has passed.
    fn bar(&mut self) -> Option<&ProgressBar> {
        let Self { doing, what, total, .. } = *self;
        if self.bar.is_none() && self.since.elapsed() < Self::PATIENCE {
            return None;
        }
        // Hidden unless standard error is a terminal.
        Some(self.bar.get_or_insert_with(|| {
            let (bar, shown) = match total {
                Some(total) => (ProgressBar::new(total), "{bar:30} {human_pos} of {human_len}"),
                None => (ProgressBar::new_spinner(), "{human_pos}"),
            };
            let style =
                ProgressStyle::with_template(&format!("{{spinner}} {doing}: {shown} {what}{{msg}}, {{elapsed}}"));
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        }))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the progress of work that began long ago.
    fn long(total: Option<u64>) -> Progress {
        let since = Instant::now().checked_sub(2 * Progress::PATIENCE).unwrap_or_else(Instant::now);
        let mut progress = Progress::new("testing", "rounds").of(total);
        progress.since = since;
        progress
    }

    #[test]
    fn progress_bar_has_a_total_if_one_is_known() {
        for total in [Some(7), None] {
            let mut progress = long(total);
            progress.step();
            progress.within(5, "messages");
            progress.step();
            let shown = progress.bar.as_ref().map(|bar| (bar.length(), bar.position()));
            assert_eq!(shown, Some((total, 2)));
        }
    }

    #[test]
    fn short_work_shows_no_progress_bar() {
        let mut progress = Progress::new("testing", "rounds").of(Some(1));
        progress.step();
        assert!(progress.bar.is_none());
    }
}
