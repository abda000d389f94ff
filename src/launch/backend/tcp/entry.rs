//! How a rank over TCP joins its job.

use std::time::Duration;

#[cfg(unix)]
use super::launcher;
use super::rendezvous::Point;
use super::seat::Seat;
use crate::error::JobError;
use crate::launch::backend::row::{Entry, Environment, Joined, Row, Size, Supervise};
use crate::launch::claim::Claim;
use crate::launch::variable::wrong;
use crate::transport::tcp::{Join, Key, Root};

pub(super) fn enter(
    row: &Row,
    environment: &Environment<'_>,
    claim: Option<Claim>,
    timeout: Duration,
) -> Result<Box<dyn Entry>, JobError> {
    let claim = claim.ok_or_else(|| wrong("nothing says which rank this process is"))?;
    Ok(Box::new(Process { seat: Seat::read(row, environment, &claim)?, timeout }))
}

struct Process {
    seat: Seat,
    timeout: Duration,
}

impl Entry for Process {
    fn size(&self) -> Option<Size> {
        Some(Size { ranks: self.seat.size, words: self.seat.words.clone() })
    }

    fn join(self: Box<Self>, _: usize, supervised: bool) -> Result<Joined, JobError> {
        let join = self.seat.join()?.timeout(self.timeout);
        if !supervised {
            return Ok(Joined { endpoints: vec![join.endpoint()?], supervisor: None });
        }
        let (supervisor, endpoint) = join.supervised()?;
        let supervisor: Box<dyn Supervise> = Box::new(supervisor);
        Ok(Joined { endpoints: vec![endpoint], supervisor: Some(supervisor) })
    }
}

impl Seat {
    fn join(self) -> Result<Join, JobError> {
        let (root, advice) = match self.point {
            Some(Point::Address(address, advice)) => (Root::Address(address), advice),
            Some(Point::File(path)) => (Root::File(path), None),
            // A job of one rank meets nowhere.
            None => (Root::Address(String::new()), None),
        };
        let mut join = Join::new(self.rank, self.size, root).insecure(self.insecure).held(self.held).advice(advice);
        if let Some(path) = &self.key {
            join = join.key(Key::read(path)?);
            #[cfg(unix)]
            if self.locked {
                launcher::end_with_launcher(path);
            }
        }
        if let Some(address) = self.address {
            join = join.address(address);
        }
        Ok(join)
    }
}
