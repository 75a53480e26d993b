//! One operator at a time: who may control the test, until when, and who comes next.
//!
//! A state machine without a clock: the time is handed in.

use std::time::{Duration, Instant};

/// A lease that is not renewed for so long is over.
pub(crate) const LASTS: Duration = Duration::from_secs(15);

/// Who holds the lease.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    /// Known to the holder alone; empty while it is kept for who was promised it.
    secret: String,
    holder: String,
    until: Instant,
    asked_by: Option<String>,
}

/// What everybody may know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) holder: String,
    pub(crate) asked_by: Option<String>,
    pub(crate) expires: Duration,
}

/// Another one holds it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HeldBy(pub(crate) String);

impl Lease {
    fn current(&mut self, now: Instant) -> Option<&mut Held> {
        if self.held.as_ref().is_some_and(|held| held.until <= now) {
            self.held = None;
        }
        self.held.as_mut()
    }

    /// Takes it under this secret if nobody has it, or if it was promised to this name.
    pub(crate) fn take(&mut self, name: &str, secret: String, now: Instant) -> Result<(), HeldBy> {
        if let Some(held) = self.current(now)
            && !(held.secret.is_empty() && held.holder == name)
        {
            held.asked_by = Some(name.to_owned());
            return Err(HeldBy(held.holder.clone()));
        }
        let (holder, until) = (name.to_owned(), now + LASTS);
        self.held = Some(Held { secret, holder, until, asked_by: None });
        Ok(())
    }

    /// Whether this is its secret; gives the holder's name.
    pub(crate) fn holder_by(&mut self, secret: &str, now: Instant) -> Option<String> {
        let held = self.current(now)?;
        let is_it = !secret.is_empty() && same(held.secret.as_bytes(), secret.as_bytes());
        is_it.then(|| held.holder.clone())
    }

    pub(crate) fn renew(&mut self, secret: &str, now: Instant) -> bool {
        let is_held = self.holder_by(secret, now).is_some();
        if let Some(held) = self.held.as_mut().filter(|_| is_held) {
            held.until = now + LASTS;
        }
        is_held
    }

    pub(crate) fn release(&mut self, secret: &str, now: Instant) -> bool {
        let is_held = self.holder_by(secret, now).is_some();
        if is_held {
            self.held = None;
        }
        is_held
    }

    /// Keeps it for who has asked; `false` where it is not held by this secret, or nobody has.
    pub(crate) fn give(&mut self, secret: &str, now: Instant) -> bool {
        if self.holder_by(secret, now).is_none() {
            return false;
        }
        let Some(held) = &mut self.held else { return false };
        let Some(next) = held.asked_by.take() else { return false };
        *held = Held { secret: String::new(), holder: next, until: now + LASTS, asked_by: None };
        true
    }

    pub(crate) fn holding(&mut self, now: Instant) -> Option<Holding> {
        let held = self.current(now)?;
        Some(Holding {
            holder: held.holder.clone(),
            asked_by: held.asked_by.clone(),
            expires: held.until - now,
        })
    }

    /// Whether somebody holds it who has shown the secret in time: not one whom it is only
    /// kept for.
    pub(crate) fn is_attended(&mut self, now: Instant) -> Option<String> {
        self.current(now).filter(|held| !held.secret.is_empty()).map(|held| held.holder.clone())
    }
}

/// Compares without telling by its time where two differ.
fn same(own: &[u8], said: &[u8]) -> bool {
    let differing = own.iter().zip(said).fold(0, |all, (a, b)| all | (a ^ b));
    differing == 0 && own.len() == said.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_others_ask_and_the_holder_hands_over() {
        let (mut lease, start) = (Lease::default(), Instant::now());
        lease.take("Anna", "a".into(), start).unwrap();
        assert_eq!(lease.take("Ben", "b".into(), start), Err(HeldBy("Anna".into())));
        assert_eq!(lease.holder_by("b", start), None);
        assert_eq!(lease.holding(start).unwrap().asked_by.as_deref(), Some("Ben"));
        assert!(!lease.give("b", start), "only the holder gives");
        assert!(lease.give("a", start));
        assert_eq!(lease.holder_by("a", start), None, "what is given is gone");
        assert_eq!(lease.holder_by("", start), None, "nobody holds what is kept for another");
        assert_eq!(lease.is_attended(start), None);
        assert_eq!(lease.take("Cem", "c".into(), start), Err(HeldBy("Ben".into())));
        lease.take("Ben", "b".into(), start).unwrap();
        assert_eq!(lease.holder_by("b", start).as_deref(), Some("Ben"));
        assert!(lease.release("b", start) && lease.holding(start).is_none());
    }

    #[test]
    fn a_lease_that_is_not_renewed_is_over() {
        let (mut lease, start) = (Lease::default(), Instant::now());
        lease.take("Anna", "a".into(), start).unwrap();
        let almost = start + LASTS - Duration::from_millis(1);
        assert!(lease.renew("a", almost));
        assert!(lease.renew("a", start + LASTS), "it was renewed");
        let after = start + LASTS + LASTS;
        assert!(!lease.renew("a", after) && lease.is_attended(after).is_none());
        lease.take("Ben", "b".into(), after).unwrap();
    }
}
