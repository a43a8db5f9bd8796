//! The checks of what rings: `[ringing]`, and the hours of each `[[human]]`.

use chrono::TimeDelta;
use std::{collections::BTreeMap, collections::HashMap, time::Duration};
use toml::Spanned;
use vigie_core::{
    id::HumanId,
    ringing::{DigestTime, Hours, Kind, Loudness, Order, Quiet, Ringing, Urgent, time_of_day},
};
use vigie_workflow::cron::zone;

use super::{
    Config,
    check::Check,
    problem::nearest,
    rows::{RingingRow, Text},
    values,
};

const LOUDNESS: [(&str, Loudness); 4] = [
    ("ring", Loudness::Ring),
    ("note", Loudness::Note),
    ("digest", Loudness::Digest),
    ("log", Loudness::Log),
];

/// In place of names: all who may answer are rung at once.
const EVERYBODY: &str = "everybody";

/// What is asked again oftener is a nuisance and no reminder.
const MOST_REMINDERS: u32 = 10;

/// Past this a sound would say nothing about the moment any more.
const LONGEST_BUNDLE: Duration = Duration::from_mins(5);

/// A session gives signs at longer intervals than this, without anything being wrong.
const SOONEST_STUCK: Duration = Duration::from_mins(1);

impl Check<'_> {
    /// `None`: that person set nothing.
    pub(super) fn hours(
        &mut self,
        timezone: Text,
        quiet: Option<Vec<Spanned<String>>>,
        digest: Text,
    ) -> Option<Hours> {
        let first = quiet.iter().flatten().next().map(Spanned::span);
        let used = first.or_else(|| digest.as_ref().map(Spanned::span));
        let hint = "Write two times of day, such as 22:00-07:00, perhaps after the days they are of: sat-sun 00:00-24:00.";
        let quiet: Vec<_> = quiet
            .unwrap_or_default()
            .iter()
            .filter_map(|text| self.read(text, Quiet::parse, "no time of the day", hint))
            .collect();
        let hint = "Write a time of day such as 08:00, or \"off\".";
        let time =
            digest.and_then(|text| self.read(&text, digest_time, "no time of a digest", hint));
        let Some(timezone) = timezone else {
            if let Some(used) = used {
                let hint = "Add `timezone = \"Europe/Paris\"`, or yours.".to_owned();
                let words = "times of a person need their `timezone`".to_owned();
                self.add(used, words, Some(hint));
            }
            return None;
        };
        match zone(timezone.get_ref()) {
            Ok(zone) => Some(Hours { zone, quiet, digest: time.unwrap_or(DigestTime::AfterQuiet) }),
            Err(words) => {
                self.add(timezone.span(), words, None);
                None
            }
        }
    }

    pub(super) fn ringing(&mut self, row: RingingRow, config: &Config) -> Ringing {
        let usual = Ringing::default();
        let order = self.order(&row.order.unwrap_or_default(), config);
        let hint = "Write a kind such as failure, `project/NAME`, or a session\'s name, perhaps with `*` at its end.";
        let urgent = row.urgent.unwrap_or_default();
        let urgent: Vec<_> = urgent
            .iter()
            .filter_map(|text| self.read(text, Urgent::parse, "nothing that can be urgent", hint))
            .collect();
        let reminders = row.reminders.and_then(|number| self.reminders(&number));
        let remind = row.remind.and_then(|text| self.time_or_off(&text, Duration::from_mins(1)));
        let bundle = row.bundle.and_then(|text| self.time_or_off(&text, Duration::from_secs(1)));
        let desk = row.desk_delay.and_then(|text| self.time_or_off(&text, Duration::from_secs(1)));
        let stuck = row.stuck_after.and_then(|text| self.time_or_off(&text, SOONEST_STUCK));
        let longest = TimeDelta::from_std(LONGEST_BUNDLE).unwrap_or(TimeDelta::MAX);
        let levels = self.levels([
            (Kind::Permission, row.permission),
            (Kind::Question, row.question),
            (Kind::Plan, row.plan),
            (Kind::Approval, row.approval),
            (Kind::Failure, row.failure),
            (Kind::Stuck, row.stuck),
            (Kind::Limit, row.limit),
            (Kind::Done, row.done),
            (Kind::Words, row.words),
            (Kind::Notice, row.notice),
            (Kind::Trouble, row.trouble),
        ]);
        Ringing {
            levels,
            urgent,
            remind: remind.unwrap_or(usual.remind),
            reminders: reminders.unwrap_or(usual.reminders),
            order,
            bundle: bundle.map_or(usual.bundle, Option::unwrap_or_default).min(longest),
            desk_delay: desk.map_or(usual.desk_delay, Option::unwrap_or_default),
            stuck_after: stuck.unwrap_or(usual.stuck_after),
            people: HashMap::new(),
        }
    }

    fn levels(&mut self, kinds: [(Kind, Text); 11]) -> BTreeMap<Kind, Loudness> {
        let mut levels = BTreeMap::new();
        for (kind, word) in kinds {
            let Some(word) = word else { continue };
            let Some(set) = self.choice(&word, &LOUDNESS) else { continue };
            if set > kind.most() {
                let words = format!("`{}` never rings: what agents say is silent", kind.word());
                self.add(word.span(), words, Some("Write note, digest or log.".into()));
            }
            if set != kind.usual() {
                levels.insert(kind, set);
            }
        }
        levels
    }

    fn order(&mut self, names: &[Spanned<String>], config: &Config) -> Order {
        let all = |name: &&Spanned<String>| name.get_ref() == EVERYBODY;
        if let Some(all) = names.iter().find(all) {
            if names.len() > 1 {
                let words = format!("`{EVERYBODY}` is no person among others");
                self.add(all.span(), words, Some("Name people, or everybody alone.".into()));
            }
            return Order::Everybody;
        }
        let people: Vec<_> =
            names.iter().filter_map(|name| self.human_named(name, config)).collect();
        if people.is_empty() { Order::Whose } else { Order::Named(people) }
    }

    fn human_named(&mut self, name: &Spanned<String>, config: &Config) -> Option<HumanId> {
        let word = name.get_ref().as_str();
        let found = config.humans.iter().find(|human| human.id.as_str() == word);
        if found.is_none() {
            let known: Vec<&str> = config.humans.iter().map(|human| human.id.as_str()).collect();
            let hint = nearest(word, &known, "People");
            self.add(name.span(), format!("nobody is called `{word}`"), hint);
        }
        found.map(|human| human.id.clone())
    }

    fn reminders(&mut self, number: &Spanned<i64>) -> Option<u32> {
        let read = u32::try_from(*number.get_ref()).ok().filter(|number| *number <= MOST_REMINDERS);
        if read.is_none() {
            let words = format!("{} is no number of reminders", number.get_ref());
            let hint = format!("Write 0 to {MOST_REMINDERS}.");
            self.add(number.span(), words, Some(hint));
        }
        read
    }

    /// `Some(None)`: off.
    #[expect(clippy::option_option, reason = "a mistake is not the same as off")]
    fn time_or_off(
        &mut self,
        text: &Spanned<String>,
        least: Duration,
    ) -> Option<Option<TimeDelta>> {
        if text.get_ref() == "off" {
            return Some(None);
        }
        let read = values::duration(text.get_ref()).filter(|time| *time >= least);
        if read.is_none() {
            let hint = format!("Write 20s, 30m or 2h, at least {} s; or \"off\".", least.as_secs());
            self.add(text.span(), format!("`{}` is no time", text.get_ref()), Some(hint));
        }
        read.and_then(|time| TimeDelta::from_std(time).ok()).map(Some)
    }
}

fn digest_time(text: &str) -> Option<DigestTime> {
    match text {
        "off" => Some(DigestTime::Never),
        time => time_of_day(time).map(DigestTime::At),
    }
}
