//! What people do from the desk to what waits, to what did not arrive, and to terminals.

use super::world::{World, main_chat};
use crate::{
    bridge::{FilePost, Mark, Media, SayError},
    command::{Command, Refusal, Reply, Typed},
    decide::{Event, Looked},
    prompt::Prompt,
};
use chrono::TimeDelta;

/// PD-285 at work, with these words waiting.
fn with_waiting(texts: &[&str]) -> (World, Vec<Prompt>) {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] cargo test");
    w.takes("PD-285");
    for text in texts {
        w.writes(&format!("[PD-285] {text}"));
    }
    let line = line(&mut w);
    (w, line)
}

fn line(w: &mut World) -> Vec<Prompt> {
    let session = w.id("PD-285");
    let Ok(Reply::Prompts(line)) = w.ask(Command::Prompts { session }) else { panic!("no line") };
    line
}

fn edit(prompt: &Prompt, text: &str) -> Command {
    Command::EditPrompt { prompt: prompt.id.to_string(), text: text.into() }
}

fn withdraw(prompt: &Prompt) -> Command {
    Command::WithdrawPrompt { prompt: prompt.id.to_string() }
}

#[test]
fn words_that_wait_are_changed_and_go_in_changed() {
    let (mut w, waiting) = with_waiting(&["then the docs", "then the changelog"]);
    w.ask(edit(&waiting[0], "then the README")).unwrap();
    w.finishes("PD-285", "done");
    assert_eq!(w.takes("PD-285"), "then the README");
    w.crash();
    w.finishes("PD-285", "done");
    assert_eq!(w.takes("PD-285"), "then the changelog", "the other keeps its own words");
}

#[test]
fn words_that_are_taken_back_never_go_in_and_their_message_says_so() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] cargo test");
    w.takes("PD-285");
    let message = w.writes("[PD-285] drop the tables");
    let waiting = line(&mut w);
    let Ok(Reply::Done { words }) = w.ask(withdraw(&waiting[0])) else { panic!("refused") };
    assert_eq!(words, "PD-285 will not get it.");
    let Mark::NotTaken { why } = w.mark(&message) else { panic!("its mark says otherwise") };
    assert_eq!(why, "taken back at the desk by Inès Caradec, before it went in");
    assert!(line(&mut w).is_empty());
    w.crash();
    w.finishes("PD-285", "done");
    assert!(!w.handed("PD-285").iter().any(|text| text.contains("drop the tables")));
}

#[test]
fn what_the_agent_has_is_neither_changed_nor_taken_back() {
    let (mut w, waiting) = with_waiting(&["then the docs"]);
    w.finishes("PD-285", "done");
    for what in [edit(&waiting[0], "other"), withdraw(&waiting[0])] {
        assert_eq!(w.ask(what), Err(Refusal::NotQueued));
    }
    assert_eq!(w.takes("PD-285"), "then the docs");
    assert_eq!(w.ask(withdraw(&waiting[0])), Err(Refusal::NotQueued));
}

#[test]
fn one_changes_ones_own_words_and_an_owner_everybodys() {
    let (mut w, waiting) = with_waiting(&["then the docs"]);
    let author = "Inès Caradec".to_owned();
    let refused = w.ask_as("mate", edit(&waiting[0], "mine now"));
    assert_eq!(refused, Err(Refusal::NotTheirs { author }));
    let send = Command::Send {
        session: "PD-285".into(),
        text: "a word of mine".into(),
        form: crate::agent::PromptForm::Text,
    };
    w.ask_as("mate", send).unwrap();
    let own = line(&mut w).pop().unwrap();
    w.ask_as("mate", edit(&own, "a better word")).unwrap();
    w.ask(edit(&own, "an owner's word")).unwrap();
    assert_eq!(line(&mut w).pop().unwrap().text, "an owner's word");
    assert_eq!(w.ask(edit(&own, " \n")), Err(Refusal::EmptyText));
}

fn undelivered(w: &mut World) -> Vec<String> {
    let Ok(Reply::Undelivered(all)) = w.ask(Command::Undelivered) else { panic!("no list") };
    all.into_iter().map(|each| each.delivery.id.to_string()).collect()
}

#[test]
fn what_did_not_arrive_is_said_again_when_somebody_wants_it() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.failures.push_back(SayError::Never { reason: "too strange".into() });
    w.finishes("PD-285", "the ferries are counted");
    assert!(!w.said("the ferries are counted"));
    let failed = undelivered(&mut w);
    let [id] = failed.as_slice() else { panic!("{failed:?}") };
    let retry = Command::RetryDelivery { delivery: id.clone() };
    let Ok(Reply::Done { words }) = w.ask(retry.clone()) else { panic!("refused") };
    assert_eq!(words, "It goes to phone once more.");
    assert!(w.said("the ferries are counted"));
    assert!(undelivered(&mut w).is_empty());
    assert_eq!(w.ask(retry), Err(Refusal::NoDelivery { id: id.clone() }), "and only once");
    assert!(w.journal.iter().any(|kind| kind == "delivery_retried"));
}

#[test]
fn what_did_not_arrive_is_known_after_a_restart_and_for_a_week() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.failures.push_back(SayError::Never { reason: "too strange".into() });
    w.finishes("PD-285", "the ferries are counted");
    let failed = undelivered(&mut w);
    w.crash();
    assert_eq!(undelivered(&mut w), failed);
    w.wait(TimeDelta::days(8));
    assert!(undelivered(&mut w).is_empty());
}

#[test]
fn what_fails_again_is_listed_again() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    let refused = || SayError::Never { reason: "too strange".into() };
    w.failures.push_back(refused());
    w.finishes("PD-285", "the ferries are counted");
    let first = undelivered(&mut w);
    w.failures.push_back(refused());
    w.ask(Command::RetryDelivery { delivery: first[0].clone() }).unwrap();
    assert_eq!(undelivered(&mut w), first);
}

#[test]
fn nothing_is_said_again_in_a_chat_that_is_none_of_ours_any_more() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    w.start("PD-285");
    w.failures.push_back(SayError::Never { reason: "too strange".into() });
    w.finishes("PD-285", "the ferries are counted");
    let failed = undelivered(&mut w);
    w.ask(Command::Unpair { bridge: "telegram".into(), id: "1001".into() }).unwrap();
    let tries = w.tries;
    for delivery in failed {
        let refused = w.ask(Command::RetryDelivery { delivery });
        assert!(matches!(refused, Err(Refusal::NotOurChat { .. })), "{refused:?}");
    }
    assert_eq!(w.tries, tries);
}

#[test]
fn who_types_into_a_terminal_is_written_down_and_not_what() {
    let mut w = World::with(&["PD-285"]);
    let session = w.id("PD-285");
    let typed = Typed { keys: vec!["enter".into()], characters: 12 };
    w.ask(Command::NoteTyped { session, typed: typed.clone() }).unwrap();
    assert_eq!(w.journal.iter().filter(|kind| *kind == "keys_typed").count(), 1);
    w.exits("PD-285", 0);
    let refused = w.ask(Command::NoteTyped { session, typed });
    assert!(matches!(refused, Err(Refusal::NotLive { .. })), "{refused:?}");
}

#[test]
fn files_that_come_and_go_are_written_down() {
    let mut w = World::with(&["PD-285"]);
    w.sends_file("[PD-285] look at this", "berths.png");
    let file = FilePost {
        path: "/files/1/report.pdf".into(),
        name: "report.pdf".into(),
        media: Media::File,
        about: "report.pdf, 3 kB".into(),
    };
    let (session, place) = (w.id("PD-285"), main_chat());
    w.step(Event::Looked { session, place, found: Looked::File(file) });
    let of_files: Vec<_> = w.journal.iter().filter(|kind| kind.starts_with("file_")).collect();
    assert_eq!(of_files, ["file_received", "file_sent"]);
}
