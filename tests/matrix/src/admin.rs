//! What whoever runs a homeserver can do: people, tokens, limits, and a look at what it holds.

use std::{
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering},
};

use rusqlite::{Connection, OpenFlags, params};
use serde_json::{Value, json};

use crate::{Homeserver, SERVER_NAME, http::in_path};

/// What somebody logs in with.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// Such as `@ada:example.org`.
    pub user_id: String,
    /// The password.
    pub password: String,
}

/// A message that the server took from a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// In which room.
    pub room: String,
    /// The event it became.
    pub event: String,
    /// The name that the client gave the request.
    pub transaction: String,
}

/// So that tests of one binary never share a person.
static PEOPLE: AtomicU32 = AtomicU32::new(1);

impl Homeserver {
    /// A new person, whose name begins so; the rest of it is nobody else's.
    ///
    /// # Panics
    /// If the server does not take the name.
    pub async fn user(&self, name: &str) -> Login {
        let number = PEOPLE.fetch_add(1, Ordering::Relaxed);
        let user_id = format!("@{name}{number}:{SERVER_NAME}");
        let password = format!("the password of {name}");
        let about = json!({ "password": password, "displayname": name });
        self.manage("PUT", &format!("/v2/users/{}", in_path(&user_id)), Some(&about)).await;
        Login { user_id, password }
    }

    /// Takes a device away from somebody, and its token with it: a hard logout.
    pub async fn log_out(&self, user: &str, device: &str) {
        let path = format!("/v2/users/{}/devices/{}", in_path(user), in_path(device));
        self.manage("DELETE", &path, None).await;
    }

    /// Lets a device's token run out, which leaves the device: a soft logout. The server is started again
    /// for it.
    pub async fn soft_log_out(&self, user: &str, device: &str) {
        self.kill();
        let changed = self.database(OpenFlags::SQLITE_OPEN_READ_WRITE).execute(
            "UPDATE access_tokens SET valid_until_ms = 1 WHERE user_id = ?1 AND device_id = ?2",
            params![user, device],
        );
        assert_eq!(changed, Ok(1), "{user} has no token for the device {device}");
        self.restart().await;
    }

    /// Lifts the limit on messages from somebody.
    pub async fn lift_limits(&self, user: &str) {
        let none = json!({ "messages_per_second": 0, "burst_count": 0 });
        let path = format!("/v1/users/{}/override_ratelimit", in_path(user));
        self.manage("POST", &path, Some(&none)).await;
    }

    /// The devices of somebody, by their ids.
    pub async fn devices(&self, user: &str) -> Vec<String> {
        let path = format!("/v2/users/{}/devices", in_path(user));
        let found = self.manage("GET", &path, None).await;
        let devices = found["devices"].as_array().expect("devices are a list");
        devices.iter().filter_map(|device| device["device_id"].as_str()).map(Into::into).collect()
    }

    /// An event as the server holds it: what is sealed is sealed.
    pub async fn event(&self, room: &str, event: &str) -> Value {
        let path = format!("/v1/rooms/{}/context/{}?limit=0", in_path(room), in_path(event));
        self.manage("GET", &path, None).await["event"].take()
    }

    /// All events of a room as the server holds them, oldest first.
    pub async fn events(&self, room: &str) -> Vec<Value> {
        let path = format!("/v1/rooms/{}/messages?dir=f&limit=100", in_path(room));
        let mut events = Vec::new();
        let mut from = String::new();
        loop {
            let mut page = self.manage("GET", &format!("{path}{from}"), None).await;
            let Value::Array(chunk) = page["chunk"].take() else { return events };
            match page["end"].as_str() {
                Some(end) if !chunk.is_empty() => from = format!("&from={}", in_path(end)),
                _ => return events,
            }
            events.extend(chunk);
        }
    }

    /// What the server took from somebody, oldest first. A request that came again with the same
    /// transaction is one.
    pub fn sent_by(&self, user: &str) -> Vec<Sent> {
        let database = self.database(OpenFlags::SQLITE_OPEN_READ_ONLY);
        let mut rows = database
            .prepare(
                "SELECT room_id, event_id, txn_id FROM event_txn_id_device_id
                 WHERE user_id = ?1 ORDER BY inserted_ts, rowid",
            )
            .expect("Synapse has that table");
        let sent = rows.query_map(params![user], |row| {
            Ok(Sent { room: row.get(0)?, event: row.get(1)?, transaction: row.get(2)? })
        });
        sent.expect("a query").collect::<Result<_, _>>().expect("three texts a row")
    }

    fn database(&self, flags: OpenFlags) -> Connection {
        let database = Connection::open_with_flags(self.folder().join("homeserver.db"), flags)
            .expect("Synapse keeps its database there");
        database.busy_timeout(std::time::Duration::from_secs(10)).expect("it can wait");
        database
    }

    /// Asks as the one who runs the server.
    async fn manage(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let token = self.admin.get_or_init(|| self.first_admin()).await;
        let path = format!("/_synapse/admin{path}");
        self.ask(Some(token), method, &path, body).await.unwrap_or_else(|why| panic!("{why}"))
    }

    /// Synapse's own program makes the first one; its token.
    async fn first_admin(&self) -> String {
        let made = tokio::process::Command::new(&self.tools().synapse)
            .args(["-m", "synapse._scripts.register_new_matrix_user"])
            .args(["--admin", "--user", "admin", "--password", "of a throwaway server", "--config"])
            .arg(self.folder().join("homeserver.yaml"))
            .arg(self.url())
            .stdin(Stdio::null())
            .output()
            .await
            .expect("Python starts");
        assert!(made.status.success(), "no administrator: {made:?}");
        let who = json!({
            "type": "m.login.password", "password": "of a throwaway server",
            "identifier": { "type": "m.id.user", "user": "admin" },
        });
        let path = "/_matrix/client/v3/login";
        let login = self.ask(None, "POST", path, Some(&who)).await;
        let login = login.unwrap_or_else(|why| panic!("{why}"));
        login["access_token"].as_str().expect("a login gives a token").into()
    }
}
