//! Death at every moment: what was heard arrives, each thing under one key.

use std::time::Duration;
use telegram_emulator::{ADA, BOB, Fault, FaultKind};

use super::support::{Ground, Next};

#[tokio::test]
async fn what_the_daemon_had_before_a_crash_comes_again_under_the_same_key() {
    let ground = Ground::new();
    let id = ground.telegram.send(ADA, ADA, "one").now();
    ground.daemon.then(&[Next::TakeAndHang]);
    let key = format!("m:{ADA}:{id}");
    ground.while_hearing(ground.daemon.until("the first try", |it| it.times(&key) == 1)).await;
    let ground = ground.restarted();
    ground.while_hearing(ground.daemon.until("the second", |it| it.times(&key) == 2)).await;
    assert_eq!(ground.daemon.texts(), ["one"]);
}

#[tokio::test]
async fn what_is_refused_comes_again_until_it_is_taken() {
    let ground = Ground::new();
    ground.daemon.then(&[Next::Refuse, Next::Refuse]);
    ground.telegram.send(ADA, ADA, "one").now();
    ground.telegram.send(ADA, ADA, "two").now();
    ground.while_hearing(ground.daemon.until_texts(&["one", "two"])).await;
}

#[tokio::test]
async fn a_mistake_of_ours_is_tried_three_times_and_set_aside() {
    let ground = Ground::new();
    ground.daemon.then(&[Next::Panic, Next::Panic, Next::Panic]);
    ground.telegram.send(ADA, ADA, "one").now();
    ground.telegram.send(ADA, ADA, "two").now();
    ground.while_hearing(ground.daemon.until_texts(&["two"])).await;
    assert_eq!(ground.bridge.set_aside(10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_paste_is_cut_the_same_way_after_a_crash() {
    let ground = Ground::new();
    let paste = "y".repeat(4096 * 2);
    ground.telegram.send(ADA, ADA, &paste).all();
    ground.daemon.then(&[Next::TakeAndHang]);
    ground.while_hearing(ground.daemon.until_texts(&[&paste])).await;
    // This one could be a part of it.
    let ground = ground.restarted();
    ground.telegram.send(ADA, ADA, "and one more thing").now();
    ground.while_hearing(ground.daemon.until_texts(&[&paste, "and one more thing"])).await;
}

#[tokio::test]
async fn death_at_any_moment_loses_and_doubles_nothing() {
    let mut ground = Ground::new();
    let mut expected = Vec::new();
    for round in 0..40_u64 {
        let (who, text) = (if round % 3 == 0 { BOB } else { ADA }, format!("message {round}"));
        ground.telegram.send(who, who, &text).now();
        expected.push(text);
        if round % 5 == 0 {
            ground.telegram.fault(Fault::new("getUpdates", FaultKind::DropAfter));
        }
        ground.hear_for(Duration::from_millis(round * 2)).await;
        ground = ground.restarted();
    }
    ground.telegram.clear_faults();
    ground.while_hearing(ground.daemon.until("all of them", |it| it.texts().len() == 40)).await;
    let texts = ground.daemon.texts();
    let of = |who: i64| -> Vec<_> {
        let who = who.to_string();
        let heard = ground.daemon.heard().into_iter().zip(&texts);
        heard.filter(|(heard, _)| heard.from == who).map(|(_, text)| text.clone()).collect()
    };
    let meant = |bob: bool| -> Vec<_> {
        let all = expected.iter().enumerate();
        all.filter(|(round, _)| (round % 3 == 0) == bob).map(|(_, text)| text.clone()).collect()
    };
    assert_eq!(of(ADA), meant(false));
    assert_eq!(of(BOB), meant(true));
}
