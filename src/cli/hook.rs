//! `vigie hook`: how an agent that can only run a command reaches its session's holder.
//!
//! It never fails its agent: whatever goes wrong, it ends with 0 and prints nothing, which means
//! "no decision".

use serde_json::Value;
use std::{
    io::{self, Read, Write},
    process::Stdio,
    time::Duration,
};
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

use crate::agents::{hook_call::Holder, hooks::STATUS_EVENT};

/// Largest event we take, in bytes; the holder takes as much.
const EVENT: u64 = 4 << 20;
/// The holder answers at once what comes by command; the agent waits for us.
const ANSWERED_WITHIN: Duration = Duration::from_secs(3);
/// The person's own status line; the agent starts it again at its next change.
const THEIRS_WITHIN: Duration = Duration::from_secs(5);

#[derive(clap::Args, Clone, Debug)]
pub struct HookArgs {
    /// What standard input holds: a hook's event, or the status line's numbers.
    #[arg(value_enum, default_value_t = Input::Event)]
    pub input: Input,
    /// With `status`: the person's own status line command, whose output is shown.
    pub then: Option<String>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Event,
    Status,
}

/// Reads standard input, hands it to the holder, prints the answer.
pub async fn hook(args: HookArgs) {
    let mut event = Vec::new();
    if io::stdin().take(EVENT).read_to_end(&mut event).is_err() {
        return;
    }
    let printed = match args.input {
        Input::Event => call(&event).await,
        Input::Status => {
            let told = named(&event);
            let (_, theirs) = tokio::join!(call(&told), status_line(args.then.as_deref(), &event));
            theirs
        }
    };
    // The agent may be gone already; there is nobody left to tell.
    let mut out = io::stdout();
    let _ = out.write_all(&printed.unwrap_or_default()).and_then(|()| out.flush());
}

async fn call(event: &[u8]) -> Option<Vec<u8>> {
    let holder = Holder::from_env().ok()?;
    let answer = timeout(ANSWERED_WITHIN, holder.call(event.to_vec())).await.ok()?.ok()?;
    // An empty object says nothing; printing it would only make the agent parse it.
    (!matches!(answer.as_ref(), b"" | b"{}")).then(|| answer.to_vec())
}

/// The status line's JSON with an event name, so that the holder can tell it from hooks.
fn named(status: &[u8]) -> Vec<u8> {
    let mut status: Value = serde_json::from_slice(status).unwrap_or_default();
    if let Some(fields) = status.as_object_mut() {
        fields.insert("hook_event_name".into(), STATUS_EVENT.into());
    }
    status.to_string().into_bytes()
}

/// Runs the person's own command as the agent would have.
async fn status_line(command: Option<&str>, status: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command?])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    let feed = async {
        // It need not read it.
        let _ = stdin.write_all(status).await;
        drop(stdin);
    };
    let run = async { tokio::join!(feed, child.wait_with_output()).1 };
    timeout(THEIRS_WITHIN, run).await.ok()?.ok().map(|out| out.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_line_gets_a_name_and_keeps_its_numbers() {
        let told: Value =
            serde_json::from_slice(&named(br#"{"cost":{"total_cost_usd":1.5}}"#)).unwrap();
        assert_eq!(told["hook_event_name"], STATUS_EVENT);
        assert_eq!(told["cost"]["total_cost_usd"], 1.5);
        assert_eq!(named(b"no json"), b"null");
    }

    #[tokio::test]
    async fn the_persons_own_status_line_sees_the_numbers() {
        let line = status_line(Some("printf 'mine: '; cat"), b"{}").await.unwrap();
        assert_eq!(line, b"mine: {}");
        assert_eq!(status_line(None, b"{}").await, None);
    }
}
