//! The peers that have connected and not proved that they hold the key, and which of them is
//! evicted when another comes.

use super::ConnectionId;
use crate::transport::tcp::bootstrap::error::JoinError;
use crate::transport::tcp::bootstrap::key::random;

/// The connections whose peers are not authenticated.
///
/// Peers that have not sent a hello are evicted first, so a program that does not speak this
/// protocol never displaces a rank. Among equals, one is drawn at random. If the oldest were
/// evicted, a fast enough flood would always evict a rank first, because the rank has to receive
/// and answer before it is authenticated.
#[derive(Debug, Default)]
pub(super) struct UnauthenticatedPeers(Vec<UnauthenticatedPeer>);

#[derive(Debug)]
struct UnauthenticatedPeer {
    id: ConnectionId,
    /// Whether it has sent a hello, as a rank would.
    has_sent_hello: bool,
}

impl UnauthenticatedPeers {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a peer that has just connected.
    pub(super) fn add(&mut self, id: ConnectionId) {
        self.0.push(UnauthenticatedPeer { id, has_sent_hello: false });
    }

    /// Records whether a peer has sent a hello.
    pub(super) fn set(&mut self, id: ConnectionId, has_sent_hello: bool) {
        if let Some(peer) = self.0.iter_mut().find(|peer| peer.id == id) {
            peer.has_sent_hello = has_sent_hello;
        }
    }

    /// Removes a peer that is gone or authenticated.
    pub(super) fn remove(&mut self, id: ConnectionId) {
        if let Some(at) = self.0.iter().position(|peer| peer.id == id) {
            self.0.swap_remove(at);
        }
    }

    /// Removes the peer that has to make room, and returns it. `None` if there is no peer.
    pub(super) fn evict(&mut self) -> Result<Option<ConnectionId>, JoinError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut drawn = [0; 8];
        random(&mut drawn)?;
        let from = (u64::from_le_bytes(drawn) % self.0.len() as u64) as usize;
        let silent = self.0[from..].iter().chain(&self.0[..from]).position(|peer| !peer.has_sent_hello);
        let at = (from + silent.unwrap_or(0)) % self.0.len();
        Ok(Some(self.0.swap_remove(at).id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_without_a_hello_are_evicted_first() {
        let mut peers = UnauthenticatedPeers::default();
        (0..20).for_each(|id| peers.add(id));
        [3, 7, 19].iter().for_each(|id| peers.set(*id, true));
        peers.remove(0);
        peers.remove(0);
        let gone: Vec<ConnectionId> = (0..16).map(|_| peers.evict().unwrap().unwrap()).collect();
        assert!(gone.iter().all(|id| ![0, 3, 7, 19].contains(id)), "{gone:?}");
        assert_eq!(peers.len(), 3);
        (0..3).for_each(|_| assert!(peers.evict().unwrap().is_some()));
        assert_eq!(peers.evict().unwrap(), None);
    }

    #[test]
    fn early_peer_sometimes_survives_a_flood() {
        // Twice as many peers come as there is room for. The first is still there with a chance of
        // about one in seven.
        const ROOM: usize = 50;
        let survives = || {
            let mut peers = UnauthenticatedPeers::default();
            (0..3 * ROOM).for_each(|id| {
                peers.add(id);
                peers.set(id, true);
                if peers.len() > ROOM {
                    peers.evict().unwrap();
                }
            });
            peers.0.iter().any(|peer| peer.id == 0)
        };
        // Never in 400 trials is less likely than 1 in 10^24.
        assert!((0..400).any(|_| survives()));
    }
}
