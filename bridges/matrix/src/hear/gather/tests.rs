use super::*;
use matrix_sdk::ruma::serde::Raw;
use serde_json::{Value, json, value::to_raw_value};

const ME: &str = "@vigie:example.org";

fn plain(json: &Value) -> TimelineEvent {
    TimelineEvent::from_plaintext(Raw::from_json(to_raw_value(json).unwrap()))
}

fn of(encrypted: bool) -> Of<'static> {
    Of { room: "!room", encrypted, me: ME }
}

fn message(id: &str, sent: i64) -> Value {
    json!({
        "type": "m.room.message", "event_id": id, "sender": "@ines:example.org",
        "origin_server_ts": sent, "content": {"msgtype": "m.text", "body": id}
    })
}

fn member(id: &str, sent: i64, membership: &str) -> Value {
    json!({
        "type": "m.room.member", "event_id": id, "sender": "@ines:example.org", "state_key": ME,
        "origin_server_ts": sent, "content": {"membership": membership}
    })
}

fn new_of(events: &[Value]) -> Vec<String> {
    let events = events.iter().filter_map(|json| came(of(true), &plain(json))).collect();
    let told = |came: Came| match came {
        Came::Told(incoming) => Some(incoming.event),
        Came::Echo { .. } | Came::Entry { .. } | Came::Other { .. } => None,
    };
    since_we_came(events).into_iter().filter_map(told).collect()
}

#[test]
fn what_is_written_between_invitation_and_entry_is_new() {
    let minute = 60_000;
    let events = [
        message("$history", 0),
        member("$invited", 100 * minute, "invite"),
        message("$hello", 100 * minute + 1),
        member("$joined", 101 * minute, "join"),
        message("$after", 101 * minute + 1),
    ];
    assert_eq!(new_of(&events), ["$hello", "$after"]);
}

#[test]
fn what_was_written_to_an_old_invitation_is_not() {
    let minute = 60_000;
    let events = [
        member("$invited", 0, "invite"),
        message("$long ago", 1),
        message("$just now", 95 * minute),
        member("$joined", 100 * minute, "join"),
        message("$after", 100 * minute + 1),
    ];
    assert_eq!(new_of(&events), ["$just now", "$after"]);
}

#[test]
fn of_a_room_that_we_never_came_into_nothing_is_new() {
    assert_eq!(new_of(&[message("$1", 5), message("$2", 6)]), Vec::<String>::new());
}

#[test]
fn words_without_encryption_are_bare_where_there_should_be_some() {
    let trust = |json: &Value, encrypted| match came(of(encrypted), &plain(json)).unwrap() {
        Came::Told(incoming) => incoming.opened.trust,
        other => panic!("{other:?}"),
    };
    let reaction = json!({
        "type": "m.reaction", "event_id": "$r", "sender": "@ines:example.org", "content": {}
    });
    assert_eq!(trust(&message("$1", 1), true), Trust::Bare);
    assert_eq!(trust(&message("$1", 1), false), Trust::Plain);
    assert_eq!(trust(&reaction, true), Trust::Signed);
}

#[test]
fn our_own_come_back_with_the_id_that_they_were_sent_under() {
    let own = json!({
        "type": "m.room.message", "event_id": "$own", "sender": ME,
        "unsigned": {"transaction_id": "t1"}, "content": {"msgtype": "m.text", "body": "x"}
    });
    let echo = Came::Echo { transaction: Some("t1".into()), event: "$own".into() };
    assert_eq!(came(of(true), &plain(&own)), Some(echo));
}

#[test]
fn a_gap_stands_before_the_first_words_of_somebody() {
    let events = [
        json!({"type": "m.room.topic", "event_id": "$t", "sender": "@ines:example.org", "state_key": "", "content": {}}),
        message("$1", 7),
        message("$2", 8),
    ];
    let events: Vec<_> = events.iter().filter_map(|json| came(of(true), &plain(json))).collect();
    let gap = gap("!room", &events).unwrap();
    assert_eq!((gap.event.as_str(), gap.sent, gap.opened.trust), ("gap before $1", 7, Trust::Gap));
    assert_eq!(super::gap("!room", &events[..1]), None);
}

#[test]
fn why_something_does_not_open_is_told_apart() {
    use matrix_sdk::deserialized_responses::{DeviceLinkProblem, WithheldCode};
    let untrusted = UnableToDecryptReason::SenderIdentityNotTrusted;
    for (reason, expected) in [
        (UnableToDecryptReason::MissingMegolmSession { withheld_code: None }, Hindrance::NoKey),
        (
            UnableToDecryptReason::MissingMegolmSession {
                withheld_code: Some(WithheldCode::Unverified),
            },
            Hindrance::Withheld,
        ),
        (untrusted(VerificationLevel::UnsignedDevice), Hindrance::Unsigned),
        (untrusted(VerificationLevel::VerificationViolation), Hindrance::Changed),
        (untrusted(VerificationLevel::None(DeviceLinkProblem::InsecureSource)), Hindrance::Backup),
        (UnableToDecryptReason::MegolmDecryptionFailure, Hindrance::Broken),
    ] {
        let info = UnableToDecryptInfo { session_id: None, reason: reason.clone() };
        assert_eq!(hindrance(&info), expected, "{reason:?}");
    }
}
