//! Taps on what is not known to be there yet.

use matrix_lab::tools;
use std::{path::Path, time::Duration};
use vigie_core::{
    Timestamp,
    bridge::{
        Action, Body, Bridge as _, Button, HeardKind, Level, Place, Post, Say, SayError, Weight,
    },
    id::{BridgeName, ChatId, DeliveryId},
    text::Rich,
};
use vigie_matrix::{MatrixBridge, NAME};

use super::support::{Ground, now};

fn asks(action: Action) -> Say {
    let button = Button { label: "It".into(), detail: None, weight: Weight::Plain, action };
    let body = Body::Text { text: Rich::plain("What now?"), part: None, buttons: vec![button] };
    Say::Post { post: Post { from: None, level: Level::Note, body }, reply_to: None }
}

/// Says it, as soon as the room is known; the event it became.
async fn said(bridge: &MatrixBridge, place: &Place, say: &Say, key: DeliveryId) -> String {
    loop {
        match bridge.say(place, say, key).await {
            Ok(said) => return said.message.unwrap().as_str().to_owned(),
            Err(SayError::Later { .. } | SayError::Shut { .. }) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// As if the process had died between the homeserver's answer and our disk.
fn forget(home: &Path, key: DeliveryId) {
    let db = rusqlite::Connection::open(home.join("matrix/matrix.db")).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    let forget = "update said set event = null, settled = 0 where key = ?1";
    assert_eq!(db.execute(forget, [key.to_string()]).unwrap(), 1);
    assert!(db.execute("delete from legend", []).unwrap() > 0);
}

#[tokio::test]
async fn a_tap_and_a_reply_wait_for_what_they_answer() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let key = DeliveryId::from_parts(now(), 1);
    let (room, place, event) = ground
        .while_hearing(async {
            let room = ground.room().await;
            let place =
                Place { bridge: BridgeName::new(NAME), chat: ChatId::new(&*room), thread: None };
            let event = said(&ground.bridge, &place, &asks(Action::InterruptAll), key).await;
            (room, place, event)
        })
        .await;
    forget(ground.home.path(), key);
    let ground = ground.restarted();
    ground
        .while_hearing(async {
            ground.ada.wait_message(&room, "What now?").await;
            ground.ada.react(&room, &event, "⏹").await;
            ground.ada.reply(&room, &event, "as you like").await;
            ground.ada.say_in_thread(&room, &event, "elsewhere").await;
            // What waits holds nothing else up, and is still not heard when that is.
            ground.daemon.until_texts(&["elsewhere"]).await;
            assert_eq!(ground.daemon.heard().len(), 1, "{:#?}", ground.daemon.heard());

            let again = said(&ground.bridge, &place, &asks(Action::InterruptAll), key).await;
            assert_eq!(again, event);
            ground.daemon.until("the tap and the reply", |daemon| daemon.heard().len() == 3).await;
        })
        .await;
    let tapped = ground.daemon.heard().into_iter().find_map(|heard| match heard.what {
        HeardKind::Reaction { means, .. } => means,
        _ => None,
    });
    assert_eq!(tapped, Some(Action::InterruptAll), "{:#?}", ground.daemon.heard());
    let waited: Vec<Timestamp> = ground.daemon.heard().iter().map(|heard| heard.at).collect();
    assert!(now() - waited[0] < chrono::TimeDelta::seconds(55), "it did not wait to its end");
}
