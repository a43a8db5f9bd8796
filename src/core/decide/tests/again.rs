//! Grants, denials, mutes, answers that cost money, budgets, limits and a night, with the daemon dying
//! after each of its writes: the rows are the same as without.

use chrono::TimeDelta;

use super::{
    ledger::used,
    quiet::{digests, evening, fails, until},
    ruled::policy,
    world::{World, telegram},
};
use crate::{
    account::{Budgets, Scope},
    agent::{AgentEvent, Doing, FailureKind, Settled},
    id::AccountName,
    outage::Stand,
    policy::Effect,
    state::Row,
};

/// What is to be the same, with nothing in it that has an id of its own.
#[derive(Debug, PartialEq)]
struct Standing {
    grants: Vec<(u64, String, bool)>,
    mutes: usize,
    digests: Vec<(String, String)>,
    troubles: Vec<(AccountName, Stand)>,
    /// Of each answer of a model.
    ledger: Vec<(String, u64, Option<u64>)>,
    accounts: Vec<(u64, u32)>,
    verdicts: Vec<String>,
    spent: u64,
    /// Lines of the journal about money, rules and limits.
    journal: Vec<String>,
    told: Vec<String>,
}

fn standing(w: &World) -> Standing {
    let id = w.id("PD-285");
    let mut gates: Vec<_> = w.state.gates.values().collect();
    gates.sort_by_key(|gate| (gate.opened, gate.id));
    let scope = Scope::Session { session: id };
    let accounts = w.rows().filter_map(|row| match row {
        Row::Account(account) if account.scope == scope => {
            Some((account.micro_usd, account.renewed))
        }
        _ => None,
    });
    let kinds = ["gate_ruled", "grant", "budget", "account_", "turn_failed"];
    let journal = w.journal.iter().filter(|kind| kinds.iter().any(|of| kind.starts_with(of)));
    let grants = w.state.grants.values().map(|grant| {
        (grant.number, format!("{:?}, {:?}", grant.kind, grant.risk), grant.over.is_some())
    });
    let ledger = w
        .ledger()
        .into_iter()
        .map(|row| (row.used.key.message.clone(), row.used.tokens.output, row.micro_usd));
    let nights = w.state.digests.values();
    let nights = nights.map(|row| (row.human.to_string(), format!("{} {:?}", row.day, row.missed)));
    let troubles = w.state.troubles.iter().map(|(name, trouble)| (name.clone(), trouble.stand));
    Standing {
        grants: grants.collect(),
        mutes: w.state.mutes.len(),
        digests: nights.collect(),
        troubles: troubles.collect(),
        ledger: ledger.collect(),
        accounts: accounts.collect(),
        verdicts: gates.iter().filter_map(|g| g.verdict()).map(str::to_owned).collect(),
        spent: w.state.sessions[&id].spent.micro_usd,
        journal: journal.cloned().collect(),
        // A service that cannot tell shows what may be a repeat as one.
        told: digests(w).iter().map(|s| s.text().replace("\n(may be a repeat)", "")).collect(),
    }
}

fn pays(w: &mut World, message: &str, tokens: u64) {
    w.report("PD-285", AgentEvent::Usage { entries: vec![used(message, tokens)] });
}

/// All of it, with a death after that write.
fn day(dies_after: Option<usize>) -> (Standing, usize) {
    let mut w = evening();
    w.state.rules.budgets = Budgets { session: Some(1000), turn: 100, ..Budgets::default() };
    w.state.rules.policies = vec![policy("deploys", Effect::Deny, "make deploy *")];
    let begun = w.commits;
    w.dies_after.extend(dies_after.map(|after| begun + after));
    w.writes("[PD-285] go on");
    w.wait(TimeDelta::seconds(10));
    w.takes("PD-285");
    w.asks_to_run("PD-285", "r1", "make test");
    let soon = TimeDelta::seconds(10);
    w.wait(soon);
    w.taps("Approve for this session");
    w.settled("PD-285", "r1", Settled::Ours);
    w.asks_to_run("PD-285", "r2", "make test"); // the grant answers
    w.settled("PD-285", "r2", Settled::Ours);
    w.asks_to_run("PD-285", "r3", "make deploy prod"); // the policy does
    w.settled("PD-285", "r3", Settled::Ours);
    w.writes_as("1001", &telegram("1001", None), "/mute pd-300 1h", None);
    pays(&mut w, "a", 30);
    pays(&mut w, "a", 30); // told twice
    pays(&mut w, "b", 90);
    w.report("PD-285", AgentEvent::Interrupted { turn: None });
    w.doing("PD-285", Doing::Idle);
    w.wait(soon);
    w.taps("As much again");
    w.writes("[PD-285] and on");
    w.wait(soon);
    w.takes("PD-285");
    let text = "You've hit your session limit · resets 6pm (Europe/Paris)".to_owned();
    w.report("PD-285", AgentEvent::TurnFailed { turn: None, kind: FailureKind::Limit, text });
    w.doing("PD-285", Doing::Idle);
    w.wait(TimeDelta::hours(3)); // the mute and the limit are over
    w.takes("PD-285");
    w.finishes("PD-285", "Built.");
    until(&mut w, "2026-11-30T23:00:00Z");
    fails(&mut w, "PD-300", "503");
    until(&mut w, "2026-12-01T06:30:00Z");
    (standing(&w), w.commits - begun)
}

#[test]
fn a_death_after_any_write_leaves_the_same_rows() {
    let (expected, commits) = day(None);
    assert_eq!(expected.grants.len(), 1, "{expected:#?}");
    assert_eq!(expected.accounts, [(1200, 2)], "{expected:#?}");
    assert_eq!(expected.verdicts.len(), 3, "{expected:#?}");
    assert!(expected.mutes == 0 && expected.troubles.is_empty(), "{expected:#?}");
    assert_eq!(expected.told.len(), 1, "{expected:#?}");
    for after in 1..=commits {
        assert_eq!(day(Some(after)).0, expected, "after write {after} of {commits}");
    }
}
