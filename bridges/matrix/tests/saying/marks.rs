//! Receipts on people's messages.

use matrix_lab::{Passage, Proxy, shared, tools};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use vigie_core::{
    bridge::{Mark, Say},
    id::MessageId,
};
use vigie_matrix::Layout;

use crate::desk::{Desk, Wish, now};

fn mark(message: &str, mark: Mark) -> Say {
    Say::Mark { message: MessageId::new(message), mark }
}

fn stored(words: Option<&str>) -> Mark {
    Mark::Stored { targets: Vec::new(), words: words.map(str::to_owned) }
}

#[tokio::test]
async fn a_message_is_read_then_waits_then_is_taken() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let proxy = Proxy::before(server).await;
    let read = Arc::new(AtomicUsize::new(0));
    let count = read.clone();
    proxy.stop(move |_, path| {
        count.fetch_add(usize::from(path.contains("/receipt/m.read/")), Ordering::Relaxed);
        Passage::Through
    });
    let desk = Desk::by_way_of(server, &proxy.url(), Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        let room = place.chat.as_str();
        let asked = desk.ada.say(room, "[PD-285] hello").await;
        assert_eq!(desk.say(&place, &mark(&asked, stored(None))).await.unwrap().calls, 0);
        desk.ada.wait_read(room, &asked, &desk.me).await;

        let waits = mark(&asked, stored(Some("2nd in line of PD-285")));
        assert_eq!(desk.say(&place, &waits).await.unwrap().calls, 1);
        let reply = desk.ada.wait_message(room, "2nd in line").await;
        assert_eq!(reply.reply_to.as_deref(), Some(asked.as_str()));
        let next = mark(&asked, stored(Some("next in line of PD-285")));
        desk.say(&place, &next).await.unwrap();
        desk.ada.wait_edit(room, &reply.id, "next in line").await;

        let taken = mark(&asked, Mark::Taken { targets: Vec::new(), at: now() });
        assert_eq!(desk.say(&place, &taken).await.unwrap().calls, 2);
        desk.ada.wait_reaction(room, &asked, "👌").await;
        desk.ada.wait_redaction(room, &reply.id).await;
        assert_eq!(desk.say(&place, &taken).await.unwrap().calls, 0);

        let not = mark(&asked, Mark::NotTaken { why: "PD-285 has ended".into() });
        assert_eq!(desk.say(&place, &not).await.unwrap().calls, 3);
        desk.ada.wait_reaction(room, &asked, "⚠️").await;
        desk.ada.wait_message(room, "PD-285 has ended").await;
        desk.until("the earlier one is gone", || async {
            !desk.ada.view().message(room, &asked).unwrap().has_reaction(&desk.me, "👌")
        })
        .await;
        assert_eq!(read.load(Ordering::Relaxed), 1, "it is shown as read once");
    })
    .await;
}
