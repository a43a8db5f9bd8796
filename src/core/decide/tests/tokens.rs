//! Tokens of programs outside of every session.

use std::collections::BTreeSet;

use super::world::World;
use crate::{
    caller::{AgentCommand, AgentRefusal, AgentReply, Principal, TokenHash, TokenRow, TokenScope},
    command::{Command, Refusal, Reply, Request},
    decide::{Event, decide},
    id::HumanId,
    ids::Ids,
    state::{Found, Row, State},
};

fn hash(of: &str) -> TokenHash {
    TokenHash(format!("hash of {of}"))
}

fn add(w: &mut World, name: &str, scopes: &[TokenScope]) -> Result<TokenRow, Refusal> {
    let scopes: BTreeSet<_> = scopes.iter().copied().collect();
    let made = w.ask(Command::AddToken { name: name.into(), hash: hash(name), scopes })?;
    let Reply::Tokens(mut rows) = made else { panic!("another reply: {made:?}") };
    assert_eq!(rows.len(), 1, "the one that was made");
    Ok(rows.remove(0))
}

fn revoke(w: &mut World, name: &str) -> Result<Reply, Refusal> {
    w.ask(Command::RevokeToken { name: name.into() })
}

#[test]
fn a_token_speaks_for_its_program_until_it_is_revoked() {
    let mut w = World::with(&["PD-285"]);
    let made = add(&mut w, "nightly", &[TokenScope::Read]).unwrap();
    assert_eq!((made.by.to_string(), made.made), ("owner".to_owned(), w.now));
    w.crash();

    let known = w.state.known(&hash("nightly")).expect("it is let in");
    assert_eq!(known.principal, Principal::Client { token: made.id });
    assert_eq!((known.name.as_str(), known.run), ("nightly", None));
    assert_eq!(known.scopes, BTreeSet::from([TokenScope::Read]));
    let Ok(AgentReply::Whoami(whoami)) = w.call_with(hash("nightly"), AgentCommand::Whoami) else {
        panic!("it is not answered")
    };
    assert_eq!((whoami.name.as_str(), whoami.session), ("nightly", None));
    assert_eq!(whoami.chain, Vec::<String>::new(), "it is in nobody's tree");

    revoke(&mut w, " Nightly ").unwrap();
    for crashed in [false, true] {
        if crashed {
            w.crash();
        }
        assert_eq!(w.state.known(&hash("nightly")), None, "crashed: {crashed}");
        let called = w.call_with(hash("nightly"), AgentCommand::Whoami);
        assert!(matches!(called, Err(AgentRefusal::TokenOver { .. })), "{called:?}");
    }
    assert!(w.state.known(&hash("PD-285")).is_some(), "a session's own is another matter");
    let told = w.journal.iter().filter(|kind| kind.starts_with("token_")).collect::<Vec<_>>();
    assert_eq!(told, ["token_made", "token_revoked"]);
}

#[test]
fn a_name_is_one_token_at_a_time() {
    let mut w = World::new();
    let first = add(&mut w, "ci", &TokenScope::ALL).unwrap();
    let again = add(&mut w, "CI", &TokenScope::ALL).unwrap_err();
    assert_eq!(again, Refusal::TokenExists { name: "CI".into() });
    assert!(again.hint().unwrap().contains("vigie token revoke CI"), "{again:?}");
    revoke(&mut w, "ci").unwrap();
    let second = add(&mut w, "ci", &TokenScope::ALL).unwrap();
    assert_ne!(first.id, second.id, "an old message is not of the new one");
    assert_eq!(
        w.state.known(&hash("ci")).unwrap().principal,
        Principal::Client { token: second.id }
    );
}

#[test]
fn what_does_not_exist_cannot_be_revoked_and_what_does_is_named() {
    let mut w = World::new();
    let refused = revoke(&mut w, "ci").unwrap_err();
    assert!(refused.sentence().contains("vigie token create"), "{}", refused.sentence());
    add(&mut w, "nightly", &TokenScope::ALL).unwrap();
    add(&mut w, "old", &TokenScope::ALL).unwrap();
    revoke(&mut w, "old").unwrap();
    for name in ["ci", "old"] {
        let refused = revoke(&mut w, name).unwrap_err().sentence();
        assert_eq!(refused, format!("no token is called `{name}`. Tokens: nightly."));
    }
}

#[test]
fn a_name_that_would_be_misread_is_refused() {
    let mut w = World::new();
    let long = "x".repeat(41);
    for name in ["", " ", "a b", "é", "a/b", "ci\u{202e}", &long] {
        let refused = add(&mut w, name, &TokenScope::ALL).unwrap_err();
        assert!(matches!(refused, Refusal::BadName(_)), "{name}: {refused:?}");
    }
    assert!(w.state.tokens.is_empty() && w.journal.is_empty());
    add(&mut w, " claude-code_2.1 ", &TokenScope::ALL).unwrap();
}

#[test]
fn the_journal_names_a_token_and_never_its_hash() {
    let world = World::new();
    let mut state = State::new(world.state.rules.clone(), Found::default());
    let what =
        Command::AddToken { name: "ci".into(), hash: hash("ci"), scopes: TokenScope::ALL.into() };
    let request = Request { by: HumanId::new("owner"), via: "the command line".into(), what };
    let event = Event::Request(request);
    let decision = decide(&mut state, &mut Ids::new(7, world.now), event, world.now);
    let told = decision.rows.iter().find_map(|row| match row {
        Row::Journal(entry) => Some(entry),
        _ => None,
    });
    let told = told.expect("it is told");
    assert_eq!(told.human, Some(HumanId::new("owner")));
    let detail = told.detail.to_string();
    assert!(detail.contains("\"ci\"") && !detail.contains("hash"), "{detail}");
}
