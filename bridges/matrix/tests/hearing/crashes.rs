//! Death at any moment: a process of its own hears, and is killed again and again.

use async_trait::async_trait;
use matrix_lab::{Membership, Phone, shared, tools};
use std::{
    collections::BTreeSet,
    env,
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use vigie_core::{
    bridge::{Accepted, Bridge as _, Heard, HeardKind, Inbox, NotAccepted, Noted},
    id::BridgeName,
};

use super::support::{Ground, PATIENCE, Wish, bridge};

const HOME: &str = "HEARING_HOME";
const KILLS: u64 = 20;

/// Writes each thing down once, as the daemon does.
struct OnDisk {
    file: Mutex<File>,
    notes: PathBuf,
    keys: Mutex<BTreeSet<String>>,
}

impl OnDisk {
    fn open(path: &Path) -> Self {
        let keys = heard(path).into_iter().map(|heard| heard.key).collect();
        let file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        Self { file: Mutex::new(file), notes: path.with_extension("notes"), keys: Mutex::new(keys) }
    }
}

/// Whole lines; the last one may have been cut.
fn heard(path: &Path) -> Vec<Heard> {
    let all = fs::read_to_string(path).unwrap_or_default();
    all.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[async_trait]
impl Inbox for OnDisk {
    async fn accept(&self, heard: Heard) -> Result<Accepted, NotAccepted> {
        let mut keys = self.keys.lock().unwrap();
        if keys.insert(heard.key.clone()) {
            let mut file = self.file.lock().unwrap();
            // In front of it, so that a line that was cut before stays one of its own.
            let line = format!("\n{}\n", serde_json::to_string(&heard).unwrap());
            file.write_all(line.as_bytes()).unwrap();
            file.sync_all().unwrap();
        }
        Ok(Accepted::default())
    }

    async fn note(&self, _bridge: &BridgeName, noted: Noted) -> Result<(), NotAccepted> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.notes).unwrap();
        writeln!(file, "{noted:?}").unwrap();
        Ok(())
    }

    async fn admits(&self, _bridge: &BridgeName, _from: &str) -> Result<bool, NotAccepted> {
        Ok(true)
    }
}

/// No test: the process that is killed.
#[tokio::test]
#[ignore = "it is started by the test below"]
async fn the_one_that_hears() {
    let home = PathBuf::from(env::var_os(HOME).unwrap());
    let inbox = OnDisk::open(&home.join("inbox.jsonl"));
    let stop = CancellationToken::new();
    bridge(&home, &Wish::default()).hear(&inbox, stop).await.unwrap();
}

fn hearing(home: &Path) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "crashes::the_one_that_hears", "--ignored", "--nocapture"]);
    command.env(HOME, home).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// What a death between two writes of matrix-sdk's leaves behind, made by hand: it has stored the session
/// that the first message of a device begins, and not the room's key in it.
async fn half_a_key(mend: impl AsyncFn(Ground, String)) {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let room = ground.while_hearing(ground.room()).await;
    cut(
        &ground,
        "create trigger cut before insert on inbound_group_session begin select raise(abort, 'cut'); end",
    );
    ground
        .while_hearing(async {
            ground.ada.say(&room, "with the first key").await;
            ground.until_trouble("something failed inside").await;
        })
        .await;
    mend(ground, room).await;
}

/// Changes matrix-sdk's own file.
fn cut(ground: &Ground, how: &str) {
    let file = ground.home.path().join("matrix/account/crypto/matrix-sdk-crypto.sqlite3");
    let db = rusqlite::Connection::open(file).unwrap();
    db.busy_timeout(PATIENCE).unwrap();
    db.execute_batch(how).unwrap();
}

#[tokio::test]
async fn a_key_that_came_by_halves_opens_what_it_is_for_after_a_start() {
    half_a_key(async |ground, _| {
        let ground = ground.restarted();
        cut(&ground, "drop trigger cut");
        ground.while_hearing(ground.daemon.until_texts(&["with the first key"])).await;
    })
    .await;
}

#[tokio::test]
async fn a_key_that_came_by_halves_opens_what_it_is_for_without_a_start() {
    half_a_key(async |ground, room| {
        let story = async {
            ground.ada.say(&room, "and with it again").await;
            cut(&ground, "drop trigger cut");
            ground.daemon.until_texts(&["with the first key", "and with it again"]).await;
        };
        ground.while_hearing(story).await;
    })
    .await;
}

#[tokio::test]
async fn death_at_any_moment_loses_and_doubles_nothing() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let ground = Ground::on(server).await;
    let bob = Phone::login(server, &server.user("bob").await).await;
    ground.daemon.admit(bob.user());
    let room = ground.while_hearing(ground.room()).await;
    ground.ada.invite(&room, bob.user()).await;
    bob.wait_invitation(ground.ada.user()).await;
    bob.join(&room).await;
    ground.ada.wait_member(&room, bob.user(), Membership::Joined).await;
    let Ground { ada, home, bridge, .. } = ground;
    drop(bridge); // one process has the store

    let inbox = home.path().join("inbox.jsonl");
    let mut expected: [Vec<String>; 2] = Default::default();
    for round in 0..KILLS {
        let mut child = hearing(home.path());
        // Deaths spread over start, sync and handing in, the same in every run.
        let life = tokio::time::sleep(Duration::from_millis(150 + round * 97 % 1_700));
        let speak = async {
            for (who, phone) in [&ada, &bob].into_iter().enumerate() {
                let text = format!("{round} of {who}");
                phone.say(&room, &text).await;
                expected[who].push(text);
            }
        };
        tokio::join!(life, speak);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut last = hearing(home.path());
    let total = expected.iter().map(Vec::len).sum();
    let wait = async {
        while heard(&inbox).len() < total {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, wait).await.is_ok();
    last.kill().unwrap();
    last.wait().unwrap();
    let all = heard(&inbox);
    for (who, phone) in [&ada, &bob].into_iter().enumerate() {
        let texts: Vec<_> =
            all.iter().filter(|heard| heard.from == phone.user()).map(text).collect();
        let notes = fs::read_to_string(inbox.with_extension("notes")).unwrap_or_default();
        assert_eq!(texts, expected[who], "of {} (in time: {in_time})\n{notes}", phone.user());
    }
    let keys: BTreeSet<_> = all.iter().map(|heard| &heard.key).collect();
    assert_eq!(keys.len(), all.len(), "nothing came under two keys");
}

fn text(heard: &Heard) -> String {
    match &heard.what {
        HeardKind::Text { text, .. } => text.clone(),
        other => panic!("{other:?}"),
    }
}
