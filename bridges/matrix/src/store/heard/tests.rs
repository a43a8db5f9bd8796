use super::*;

fn database() -> Connection {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(include_str!("../migrations/001_heard.sql")).unwrap();
    db.execute_batch(include_str!("../migrations/003_rooms.sql")).unwrap();
    db
}

fn event(id: &str, trust: Trust) -> Incoming {
    Incoming {
        room: "!room".into(),
        event: id.into(),
        sender: "@ines:example.org".into(),
        thread: None,
        sent: 1,
        json: format!("{{\"event_id\":\"{id}\"}}"),
        opened: Opened::as_is(trust),
    }
}

fn batch(cursor: &str, events: Vec<Incoming>) -> Batch {
    Batch { cursor: cursor.into(), rooms: vec![], events }
}

fn ids(db: &mut Connection) -> Vec<String> {
    waiting(db, 0, 100).unwrap().into_iter().map(|row| row.event).collect()
}

#[test]
fn what_is_told_twice_is_kept_once() {
    let mut db = database();
    let first = batch("s1", vec![event("$1", Trust::Signed), event("$2", Trust::Signed)]);
    let again = batch("s2", vec![event("$2", Trust::Signed), event("$3", Trust::Signed)]);
    keep(&mut db, "@bot", &first, 10).unwrap();
    keep(&mut db, "@bot", &again, 11).unwrap();
    assert_eq!(ids(&mut db), ["$1", "$2", "$3"]);
    let cursor: String = db.query_row("select cursor from account", [], |row| row.get(0)).unwrap();
    assert_eq!(cursor, "s2");
}

#[test]
fn what_is_done_does_not_come_back() {
    let mut db = database();
    keep(&mut db, "@bot", &batch("s1", vec![event("$1", Trust::Signed)]), 10).unwrap();
    let id = waiting(&mut db, 0, 1).unwrap()[0].id;
    done(&mut db, id, Keep::Nothing).unwrap();
    keep(&mut db, "@bot", &batch("s1", vec![event("$1", Trust::Signed)]), 10).unwrap();
    assert!(ids(&mut db).is_empty());
    let found = find(&mut db, "!room", "$1").unwrap().unwrap();
    assert_eq!((found.json.as_str(), found.waits), ("{}", false));
}

#[test]
fn what_is_sealed_keeps_its_place_until_it_opens() {
    let mut db = database();
    let events = vec![event("$1", Trust::Sealed), event("$2", Trust::Signed)];
    keep(&mut db, "@bot", &batch("s1", events), 10).unwrap();
    let id = sealed(&mut db, 10).unwrap()[0].id;
    assert_eq!(ids(&mut db), ["$1", "$2"], "for a while others wait behind it");
    said_sealed(&mut db, id).unwrap();
    assert_eq!(ids(&mut db), ["$2"]);
    let signed = Opened::as_is(Trust::Signed);
    opened(&mut db, id, "{\"body\":1}", Some("$root"), &signed).unwrap();
    let first = &waiting(&mut db, 0, 1).unwrap()[0];
    assert_eq!((first.event.as_str(), first.json.as_str()), ("$1", "{\"body\":1}"));
    assert_eq!(first.thread.as_deref(), Some("$root"));
    assert!(sealed(&mut db, 10).unwrap().is_empty());
}

#[test]
fn the_last_event_of_a_room_is_known_though_it_was_nothing_to_keep() {
    let mut db = database();
    let seen = Seen {
        room: "!room".into(),
        kind: rooms::Kind::Chat,
        chat: "!room".into(),
        encrypted: true,
        latest: Some("$topic".into()),
    };
    let all =
        Batch { cursor: "s1".into(), rooms: vec![seen], events: vec![event("$1", Trust::Signed)] };
    keep(&mut db, "@bot", &all, 10).unwrap();
    let asked = ["$0", "$1", "$topic"].map(String::from);
    let known = known(&mut db, "!room", &asked).unwrap();
    assert_eq!(known, HashSet::from(["$1".to_owned(), "$topic".to_owned()]));
}

#[test]
fn what_waits_is_never_forgotten_and_what_never_opened_is() {
    let mut db = database();
    let events = vec![
        event("$waits", Trust::Signed),
        event("$sealed", Trust::Sealed),
        event("$done", Trust::Signed),
        event("$dead", Trust::Signed),
    ];
    keep(&mut db, "@bot", &batch("s1", events), 10).unwrap();
    done(&mut db, 3, Keep::Text).unwrap();
    set_aside(&mut db, 4, "no sense").unwrap();
    assert_eq!(prune(&mut db, 10).unwrap(), 0, "not old enough");
    assert_eq!(prune(&mut db, 11).unwrap(), 2);
    assert_eq!(ids(&mut db), ["$waits"]);
    assert_eq!(all_set_aside(&mut db, 9).unwrap()[0].why, "no sense");
}

#[test]
fn who_was_told_what_is_remembered_by_room_and_matter() {
    let mut db = database();
    tell(&mut db, "!room", "@ines", "bare", 5).unwrap();
    tell(&mut db, "!room", "@ines", "bare", 7).unwrap();
    assert_eq!(told(&mut db, "!room", "@ines", "bare").unwrap(), Some(7));
    assert_eq!(told(&mut db, "!room", "@ines", "unsigned").unwrap(), None);
    assert_eq!(told(&mut db, "!other", "@ines", "bare").unwrap(), None);
}
