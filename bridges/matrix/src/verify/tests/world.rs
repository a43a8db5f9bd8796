//! A bot that syncs, and what a test waits for.

use async_trait::async_trait;
use matrix_lab::{Homeserver, Invitation, Login, Membership, Phone, Stage};
use matrix_sdk::{
    Client,
    config::SyncSettings,
    encryption::CrossSigningResetAuthType,
    ruma::{
        RoomId, UserId,
        api::client::uiaa::{self, AuthData, MatrixUserIdentifier, UserIdentifier},
    },
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use vigie_core::{
    bridge::{Accepted, Heard as Told, Inbox, NotAccepted, Noted},
    id::BridgeName,
};

use crate::{
    Policy, Rule,
    account::{Folder, Session},
    connect,
    store::Store,
    verify::{
        NotDone, Outcome, Shown, Standing, Stands, State, Step, Verification, Verifying, desk,
        stands,
    },
};

/// For what a person waits for; the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// So that each bot has an account of its own.
static BOTS: AtomicUsize = AtomicUsize::new(1);

pub(super) struct Bot {
    client: Client,
    verifying: Verifying,
    _syncing: JoinSet<()>,
    _folder: TempDir,
}

impl Bot {
    pub(super) async fn start(server: &Homeserver, people: &[&str], lapse: Duration) -> Self {
        let number = BOTS.fetch_add(1, Ordering::Relaxed);
        let login = server.user(&format!("vigie-{number}")).await;
        let folder = tempfile::tempdir().unwrap();
        let account = Folder::new(folder.path().join("matrix"));
        let client = logged_in(server, &login, &account).await;
        let clock: crate::Clock = Arc::new(|| "2026-11-30T12:00:00Z".parse().unwrap());
        let store = Store::open(&account.database(), clock()).unwrap();
        let people = people.iter().map(ToString::to_string).collect();
        let verifying = Verifying::lapsing(people, store, clock, lapse);
        verifying.attach(&client);
        let mut syncing = JoinSet::new();
        let syncs = client.clone();
        syncing.spawn(Box::pin(async move {
            loop {
                let settings = SyncSettings::new().timeout(Duration::from_secs(10));
                if Box::pin(syncs.sync_once(settings)).await.is_err() {
                    tokio::time::sleep(LOOK).await;
                }
            }
        }));
        Self { client, verifying, _syncing: syncing, _folder: folder }
    }

    pub(super) fn user(&self) -> &str {
        self.client.user_id().unwrap().as_str()
    }

    pub(super) fn device(&self) -> &str {
        self.client.device_id().unwrap().as_str()
    }

    pub(super) fn all(&self) -> Vec<Verification> {
        self.verifying.0.flows().list()
    }

    pub(super) async fn serve(&self, inbox: &dyn Inbox, stop: CancellationToken) {
        self.verifying.serve(inbox, stop).await;
    }

    pub(super) async fn verify(&self, user: &str) -> Result<Verification, NotDone> {
        self.verifying.clone().begin(self.client.clone(), user.try_into().unwrap()).await
    }

    pub(super) async fn step(
        &self,
        of: &Verification,
        step: Step,
    ) -> Result<Verification, NotDone> {
        self.verifying.step(of.id, step).await
    }

    pub(super) async fn accept_change(&self, user: &str) -> Result<(), NotDone> {
        let present = self.stands_by(user).await.identity.unwrap_or_default();
        self.accept(user, &present).await
    }

    /// The same with an identity that was looked at before.
    pub(super) async fn accept(&self, user: &str, identity: &str) -> Result<(), NotDone> {
        let (user, store) = (user.try_into().unwrap(), self.store().clone());
        desk::accept_change(self.client.clone(), store, user, identity.to_owned()).await
    }

    pub(super) fn store(&self) -> &Store {
        &self.verifying.0.store
    }

    pub(super) async fn stands(&self, user: &str) -> Standing {
        self.stands_by(user).await.standing
    }

    pub(super) async fn stands_by(&self, user: &str) -> Stands {
        stands(&self.client, self.store(), &UserId::parse(user).unwrap()).await.unwrap()
    }

    pub(super) async fn wait_standing(&self, user: &str, wanted: Standing) {
        let seen = async {
            while self.stands(user).await != wanted {
                tokio::time::sleep(LOOK).await;
            }
        };
        let seen = tokio::time::timeout(PATIENCE, seen).await;
        assert!(seen.is_ok(), "{user} stands {:?}", self.stands(user).await);
    }

    /// The newest one, once it is as wanted.
    pub(super) async fn wait_newest(&self, wanted: impl Fn(&State) -> bool) -> Verification {
        let newest = || self.all().pop().filter(|newest| wanted(&newest.state));
        self.wait(newest).await
    }

    pub(super) async fn wait_shown(&self, of: &Verification) -> Shown {
        let shown = || match self.now(of).state {
            State::Comparing(shown) => Some(shown),
            State::Over(outcome) => panic!("it is over: {outcome:?}"),
            State::Asked | State::Waiting | State::Confirmed => None,
        };
        self.wait(shown).await
    }

    pub(super) async fn wait_end(&self, of: &Verification) -> Outcome {
        let end = || match self.now(of).state {
            State::Over(outcome) => Some(outcome),
            State::Asked | State::Waiting | State::Comparing(_) | State::Confirmed => None,
        };
        self.wait(end).await
    }

    fn now(&self, of: &Verification) -> Verification {
        self.verifying.0.flows().get(of.id).unwrap()
    }

    async fn wait<T>(&self, look: impl Fn() -> Option<T>) -> T {
        let found = async {
            loop {
                if let Some(found) = look() {
                    return found;
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        match tokio::time::timeout(PATIENCE, found).await {
            Ok(found) => found,
            Err(tokio::time::error::Elapsed { .. }) => {
                panic!("it does not come: {:#?}", self.all())
            }
        }
    }
}

/// An encrypted room of the phone's that the bot is in.
pub(super) async fn room_of(phone: &Phone, bot: &Bot) -> String {
    let room = phone.create_room(&Invitation::of(&[bot.user()]).direct()).await;
    let id = RoomId::parse(&room).unwrap();
    let invited = || bot.client.get_room(&id);
    let invited = bot.wait(invited).await;
    Box::pin(invited.join()).await.unwrap();
    phone.wait_member(&room, bot.user(), Membership::Joined).await;
    let joined = || bot.client.joined_rooms().into_iter().find(|room| room.room_id() == id);
    bot.wait(joined).await;
    room
}

/// What is compared: the names of some differ from app to app, the pictures do not.
pub(super) fn pictures(shown: &Shown) -> Vec<String> {
    shown.emoji.iter().map(|emoji| bare(emoji.symbol)).collect()
}

pub(super) async fn pictures_of(phone: &Phone, id: &str) -> Vec<String> {
    phone.wait_emoji(id).await.iter().map(|emoji| bare(&emoji.symbol)).collect()
}

/// Some apps ask for the coloured form, some do not.
fn bare(symbol: &str) -> String {
    symbol.trim_end_matches('\u{fe0f}').into()
}

/// The phone heard nothing of the verification that it asked for.
pub(super) fn unanswered(phone: &Phone, id: &str) -> bool {
    let all = phone.view().verifications;
    all.get(id).is_none_or(|one| one.stage == Stage::Waiting)
}

/// Another device of the same person, which sets their identity up anew.
pub(super) async fn new_identity(server: &Homeserver, login: &Login) -> (Client, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let account = Folder::new(folder.path());
    let client = logged_in(server, login, &account).await;
    let reset = Box::pin(client.encryption().reset_cross_signing()).await.unwrap();
    let reset = reset.expect("the homeserver wants the password");
    let CrossSigningResetAuthType::Uiaa(asked) = reset.auth_type() else {
        panic!("another way than by password")
    };
    let user = UserIdentifier::Matrix(MatrixUserIdentifier::new(login.user_id.clone()));
    let mut password = uiaa::Password::new(user, login.password.clone());
    password.session.clone_from(&asked.session);
    Box::pin(reset.auth(Some(AuthData::Password(password)))).await.unwrap();
    (client, folder)
}

/// A client as the bridge has it, on a store that is its own.
async fn logged_in(server: &Homeserver, login: &Login, account: &Folder) -> Client {
    let setup = connect::build_for_setup(account, &server.url()).await.unwrap();
    let auth = setup.matrix_auth();
    Box::pin(auth.login_username(&login.user_id, &login.password).send()).await.unwrap();
    let session = Session::new(server.url(), auth.session().unwrap());
    drop(setup);
    let client = connect::build(account, &session, policy()).await.unwrap();
    connect::restore(&client, account, &session).await.unwrap();
    client.encryption().wait_for_e2ee_initialization_tasks().await;
    client
}

fn policy() -> Policy {
    let rule = Rule::Refuse;
    Policy { unsigned_devices: rule, unencrypted: rule, plain_rooms: rule, new_identities: rule }
}

/// Verified from the phone, with nothing going wrong.
pub(super) async fn verify(phone: &Phone, bot: &Bot, room: &str) {
    let id = phone.ask_to_verify(bot.user(), bot.device(), Some(room)).await;
    let asked = bot.wait_newest(|state| *state == State::Asked).await;
    bot.step(&asked, Step::Accept).await.unwrap();
    let same = bot.wait_shown(&asked).await.spoken();
    phone.wait_emoji(&id).await;
    phone.confirm_verification(&id).await;
    bot.step(&asked, Step::Confirm { same }).await.unwrap();
    assert_eq!(bot.wait_end(&asked).await, Outcome::Verified);
}

/// What the daemon was told.
#[derive(Default)]
pub(super) struct Heard(Mutex<Vec<String>>);

impl Heard {
    /// The words of the only note, once there is one.
    pub(super) async fn wait_note(&self) -> String {
        let found = async {
            loop {
                if let [words] = &self.0.lock().unwrap()[..] {
                    return words.clone();
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, found).await.expect("a note comes")
    }
}

#[async_trait]
impl Inbox for Heard {
    async fn accept(&self, _: Told) -> Result<Accepted, NotAccepted> {
        Ok(Accepted::default())
    }

    async fn note(&self, _: &BridgeName, noted: Noted) -> Result<(), NotAccepted> {
        if let Noted::NeedsDesk { words } = noted {
            self.0.lock().unwrap().push(words);
        }
        Ok(())
    }

    async fn admits(&self, _: &BridgeName, _: &str) -> Result<bool, NotAccepted> {
        Ok(false)
    }
}
