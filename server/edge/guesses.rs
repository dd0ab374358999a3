//! A wrong key is answered late where more of them come from one address than people mistype: a guesser waits, and a good key never does.
//! Behind a proxy all come from its address, and still only wrong keys wait.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use axum::http::Extensions;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// Between two wrong keys of one address, at an even pace.
const EVERY: Duration = Duration::from_millis(100);
/// So much of that pace is had at once: twenty wrong keys.
const BURST: Duration = Duration::from_secs(2);
/// The longest wait of an answer.
const HELD: Duration = Duration::from_secs(5);
/// Addresses that are told apart. Two that share a place wait for each other's wrong keys; nothing grows.
const PLACES: usize = 4096;

/// The address that a request comes from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

impl Peer {
    /// The address of a request, as the server put it there. Requests without one wait for each other.
    pub fn of(extensions: &Extensions) -> Self {
        let unknown = Self(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
        extensions.get::<Self>().copied().unwrap_or(unknown)
    }
}

/// When the next wrong key of each address is due.
pub struct Guesses {
    hasher: RandomState,
    // A plain mutex: held to count, never across an await.
    due: Mutex<Box<[Option<Instant>]>>,
}

impl Default for Guesses {
    fn default() -> Self {
        let due = Mutex::new(vec![None; PLACES].into());
        let hasher = RandomState::new();
        Self { hasher, due }
    }
}

impl Guesses {
    /// Waits until a wrong key of this address may be answered.
    pub async fn hold(&self, Peer(from): Peer) {
        let now = Instant::now();
        let until = self.count(from, now);
        if until > now {
            metrics::counter!("thinkd_limit_total", "limit" => "wrong_keys").increment(1);
            sleep_until(until).await;
        }
    }

    /// Counts a wrong key; when it may be answered.
    fn count(&self, from: IpAddr, now: Instant) -> Instant {
        let place = usize::try_from(self.hasher.hash_one(network(from)) % PLACES as u64);
        let mut all = self.due.lock();
        let Some(due) = place.ok().and_then(|place| all.get_mut(place)) else {
            return now;
        };
        let next = due.map_or(now, |due| due.max(now)) + EVERY;
        let next = next.min(now + BURST + HELD);
        *due = Some(next);
        next.checked_sub(BURST).map_or(now, |until| until.max(now))
    }
}

/// The network of an address: an IPv6 client has a whole /64 to choose from.
fn network(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() >> 64 << 64).into()),
        ip => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(guesses: &Guesses, from: &str, now: Instant) -> Duration {
        guesses.count(from.parse().unwrap(), now) - now
    }

    // The pace is that of an address; of IPv6 that of a /64; and no guesser fills the memory or waits for ever.
    #[test]
    fn an_address_waits_for_its_own_wrong_keys() {
        let guesses = Guesses::default();
        let now = Instant::now();
        let waits: Vec<Duration> = (0..200)
            .map(|_| held(&guesses, "2001:db8::1", now))
            .collect();
        assert!(waits[..20].iter().all(Duration::is_zero), "{waits:?}");
        assert_eq!((waits[20], waits[21]), (EVERY, 2 * EVERY));
        assert_eq!(waits[199], HELD);
        assert_eq!(held(&guesses, "2001:db8::ffff:1", now), HELD);
        // Others are as new, but for the rare one that shares its place.
        let others = (0..50).filter(|at| held(&guesses, &format!("192.0.2.{at}"), now).is_zero());
        assert!(others.count() > 45);
        let mapped = held(&guesses, "::ffff:198.51.100.7", now);
        for _ in 0..20 {
            held(&guesses, "198.51.100.7", now);
        }
        assert!(mapped.is_zero() && !held(&guesses, "::ffff:198.51.100.7", now).is_zero());
        assert!(held(&guesses, "2001:db8::1", now + BURST + HELD).is_zero());
    }
}
