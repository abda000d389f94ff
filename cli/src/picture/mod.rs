//! Pictures of schedules for `necklace plan --svg`, with the feature `draw`.

#[cfg(not(feature = "draw"))]
mod none;
#[cfg(feature = "draw")]
mod svg;

#[cfg(not(feature = "draw"))]
pub(crate) use self::none::{EXAMPLES, Picture, Wanted};
#[cfg(feature = "draw")]
pub(crate) use self::svg::{EXAMPLES, Picture, Wanted};
