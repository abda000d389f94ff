//! Which of those who have proved nothing has to go when another comes.

use super::error::JoinError;
use super::key::random;

/// A connection.
pub(super) type Id = usize;

/// The connections that have proved nothing.
///
/// Those who have not said who they are go first: so what knows nothing of this protocol never
/// takes the place of a rank. Among equals one is drawn. Were it the oldest, a flood that is fast
/// enough would always be faster than a rank, which has to hear and answer first.
#[derive(Debug, Default)]
pub(super) struct Strangers(Vec<Stranger>);

#[derive(Debug)]
struct Stranger {
    id: Id,
    /// Whether it has said who it is, as a rank would.
    greeted: bool,
}

impl Strangers {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Another has come.
    pub(super) fn add(&mut self, id: Id) {
        self.0.push(Stranger { id, greeted: false });
    }

    /// Whether it has said who it is.
    pub(super) fn set(&mut self, id: Id, greeted: bool) {
        if let Some(stranger) = self.0.iter_mut().find(|stranger| stranger.id == id) {
            stranger.greeted = greeted;
        }
    }

    /// It is gone, or has proved that it is a rank.
    pub(super) fn remove(&mut self, id: Id) {
        if let Some(at) = self.0.iter().position(|stranger| stranger.id == id) {
            self.0.swap_remove(at);
        }
    }

    /// Takes out the one that has to go; none if there is nobody.
    pub(super) fn least(&mut self) -> Result<Option<Id>, JoinError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut drawn = [0; 8];
        random(&mut drawn)?;
        let from = (u64::from_le_bytes(drawn) % self.0.len() as u64) as usize;
        let silent = self.0[from..].iter().chain(&self.0[..from]).position(|stranger| !stranger.greeted);
        let at = (from + silent.unwrap_or(0)) % self.0.len();
        Ok(Some(self.0.swap_remove(at).id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_strangers_go_before_those_that_greeted() {
        let mut strangers = Strangers::default();
        (0..20).for_each(|id| strangers.add(id));
        [3, 7, 19].iter().for_each(|id| strangers.set(*id, true));
        strangers.remove(0);
        strangers.remove(0);
        let gone: Vec<Id> = (0..16).map(|_| strangers.least().unwrap().unwrap()).collect();
        assert!(gone.iter().all(|id| ![0, 3, 7, 19].contains(id)), "{gone:?}");
        assert_eq!(strangers.len(), 3);
        (0..3).for_each(|_| assert!(strangers.least().unwrap().is_some()));
        assert_eq!(strangers.least().unwrap(), None);
    }

    #[test]
    fn early_stranger_outlives_a_flood_now_and_then() {
        // As many as there is room for come twice: the first is still there with a chance of about
        // one in seven.
        const ROOM: usize = 50;
        let survives = || {
            let mut strangers = Strangers::default();
            (0..3 * ROOM).for_each(|id| {
                strangers.add(id);
                strangers.set(id, true);
                if strangers.len() > ROOM {
                    strangers.least().unwrap();
                }
            });
            strangers.0.iter().any(|stranger| stranger.id == 0)
        };
        // Never in 400 trials is less likely than 1 in 10^24.
        assert!((0..400).any(|_| survives()));
    }
}
