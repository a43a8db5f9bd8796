//! Values of secrets, fetched when a step is about to begin and kept nowhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
    process::Stdio,
    time::Duration,
};
use tokio::{io::AsyncReadExt as _, process::Command, time::timeout};
use vigie_workflow::value::SecretName;

use super::keep::SHORTEST_SECRET;
use crate::config::{Secret, SecretFrom};

/// A keyring may ask its person, who is mostly not there.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest value, in bytes: a key of many lines fits.
const LONGEST: u64 = 64 << 10;

/// The values of `names`, which a step of `workflow` uses.
///
/// # Errors
/// A sentence: which one it may not have, or which cannot be read, and what to do.
pub(super) async fn open(
    secrets: &[Secret],
    workflow: &str,
    names: &BTreeSet<SecretName>,
) -> Result<BTreeMap<SecretName, String>, String> {
    let mut values = BTreeMap::new();
    for name in names {
        let secret = secrets.iter().find(|secret| secret.name == *name).ok_or_else(|| {
            format!("no secret is called `{name}`; add [[secret]] name = \"{name}\" to the configuration")
        })?;
        if !secret.is_for(workflow) {
            return Err(format!(
                "`{workflow}` may not use the secret `{name}`; add \"{workflow}\" to its `workflows` in the configuration"
            ));
        }
        let value = read(&secret.from).await;
        let value = value.map_err(|why| format!("the secret `{name}` cannot be read: {why}"))?;
        if value.len() < SHORTEST_SECRET {
            return Err(format!(
                "the secret `{name}` is shorter than {SHORTEST_SECRET} characters: it could not be kept out of what is written down"
            ));
        }
        values.insert(name.clone(), value);
    }
    Ok(values)
}

/// The value of one of them.
///
/// # Errors
/// A sentence: why not, and what to do.
pub async fn secret(
    secrets: &[Secret],
    workflow: &str,
    name: SecretName,
) -> Result<String, String> {
    let names = BTreeSet::from([name]);
    let value = open(secrets, workflow, &names).await?.into_values().next();
    value.ok_or_else(|| "it has no value".into())
}

async fn read(from: &SecretFrom) -> Result<String, String> {
    match from {
        SecretFrom::Env(variable) => std::env::var(variable)
            .map_err(|_| format!("the variable {variable} is not set where Vigie runs")),
        SecretFrom::File(path) => {
            file(path).await.map_err(|error| format!("{} does not read: {error}", path.display()))
        }
        SecretFrom::Command(words) => command(words).await,
        SecretFrom::Keyring { service, account } => command(&keyring(service, account)).await,
    }
}

async fn file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    tokio::fs::File::open(path).await?.take(LONGEST).read_to_string(&mut text).await?;
    Ok(without_end(text))
}

/// What the system's own keyring is asked with: `secret-tool(1)`, `security(1)`.
fn keyring(service: &str, account: &str) -> Vec<String> {
    let words: [&str; 6] = if cfg!(target_os = "macos") {
        ["security", "find-generic-password", "-ws", service, "-a", account]
    } else {
        ["secret-tool", "lookup", "service", service, "account", account]
    };
    words.map(str::to_owned).to_vec()
}

/// What it prints is the value, so nothing it prints is ever told.
async fn command(words: &[String]) -> Result<String, String> {
    let Some((program, args)) = words.split_first() else { return Err("no command".into()) };
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped());
    let mut child = command
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("`{program}` does not start: {error}"))?;
    let mut text = String::new();
    let reads = async {
        if let Some(out) = child.stdout.take() {
            out.take(LONGEST).read_to_string(&mut text).await?;
        }
        child.wait().await
    };
    match timeout(PATIENCE, reads).await {
        Ok(Ok(status)) if status.success() => Ok(without_end(text)),
        Ok(Ok(status)) => Err(format!("`{program}` ended with {status}")),
        Ok(Err(error)) => Err(format!("`{program}` does not read: {error}")),
        Err(_) => Err(format!("`{program}` took longer than {} s", PATIENCE.as_secs())),
    }
}

/// Files and programs end their only line.
fn without_end(mut text: String) -> String {
    let line = text.strip_suffix('\n').unwrap_or(&text);
    text.truncate(line.strip_suffix('\r').unwrap_or(line).len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(from: SecretFrom, workflows: &[&str]) -> Secret {
        let workflows = workflows.iter().map(|name| (*name).to_owned()).collect();
        Secret { name: "TOKEN".parse().unwrap(), from, workflows }
    }

    async fn opened(secret: Secret, workflow: &str) -> Result<String, String> {
        let name: SecretName = "TOKEN".parse().unwrap();
        let values = open(&[secret], workflow, &[name.clone()].into()).await?;
        Ok(values[&name].clone())
    }

    fn says(words: &str) -> SecretFrom {
        SecretFrom::Command(["sh", "-c", words].map(str::to_owned).to_vec())
    }

    #[tokio::test]
    async fn only_named_workflows_have_a_secret() {
        let value = || says("echo correct-horse");
        assert_eq!(
            opened(secret(value(), &["release"]), "release").await.unwrap(),
            "correct-horse"
        );
        assert_eq!(opened(secret(value(), &["*"]), "release").await.unwrap(), "correct-horse");
        for (allowed, workflow) in [(&[][..], "release"), (&["*"][..], "api/release")] {
            let why = opened(secret(value(), allowed), workflow).await.unwrap_err();
            assert!(why.contains(&format!("add \"{workflow}\" to its `workflows`")), "{why}");
        }
        let why = open(&[], "release", &["TOKEN".parse().unwrap()].into()).await.unwrap_err();
        assert!(why.contains("no secret is called `TOKEN`"), "{why}");
    }

    #[tokio::test]
    async fn each_place_gives_its_value_without_the_end_of_the_line() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("token");
        std::fs::write(&path, "correct-horse\r\n").unwrap();
        assert_eq!(
            opened(secret(SecretFrom::File(path), &["*"]), "a").await.unwrap(),
            "correct-horse"
        );
        let path = std::env::var("PATH").unwrap();
        assert_eq!(
            opened(secret(SecretFrom::Env("PATH".into()), &["*"]), "a").await.unwrap(),
            path
        );
    }

    #[tokio::test]
    async fn what_cannot_be_masked_or_read_is_refused_without_its_value() {
        let why = opened(secret(says("printf short"), &["*"]), "a").await.unwrap_err();
        assert!(why.contains("shorter than 8") && !why.contains("short "), "{why}");
        let why =
            opened(secret(says("echo correct-horse; exit 3"), &["*"]), "a").await.unwrap_err();
        assert!(why.contains("exit status: 3") && !why.contains("horse"), "{why}");
    }
}
