//! The vocabulary of schedules: problems, rounds of transfers, shares, claims.

mod chains;
mod claims;
mod error;
mod hosts;
mod outline;
mod placement;
mod ports;
mod problem;
mod round;
mod shares;
mod work;

pub(crate) use chains::Chains;
pub use claims::Claims;
pub use error::BuildError;
pub(crate) use hosts::HostLoads;
pub use hosts::Hosts;
pub use outline::{Outline, Schedule};
pub use placement::Placement;
pub use ports::Ports;
pub use problem::Problem;
pub(crate) use problem::listable;
pub use round::{
    Amount, Amounts, Combine, End, LocalStep, Mismatch, RankAmounts, RankRound, Round, Route, Share, Transfer,
};
pub(crate) use shares::join;
pub use shares::{Joined, Shares};
pub(crate) use work::HostWork;
pub use work::Work;
