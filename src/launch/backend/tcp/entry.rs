//! Joins a job over TCP.

use std::time::Duration;

#[cfg(unix)]
use super::launcher;
use super::rendezvous::RendezvousPoint;
use super::settings::RankSettings;
use crate::error::{Error, JobError};
use crate::launch::backend::row::{Environment, JobEntry, JoinedJob, Row, Size, Supervise};
use crate::launch::claim::Claim;
use crate::transport::tcp::{Join, Key, Root};

pub(super) fn enter(
    row: &Row,
    environment: &Environment<'_>,
    claim: Option<Claim>,
    timeout: Duration,
) -> Result<Box<dyn JobEntry>, JobError> {
    let claim = claim.ok_or_else(|| Error::Internal("TCP is selected for a process that is no rank".into()))?;
    Ok(Box::new(ProcessEntry { settings: RankSettings::read(row, environment, &claim)?, timeout }))
}

struct ProcessEntry {
    settings: RankSettings,
    timeout: Duration,
}

impl JobEntry for ProcessEntry {
    fn size(&self) -> Option<Size> {
        Some(Size { ranks: self.settings.size, source: self.settings.source.clone() })
    }

    fn join(self: Box<Self>, _: usize, supervised: bool) -> Result<JoinedJob, JobError> {
        let join = self.settings.join()?.timeout(self.timeout);
        if !supervised {
            return Ok(JoinedJob { endpoints: vec![join.endpoint()?], supervisor: None });
        }
        let (supervisor, endpoint) = join.supervised()?;
        let supervisor: Box<dyn Supervise> = Box::new(supervisor);
        Ok(JoinedJob { endpoints: vec![endpoint], supervisor: Some(supervisor) })
    }
}

impl RankSettings {
    fn join(self) -> Result<Join, JobError> {
        let (root, advice) = match self.point {
            Some(RendezvousPoint::Address(address, advice)) => (Root::Address(address), advice),
            Some(RendezvousPoint::File(path)) => (Root::File(path), None),
            // A job of one rank needs no rendezvous.
            None => (Root::Address(String::new()), None),
        };
        let mut join = Join::new(self.rank, self.size, root).insecure(self.insecure).held(self.held).advice(advice);
        if let Some(path) = &self.key {
            #[cfg(unix)]
            if self.locked {
                launcher::end_with_launcher(path, self.started);
            }
            join = join.key(Key::read(path)?);
        }
        if let Some(address) = self.address {
            join = join.address(address);
        }
        if let Some(host) = self.host {
            join = join.host(host);
        }
        Ok(join)
    }
}
