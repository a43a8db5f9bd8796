//! The check of `[matrix]`, and of who people are there.

use std::{num::NonZeroUsize, ops::RangeInclusive};
use toml::Spanned;

use super::{
    Layout, Matrix, OnOff, Reactions, Unsafe,
    access::LONG_ANSWERS,
    check::{Check, on_off},
    defaults,
    rows::{MatrixRow, Text},
    values,
};

const LAYOUTS: [(&str, Layout); 3] =
    [("threads", Layout::Threads), ("direct", Layout::Direct), ("space", Layout::Space)];

const UNSAFE: [(&str, Unsafe); 2] = [("refuse", Unsafe::Refuse), ("accept", Unsafe::Accept)];

const REACTIONS: [(&str, Reactions); 3] =
    [("answer", Reactions::Answer), ("deny", Reactions::Deny), ("ignore", Reactions::Ignore)];

/// More than a hundred a second is no limit at all.
const EVENTS: RangeInclusive<u32> = 1..=6000;

impl Check<'_> {
    pub(super) fn matrix(&mut self, row: MatrixRow) -> Matrix {
        let usual = defaults::matrix();
        let enabled = row.enabled.map_or(OnOff::Off, |enabled| {
            self.built_in(&enabled, cfg!(feature = "matrix"), ("Matrix", "matrix"))
        });
        let layout = row.layout.and_then(|word| self.choice(&word, &LAYOUTS));
        let hint = "A whole number from 1 to 6000: what the homeserver lets this account send.";
        let events = self.count(row.events_a_minute, &EVENTS, hint);
        let events = events.and_then(|count| NonZeroUsize::new(usize::try_from(count).ok()?));
        let reactions = row.reactions.and_then(|word| self.choice(&word, &REACTIONS));
        let long_answers = row.long_answers.and_then(|word| self.choice(&word, &LONG_ANSWERS));
        Matrix {
            enabled,
            layout: layout.unwrap_or(usual.layout),
            unsigned_devices: self.caution(row.unsigned_devices).unwrap_or(usual.unsigned_devices),
            unencrypted: self.caution(row.unencrypted).unwrap_or(usual.unencrypted),
            plain_rooms: self.caution(row.plain_rooms).unwrap_or(usual.plain_rooms),
            reactions: reactions.unwrap_or(usual.reactions),
            new_identities: self.caution(row.new_identities).unwrap_or(usual.new_identities),
            events_a_minute: events.unwrap_or(usual.events_a_minute),
            polls: row.polls.map_or(usual.polls, on_off),
            quick_reactions: row.quick_reactions.map_or(usual.quick_reactions, on_off),
            long_answers: long_answers.unwrap_or(usual.long_answers),
        }
    }

    fn caution(&mut self, word: Text) -> Option<Unsafe> {
        self.choice(&word?, &UNSAFE)
    }

    /// A person's full id, which nobody before them in the list has.
    pub(super) fn matrix_user(
        &mut self,
        user: &Spanned<String>,
        taken: &mut Vec<String>,
    ) -> Option<String> {
        let hint = "Write the whole of it, as the person's own client shows it: @ines:example.org.";
        let id = self.read(user, values::matrix_user, "no user id on Matrix", hint)?;
        if taken.contains(&id) {
            self.add(user.span(), format!("{id} is there twice"), None);
        }
        taken.push(id.clone());
        Some(id)
    }
}
