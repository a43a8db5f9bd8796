//! What is done with words that came less safely than they could: taken, or refused, and then the
//! person is told what to do.

use chrono::TimeDelta;

use crate::{
    bridge::{Policy, Rule},
    store::heard::{Hindrance, Trust},
};

/// How often somebody is told the same about the same, with all that is to be done about it.
pub(super) const AGAIN: TimeDelta = TimeDelta::days(1);

/// And how often in a few words: who writes ten messages at once needs one answer, and who writes later
/// one as well.
pub(super) const SHORTLY: TimeDelta = TimeDelta::minutes(1);

/// These words.
pub(super) const AS_BEFORE: &str =
    "it came as the one that was not taken before, and the reason is the same; it answers nothing";

/// Why something is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It came from a device that its owner has not signed.
    Unsigned,
    /// It came from somebody who was compared and is another one since.
    Changed,
    /// It came from somebody who has another identity than the one they had from the first.
    Renewed,
    /// It came without encryption in a room that is encrypted.
    Bare,
    /// It came from a room without encryption.
    PlainRoom,
    /// What is sealed in it came before, as another event.
    Again,
    /// Whether it came before could not be asked.
    Unasked,
    /// Who has signed the device that it came from could not be asked.
    NoKeys,
    /// What came with its key is not known any more.
    OldKey,
}

/// Whether words that came like this are taken.
pub(super) fn judge(trust: Trust, policy: Policy) -> Result<(), Refusal> {
    let unless = |rule: Rule, refusal: Refusal| match rule {
        Rule::Refuse => Err(refusal),
        Rule::Accept => Ok(()),
    };
    match trust {
        Trust::Signed | Trust::Sealed | Trust::Gap => Ok(()),
        Trust::Unsigned => unless(policy.unsigned_devices, Refusal::Unsigned),
        Trust::Changed => Err(Refusal::Changed),
        Trust::Bare => unless(policy.unencrypted, Refusal::Bare),
        Trust::Plain => unless(policy.plain_rooms, Refusal::PlainRoom),
    }
}

impl Refusal {
    /// Under what it is remembered that somebody was told: for a device, once for each; of what has to be
    /// sent again, of a few.
    pub(super) fn about(self, device: Option<&str>, event: &str) -> String {
        match self {
            Self::Unsigned => format!("unsigned {}", device.unwrap_or_default()),
            Self::Changed => "changed".into(),
            Self::Renewed => "renewed".into(),
            Self::Bare => "bare".into(),
            Self::PlainRoom => "plain room".into(),
            Self::Again => format!("again {}", place_of(Some(event))),
            Self::Unasked => format!("unasked {}", place_of(Some(event))),
            Self::NoKeys => format!("no keys {}", device.unwrap_or_default()),
            Self::OldKey => "old key".into(),
        }
    }

    pub(super) fn words(self, device: Option<&str>) -> String {
        match self {
            Self::Unsigned => unsigned(device),
            Self::Changed => CHANGED.into(),
            Self::Renewed => RENEWED.into(),
            Self::Bare => "it came without encryption although this room is encrypted, so anybody on the way could have written it. Send it again with an app that encrypts; or let such messages in with `unencrypted = \"accept\"` under [matrix] in Vigie's configuration".into(),
            Self::Again => "what is encrypted in it came before as another message, or the homeserver does not show one of the two any more, so you may not have sent it now. If you did, send it again in other words; if you did not, tell whoever runs the homeserver".into(),
            Self::Unasked => "you wrote the same before, and the homeserver did not say whether this is that message told once more. Send it again in other words, or when the homeserver answers".into(),
            Self::NoKeys => "the homeserver did not say whether the session that it came from is yours. Send it again when the homeserver answers (`vigie doctor` at the desk says whether it does)".into(),
            Self::OldKey => "it was encrypted with a key that your app has not used for months, and Vigie does not remember any more what came with it. Let your app make a new one (in Element, write /discardsession in this room; in others, log in anew), and send it again".into(),
            Self::PlainRoom => "this room is not encrypted. Switch encryption on in the room's settings, or write in another room; or let such rooms in with `plain_rooms = \"accept\"` under [matrix] in Vigie's configuration".into(),
        }
    }
}

const RENEWED: &str = "the account that wrote it has another identity than before: its owner set encryption up anew, or somebody else writes. At the desk, run `vigie matrix verify` and compare emoji, or look at both identities with `vigie matrix accept`; then send it again";

const CHANGED: &str = "whoever wrote it is not who was verified here before: the account's identity was replaced, by its owner or by somebody else. At the desk, run `vigie matrix verify` and compare the emoji again";

fn unsigned(device: Option<&str>) -> String {
    let device = device.map(|id| format!(" ({id})")).unwrap_or_default();
    format!(
        "it came from a session of yours{device} that you have not verified, so Vigie cannot know that it is yours. In that app, open Settings, then Sessions or Encryption, verify this session with another one or with your recovery key, and send it again; or let such sessions in with `unsigned_devices = \"accept\"` under [matrix] in Vigie's configuration"
    )
}

/// How many sessions that cannot be read one person in one room hears of before [`AGAIN`].
const PLACES: u32 = 32;

fn place_of(megolm: Option<&str>) -> u32 {
    let step = |sum: u32, byte: u8| sum.wrapping_mul(31).wrapping_add(u32::from(byte));
    megolm.unwrap_or_default().bytes().fold(0, step) % PLACES
}

impl Hindrance {
    /// Whether a key may still come.
    pub(super) fn may_pass(self) -> bool {
        match self {
            Self::NoKey | Self::Withheld => true,
            Self::Unsigned | Self::Backup | Self::Changed | Self::Broken => false,
        }
    }

    /// Under what it is remembered that somebody was told; of what may be missing by the session that
    /// it is encrypted with. Homeservers can invent those without end, so they share a few places.
    pub(super) fn about(self, device: Option<&str>, megolm: Option<&str>) -> String {
        match self {
            Self::Unsigned => Refusal::Unsigned.about(device, ""),
            Self::Changed => Refusal::Changed.about(device, ""),
            Self::NoKey | Self::Withheld | Self::Backup | Self::Broken => {
                format!("{} {}", self.as_str(), place_of(megolm))
            }
        }
    }

    /// The same for the last words.
    pub(super) fn about_last_words(megolm: Option<&str>) -> String {
        format!("last words {}", place_of(megolm))
    }

    /// Said when it has not opened after a few seconds.
    pub(super) fn words(self, device: Option<&str>) -> String {
        match self {
            Self::NoKey => "Vigie cannot read your last message yet, nor what you write with the same key; it asks for that, and takes all of it when the key comes".into(),
            Self::Withheld => "Vigie cannot read your last message: your app keeps its key from Vigie. In your app, look for a setting such as \"never send encrypted messages to unverified sessions\" and switch it off, or verify Vigie (`vigie matrix verify` at the desk); then send it again".into(),
            Self::Unsigned => unsigned(device),
            Self::Backup => "you wrote this while Vigie was logged out or its store was lost: its key is only in the backup, which does not tell who made it, so neither this nor what you wrote with it at that time is taken. Send again what has no 👌 and still counts".into(),
            Self::Changed => CHANGED.into(),
            Self::Broken => "your message came damaged. Send it again; if that happens again, start your app anew".into(),
        }
    }

    /// Said when minutes later it still is not open.
    pub(super) const LAST_WORDS: &'static str = "Vigie still cannot read that message, nor others of that time: their key did not come. Open the app that you wrote it with and leave it open for a moment; if your app shows this session or Vigie as not verified, verify it there (Settings, Sessions or Encryption); or just send them again";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn all(rule: Rule) -> Policy {
        Policy {
            unsigned_devices: rule,
            unencrypted: rule,
            plain_rooms: rule,
            new_identities: rule,
        }
    }

    #[test]
    fn what_is_less_than_safe_is_refused_unless_somebody_wants_it() {
        for (trust, refusal) in [
            (Trust::Signed, None),
            (Trust::Unsigned, Some(Refusal::Unsigned)),
            (Trust::Bare, Some(Refusal::Bare)),
            (Trust::Plain, Some(Refusal::PlainRoom)),
        ] {
            assert_eq!(judge(trust, all(Rule::Refuse)).err(), refusal, "{trust:?}");
            assert_eq!(judge(trust, all(Rule::Accept)), Ok(()), "{trust:?}");
        }
        assert_eq!(judge(Trust::Changed, all(Rule::Accept)), Err(Refusal::Changed));
    }

    #[test]
    fn invented_sessions_are_told_of_a_few_times_and_one_session_once() {
        let about = |megolm: &str| Hindrance::NoKey.about(None, Some(megolm));
        assert_eq!(about("one"), about("one"));
        assert_ne!(about("one"), about("two"));
        let all: HashSet<_> =
            (0..10_000).map(|number| about(&format!("session {number}"))).collect();
        assert!(all.len() <= 32, "{}", all.len());
    }

    #[test]
    fn every_refusal_says_what_to_do() {
        for (words, mend) in [
            (Refusal::Unsigned.words(Some("PHONE")), "(PHONE)"),
            (Refusal::Unsigned.words(None), "verify this session"),
            (Refusal::Changed.words(None), "vigie matrix verify"),
            (Refusal::Again.words(None), "send it again in other words"),
            (Refusal::Unasked.words(None), "when the homeserver answers"),
            (Refusal::NoKeys.words(None), "when the homeserver answers"),
            (Refusal::OldKey.words(None), "/discardsession"),
            (Refusal::Renewed.words(None), "vigie matrix accept"),
            (Refusal::Bare.words(None), "Send it again with an app that encrypts"),
            (Refusal::PlainRoom.words(None), "Switch encryption on"),
            (Hindrance::NoKey.words(None), "it asks for that"),
            (Hindrance::Withheld.words(None), "switch it off"),
            (Hindrance::Backup.words(None), "Send again what has no 👌"),
            (Hindrance::Broken.words(None), "Send it again"),
        ] {
            assert!(words.contains(mend), "{words}");
        }
    }
}
