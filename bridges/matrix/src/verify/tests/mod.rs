//! Against a real homeserver, with a phone that is built on nothing that we are built on.

mod world;

use matrix_lab::{Phone, Stage, shared, tools};
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use self::world::{Bot, Heard, room_of};
use super::{LAPSE, NotDone, Outcome, Side, Standing, State, Step};

#[tokio::test]
async fn nothing_is_answered_until_the_desk_says_so_and_both_see_the_same() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let phone = Phone::login(server, &server.user("ines").await).await;
    let bot = Bot::start(server, &[phone.user()], LAPSE).await;
    let room = room_of(&phone, &bot).await;
    for room in [Some(room.as_str()), None] {
        let before = bot.stands(phone.user()).await;
        let id = phone.ask_to_verify(bot.user(), bot.device(), room).await;
        let asked = bot.wait_newest(|state| *state == State::Asked).await;
        assert_eq!(asked.user, phone.user());
        assert_eq!(asked.device.as_ref().map(|device| device.id.as_str()), Some(phone.device()));
        assert!(world::unanswered(&phone, &id), "{}", phone.view());
        let early = bot.step(&asked, Step::Confirm { same: vec![] }).await;
        assert_eq!(early.unwrap_err(), NotDone::NothingToCompare);

        bot.step(&asked, Step::Accept).await.unwrap();
        let shown = bot.wait_shown(&asked).await;
        assert_eq!(world::pictures(&shown), world::pictures_of(&phone, &id).await);
        let mut other = shown.spoken();
        other.rotate_left(1);
        let blind = bot.step(&asked, Step::Confirm { same: other }).await;
        assert_eq!(blind.unwrap_err(), NotDone::NotTheSame);
        // Their keys may only come to be known meanwhile.
        let stands = bot.stands(phone.user()).await == Standing::Verified;
        assert_eq!(stands, before == Standing::Verified, "the phone alone changes nothing");

        phone.confirm_verification(&id).await;
        bot.step(&asked, Step::Confirm { same: shown.spoken() }).await.unwrap();
        assert_eq!(bot.wait_end(&asked).await, Outcome::Verified);
        let Stage::Done(keys) = phone.wait_verified(&id).await else { panic!("{}", phone.view()) };
        assert_eq!(keys.len(), 2, "the device and the identity: {keys:?}");
        assert_eq!(bot.stands(phone.user()).await, Standing::Verified);
    }
}

#[tokio::test]
async fn a_difference_verifies_nobody_whoever_sees_it() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let phone = Phone::login(server, &server.user("omar").await).await;
    let bot = Bot::start(server, &[phone.user()], LAPSE).await;
    let room = room_of(&phone, &bot).await;
    for by in [Side::Desk, Side::Them] {
        let id = phone.ask_to_verify(bot.user(), bot.device(), Some(&room)).await;
        let asked = bot.wait_newest(|state| *state == State::Asked).await;
        bot.step(&asked, Step::Accept).await.unwrap();
        bot.wait_shown(&asked).await;
        phone.wait_emoji(&id).await;
        match by {
            Side::Desk => drop(bot.step(&asked, Step::Mismatch).await.unwrap()),
            Side::Them => phone.refuse_verification(&id).await,
        }
        assert_eq!(bot.wait_end(&asked).await, Outcome::Mismatch { by });
        assert_eq!(phone.wait_verified(&id).await, Stage::Cancelled("m.mismatched_sas".into()));
        assert_eq!(bot.stands(phone.user()).await, Standing::Unverified);
        assert_eq!(bot.step(&asked, Step::Accept).await.unwrap_err(), NotDone::Over);
    }
}

#[tokio::test]
async fn strangers_are_not_answered_and_ring_for_nobody() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let stranger = Phone::login(server, &server.user("mallory").await).await;
    let phone = Phone::login(server, &server.user("noor").await).await;
    let bot = Bot::start(server, &[phone.user()], LAPSE).await;
    let room = room_of(&phone, &bot).await;
    let heard = Heard::default();
    let stop = CancellationToken::new();
    let test = async {
        let strange = room_of(&stranger, &bot).await;
        // One only: at a second one matrix-sdk itself takes both back.
        let id = stranger.ask_to_verify(bot.user(), bot.device(), Some(&strange)).await;
        phone.ask_to_verify(bot.user(), bot.device(), Some(&room)).await;
        bot.wait_newest(|state| *state == State::Asked).await;
        assert_eq!(bot.all().len(), 1, "{:?}", bot.all());
        assert!(world::unanswered(&stranger, &id), "{}", stranger.view());
        let rung = heard.wait_note().await;
        assert!(rung.contains(phone.user()) && !rung.contains(stranger.user()), "{rung}");
        assert!(rung.contains("vigie matrix verify"), "{rung}");
        let asked = bot.verify(stranger.user()).await;
        assert!(matches!(asked, Err(NotDone::Stranger { .. })), "{asked:?}");
        stop.cancel();
    };
    tokio::join!(bot.serve(&heard, stop.clone()), test);
}

#[tokio::test]
async fn the_desk_begins_and_finds_the_room_that_is_there() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let phone = Phone::login(server, &server.user("lea").await).await;
    let bot = Bot::start(server, &[phone.user()], LAPSE).await;
    let none = bot.verify(phone.user()).await;
    assert!(matches!(none, Err(NotDone::NoRoom { .. })), "{none:?}");
    let room = room_of(&phone, &bot).await;
    let begun = bot.verify(phone.user()).await.unwrap();
    let request = phone.wait_verification_request(bot.user()).await;
    assert_eq!(request.room.as_deref(), Some(room.as_str()), "no other room was made");
    let twice = bot.verify(phone.user()).await;
    assert!(matches!(twice, Err(NotDone::UnderWay { .. })), "{twice:?}");
    phone.accept_verification(&request.id).await;
    let shown = bot.wait_shown(&begun).await;
    assert_eq!(world::pictures(&shown), world::pictures_of(&phone, &request.id).await);
    bot.step(&begun, Step::Confirm { same: shown.spoken() }).await.unwrap();
    phone.confirm_verification(&request.id).await;
    assert_eq!(bot.wait_end(&begun).await, Outcome::Verified);
}

#[tokio::test]
async fn what_nobody_takes_ends_and_the_phone_hears_so() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let phone = Phone::login(server, &server.user("pia").await).await;
    let bot = Bot::start(server, &[phone.user()], Duration::from_secs(2)).await;
    let room = room_of(&phone, &bot).await;
    let id = phone.ask_to_verify(bot.user(), bot.device(), Some(&room)).await;
    let asked = bot.wait_newest(|_| true).await;
    assert_eq!(bot.wait_end(&asked).await, Outcome::TimedOut);
    assert_eq!(phone.wait_verified(&id).await, Stage::Cancelled("m.user".into()));
}

#[tokio::test]
async fn the_phone_cancels_and_a_stop_takes_back() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let phone = Phone::login(server, &server.user("sam").await).await;
    let bot = Bot::start(server, &[phone.user()], LAPSE).await;
    let room = room_of(&phone, &bot).await;
    let id = phone.ask_to_verify(bot.user(), bot.device(), Some(&room)).await;
    let asked = bot.wait_newest(|state| *state == State::Asked).await;
    bot.step(&asked, Step::Accept).await.unwrap();
    bot.wait_shown(&asked).await;
    let relation = json!({ "rel_type": "m.reference", "event_id": id });
    let cancel = json!({ "code": "m.user", "reason": "not now", "m.relates_to": relation });
    phone.send_event(&room, "m.key.verification.cancel", cancel).await;
    assert_eq!(bot.wait_end(&asked).await, Outcome::Cancelled { by: Side::Them });

    let id = phone.ask_to_verify(bot.user(), bot.device(), None).await;
    let asked = bot.wait_newest(|state| *state == State::Asked).await;
    let stop = CancellationToken::new();
    stop.cancel();
    bot.serve(&Heard::default(), stop).await;
    assert_eq!(bot.wait_end(&asked).await, Outcome::Stopped);
    assert_eq!(phone.wait_verified(&id).await, Stage::Cancelled("m.user".into()));
    assert!(bot.verify(phone.user()).await.is_err(), "nothing begins any more");
}

#[tokio::test]
async fn another_identity_is_told_from_the_verified_one_until_it_is_accepted() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let login = server.user("tom").await;
    let phone = Phone::login(server, &login).await;
    let bot = Bot::start(server, &[phone.user()], LAPSE).await;
    let room = room_of(&phone, &bot).await;
    world::verify(&phone, &bot, &room).await;
    assert!(matches!(bot.accept_change(phone.user()).await, Err(NotDone::NotChanged { .. })));

    let _other_device = world::new_identity(server, &login).await;
    bot.wait_standing(phone.user(), Standing::Changed).await;
    bot.accept_change(phone.user()).await.unwrap();
    assert_eq!(bot.stands(phone.user()).await, Standing::Unverified);
    assert!(matches!(bot.accept_change(phone.user()).await, Err(NotDone::NotChanged { .. })));
}

#[tokio::test]
async fn another_identity_of_somebody_who_was_never_verified_is_told_from_the_first() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let login = server.user("tom").await;
    let phone = Phone::login(server, &login).await;
    let bot = Bot::start(server, &[phone.user()], LAPSE).await;
    room_of(&phone, &bot).await;
    bot.wait_standing(phone.user(), Standing::Unverified).await;
    let first = bot.stands_by(phone.user()).await;
    let first = first.to_take().unwrap().to_owned();
    bot.store().take_for(phone.user(), &first).await.unwrap();
    assert!(matches!(bot.accept(phone.user(), &first).await, Err(NotDone::NotChanged { .. })));

    let _other_device = world::new_identity(server, &login).await;
    bot.wait_standing(phone.user(), Standing::Renewed).await;
    let second = bot.stands_by(phone.user()).await;
    assert_eq!((second.known.as_deref(), second.to_take()), (Some(first.as_str()), None));
    let stale = bot.accept(phone.user(), &first).await;
    assert!(matches!(stale, Err(NotDone::AnotherIdentity { .. })), "{stale:?}");
    let second = second.identity.unwrap();
    bot.accept(phone.user(), &super::in_fours(&second)).await.unwrap();
    assert_eq!(bot.stands(phone.user()).await, Standing::Unverified);

    // Whoever is verified is taken for that one, so that a later change shows it.
    let _third = world::new_identity(server, &login).await;
    bot.wait_standing(phone.user(), Standing::Renewed).await;
    assert_eq!(bot.stands_by(phone.user()).await.known, Some(second));
}
