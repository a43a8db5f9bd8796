//! What rings, how loud each kind of event is, and when whom nothing wakes: the configuration's rules.

use chrono::{
    DateTime, Datelike as _, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone as _,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use vigie_workflow::cron::Tz;

use crate::{
    Timestamp,
    bridge::{CardKind, Level},
    id::{HumanId, ProjectName, SessionId},
    policy::{self, Days},
};

/// Quiet times that follow each other without a gap, which one look puts together.
const JOINED: usize = 8;

/// What an event is, as far as its loudness goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Permission,
    Question,
    Plan,
    /// A step of a workflow waits for a yes.
    Approval,
    /// A turn, a session or a run came to no good end.
    Failure,
    /// Nothing happens in a session that works, or it needs the desk.
    Stuck,
    /// A usage limit, a budget, or what was set aside, is used up.
    Limit,
    /// A turn, a session or a run came to its end.
    Done,
    /// What agents write to people on their own.
    Words,
    /// What goes on in the background: a compacted context, words from the desk.
    Notice,
    /// Something Vigie itself relies on does not hold.
    Trouble,
}

impl Kind {
    pub const ALL: [Self; 11] = [
        Self::Permission,
        Self::Question,
        Self::Plan,
        Self::Approval,
        Self::Failure,
        Self::Stuck,
        Self::Limit,
        Self::Done,
        Self::Words,
        Self::Notice,
        Self::Trouble,
    ];

    /// As the configuration writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Plan => "plan",
            Self::Approval => "approval",
            Self::Failure => "failure",
            Self::Stuck => "stuck",
            Self::Limit => "limit",
            Self::Done => "done",
            Self::Words => "words",
            Self::Notice => "notice",
            Self::Trouble => "trouble",
        }
    }

    pub fn of_card(card: CardKind) -> Self {
        match card {
            CardKind::Permission => Self::Permission,
            CardKind::Question => Self::Question,
            CardKind::Plan => Self::Plan,
            CardKind::Approval => Self::Approval,
        }
    }

    /// How loud it is where nobody set anything.
    pub fn usual(self) -> Loudness {
        match self {
            Self::Permission
            | Self::Question
            | Self::Plan
            | Self::Approval
            | Self::Failure
            | Self::Stuck
            | Self::Limit
            | Self::Trouble => Loudness::Ring,
            Self::Done | Self::Words | Self::Notice => Loudness::Note,
        }
    }

    /// The loudest it may be: what rings is for the code to say, so agents' own words never do.
    pub fn most(self) -> Loudness {
        match self {
            Self::Words | Self::Notice => Loudness::Note,
            Self::Permission
            | Self::Question
            | Self::Plan
            | Self::Approval
            | Self::Failure
            | Self::Stuck
            | Self::Limit
            | Self::Done
            | Self::Trouble => Loudness::Ring,
        }
    }
}

/// How much a kind of event may disturb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loudness {
    /// At the desk alone.
    Log,
    /// In the next digest, and in no message of its own.
    Digest,
    /// A silent message.
    Note,
    Ring,
}

impl Loudness {
    /// The message it makes; `None`: none of its own.
    pub fn level(self) -> Option<Level> {
        match self {
            Self::Log | Self::Digest => None,
            Self::Note => Some(Level::Note),
            Self::Ring => Some(Level::Ring),
        }
    }
}

/// What rings through quiet hours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Urgent {
    Kind(Kind),
    /// Whatever is of that project.
    Project(ProjectName),
    /// Sessions and runs whose name fits; `*` stands for any end. In lower case.
    Named(String),
}

impl Urgent {
    /// `failure`, `project/quay`, `PD-285`, `PD-*`; `None`: none of these.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.word() == text) {
            return Some(Self::Kind(kind));
        }
        if let Some(project) = text.strip_prefix("project/") {
            return (!project.is_empty()).then(|| Self::Project(ProjectName::new(project)));
        }
        let name = text.strip_suffix('*').unwrap_or(text);
        let fits = name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
        (fits && !text.is_empty() && text != "*").then(|| Self::Named(text.to_lowercase()))
    }

    fn fits(&self, kind: Kind, name: &str, project: Option<&ProjectName>) -> bool {
        match self {
            Self::Kind(of) => *of == kind,
            Self::Project(of) => project == Some(of),
            Self::Named(pattern) => {
                let name = name.to_lowercase();
                match pattern.strip_suffix('*') {
                    Some(start) => name.starts_with(start),
                    None => name == *pattern,
                }
            }
        }
    }
}

/// `[ringing]`, and what each person set for themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ringing {
    /// What is not as loud as usual.
    pub levels: BTreeMap<Kind, Loudness>,
    pub urgent: Vec<Urgent>,
    /// What nobody answers is said again after so long; `None`: never.
    pub remind: Option<TimeDelta>,
    /// How often that is done at most.
    pub reminders: u32,
    pub order: Order,
    /// What would ring in a chat that rang so lately comes without a sound of its own; what asks somebody
    /// only where that sound was for something that asks as well.
    pub bundle: TimeDelta,
    /// What is asked in a turn that was begun at the desk rings elsewhere only after so long.
    pub desk_delay: TimeDelta,
    /// A session that works and gives no sign for so long is told of; `None`: never.
    pub stuck_after: Option<TimeDelta>,
    /// Those who set anything.
    pub people: HashMap<HumanId, Hours>,
}

/// Who is rung first for what several people may answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Whoever wrote to that session last or started it, then owners, then the others.
    #[default]
    Whose,
    /// These, then as above.
    Named(Vec<HumanId>),
    /// All of them at once.
    Everybody,
}

impl Default for Ringing {
    fn default() -> Self {
        Self {
            levels: BTreeMap::new(),
            urgent: Vec::new(),
            remind: Some(TimeDelta::minutes(30)),
            reminders: 3,
            order: Order::default(),
            bundle: TimeDelta::seconds(20),
            desk_delay: TimeDelta::minutes(2),
            stuck_after: Some(TimeDelta::minutes(10)),
            people: HashMap::new(),
        }
    }
}

impl Ringing {
    pub fn loudness(&self, kind: Kind) -> Loudness {
        self.levels.get(&kind).copied().unwrap_or_else(|| kind.usual()).min(kind.most())
    }

    /// Whether it rings whatever the hour.
    pub fn is_urgent(&self, kind: Kind, name: &str, project: Option<&ProjectName>) -> bool {
        self.urgent.iter().any(|rule| rule.fits(kind, name, project))
    }
}

/// When one person is not to be woken, and when they read what happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hours {
    pub zone: Tz,
    pub quiet: Vec<Quiet>,
    pub digest: DigestTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestTime {
    /// As the first of the quiet times ends; without any there is no digest.
    AfterQuiet,
    At(NaiveTime),
    Never,
}

/// A time of days in which nothing rings; one that ends before it begins goes over midnight, and is of
/// the day it begins on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quiet {
    days: Days,
    from: NaiveTime,
    /// Midnight is the one that ends the day.
    to: NaiveTime,
}

impl Quiet {
    /// `22:00-07:00`, `sat-sun 00:00-24:00`, `fri,sat 23:00-10:00`; `None`: it is no such time, or an
    /// empty one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (days, span) = match text.split_once(char::is_whitespace) {
            Some((days, span)) if days.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                let parts = days.split(',').map(|part| Days::parse(&part.to_lowercase()));
                (Days::union(&parts.collect::<Option<Vec<_>>>()?), span)
            }
            Some(_) | None => (Days::all(), text),
        };
        let (from, to) = policy::Hours::span(span)?;
        Some(Self { days, from, to })
    }

    /// When it is over, if it holds by that clock.
    fn end(&self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        let (day, time) = (local.date(), local.time());
        let (today, yesterday) = (day.weekday(), day.weekday().pred());
        if self.from < self.to {
            let holds = self.from <= time && time < self.to && self.days.has(today);
            return holds.then(|| day.and_time(self.to));
        }
        if time >= self.from && self.days.has(today) {
            return Some((day + chrono::Days::new(1)).and_time(self.to));
        }
        (time < self.to && self.days.has(yesterday)).then(|| day.and_time(self.to))
    }
}

/// `2h`, `90m`, `1d`, `1h30m`; `None`: it is none, or longer than a week.
pub fn span(text: &str) -> Option<TimeDelta> {
    let mut total = TimeDelta::zero();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let amount: u32 = rest[..digits].parse().ok()?;
        let minutes = match rest.as_bytes()[digits] {
            b'd' => 24 * 60,
            b'h' => 60,
            b'm' => 1,
            _ => return None,
        };
        total = total.checked_add(&TimeDelta::minutes(i64::from(amount) * minutes))?;
        rest = &rest[digits + 1..];
    }
    (total > TimeDelta::zero() && total <= TimeDelta::weeks(1)).then_some(total)
}

/// `07:30`, within one day.
pub fn time_of_day(text: &str) -> Option<NaiveTime> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| {
        let fits = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| text.parse::<u32>().ok())?
    };
    NaiveTime::from_hms_opt(number(hour)?, number(minute)?, 0)
}

impl Hours {
    /// When the quiet time that holds at `now` is over; `None`: none holds.
    pub fn quiet_until(&self, now: Timestamp) -> Option<Timestamp> {
        let mut until = None;
        let mut at = now;
        for _ in 0..JOINED {
            let local = at.with_timezone(&self.zone).naive_local();
            let Some(end) = self.quiet.iter().filter_map(|quiet| quiet.end(local)).max() else {
                break;
            };
            let end = instant(self.zone, end);
            // Where clocks are set back it may be over and begin again.
            at = if end > at { end } else { at + TimeDelta::minutes(1) };
            until = Some(at);
        }
        until
    }

    /// Which day it is for them.
    pub fn today(&self, now: Timestamp) -> NaiveDate {
        now.with_timezone(&self.zone).date_naive()
    }

    fn digest_time(&self) -> Option<NaiveTime> {
        match self.digest {
            DigestTime::AfterQuiet => {
                let ends = self.quiet.iter().map(|quiet| quiet.to);
                ends.clone().find(|end| *end != NaiveTime::MIN).or_else(|| ends.clone().next())
            }
            DigestTime::At(time) => Some(time),
            DigestTime::Never => None,
        }
    }

    /// The day whose digest was due last.
    pub fn last_digest(&self, now: Timestamp) -> Option<NaiveDate> {
        let time = self.digest_time()?;
        let today = self.today(now);
        let due = instant(self.zone, today.and_time(time)) <= now;
        Some(if due { today } else { today - chrono::Days::new(1) })
    }

    /// When the one after that day's is due.
    pub fn digest_after(&self, day: NaiveDate) -> Option<Timestamp> {
        let time = self.digest_time()?;
        Some(instant(self.zone, (day + chrono::Days::new(1)).and_time(time)))
    }

    /// A moment as that person reads it on their clock.
    pub fn clock(&self, at: Timestamp) -> String {
        at.with_timezone(&self.zone).format("%a %H:%M").to_string()
    }
}

/// The first of two where clocks are set back; where they are set forward, the first after the gap.
fn instant(zone: Tz, local: NaiveDateTime) -> Timestamp {
    let quarter = TimeDelta::minutes(15);
    let mut wanted = local;
    // No zone has ever skipped more than a day.
    for _ in 0..=96 {
        if let Some(found) = zone.from_local_datetime(&wanted).earliest() {
            return found.to_utc();
        }
        wanted += quarter;
    }
    DateTime::from_naive_utc_and_offset(local, chrono::Utc)
}

/// Who was rung for a gate, and who is not yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rung {
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub called: BTreeSet<HumanId>,
    /// Nothing wakes them now; it rings for them later, if it still waits.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub held: BTreeSet<HumanId>,
    /// It was asked at the desk, where somebody may answer until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desk_until: Option<Timestamp>,
    /// When to look again whether it may ring for those who are held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_at: Option<Timestamp>,
    /// How often it was said again.
    #[serde(default)]
    pub reminded: u32,
    /// When it rang last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
}

/// Something that happened, for the next digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happened {
    /// From 1, without gaps.
    pub number: u64,
    pub at: Timestamp,
    pub kind: Kind,
    /// The session or run, as people call it.
    pub who: String,
    /// A line about it, masked.
    pub words: String,
}

/// That a person had the digest of a day, and what rings for them later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestRow {
    pub human: HumanId,
    /// By their own calendar.
    pub day: NaiveDate,
    /// What happened later is in the next.
    pub at: Timestamp,
    /// What all sessions together had cost by then, in millionths of a dollar.
    pub spent_micro_usd: u64,
    /// What came without a sound because they slept, and rings once they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// When the first of it happened.
    pub since: Timestamp,
    pub until: Timestamp,
}

/// That something makes no sound for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MuteRow {
    pub human: HumanId,
    pub what: Muted,
    /// When they said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// `None`: no longer.
    pub until: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "muted", rename_all = "snake_case")]
pub enum Muted {
    All,
    Session { session: SessionId },
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_workflow::cron::zone;

    fn hours(quiet: &[&str], digest: DigestTime) -> Hours {
        let quiet = quiet.iter().map(|text| Quiet::parse(text).unwrap()).collect();
        Hours { zone: zone("Europe/Paris").unwrap(), quiet, digest }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_night_ends_by_the_clock_on_the_wall() {
        let night = hours(&["22:00-07:00"], DigestTime::AfterQuiet);
        let until = |now| night.quiet_until(at(now));
        assert_eq!(until("2026-11-30T20:59:59Z"), None, "21:59 in Paris");
        assert_eq!(until("2026-11-30T21:00:00Z"), Some(at("2026-12-01T06:00:00Z")));
        assert_eq!(until("2026-12-01T05:59:59Z"), Some(at("2026-12-01T06:00:00Z")));
        assert_eq!(until("2026-12-01T06:00:00Z"), None);
        // Clocks are set forward, and back, in the middle of it.
        assert_eq!(until("2027-03-27T22:00:00Z"), Some(at("2027-03-28T05:00:00Z")));
        assert_eq!(until("2026-10-24T22:00:00Z"), Some(at("2026-10-25T06:00:00Z")));
    }

    #[test]
    fn times_that_follow_each_other_are_one_and_no_time_is_endless() {
        let joined = hours(&["12:00-14:00", "14:00-15:00"], DigestTime::Never);
        assert_eq!(
            joined.quiet_until(at("2026-11-30T11:30:00Z")),
            Some(at("2026-11-30T14:00:00Z"))
        );
        let always = hours(&["00:00-12:00", "12:00-00:00"], DigestTime::Never);
        assert!(always.quiet_until(at("2026-11-30T11:30:00Z")).is_some());
        let gap = hours(&["01:00-02:30"], DigestTime::Never);
        let there_is_no_half_past_two = gap.quiet_until(at("2027-03-28T00:30:00Z"));
        assert_eq!(there_is_no_half_past_two, Some(at("2027-03-28T01:00:00Z")));
    }

    #[test]
    fn a_digest_is_due_once_a_day() {
        let morning = hours(&["22:00-07:00"], DigestTime::AfterQuiet);
        let day = |now| morning.last_digest(at(now)).unwrap().to_string();
        assert_eq!(day("2026-12-01T05:59:00Z"), "2026-11-30");
        assert_eq!(day("2026-12-01T06:00:00Z"), "2026-12-01");
        assert_eq!(day("2026-12-01T22:59:00Z"), "2026-12-01");
        let today = "2026-12-01".parse().unwrap();
        assert_eq!(morning.digest_after(today), Some(at("2026-12-02T06:00:00Z")));
        assert_eq!(hours(&[], DigestTime::AfterQuiet).digest_after(today), None);
    }

    #[test]
    fn times_are_read_strictly() {
        for bad in ["", "22:00", "22-7", "22:00-22:00", "22:60-07:00", "24:00-07:00", "2:00-07:00"]
        {
            assert_eq!(Quiet::parse(bad), None, "{bad}");
        }
        for bad in ["someday 22:00-07:00", "sat- 22:00-07:00", "sat", "sat sun 22:00-07:00"] {
            assert_eq!(Quiet::parse(bad), None, "{bad}");
        }
        assert!(Quiet::parse("22:00 - 07:00").is_some());
        assert!(Quiet::parse("Fri,Sat 23:00 - 10:00").is_some());
    }

    #[test]
    fn a_night_is_of_the_day_it_begins_on() {
        let late = hours(&["fri,sat 23:00-10:00"], DigestTime::AfterQuiet);
        let until = |now| late.quiet_until(at(now));
        assert_eq!(until("2026-12-04T23:00:00Z"), Some(at("2026-12-05T09:00:00Z")), "Friday's");
        assert_eq!(until("2026-12-06T08:59:00Z"), Some(at("2026-12-06T09:00:00Z")), "Saturday's");
        assert_eq!(until("2026-12-06T23:00:00Z"), None, "none on Sunday");
        assert_eq!(until("2026-12-04T08:00:00Z"), None, "nor on Friday morning");
        let days = hours(&["sat-sun 00:00-24:00", "22:00-07:00"], DigestTime::AfterQuiet);
        let monday = Some(at("2026-12-07T06:00:00Z"));
        assert_eq!(days.quiet_until(at("2026-12-04T22:00:00Z")), monday);
        let digest = days.digest_after("2026-12-06".parse().unwrap());
        assert_eq!(digest, monday, "not at midnight");
    }

    #[test]
    fn a_span_is_a_number_and_a_unit_and_at_most_a_week() {
        assert_eq!(span("1h30m"), Some(TimeDelta::minutes(90)));
        assert_eq!(span("7d"), Some(TimeDelta::weeks(1)));
        for bad in ["", "0m", "8d", "2", "h", "2x", "-2h", "é", "2é", "99999999999h"] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }

    #[test]
    fn urgent_is_a_kind_a_project_or_a_name() {
        let quay = ProjectName::new("quay");
        let fits = |rule: &str, kind, name: &str| {
            Urgent::parse(rule).unwrap().fits(kind, name, Some(&quay))
        };
        assert!(fits("failure", Kind::Failure, "PD-1") && !fits("failure", Kind::Plan, "PD-1"));
        assert!(fits("project/quay", Kind::Plan, "x") && !fits("project/pier", Kind::Plan, "x"));
        assert!(fits("PD-*", Kind::Plan, "pd-285") && !fits("PD-28", Kind::Plan, "pd-285"));
        for bad in ["", "*", "project/", "a b"] {
            assert_eq!(Urgent::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_agents_words_are_never_made_to_ring() {
        let loud = Kind::ALL.into_iter().map(|kind| (kind, Loudness::Ring)).collect();
        let rules = Ringing { levels: loud, ..Ringing::default() };
        assert_eq!(rules.loudness(Kind::Words), Loudness::Note);
        assert_eq!(rules.loudness(Kind::Done), Loudness::Ring);
    }
}
