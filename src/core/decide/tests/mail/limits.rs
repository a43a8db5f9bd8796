use chrono::TimeDelta;

use super::*;
use crate::{caller::AgentFacts, decide::tests::world::token, session::Stirred};

#[test]
fn sixty_four_mib() {
    let mut world = World::with(&["PD-285", "PD-286"]);
    let most = 64 * 1024;
    let why = world.not_sent("PD-285", letter(&["PD-286"], &"x".repeat(64 << 20)));
    assert_eq!(why, NotSent::TooLong { length: 64 << 20, most });
    assert!(why.hint().unwrap().contains("file"));
    world.mails_to("PD-285", "PD-286", &"x".repeat(most));
    let why = world.not_sent("PD-285", letter(&["PD-286"], " \u{200B}\n"));
    assert_eq!(why, NotSent::Empty);
}

#[test]
fn a_mailbox_that_is_full_takes_no_more() {
    let mut world = World::with(&["PD-1", "PD-2", "PD-3"]);
    world.dies("PD-2");
    for _ in 0..20 {
        for _ in 0..10 {
            world.mails_to("PD-1", "PD-2", "hello");
        }
        world.wait(TimeDelta::minutes(1));
    }
    let full = NotSent::Full { name: "PD-2".into(), waiting: 200 };
    assert_eq!(world.not_sent("PD-1", letter(&["PD-2"], "one more")), full);
    world.resumes("PD-2");
    let AgentReply::Sent { mails, left_out } = world.posts("PD-1", letter(&["all"], "x")).unwrap()
    else {
        panic!("it was sent")
    };
    assert_eq!((mails.len(), left_out), (1, vec![full.to_string()]), "a group goes without it");
}

#[test]
fn same_client_id_sent_twice() {
    let mut world = World::with(&["PD-285", "PD-286", "PD-287"]);
    let keyed = || Letter { key: Some("k1".into()), ..letter(&["PD-286", "PD-287"], "x") };
    let first = sent(world.posts("PD-285", keyed()));
    let ids = |views: &[SentView]| views.iter().map(|v| v.id).collect::<Vec<_>>();
    // In the same group commit nothing of the first is in the database.
    let send = AgentCommand::Send(keyed());
    let again = sent(world.call_knowing(token("PD-285"), send, AgentFacts::default()));
    assert_eq!(ids(&again), ids(&first));
    assert!(again[0].words.contains("nothing was sent again"));
    // After a crash it is, and nothing is in memory.
    world.crash();
    assert_eq!(ids(&sent(world.posts("PD-285", keyed()))), ids(&first));
    assert_eq!(world.mails().len(), 2, "one message each");
    // Keys are the sender's own.
    assert_eq!(
        sent(world.posts("PD-286", Letter { to: vec!["PD-287".into()], ..keyed() })).len(),
        1
    );
    assert_eq!(world.mails().len(), 3);
    let long = Letter { key: Some("k".repeat(129)), ..letter(&["PD-286"], "x") };
    assert!(matches!(world.not_sent("PD-285", long), NotSent::LongKey { .. }));
}

#[test]
fn broadcast_to_40() {
    let names: Vec<_> = (1..=41).map(|n| format!("PD-{n}")).collect();
    let mut world = World::with(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let why = world.not_sent("PD-1", letter(&["all"], "freeze main"));
    let NotSent::Unconfirmed { count: 40, names } = &why else { panic!("{why}") };
    assert!(names.split(", ").count() == 40 && names.contains("PD-41"), "{names}");
    assert!(why.to_string().contains("each takes a turn for it"), "what it costs is said: {why}");
    assert_eq!(world.mails(), []);
    let send = AgentCommand::Send(confirmed(&["all"], "freeze main"));
    let views = sent(world.call("PD-1", send));
    assert_eq!((views.len(), world.mails_at_once), (40, 40), "one decision, so one commit");
    let mails = world.mails();
    assert!(mails.iter().all(|mail| mail.batch == mails[0].id && mail.thread == mails[0].id));
    world.takes(&views[0].to);
    assert!(world.is_read(views[0].id) && !world.is_read(views[1].id), "each has its own state");
    assert_eq!(
        sent(world.posts("PD-1", letter(&["PD-2", "PD-3", "PD-4", "PD-5", "PD-6"], "x"))).len(),
        5
    );
}

/// Answers every message until it is told to stop.
fn greet_each_other(world: &mut World, from: &str, to: &str) -> (usize, NotSent) {
    let (mut from, mut to) = (from, to);
    for count in 0.. {
        match world.posts(from, letter(&[to], "hello, friend")) {
            Ok(_) => {}
            Err(AgentRefusal::Mail(why)) => return (count, why),
            Err(other) => panic!("{other:?}"),
        }
        world.finishes(from, "greeted");
        (from, to) = (to, from);
        world.takes(from);
        world.now += TimeDelta::seconds(20);
        if count > 1000 {
            break;
        }
    }
    panic!("they greet each other for ever")
}

#[test]
fn two_sessions_greet_each_other_for_ever() {
    let mut world = World::with(&["PD-285", "PD-286"]);
    let stops = |world: &World| {
        world.shown.iter().filter(|s| s.text().contains("no person wrote in between")).count()
    };
    let (count, why) = greet_each_other(&mut world, "PD-285", "PD-286");
    assert_eq!((count, why), (8, NotSent::TooManyHops { hops: 8 }));
    assert_eq!(stops(&world), 1, "the human is told");
    world.not_sent("PD-285", letter(&["PD-286"], "hello?"));
    assert_eq!(stops(&world), 1, "once");
    world.wait(TimeDelta::minutes(61));
    world.not_sent("PD-285", letter(&["PD-286"], "hello?"));
    assert_eq!(stops(&world), 2, "and again after an hour");
    world.mails_to("PD-285", "human", "we were stopped");
    // A person's word begins anew.
    world.finishes("PD-285", "done");
    world.works("PD-285");
    assert_eq!(world.state.sessions[&world.id("PD-285")].stirred, Stirred::default());
    let (id, _) = world.mails_to("PD-285", "PD-286", "from the person");
    assert_eq!(world.mail(id).hops, 1);
}

#[test]
fn a_restart_does_not_begin_the_count_anew() {
    let mut world = World::with(&["PD-285", "PD-286"]);
    let (mut from, mut to) = ("PD-285", "PD-286");
    for _ in 0..8 {
        world.mails_to(from, to, "hello");
        world.finishes(from, "greeted");
        (from, to) = (to, from);
        world.takes(from);
        world.crash();
    }
    assert_eq!(world.not_sent(from, letter(&[to], "hello")), NotSent::TooManyHops { hops: 8 });
}

#[test]
fn one_does_not_flood_another() {
    let mut world = World::with(&["PD-285", "PD-286", "PD-287"]);
    for _ in 0..10 {
        world.mails_to("PD-285", "PD-286", "and");
    }
    let why = NotSent::TooOften { name: "PD-286".into(), count: 10 };
    assert_eq!(world.not_sent("PD-285", letter(&["PD-286"], "and")), why);
    assert!(world.said("PD-285 wrote PD-286 10 messages within a minute"));
    world.mails_to("PD-285", "PD-287", "another is not meant");
    for _ in 0..10 {
        world.mails_to("PD-285", "human", "look");
    }
    assert!(matches!(world.not_sent("PD-285", letter(&["human"], "x")), NotSent::TooOften { .. }));
    world.wait(TimeDelta::minutes(1));
    world.mails_to("PD-285", "PD-286", "later");
}

#[test]
fn whoever_is_stirred_carries_the_depth_of_who_stirred_it() {
    let mut world = World::with(&["PD-1", "PD-2", "PD-3"]);
    world.is_child("PD-2", "PD-1", 2);
    world.mails_to("PD-2", "PD-3", "start something for me");
    // It may act before we hear that it has it.
    let (early, _) = world.mails_to("PD-3", "PD-1", "I shall");
    assert_eq!((world.mail(early).hops, world.mail(early).depth), (2, 2));
    world.takes("PD-3");
    let stirred = |world: &World| world.state.sessions[&world.id("PD-3")].stirred;
    assert_eq!(stirred(&world), Stirred { hops: 1, depth: 2 });
    // In the middle of a person's turn the deeper of both counts.
    world.finishes("PD-3", "done");
    world.works("PD-3");
    assert_eq!(stirred(&world), Stirred::default());
    let (id, _) = world.mails_to("PD-2", "PD-3", "and now?");
    world.takes_beside("PD-3", id);
    assert_eq!(stirred(&world), Stirred { hops: 1, depth: 2 });
}

#[test]
fn what_was_looked_up_before_it_was_offered_counts_as_well() {
    let mut world = World::with(&["PD-1", "PD-2", "PD-3"]);
    world.is_child("PD-1", "PD-3", 2);
    world.works("PD-2");
    world.takes_nothing_beside("PD-2");
    let (first, _) = world.mails_to("PD-1", "PD-2", "hello");
    let reply = || Letter { reply_to: Some(first), ..letter(&[], "hello yourself") };
    let early = sent(world.posts("PD-2", reply()))[0].id;
    assert_eq!((world.mail(early).hops, world.mail(early).depth), (2, 2));
    world.finishes("PD-2", "done");
    world.takes("PD-2");
    world.finishes("PD-2", "done");
    // A person came in between.
    world.works("PD-2");
    let later = sent(world.posts("PD-2", reply()))[0].id;
    assert_eq!(world.mail(later).hops, 1);
}

#[test]
fn a_program_is_stopped_by_the_messages_it_answers() {
    let mut world = World::with(&["PD-1"]);
    let ci = world.lets_in("ci");
    let mut last = None;
    let why = loop {
        let reply = Letter { reply_to: last, ..letter(&["PD-1"], "ping") };
        match world.call_with(ci.clone(), AgentCommand::Send(reply)) {
            Ok(_) => {}
            Err(why) => break why,
        }
        world.takes("PD-1");
        world.now += TimeDelta::seconds(20);
        match world.posts("PD-1", letter(&["client:ci"], "pong")) {
            Ok(reply) => last = Some(sent(Ok(reply))[0].id),
            Err(why) => break why,
        }
        world.finishes("PD-1", "done");
    };
    assert_eq!(why, AgentRefusal::Mail(NotSent::TooManyHops { hops: 8 }));
}
