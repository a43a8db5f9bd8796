//! What Synapse is told. It reads YAML, of which JSON is a part.

use std::path::Path;

use serde_json::{Value, json};

/// How much the server bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limits {
    /// More than any test asks for.
    Generous,
    /// What Synapse has out of the box: one event in five seconds after ten.
    Stock,
}

/// A signing key that is good for nothing but servers that nobody else talks to.
pub(crate) const SIGNING_KEY: &str = "ed25519 a_test dGhlIGtleSBvZiBhIHRocm93YXdheSBob21lc2VydmU\n";

/// The settings of a server in that folder.
pub(crate) fn homeserver(folder: &Path, name: &str, port: u16, limits: Limits) -> Value {
    let file = |name: &str| folder.join(name).display().to_string();
    let mut settings = json!({
        "server_name": name,
        "public_baseurl": format!("http://127.0.0.1:{port}/"),
        "listeners": [{
            "port": port, "type": "http", "tls": false, "bind_addresses": ["127.0.0.1"],
            "resources": [{ "names": ["client"], "compress": false }],
        }],
        "database": { "name": "sqlite3", "args": { "database": file("homeserver.db") } },
        "log_config": file("log.yaml"),
        "media_store_path": file("media"),
        "signing_key_path": file("signing.key"),
        "registration_shared_secret": "of a throwaway server",
        "macaroon_secret_key": "of a throwaway server too",
        "form_secret": "of a throwaway server as well",
        "bcrypt_rounds": 4,
        "enable_registration": false,
        "report_stats": false,
        "suppress_key_server_warning": true,
        "trusted_key_servers": [],
        "federation_domain_whitelist": [],
        "url_preview_enabled": false,
        "presence": { "enabled": false },
        "max_upload_size": "50M",
    });
    if limits == Limits::Generous {
        let no_limits = no_limits();
        let all = settings.as_object_mut().expect("an object was written above");
        all.extend(no_limits.as_object().expect("and below").clone());
    }
    settings
}

/// Every limit of Synapse's that tests would meet.
fn no_limits() -> Value {
    let much = json!({ "per_second": 10_000, "burst_count": 10_000 });
    json!({
        "rc_message": much,
        "rc_registration": much,
        "rc_login": { "address": much, "account": much, "failed_attempts": much },
        "rc_admin_redaction": much,
        "rc_joins": { "local": much, "remote": much },
        "rc_joins_per_room": much,
        "rc_invites": { "per_room": much, "per_user": much, "per_issuer": much },
        "rc_room_creation": much,
        "rc_key_requests": much,
        "rc_media_create": much,
        "rc_delayed_event_mgmt": much,
        "rc_reports": much,
        "rc_user_directory": much,
    })
}

/// The log: a file, for when a test fails.
pub(crate) fn log(folder: &Path) -> Value {
    json!({
        "version": 1,
        "formatters": { "plain": { "format": "%(asctime)s %(name)s %(levelname)s %(message)s" } },
        "handlers": { "file": {
            "class": "logging.FileHandler", "formatter": "plain",
            "filename": folder.join("homeserver.log").display().to_string(),
        } },
        "root": { "level": "INFO", "handlers": ["file"] },
        "disable_existing_loggers": false,
    })
}
