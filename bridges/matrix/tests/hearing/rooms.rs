//! Into rooms, out of them, and from one to the next.

use matrix_lab::{Invitation, Membership, Phone, shared, tools};
use vigie_core::bridge::{Noted, Room};

use super::support::{Ground, Wish};

#[tokio::test]
async fn a_stranger_only_knocks() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { daemon, server, .. } = &ground;
    let eve = Phone::login(server, &server.user("eve").await).await;
    let invitation = Invitation::of(&[&ground.me]).direct();
    let (one, two) = (eve.create_room(&invitation).await, eve.create_room(&invitation).await);
    let knocked = |noted: &Noted| matches!(noted, Noted::Knocked { from } if from == eve.user());
    let story = async {
        daemon.until_noted("a knock", knocked).await;
        // Once she is admitted, the invitation is as good as a new one.
        let room = ground.room().await;
        ground.ada.say(&room, "hello").await;
        daemon.until_texts(&["hello"]).await;
        assert!(eve.view().rooms[&one].members.get(&ground.me) != Some(&Membership::Joined));
        daemon.admit(eve.user());
        ground.ada.say(&room, "now").await;
        eve.wait_member(&two, &ground.me, Membership::Joined).await;
    };
    ground.while_hearing(story).await;
    assert_eq!(daemon.noted().iter().filter(|it| knocked(it)).count(), 1);
}

#[tokio::test]
async fn a_room_without_encryption_is_left_again_with_words() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        let room = ada.create_room(&Invitation::of(&[&ground.me]).plain()).await;
        ground.until_in(&room).await;
        ada.wait_member(&room, &ground.me, Membership::Left).await;
        let said = ada.wait_message(&room, "That room is not encrypted, so Vigie left it").await;
        assert!(!said.sealed && said.sender == ground.me, "{said}");
        let shut = |noted: &Noted| matches!(noted, Noted::Shut { chat, reason } if chat.as_str() == room && reason.contains("not encrypted"));
        daemon.until_noted("words about it", shut).await;
    };
    ground.while_hearing(story).await;
    assert_eq!(daemon.texts(), Vec::<String>::new());
}

#[tokio::test]
async fn in_a_room_with_others_somebody_we_know_is_met_and_no_stranger() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, server, .. } = &ground;
    let eve = Phone::login(server, &server.user("eve").await).await;
    let story = async {
        let room = ada.create_room(&Invitation::of(&[&ground.me, eve.user()])).await;
        eve.join(&room).await;
        ground.until_in(&room).await;
        let met = |noted: &Noted| matches!(noted, Noted::Met { chat, room: Room::Forum, from } if chat.as_str() == room && from == ada.user());
        daemon.until_noted("that they met", met).await;
        ada.say(&room, "hello").await;
        daemon.until_texts(&["hello"]).await;
        assert_eq!(daemon.noted().iter().filter(|noted| met(noted)).count(), 1);
    };
    ground.while_hearing(story).await;
}

#[tokio::test]
async fn thrown_out_and_asked_in_again() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        let room = ground.room().await;
        ada.say(&room, "before").await;
        daemon.until_texts(&["before"]).await;
        ada.kick(&room, &ground.me).await;
        daemon.until_noted("that it is shut", |it| matches!(it, Noted::Shut { .. })).await;
        ada.say(&room, "among ourselves").await;
        ada.invite(&room, &ground.me).await;
        ground.until_in(&room).await;
        ada.say(&room, "after").await;
        daemon.until("words after it", |daemon| daemon.texts().contains(&"after".into())).await;
        let opened = daemon.noted().iter().filter(|it| matches!(it, Noted::Open { .. })).count();
        assert_eq!(opened, 2);
    };
    ground.while_hearing(story).await;
    assert!(!daemon.texts().contains(&"among ourselves".into()), "{:?}", daemon.texts());
}

#[tokio::test]
async fn a_room_that_is_replaced_is_followed() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        let room = ground.room().await;
        ada.say(&room, "before").await;
        daemon.until_texts(&["before"]).await;
        let next = ada.upgrade(&room, "12").await;
        ada.invite(&next, &ground.me).await;
        ada.wait_member(&next, &ground.me, Membership::Joined).await;
        let moved = |noted: &Noted| matches!(noted, Noted::Moved { from, to } if from.as_str() == room && to.as_str() == next);
        daemon.until_noted("that it moved", moved).await;
        ada.say(&next, "after").await;
        daemon.until_texts(&["before", "after"]).await;
        assert_eq!(daemon.heard()[1].place.chat.as_str(), next);
        let opened =
            |noted: &Noted| matches!(noted, Noted::Open { chat, .. } if chat.as_str() == next);
        assert!(!daemon.noted().iter().any(opened), "{:?}", daemon.noted());
    };
    ground.while_hearing(story).await;
}

/// mx-07: who may say that a room is replaced says it, and the other room knows nothing of it.
#[tokio::test]
async fn a_room_that_another_one_only_points_to_is_left_again() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, server, .. } = &ground;
    let eve = Phone::login(server, &server.user("eve").await).await;
    let trap = eve.create_room(&Invitation::of(&[ada.user()])).await;
    let open = serde_json::json!({ "join_rule": "public" });
    eve.set_state(&trap, "m.room.join_rules", "", open).await;
    let story = async {
        let room = ground.room().await;
        ada.say(&room, "before").await;
        daemon.until_texts(&["before"]).await;
        let to_it = serde_json::json!({ "body": "moved", "replacement_room": trap });
        ada.set_state(&room, "m.room.tombstone", "", to_it).await;
        eve.wait_member(&trap, &ground.me, Membership::Left).await;
    };
    ground.while_hearing(story).await;
    let moved = daemon.noted().into_iter().any(|noted| matches!(noted, Noted::Moved { .. }));
    assert!(!moved, "{:?}", daemon.noted());
}

/// Somebody with the power to do so makes a room that points back, with nobody of the old one in it.
#[tokio::test]
async fn a_chat_does_not_go_where_none_of_its_people_are() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, server, .. } = &ground;
    let eve = Phone::login(server, &server.user("eve").await).await;
    let story = async {
        let room = ground.room().await;
        ada.say(&room, "before").await;
        daemon.until_texts(&["before"]).await;
        ada.invite(&room, eve.user()).await;
        eve.join(&room).await;
        let levels = serde_json::json!({ "users": { (eve.user()): 100 } });
        ada.set_state(&room, "m.room.power_levels", "", levels).await;
        let next = eve.upgrade(&room, "12").await;
        eve.invite(&next, &ground.me).await;
        eve.wait_member(&next, &ground.me, Membership::Joined).await;
        let shut = |noted: &Noted| matches!(noted, Noted::Shut { chat, reason } if chat.as_str() == room && reason.contains("nobody whom Vigie knows"));
        daemon.until_noted("that it is shut", shut).await;
        let is_moved = |noted: &Noted| matches!(noted, Noted::Moved { .. });
        assert!(!daemon.noted().iter().any(is_moved), "{:?}", daemon.noted());
        eve.invite(&next, ada.user()).await;
        ada.join(&next).await;
        daemon.until_noted("that it moved", is_moved).await;
    };
    ground.while_hearing(story).await;
}

#[tokio::test]
async fn whoever_is_in_the_configuration_gets_one_room() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let wish = |ada: &str| Wish { people: vec![ada.to_owned()], ..Wish::default() };
    let mut ground = Ground::with(server, wish).await;
    let invitation = ground.while_hearing(ground.ada.wait_invitation(&ground.me)).await;
    assert!(invitation.encrypted && invitation.is_direct, "{invitation}");
    for _ in 0..2 {
        ground = ground.restarted();
        ground.while_hearing(ground.until_well()).await;
    }
    ground.ada.join(&invitation.id).await;
    let story = async {
        let met = |noted: &Noted| matches!(noted, Noted::Met { chat, .. } if chat.as_str() == invitation.id);
        ground.daemon.until_noted("that they met", met).await;
        ground.ada.say(&invitation.id, "hello").await;
        ground.daemon.until_texts(&["hello"]).await;
    };
    ground.while_hearing(story).await;
    assert_eq!(ground.ada.view().rooms.len(), 1, "{}", ground.ada.view());
}
