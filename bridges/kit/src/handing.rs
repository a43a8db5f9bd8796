//! Handing in: what is on our own disk goes to the daemon, again and again until it has it.

use futures_util::FutureExt as _;
use std::{
    future::Future,
    panic::{self, AssertUnwindSafe},
    time::Duration,
};
use tracing::info;
use vigie_core::{
    bridge::{Accepted, Heard, Inbox, NotAccepted, Noted},
    id::{BridgeName, ChatId},
};

use crate::pause;

/// An inbox that takes longer to write one thing down is in trouble: it counts as a refusal.
pub const ACCEPT: Duration = Duration::from_secs(30);

/// Failures, a panic or a text that does not read, after which an update is set aside.
pub const TRIES: u32 = 3;

/// One bridge's way to the daemon.
#[derive(Clone, Copy)]
pub struct Handing<'a> {
    pub inbox: &'a dyn Inbox,
    /// As in its places.
    pub bridge: &'static str,
}

impl Handing<'_> {
    /// Whether this person may be heard at all; asked until there is an answer.
    pub async fn admits(self, from: &str) -> bool {
        let bridge = BridgeName::new(self.bridge);
        until_taken(|| in_time(self.inbox.admits(&bridge, from), ACCEPT)).await
    }

    /// Hands in once, for what somebody waits for: a tap.
    ///
    /// # Errors
    /// It is not on disk there, or nobody knows.
    pub async fn accept(self, heard: Heard, deadline: Duration) -> Result<Accepted, NotAccepted> {
        in_time(self.inbox.accept(heard), deadline).await
    }

    /// Hands in until the daemon has written it down.
    pub async fn accepted(self, heard: &Heard) -> Accepted {
        until_taken(|| self.accept(heard.clone(), ACCEPT)).await
    }

    /// Whether nothing is on its way to that chat; asked until there is an answer.
    pub async fn is_still(self, chat: &ChatId) -> bool {
        let bridge = BridgeName::new(self.bridge);
        until_taken(|| in_time(self.inbox.is_still(&bridge, chat), ACCEPT)).await
    }

    /// Hands in what the service says about itself until the daemon has written it down.
    pub async fn noted(self, noted: &Noted) {
        let bridge = BridgeName::new(self.bridge);
        until_taken(|| in_time(self.inbox.note(&bridge, noted.clone()), ACCEPT)).await;
    }
}

/// Asks until the daemon has written it down: it is on our disk, and nothing else is to be done.
pub async fn until_taken<T, F>(ask: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, NotAccepted>>,
{
    let mut failures = 0_u32;
    loop {
        match ask().await {
            Ok(taken) => return taken,
            Err(NotAccepted { reason }) => info!(reason, "not taken; it comes again"),
        }
        tokio::time::sleep(pause::after(failures)).await;
        failures = failures.saturating_add(1);
    }
}

/// No answer within `deadline` is none.
///
/// # Errors
/// Those of what is asked, and when it is late.
pub async fn in_time<T>(
    asked: impl Future<Output = Result<T, NotAccepted>>,
    deadline: Duration,
) -> Result<T, NotAccepted> {
    let late = || NotAccepted { reason: format!("no answer within {} s", deadline.as_secs()) };
    tokio::time::timeout(deadline, asked).await.unwrap_or_else(|_| Err(late()))
}

/// What `read` makes of what the service told, or why nothing can be made of it after [`TRIES`]; a
/// mistake of ours that ends in a panic is a reason too.
///
/// `failed` counts a try that failed with what was to be read, on disk, and says how many there were.
/// It is never counted ahead: a daemon that dies again and again would take the blame to what it was
/// about to read, and a person's message would be set aside for it.
///
/// # Errors
/// When a failure cannot be counted.
pub async fn understood<T, E, C>(
    read: impl Fn() -> Result<T, String>,
    failed: impl Fn() -> C,
) -> Result<Result<T, String>, E>
where
    C: Future<Output = Result<u32, E>>,
{
    loop {
        let why = match panic::catch_unwind(AssertUnwindSafe(&read)) {
            Ok(Ok(told)) => return Ok(Ok(told)),
            Ok(Err(why)) => why,
            Err(_) => "Vigie made a mistake while reading it".into(),
        };
        if failed().await? >= TRIES {
            return Ok(Err(why));
        }
    }
}

/// What `task` comes to. After a panic it begins anew, and after [`TRIES`] it is given up: `None`.
/// `failed` counts as for [`understood`].
pub async fn despite_panics<T, F, C>(task: impl Fn() -> F, failed: impl Fn() -> C) -> Option<T>
where
    F: Future<Output = T>,
    C: Future<Output = u32>,
{
    loop {
        let tried = AssertUnwindSafe(async { task().await }).catch_unwind().await;
        if let Ok(done) = tried {
            return Some(done);
        }
        if failed().await >= TRIES {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use std::{
        cell::Cell,
        future,
        sync::atomic::{AtomicU32, Ordering},
    };

    /// Refuses so many times, and then takes everything.
    struct Refusing(AtomicU32);

    impl Refusing {
        fn next<T>(&self, taken: T) -> Result<T, NotAccepted> {
            let one_less = |left: u32| left.checked_sub(1);
            match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
                Ok(_) => Err(NotAccepted { reason: "the disk is full".into() }),
                Err(_) => Ok(taken),
            }
        }
    }

    #[async_trait]
    impl Inbox for Refusing {
        async fn accept(&self, heard: Heard) -> Result<Accepted, NotAccepted> {
            self.next(Accepted { notice: Some(heard.key) })
        }

        async fn note(&self, _: &BridgeName, _: Noted) -> Result<(), NotAccepted> {
            self.next(())
        }

        async fn admits(&self, bridge: &BridgeName, from: &str) -> Result<bool, NotAccepted> {
            self.next((bridge.as_str(), from) == ("harbour", "ines"))
        }
    }

    #[tokio::test]
    async fn what_is_refused_is_asked_again() {
        let inbox = Refusing(AtomicU32::new(1));
        let handing = Handing { inbox: &inbox, bridge: "harbour" };
        assert!(handing.admits("ines").await);
        assert_eq!(inbox.0.load(Ordering::Relaxed), 0);
        assert!(!handing.admits("somebody").await);
        handing.noted(&Noted::Knocked { from: "somebody".into() }).await;
    }

    #[tokio::test]
    async fn an_answer_that_does_not_come_is_a_refusal() {
        let never = future::pending::<Result<(), NotAccepted>>();
        let refused = in_time(never, Duration::from_millis(1)).await.unwrap_err();
        assert_eq!(refused.reason, "no answer within 0 s");
    }

    /// Counts, as a row on disk does.
    fn count(failures: &Cell<u32>) -> u32 {
        failures.set(failures.get() + 1);
        failures.get()
    }

    #[tokio::test]
    async fn what_does_not_read_is_given_up_after_some_tries() {
        let failures = Cell::new(0);
        let counted = || future::ready(Ok::<_, &str>(count(&failures)));
        let bad = || Err::<(), _>("it is no JSON".to_owned());
        let why = understood(bad, counted).await;
        assert_eq!((why, failures.get()), (Ok(Err("it is no JSON".into())), TRIES));

        failures.set(0);
        let mistake = || -> Result<(), String> { panic!("a mistake") };
        let why = understood(mistake, counted).await;
        assert_eq!(why, Ok(Err("Vigie made a mistake while reading it".into())));
        assert_eq!(failures.get(), TRIES);

        failures.set(0);
        let second = || if failures.get() == 0 { Err("not yet".to_owned()) } else { Ok(7) };
        assert_eq!(understood(second, counted).await, Ok(Ok(7)));
    }

    #[tokio::test]
    async fn a_panic_is_tried_again_and_given_up_in_the_end() {
        let failures = Cell::new(0);
        let counted = || future::ready(count(&failures));
        let second = || async {
            assert!(failures.get() > 0, "a mistake");
            "done"
        };
        assert_eq!(despite_panics(second, counted).await, Some("done"));
        failures.set(0);
        let never = || async { panic!("a mistake") };
        assert_eq!(despite_panics::<(), _, _>(never, counted).await, None);
        assert_eq!(failures.get(), TRIES);
    }
}
