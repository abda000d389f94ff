//! What came of many jobs, fault by stage.

use std::collections::BTreeMap;
use std::fmt;

use super::outcome::Result;
use super::scenario::{Kind, Scenario, Stage};

#[derive(Debug, Default)]
pub(crate) struct Table(BTreeMap<(Kind, Stage), Row>);

#[derive(Debug, Default)]
struct Row {
    count: usize,
    well: usize,
    violated: usize,
    /// Where ranks failed of different things: which they may after two faults, and two ranks that
    /// cannot talk to each other.
    unlike: usize,
    times: Vec<f64>,
}

impl Table {
    pub(crate) fn enter(&mut self, scenario: &Scenario, result: &Result) {
        let row = self.0.entry((scenario.kind(), scenario.faults[0].stage)).or_default();
        row.count += 1;
        row.violated += usize::from(!result.violations.is_empty());
        row.unlike += usize::from(!result.alike);
        row.well += usize::from(result.well && result.violations.is_empty());
        row.times.extend(&result.times);
    }

    pub(crate) fn violated(&self) -> usize {
        self.0.values().map(|row| row.violated).sum()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "fault     stage     jobs  well  failed  unlike  broken   median  longest (in deadlines, from fault to failure)"
        )?;
        let all = self.0.values().fold(Row::default(), |mut all, row| {
            (all.count, all.well) = (all.count + row.count, all.well + row.well);
            (all.unlike, all.violated) = (all.unlike + row.unlike, all.violated + row.violated);
            all.times.extend(&row.times);
            all
        });
        for ((kind, stage), row) in &self.0 {
            write!(f, "{:<9} {:<8} ", format!("{kind:?}").to_lowercase(), format!("{stage:?}").to_lowercase())?;
            row.write(f)?;
        }
        write!(f, "{:<19}", "all")?;
        all.write(f)
    }
}

impl Row {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, well, violated, unlike, .. } = self;
        write!(f, "{count:>5} {well:>5} {:>7} {unlike:>7} {violated:>7}", count - well - violated)?;
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        match times.last() {
            Some(longest) => writeln!(f, " {:>8.3} {longest:>8.3}", times[times.len() / 2]),
            None => writeln!(f),
        }
    }
}
