//! Verification by emoji and whose devices are whose, as the phone has it.

use serde_json::{Value, json};

use crate::Phone;

/// One of the seven that both sides show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emoji {
    /// The picture.
    pub symbol: String,
    /// Its name in English.
    pub name: String,
}

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Begun by this phone; nobody answered yet.
    #[default]
    Waiting,
    /// The other side asks.
    Asked,
    /// Both sides want to.
    Ready,
    /// Both sides show these.
    Compare(Vec<Emoji>),
    /// The same on both sides; which of the other side's keys that holds for.
    Done(Vec<String>),
    /// Given up, by that code.
    Cancelled(String),
}

/// A verification.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// Its id: of the transaction, or of the request's event where it is in a room.
    pub id: String,
    /// The other side.
    pub user: String,
    /// The other side's device, once it is known.
    pub device: String,
    /// The room, unless it goes from device to device.
    pub room: Option<String>,
    /// How far it is.
    pub stage: Stage,
}

impl Verification {
    /// Takes the stage that the phone's program says.
    pub(crate) fn reach(&mut self, seen: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        self.stage = match seen["stage"].as_str() {
            Some("asked") => Stage::Asked,
            Some("ready") => Stage::Ready,
            Some("emoji") => {
                let emoji = list(&seen["emoji"]);
                let one = |pair: &Value| Emoji { symbol: text(&pair[0]), name: text(&pair[1]) };
                Stage::Compare(emoji.iter().map(one).collect())
            }
            Some("done") => Stage::Done(list(&seen["keys"]).iter().map(text).collect()),
            _ => Stage::Cancelled(text(&seen["code"])),
        };
    }
}

/// A device of somebody's, as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its id.
    pub id: String,
    /// Its owner's cross-signing key signed it.
    pub signed: bool,
    /// What it is called.
    pub name: Option<String>,
}

impl Phone {
    /// Asks somebody's device to compare emoji; gives the verification's id. It goes through a room where
    /// one is given.
    pub async fn ask_to_verify(&self, user: &str, device: &str, room: Option<&str>) -> String {
        let command =
            json!({ "do": "ask_to_verify", "user": user, "device": device, "room": room });
        self.ask_for_text(command).await
    }

    /// Says that the person wants to.
    pub async fn accept_verification(&self, id: &str) {
        self.verification_step("accept", id).await;
    }

    /// Begins with the emoji, where the other side leaves that to us.
    pub async fn begin_verification(&self, id: &str) {
        self.verification_step("begin", id).await;
    }

    /// Says that the emoji are the same.
    pub async fn confirm_verification(&self, id: &str) {
        self.verification_step("confirm", id).await;
    }

    /// Says that the emoji are not the same.
    pub async fn refuse_verification(&self, id: &str) {
        self.verification_step("mismatch", id).await;
    }

    async fn verification_step(&self, step: &str, id: &str) {
        self.ask(json!({ "do": step, "verification": id })).await;
    }

    /// Waits until the other side asks; gives the verification.
    pub async fn wait_verification_request(&self, user: &str) -> Verification {
        let what = format!("a request of {user} to verify");
        self.wait_value(&what, self.patience, |view| {
            let mut all = view.verifications.values();
            all.find(|one| one.user == user && one.stage == Stage::Asked).cloned()
        })
        .await
    }

    /// Waits for the emoji of a verification.
    pub async fn wait_emoji(&self, id: &str) -> Vec<Emoji> {
        self.wait_value("the emoji", self.patience, |view| {
            match &view.verifications.get(id)?.stage {
                Stage::Compare(emoji) => Some(emoji.clone()),
                _ => None,
            }
        })
        .await
    }

    /// Waits until a verification is done or given up.
    pub async fn wait_verified(&self, id: &str) -> Stage {
        self.wait_value("the end of a verification", self.patience, |view| {
            let stage = &view.verifications.get(id)?.stage;
            matches!(stage, Stage::Done(_) | Stage::Cancelled(_)).then(|| stage.clone())
        })
        .await
    }

    /// Somebody's devices, with who signed them checked by the phone itself.
    pub async fn devices_of(&self, user: &str) -> Vec<Device> {
        let found = self.ask(json!({ "do": "devices", "user": user })).await;
        let devices = found.as_array().cloned().unwrap_or_default();
        let device = |one: &Value| Device {
            id: one["id"].as_str().unwrap_or_default().into(),
            signed: one["signed"] == true,
            name: one["name"].as_str().map(Into::into),
        };
        devices.iter().map(device).collect()
    }
}
