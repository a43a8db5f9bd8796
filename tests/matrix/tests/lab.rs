//! The lab against itself: two phones and a real homeserver. What holds here, the stories lean on.

use matrix_lab::{
    Homeserver, Invitation, Kind, Membership, Phone, Stage, Text, Tools, shared, tools,
};
use serde_json::json;

/// Two people with a phone each, in a sealed room of Ada's.
struct Pair {
    server: &'static Homeserver,
    ada: Phone,
    bob: Phone,
    room: String,
}

impl Pair {
    async fn meet(tools: &Tools) -> Self {
        let server = shared(tools).await;
        let ada = Phone::login(server, &server.user("ada").await).await;
        let bob = Phone::login(server, &server.user("bob").await).await;
        let wanted = Invitation::of(&[bob.user()]).named("Tea").direct();
        let room = ada.create_room(&wanted).await;
        let invitation = bob.wait_invitation(ada.user()).await;
        assert!(invitation.is_direct && invitation.encrypted, "{invitation}");
        assert_eq!(invitation.name.as_deref(), Some("Tea"));
        bob.join(&room).await;
        ada.wait_member(&room, bob.user(), Membership::Joined).await;
        Self { server, ada, bob, room }
    }

    /// Nothing was wrong on either phone.
    fn all_well(&self) {
        for phone in [&self.ada, &self.bob] {
            let view = phone.view();
            assert!(view.defects.is_empty() && view.trouble.is_empty(), "{view}");
            assert!(view.unreadable().is_empty(), "{view}");
        }
    }
}

#[tokio::test]
async fn a_talk_that_only_the_two_can_read() {
    let Some(tools) = tools() else { return };
    let pair = Pair::meet(&tools).await;
    let Pair { server, ada, bob, room } = &pair;

    let words = "shall we have tea?";
    let asked = ada.send_as(room, &Text::html(words, "shall we have <b>tea</b>?"), "tea-1").await;
    let heard = bob.wait_message(room, words).await;
    assert_eq!((heard.id.as_str(), &heard.kind, heard.sealed), (asked.as_str(), &Kind::Text, true));
    assert_eq!(heard.sealed_by.as_deref(), Some(ada.device()));
    let held = server.event(room, &asked).await;
    assert_eq!(held["type"], "m.room.encrypted");
    assert!(!held.to_string().contains("tea?"), "{held}");
    let sent = server.sent_by(ada.user());
    assert_eq!(sent.iter().filter(|one| one.transaction == "tea-1").count(), 1, "{sent:?}");

    bob.react(room, &asked, "👍🏽").await;
    ada.wait_reaction(room, &asked, "👍").await;
    bob.reply(room, &asked, "gladly").await;
    let answer = ada.wait_message(room, "gladly").await;
    assert_eq!(answer.reply_to.as_deref(), Some(asked.as_str()));
    bob.edit(room, &answer.id, "gladly, at five").await;
    let edited = ada.wait_edit(room, &answer.id, "at five").await;
    assert_eq!(edited.versions[0].body, "gladly");
    ada.say_in_thread(room, &asked, "green or black?").await;
    let threaded = bob.wait_in_thread(room, &asked, "green").await;
    assert_eq!(threaded.reply_to, None);
    ada.redact(room, &threaded.id).await;
    bob.wait_redaction(room, &threaded.id).await;
    bob.read(room, &asked).await;
    ada.wait_read(room, &asked, bob.user()).await;
    bob.typing(room).await;
    ada.wait_typing(room, bob.user()).await;
    pair.all_well();
}

#[tokio::test]
async fn files_and_polls_go_over_sealed() {
    let Some(tools) = tools() else { return };
    let pair = Pair::meet(&tools).await;
    let Pair { ada, bob, room, .. } = &pair;

    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    ada.send_file(room, "leaves.bin", "application/octet-stream", &bytes).await;
    let message = bob.wait_message(room, "leaves.bin").await;
    let file = message.file.as_ref().unwrap();
    assert!(file.sealed && file.size == Some(70_000), "{file:?}");
    assert!(bob.download(&message).await == bytes);

    ada.poll(room, "Which tea?", &["green", "black"]).await;
    let poll = bob.wait_message(room, "Which tea?").await;
    let black = poll.poll.clone().unwrap().answers[1].0.clone();
    bob.vote(room, &poll, &[&black]).await;
    ada.wait_for("the vote", ada.patience, |view| {
        let poll = view.message(room, &poll.id).unwrap().poll.as_ref().unwrap();
        poll.votes.get(bob.user()) == Some(&vec![black.clone()])
    })
    .await;
    pair.all_well();
}

#[tokio::test]
async fn what_comes_without_its_key_is_seen_as_such_until_the_key_comes() {
    let Some(tools) = tools() else { return };
    let pair = Pair::meet(&tools).await;
    let Pair { ada, bob, room, .. } = &pair;

    let withheld = ada.say_without_key(room, "a secret").await;
    ada.say(room, "after it").await;
    bob.wait_message(room, "after it").await;
    assert_eq!(bob.view().unreadable().len(), 1);
    ada.give_key(&withheld).await;
    let opened = bob.wait_message(room, "a secret").await;
    assert_eq!(opened.id, withheld.id);
    let order: Vec<_> =
        bob.view().rooms[room].messages.iter().map(|one| one.body.clone()).collect();
    assert_eq!(order, ["a secret", "after it"], "it stands where it was sent");
    pair.all_well();
}

#[tokio::test]
async fn what_goes_out_bare_is_a_defect() {
    let Some(tools) = tools() else { return };
    let pair = Pair::meet(&tools).await;
    let Pair { server, ada, bob, room } = &pair;

    let event = ada.say_bare(room, "for everybody to read").await;
    let message = bob.wait_message(room, "for everybody").await;
    assert!(!message.sealed);
    assert_eq!(bob.view().defects.len(), 1);
    assert_eq!(server.event(room, &event).await["type"], "m.room.message");
}

#[tokio::test]
async fn phones_are_signed_unless_they_are_not_and_emoji_are_the_same_on_both() {
    let Some(tools) = tools() else { return };
    let pair = Pair::meet(&tools).await;
    let Pair { server, ada, bob, room } = &pair;
    let carl = Phone::unsigned(server, &server.user("carl").await).await;
    assert!(ada.devices_of(bob.user()).await.iter().all(|device| device.signed));
    assert!(ada.devices_of(carl.user()).await.iter().all(|device| !device.signed));

    for room in [None, Some(room.as_str())] {
        let id = ada.ask_to_verify(bob.user(), bob.device(), room).await;
        let request = bob.wait_verification_request(ada.user()).await;
        assert_eq!((&request.id, request.room.as_deref()), (&id, room));
        bob.accept_verification(&id).await;
        let shown = ada.wait_emoji(&id).await;
        assert_eq!(shown, bob.wait_emoji(&id).await);
        assert_eq!(shown.len(), 7);
        ada.confirm_verification(&id).await;
        bob.confirm_verification(&id).await;
        for phone in [ada, bob] {
            let Stage::Done(keys) = phone.wait_verified(&id).await else {
                panic!("{}", phone.view())
            };
            assert_eq!(keys.len(), 2, "the device and the identity: {keys:?}");
        }
    }

    let id = ada.ask_to_verify(bob.user(), bob.device(), None).await;
    bob.wait_verification_request(ada.user()).await;
    bob.accept_verification(&id).await;
    ada.wait_emoji(&id).await;
    bob.wait_emoji(&id).await;
    bob.refuse_verification(&id).await;
    assert_eq!(ada.wait_verified(&id).await, Stage::Cancelled("m.mismatched_sas".into()));
}

#[tokio::test]
async fn a_server_that_died_goes_on_where_it_was() {
    let Some(tools) = tools() else { return };
    let server = Homeserver::start(&tools).await;
    let ada = Phone::login(&server, &server.user("ada").await).await;
    let room = ada.create_room(&Invitation::of(&[]).named("Notes")).await;
    let first = ada.say(&room, "before").await;
    server.kill();
    assert!(ada.try_call("GET", "/account/whoami", json!({})).await.is_err());
    server.restart().await;
    let second = ada.say(&room, "after").await;
    let sealed = server.events(&room).await;
    let sealed = sealed.iter().filter(|event| event["type"] == "m.room.encrypted");
    let ids: Vec<_> = sealed.filter_map(|event| event["event_id"].as_str()).collect();
    assert_eq!(ids, [first.as_str(), second.as_str()]);

    server.soft_log_out(ada.user(), ada.device()).await;
    let refused =
        server.ask(Some(ada.token()), "GET", "/_matrix/client/v3/account/whoami", None).await;
    let refused = refused.unwrap_err();
    assert!(refused.contains("\"soft_logout\":true"), "{refused}");
    server.log_out(ada.user(), ada.device()).await;
    assert!(server.devices(ada.user()).await.is_empty());
}

#[tokio::test]
async fn rooms_spaces_and_their_ends() {
    let Some(tools) = tools() else { return };
    let pair = Pair::meet(&tools).await;
    let Pair { ada, bob, room, .. } = &pair;

    let space = ada.create_room(&Invitation::of(&[bob.user()]).named("Work").space()).await;
    ada.set_state(&space, "m.space.child", room, json!({ "via": ["example.org"] })).await;
    let seen = bob.wait_room("Work").await;
    assert!(seen.is_space, "{seen}");
    bob.join(&space).await;
    bob.wait_for("the space's room", bob.patience, |view| {
        view.children(&space).iter().any(|child| child.id == *room)
    })
    .await;

    let next = ada.upgrade(room, "12").await;
    bob.wait_for("the new room", bob.patience, |view| {
        view.rooms[room].successor.as_deref() == Some(next.as_str())
    })
    .await;
    ada.kick(&space, bob.user()).await;
    bob.wait_member(&space, bob.user(), Membership::Left).await;
    bob.leave(room).await;
    ada.wait_member(room, bob.user(), Membership::Left).await;
}

#[tokio::test]
async fn stock_limits_hold_until_they_are_lifted() {
    let Some(tools) = tools() else { return };
    let server = Homeserver::strict(&tools).await;
    let ada = Phone::login(&server, &server.user("ada").await).await;
    let room = ada.create_room(&Invitation::of(&[]).plain()).await;
    let send = async |number: u32| {
        let path = format!("/rooms/{room}/send/m.room.message/{number}");
        ada.try_call("PUT", &path, json!({ "msgtype": "m.text", "body": "again" })).await
    };
    let mut refused = Ok(json!({}));
    for number in 0..30 {
        refused = send(number).await;
        if refused.is_err() {
            break;
        }
    }
    let refused = refused.unwrap_err();
    assert!(refused.contains("M_LIMIT_EXCEEDED"), "{refused}");
    server.lift_limits(ada.user()).await;
    for number in 30..60 {
        assert!(send(number).await.is_ok(), "{}", ada.view());
    }
}

#[tokio::test]
async fn what_was_missed_is_there_once_it_hears_again() {
    let Some(tools) = tools() else { return };
    let pair = Pair::meet(&tools).await;
    let Pair { ada, bob, room, .. } = &pair;
    bob.pause().await;
    // A request for news that is open already brings the first; the rest is more than one gives.
    for number in 0..130 {
        ada.say(room, &format!("number {number}")).await;
    }
    bob.go_on().await;
    bob.wait_message(room, "number 129").await;
    let view = bob.view();
    let messages = view.rooms[room].messages.iter();
    let heard: Vec<_> = messages.map(|message| message.body.clone()).collect();
    let expected: Vec<_> = (0..130).map(|number| format!("number {number}")).collect();
    assert_eq!(heard, expected);
    pair.all_well();
}
