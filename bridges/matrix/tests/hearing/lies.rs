//! A homeserver that lies: nothing is done twice, in another's name, or taken back by somebody else.

use matrix_lab::{Answer, Membership, Passage, Phone, Proxy, shared, tools};
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};
use vigie_core::bridge::HeardKind;

use super::support::{Ground, Wish, until_on_disk};

async fn before_it() -> Option<(Proxy, Ground)> {
    let tools = tools()?;
    let server = shared(&tools).await;
    let proxy = Proxy::before(server).await;
    let ground = Ground::by_way_of(server, &proxy.url(), |_| Wish::default()).await;
    Some((proxy, ground))
}

/// The events of that room in a sync.
fn told<'a>(answer: &'a mut Answer<'_>, room: &str) -> Option<&'a mut Vec<Value>> {
    let is_sync = answer.path.contains("/sync");
    answer.body["rooms"]["join"].get_mut(room).filter(|_| is_sync)?["timeline"]["events"]
        .as_array_mut()
}

/// Tells `event` too, at the head of the next sync that tells of the room, and shows it when it is asked
/// for.
fn tells_too(room: &str, event: Value) -> impl Fn(&mut Answer<'_>) + Send + Sync + 'static {
    let (room, once) = (room.to_owned(), Mutex::new(Some(event.clone())));
    move |answer| {
        let id = event["event_id"].as_str().unwrap();
        if answer.path.contains("/event/") && answer.path.ends_with(&id.replace('$', "%24")) {
            (*answer.status, *answer.body) = (200, event.clone());
        }
        if let Some(events) = told(answer, &room).filter(|events| !events.is_empty())
            && let Some(event) = once.lock().unwrap().take()
        {
            events.insert(0, event);
        }
    }
}

#[tokio::test]
async fn what_is_told_again_as_a_new_event_is_not_done_again() {
    let Some((proxy, ground)) = before_it().await else { return };
    let Ground { ada, daemon, server, .. } = &ground;
    let story = async {
        let room = ground.room().await;
        let first = ada.say(&room, "deploy it").await;
        daemon.until_texts(&["deploy it"]).await;
        let mut again = server.event(&room, &first).await;
        again["event_id"] = json!("$replayed");
        again["content"]["m.relates_to"] = json!({ "m.in_reply_to": { "event_id": "$card" } });
        proxy.change(tells_too(&room, again));
        ada.say(&room, "and then?").await;
        daemon.until_texts(&["deploy it", "and then?"]).await;
        daemon.until("words about it", |daemon| !daemon.not_read().is_empty()).await;
    };
    ground.while_hearing(story).await;
    assert_eq!(daemon.texts(), ["deploy it", "and then?"]);
    let why = daemon.not_read();
    assert!(why.len() == 1 && why[0].contains("came before as another message"), "{why:?}");
}

#[tokio::test]
async fn the_same_words_written_twice_are_two_messages_and_nothing_else_is_asked_about() {
    let Some((proxy, ground)) = before_it().await else { return };
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    proxy.stop(move |_, path| {
        count.fetch_add(usize::from(path.contains("/event/")), Ordering::Relaxed);
        Passage::Through
    });
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        let room = ground.room().await;
        ada.say(&room, "one").await;
        daemon.until_texts(&["one"]).await;
        ada.say(&room, "two").await;
        daemon.until_texts(&["one", "two"]).await;
        assert_eq!(asked.load(Ordering::Relaxed), 0, "other words are new");
        ada.say(&room, "one").await;
        ada.say(&room, "one").await;
        daemon.until_texts(&["one", "two", "one", "one"]).await;
        assert_eq!(asked.load(Ordering::Relaxed), 3, "each once");
    };
    ground.while_hearing(story).await;
    assert_eq!(daemon.not_read(), Vec::<String>::new());
}

#[tokio::test]
async fn a_homeserver_that_does_not_answer_holds_nobody_for_ever() {
    let Some((proxy, ground)) = before_it().await else { return };
    let Ground { ada, daemon, .. } = &ground;
    proxy.stop(
        |_, path| {
            if path.contains("/event/") { Passage::Unasked } else { Passage::Through }
        },
    );
    let story = async {
        let room = ground.room().await;
        for words in ["one", "one", "two"] {
            ada.say(&room, words).await;
        }
        daemon.until_texts(&["one", "two"]).await;
    };
    ground.while_hearing(story).await;
    let why = daemon.not_read();
    assert!(why.len() == 1 && why[0].contains("did not say whether"), "{why:?}");
}

#[tokio::test]
async fn words_under_anothers_name_are_nobodys() {
    let Some((proxy, ground)) = before_it().await else { return };
    let Ground { ada, daemon, server, me, .. } = &ground;
    let bob = Phone::login(server, &server.user("bob").await).await;
    daemon.admit(bob.user());
    let room = ground.while_hearing(room_of(&ground, &bob)).await;
    ada.wait_member(&room, me, Membership::Joined).await;
    let (of_ada, of_bob) = (ada.say(&room, "from Ada").await, bob.say(&room, "from Bob").await);
    let contents = [
        (of_ada.clone(), server.event(&room, &of_bob).await["content"].take()),
        (of_bob, server.event(&room, &of_ada).await["content"].take()),
    ];
    let (swapped, in_room) = (contents, room.clone());
    proxy.change(move |answer| {
        let change = |event: &mut Value| {
            let content = swapped.iter().find(|(id, _)| event["event_id"] == id.as_str());
            if let Some((_, content)) = content {
                event["content"] = content.clone();
            }
        };
        if answer.path.contains("/event/") {
            change(answer.body);
        }
        told(answer, &in_room).into_iter().flatten().for_each(change);
    });
    let story = async {
        ada.say(&room, "later").await;
        bob.say(&room, "later too").await;
        daemon.until("what came later", |daemon| daemon.texts().len() >= 2).await;
        daemon.until("words about both", |daemon| daemon.not_read().len() >= 2).await;
    };
    ground.while_hearing(story).await;
    let texts = daemon.texts();
    assert!(!texts.iter().any(|text| text.starts_with("from")), "{texts:?}");
}

#[tokio::test]
async fn swapped_held_back_and_told_late_each_is_done_once() {
    let Some((proxy, ground)) = before_it().await else { return };
    let Ground { ada, daemon, server, .. } = &ground;
    let begin = async {
        let room = ground.room().await;
        ada.say(&room, "zero").await;
        daemon.until_texts(&["zero"]).await;
        room
    };
    let room = ground.while_hearing(begin).await;
    let (one, two) = (ada.say(&room, "one").await, ada.say(&room, "two").await);
    let three = ada.say(&room, "three").await;
    let content = async |event: &str| server.event(&room, event).await["content"].take();
    let contents = [(one.clone(), content(&two).await), (two, content(&one).await)];
    let (swapped, held, in_room) = (contents.clone(), three.clone(), room.clone());
    proxy.change(move |answer| {
        let change = |event: &mut Value| {
            let content = swapped.iter().find(|(id, _)| event["event_id"] == id.as_str());
            if let Some((_, content)) = content {
                event["content"] = content.clone();
            }
        };
        if answer.path.contains("/event/") {
            change(answer.body);
        }
        let Some(told) = told(answer, &in_room) else { return };
        told.retain(|event| event["event_id"] != held.as_str());
        told.iter_mut().for_each(change);
    });
    let story = async {
        daemon.until_texts(&["zero", "two", "one"]).await;
        let mut late = server.event(&room, &three).await;
        late["event_id"] = json!(three);
        proxy.change(tells_too(&room, late));
        ada.say(&room, "four").await;
        daemon.until_texts(&["zero", "two", "one", "three", "four"]).await;
        // What was swapped, told once more under a third id.
        let mut again = server.event(&room, &one).await;
        again["content"] = contents[0].1.clone();
        again["event_id"] = json!("$third");
        proxy.change(tells_too(&room, again));
        ada.say(&room, "five").await;
        daemon.until("words about it", |daemon| !daemon.not_read().is_empty()).await;
        daemon.until("five", |daemon| daemon.texts().contains(&"five".into())).await;
    };
    ground.while_hearing(story).await;
    assert_eq!(daemon.texts(), ["zero", "two", "one", "three", "four", "five"]);
}

/// Ada's room with us and Bob, who may take back what others write there.
async fn room_of(ground: &Ground, bob: &Phone) -> String {
    let room = ground.room().await;
    ground.ada.invite(&room, bob.user()).await;
    bob.wait_invitation(ground.ada.user()).await;
    bob.join(&room).await;
    ground.ada.wait_member(&room, bob.user(), Membership::Joined).await;
    let levels = json!({ "users": { bob.user(): 50 } });
    ground.ada.set_state(&room, "m.room.power_levels", "", levels).await;
    room
}

#[tokio::test]
async fn what_somebody_else_takes_back_stays() {
    let Some((_proxy, ground)) = before_it().await else { return };
    let Ground { ada, daemon, server, .. } = &ground;
    let bob = Phone::login(server, &server.user("bob").await).await;
    daemon.admit(bob.user());
    let story = async {
        let room = room_of(&ground, &bob).await;
        let asked = ada.say(&room, "a card, say").await;
        let reaction = ada.react(&room, &asked, "👎").await;
        daemon.until("both", |daemon| daemon.heard().len() == 2).await;
        bob.redact(&room, &reaction).await;
        until_on_disk(&ground, bob.user(), "done", 1).await;

        daemon.refuse(true);
        ada.say(&room, "first").await;
        let second = ada.say(&room, "second").await;
        until_on_disk(&ground, ada.user(), "new", 2).await;
        bob.redact(&room, &second).await;
        until_on_disk(&ground, bob.user(), "done", 2).await;
        daemon.refuse(false);
        daemon.until_texts(&["a card, say", "first", "second"]).await;
    };
    ground.while_hearing(story).await;
    let back = |heard: &HeardKind| {
        matches!(heard, HeardKind::TakenBack { .. } | HeardKind::Withdrawn { .. })
    };
    assert!(!daemon.heard().iter().any(|heard| back(&heard.what)), "{:#?}", daemon.heard());
    assert_eq!(daemon.not_read(), Vec::<String>::new());
}
