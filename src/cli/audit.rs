//! `vigie audit`: what was decided, and whether that still stands as it was written. Reads the database,
//! whether Vigie runs or not.

use chrono::{Local, NaiveDate, NaiveTime, Utc};
use serde::Serialize;
use vigie_core::{Timestamp, ledger::is_ours};

use super::{
    Desk,
    failure::Failure,
    out::{Cell, Ink, Out, table},
    plain,
};
use crate::store::{Audit, Chain, JournalRow, Standing};

/// How the kinds begin that are decisions.
const DECISIONS: [&str; 5] =
    ["gate_answered", "gate_approved", "tool_denied", "answer_refused", "grant_"];

/// Lines at most; `--since` goes no further back either.
const MOST: usize = 10_000;

/// Lines where nobody says since when.
const USUAL: usize = 50;

/// Characters of a hash: SHA-256 in hex.
const HASH: usize = 64;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AuditArgs {
    #[command(subcommand)]
    pub what: Option<AuditDo>,
    /// Since when: 2026-11-30, 2026-11-30T22:15:00Z, or 22:15 of today [default: the last 50]
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
pub enum AuditDo {
    /// Check that no line of the journal was changed or taken out
    Verify {
        /// A head that an earlier check printed, which has to be part of it
        #[arg(long, value_name = "HASH")]
        expect: Option<String>,
    },
}

pub(super) fn run(args: &AuditArgs, desk: &Desk) -> Result<(), Failure> {
    Failure::if_inside_a_session()?;
    let folder = &desk.around.data;
    let audit = Audit::open(folder).map_err(|error| {
        let hint = "There is a database once `vigie up` was started.";
        Failure::outside(error).hint(hint)
    })?;
    match &args.what {
        Some(AuditDo::Verify { expect }) => verify(&audit, expect.as_deref(), desk),
        None => list(&audit, args.since.as_deref(), desk),
    }
}

fn list(audit: &Audit, since: Option<&str>, desk: &Desk) -> Result<(), Failure> {
    let from = since.map(|text| instant(text, desk.clock.now())).transpose()?;
    let most = if from.is_some() { MOST } else { USUAL };
    let mut lines = audit.history(u64::MAX, most, &DECISIONS).map_err(Failure::outside)?;
    lines.retain(|line| from.is_none_or(|from| line.at >= from));
    lines.reverse();
    desk.out.show(&lines, |out, lines| {
        if lines.is_empty() {
            return "Nothing was decided in that time.".into();
        }
        table(&lines.iter().map(|line| row(out, line)).collect::<Vec<_>>())
    })
}

fn row(out: &Out, line: &JournalRow) -> Vec<Cell> {
    let text = |key: &str| line.detail[key].as_str().unwrap_or_default();
    let who = line.human.clone().unwrap_or_else(|| match text("rule") {
        "" => "nobody".into(),
        rule => rule.to_owned(),
    });
    let what = match text("verdict") {
        "" => match (line.kind.as_str(), &line.detail["needed"]) {
            // Of a Vigie that did not say it itself.
            ("gate_approved_by_one", needed) => {
                let yes = line.detail["yes"].as_array().map_or(1, Vec::len);
                format!("Said yes, {yes} of {needed}")
            }
            (kind, _) => kind.replace('_', " "),
        },
        verdict => verdict.to_owned(),
    };
    let about = [
        text("name"),
        text("code"),
        text("title"),
        text("what"),
        text("words"),
        text("why"),
        text("via"),
    ];
    let about: Vec<&str> = about.into_iter().filter(|part| !part.is_empty()).collect();
    vec![
        Cell::inked(
            out,
            Ink::Dim,
            line.at.with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string(),
        ),
        Cell::plain(plain::line(&who)),
        Cell::inked(out, Ink::Bold, plain::line(&what)),
        Cell::plain(plain::line(&about.join(" · "))),
    ]
}

#[derive(Serialize)]
struct Verified {
    #[serde(flatten)]
    chain: Chain,
    words: String,
}

fn verify(audit: &Audit, expect: Option<&str>, desk: &Desk) -> Result<(), Failure> {
    if let Some(hash) = expect
        && !(hash.len() == HASH && hash.bytes().all(|b| b.is_ascii_hexdigit()))
    {
        let words = format!("`{hash}` is no head: one has {HASH} characters, 0-9 and a-f");
        return Err(Failure::usage(words));
    }
    let chain = audit.verify(expect).map_err(Failure::outside)?;
    let words = said(&chain);
    if chain.standing == Standing::Whole {
        return desk.out.show(&Verified { chain, words }, |_, verified| verified.words.clone());
    }
    let hint = "Somebody or something wrote to vigie.db beside Vigie. Keep the file, and compare it with a backup.";
    Err(Failure::not_right("chain_broken", words).hint(hint))
}

fn said(chain: &Chain) -> String {
    let Chain { entries, before, head, standing } = chain;
    let older = match before {
        0 => String::new(),
        _ => format!(" {before} of an older Vigie stand before it and have no hashes."),
    };
    match standing {
        Standing::Whole => match head {
            Some(head) => format!("{entries} entries, chain whole, head {head}.{older}"),
            None => format!("No entries yet, so there is no head.{older}"),
        },
        Standing::Changed { seq } => {
            format!(
                "entry {seq} does not fit: it, or the one before it, is another than was written; {entries} before it are whole"
            )
        }
        Standing::Missing { seq } => {
            format!("entry {seq} is gone; {entries} before it are whole")
        }
        Standing::OtherHead => {
            format!(
                "the chain of {entries} entries is whole, and no entry has that head: it was written anew since"
            )
        }
    }
}

/// A day or a time of today where this machine is, or a whole instant.
pub(super) fn instant(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    let local = |day: NaiveDate, time: NaiveTime| {
        let at = day.and_time(time).and_local_timezone(Local).earliest()?;
        Some(at.with_timezone(&Utc))
    };
    let whole = text.parse::<Timestamp>().ok().filter(|at| is_ours(at.date_naive()));
    let day = || local(text.parse().ok().filter(|day| is_ours(*day))?, NaiveTime::MIN);
    let today = || {
        let time = NaiveTime::parse_from_str(text, "%H:%M").ok()?;
        local(now.with_timezone(&Local).date_naive(), time)
    };
    whole.or_else(day).or_else(today).ok_or_else(|| {
        Failure::usage(format!(
            "`{text}` is no time; write 22:15, 2026-11-30 or 2026-11-30T22:15:00Z"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_of_today_or_whole() {
        let now: Timestamp = "2026-11-30T10:00:00Z".parse().unwrap();
        for far in ["-262143-01-01", "+262142-12-31", "1999-12-31T00:00:00Z"] {
            assert!(instant(far, now).is_err(), "{far}");
        }
        let whole = instant("2026-12-01T00:00:00Z", now).unwrap();
        assert_eq!(whole.to_rfc3339(), "2026-12-01T00:00:00+00:00");
        let clock = instant("22:15", now).unwrap().with_timezone(&Local);
        assert_eq!(clock.format("%H:%M").to_string(), "22:15");
        let day = instant("2026-11-29", now).unwrap().with_timezone(&Local);
        assert_eq!(day.format("%Y-%m-%d %H:%M").to_string(), "2026-11-29 00:00");
        assert!(instant("soon", now).is_err());
    }

    #[test]
    fn a_chain_is_said_in_a_sentence() {
        let chain =
            |standing, before| Chain { entries: 4, before, head: Some("ab".into()), standing };
        assert_eq!(said(&chain(Standing::Whole, 0)), "4 entries, chain whole, head ab.");
        assert!(said(&chain(Standing::Whole, 2)).contains("2 of an older Vigie stand before it"));
        assert!(said(&chain(Standing::Changed { seq: 5 }, 0)).starts_with("entry 5 does not fit"));
        assert!(said(&chain(Standing::Missing { seq: 5 }, 0)).starts_with("entry 5 is gone"));
    }
}
