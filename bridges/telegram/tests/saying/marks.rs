//! Receipts on people's messages.

use telegram_emulator::{ADA, Fault, FaultKind, Shown};
use vigie_core::bridge::{Mark, SayError};

use super::desk::{Desk, main, now};

fn stored(words: Option<&str>) -> Mark {
    Mark::Stored { targets: Vec::new(), words: words.map(str::to_owned) }
}

fn taken() -> Mark {
    Mark::Taken { targets: Vec::new(), at: now() }
}

fn reaction(desk: &Desk, message: i64) -> String {
    let shown = desk.telegram.message(ADA, message).unwrap();
    shown.reactions.into_iter().map(|one| one.emoji).collect()
}

fn replies(desk: &Desk) -> Vec<Shown> {
    desk.telegram.messages(ADA, None).into_iter().filter(Shown::is_bot).collect()
}

#[tokio::test]
async fn a_receipt_is_a_reaction_that_costs_nothing() {
    let desk = Desk::start();
    let message = desk.telegram.send(ADA, ADA, "fix it").now();
    let kept = Mark::Kept { why: "no session is called that".into() };
    for (mark, emoji) in [(stored(None), "👀"), (taken(), "👌"), (kept, "🤔")] {
        for _ in 0..2 {
            let said = desk.mark(&main(ADA), message, mark.clone()).await.unwrap();
            assert_eq!(said.calls, 0);
        }
        assert_eq!(reaction(&desk, message), emoji);
    }
    assert_eq!(desk.telegram.calls_of("setMessageReaction").len(), 3);
    assert!(replies(&desk).is_empty());
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn words_are_one_reply_that_changes_and_goes() {
    let desk = Desk::start();
    let message = desk.telegram.send(ADA, ADA, "fix it").now();
    let late = stored(Some("2nd in line, PD-285 takes it after this turn"));
    assert_eq!(desk.mark(&main(ADA), message, late.clone()).await.unwrap().calls, 1);
    assert_eq!(desk.mark(&main(ADA), message, late).await.unwrap().calls, 0);
    let next = stored(Some("PD-285 takes it after this turn"));
    assert_eq!(desk.mark(&main(ADA), message, next).await.unwrap().calls, 1);
    let shown = replies(&desk);
    assert_eq!(shown.len(), 1);
    assert_eq!(
        (shown[0].text.as_str(), shown[0].reply_to),
        ("PD-285 takes it after this turn", Some(message))
    );
    assert!(shown[0].silent);
    assert_eq!(desk.mark(&main(ADA), message, taken()).await.unwrap().calls, 0);
    assert!(replies(&desk).is_empty());
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn what_is_not_taken_says_why_even_where_reactions_are_off() {
    let desk = Desk::start();
    let message = desk.telegram.send(ADA, ADA, "approve ABCD").now();
    let off = FaultKind::Refuse(400, "Bad Request: REACTION_INVALID".into());
    desk.telegram.fault(Fault::new("setMessageReaction", off).times(9));
    assert_eq!(desk.mark(&main(ADA), message, stored(None)).await.unwrap().calls, 0);
    let why = "Nothing waits under ABCD.";
    let mark = Mark::NotTaken { why: why.into() };
    assert_eq!(desk.mark(&main(ADA), message, mark).await.unwrap().calls, 1);
    assert_eq!(replies(&desk)[0].text, why);
    assert_eq!(reaction(&desk, message), "");
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn words_that_somebody_deleted_are_said_again_when_they_change() {
    let desk = Desk::start();
    let message = desk.telegram.send(ADA, ADA, "fix it").now();
    desk.mark(&main(ADA), message, stored(Some("one"))).await.unwrap();
    desk.telegram.delete(ADA, replies(&desk)[0].id);
    assert_eq!(desk.mark(&main(ADA), message, stored(Some("two"))).await.unwrap().calls, 2);
    desk.telegram.delete(ADA, replies(&desk)[0].id);
    desk.mark(&main(ADA), message, taken()).await.unwrap();
    desk.assert_refused(&["message to edit not found", "message to delete not found"]);
}

#[tokio::test]
async fn a_message_that_is_gone_has_no_receipt() {
    let desk = Desk::start();
    let message = desk.telegram.send(ADA, ADA, "never mind").now();
    desk.telegram.delete(ADA, message);
    assert_eq!(desk.mark(&main(ADA), message, taken()).await, Err(SayError::NoMessage));
    desk.assert_refused(&["message to react not found"]);
}

#[tokio::test]
async fn words_in_doubt_are_said_once() {
    let mut desk = Desk::start();
    let message = desk.telegram.send(ADA, ADA, "fix it").now();
    desk.mark(&main(ADA), message, stored(Some("one"))).await.unwrap();
    let other = desk.telegram.send(ADA, ADA, "and this").now();
    desk.telegram.fault(Fault::new("sendMessage", FaultKind::DropAfter));
    let key = desk.key();
    let say = vigie_core::bridge::Say::Mark {
        message: vigie_core::id::MessageId::new(other.to_string()),
        mark: stored(Some("two")),
    };
    let bridge = desk.bridge.clone();
    let first = vigie_core::bridge::Bridge::say(&*bridge, &main(ADA), &say, key).await;
    assert_eq!(first, Err(SayError::InDoubt));
    desk.restart();
    vigie_core::bridge::Bridge::say(&*desk.bridge, &main(ADA), &say, key).await.unwrap();
    let texts: Vec<_> = replies(&desk).into_iter().map(|shown| shown.text).collect();
    assert_eq!(texts, ["one", "two"]);
}
