//! What clients may look at and follow: sessions, runs, and how much mail waits. Looking changes
//! nothing; a message is read with `read_messages` alone.

use rmcp::{
    ErrorData,
    model::{Resource, ResourceContents, ResourceTemplate},
};
use serde_json::{Value, json};
use vigie_core::{
    caller::{AgentCommand, AgentRefusal, AgentReply, Listing, PeerView},
    command::Refusal,
};

use super::{
    Caller,
    shared::Shared,
    tools::{RunShape, SessionShape},
};

const SESSIONS: &str = "vigie://sessions";
const RUNS: &str = "vigie://runs";
pub(super) const INBOX: &str = "vigie://inbox";
const JSON: &str = "application/json";

/// A resource of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Sessions,
    Session(String),
    Runs,
    Run(String),
    Inbox,
}

impl Which {
    pub(super) fn of(uri: &str) -> Option<Self> {
        match uri {
            SESSIONS => Some(Self::Sessions),
            RUNS => Some(Self::Runs),
            INBOX => Some(Self::Inbox),
            other => {
                let below = |of: &str| {
                    let name = other.strip_prefix(of)?.strip_prefix('/')?;
                    (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
                };
                below(SESSIONS).map(Self::Session).or_else(|| below(RUNS).map(Self::Run))
            }
        }
    }
}

/// All that the caller may look at, always in the same order: what is always there, then its
/// sessions by age.
pub(super) async fn list(shared: &Shared, caller: &Caller) -> Result<Vec<Resource>, ErrorData> {
    let fixed = [
        (SESSIONS, "sessions", "The live sessions that you can see"),
        (RUNS, "runs", "The latest runs of workflows that you can see"),
        (INBOX, "inbox", "How many messages wait for you; read_messages reads them"),
    ];
    let resource = |uri: &str, name: &str, about: &str| {
        Resource::new(uri, name).with_description(about).with_mime_type(JSON)
    };
    let mut all: Vec<_> =
        fixed.into_iter().map(|(uri, name, about)| resource(uri, name, about)).collect();
    let live = peers(shared, caller).await.map_err(|refusal| error(&refusal))?;
    all.extend(live.iter().map(|peer| {
        let about = if peer.title.is_empty() { "A session" } else { &peer.title };
        resource(&format!("{SESSIONS}/{}", peer.name), peer.name.as_str(), about)
    }));
    Ok(all)
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{SESSIONS}/{{name}}"), "session")
            .with_description("One session, by its name")
            .with_mime_type(JSON),
        ResourceTemplate::new(format!("{RUNS}/{{run}}"), "run")
            .with_description("One run of a workflow, by its id")
            .with_mime_type(JSON),
    ]
}

pub(super) async fn read(
    shared: &Shared,
    caller: &Caller,
    uri: &str,
) -> Result<ResourceContents, ErrorData> {
    let missing = || {
        ErrorData::resource_not_found(
            format!("there is nothing at {uri}; resources/list says what there is"),
            Some(json!({ "uri": uri })),
        )
    };
    let which = Which::of(uri).ok_or_else(missing)?;
    let value = content(shared, caller, &which).await.map_err(|refusal| match refusal {
        AgentRefusal::Same(Refusal::NoSession { .. } | Refusal::NoRun { .. }) => missing(),
        other => error(&other),
    })?;
    Ok(ResourceContents::text(value.to_string(), uri).with_mime_type(JSON))
}

/// What stands there. Nothing in it changes by itself with time, so that whoever follows it hears of
/// it exactly when something happened.
pub(super) async fn content(
    shared: &Shared,
    caller: &Caller,
    which: &Which,
) -> Result<Value, AgentRefusal> {
    Ok(match which {
        Which::Sessions => {
            let sessions = peers(shared, caller).await?;
            json!({ "sessions": sessions.iter().map(SessionShape::from).collect::<Vec<_>>() })
        }
        Which::Session(name) => {
            match shared.ask(caller, AgentCommand::Session { name: name.clone() }).await? {
                AgentReply::Session { session } => json!(SessionShape::from(&*session)),
                _ => Value::Null,
            }
        }
        Which::Runs => match shared.ask(caller, AgentCommand::Runs).await? {
            AgentReply::Runs { runs } => {
                json!({ "runs": runs.iter().map(RunShape::from).collect::<Vec<_>>() })
            }
            _ => Value::Null,
        },
        Which::Run(name) => {
            match shared.ask(caller, AgentCommand::ShowRun { name: name.clone() }).await? {
                AgentReply::Run { run } => json!(RunShape::from(&*run)),
                _ => Value::Null,
            }
        }
        Which::Inbox => match shared.ask(caller, AgentCommand::Whoami).await? {
            AgentReply::Whoami(who) => json!({ "waiting": who.waiting_mail }),
            _ => Value::Null,
        },
    })
}

async fn peers(shared: &Shared, caller: &Caller) -> Result<Vec<PeerView>, AgentRefusal> {
    match shared.ask(caller, AgentCommand::Sessions(Listing::default())).await? {
        AgentReply::Sessions { sessions, .. } => Ok(sessions),
        _ => Ok(Vec::new()),
    }
}

fn error(refusal: &AgentRefusal) -> ErrorData {
    ErrorData::invalid_params(refusal.sentence(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_ours_or_nothing() {
        assert_eq!(Which::of("vigie://sessions"), Some(Which::Sessions));
        assert_eq!(Which::of("vigie://sessions/PD-285"), Some(Which::Session("PD-285".into())));
        assert_eq!(Which::of("vigie://inbox"), Some(Which::Inbox));
        assert_eq!(Which::of("vigie://runs/run_1"), Some(Which::Run("run_1".into())));
        for other in [
            "",
            "vigie://",
            "vigie://sessions/",
            "vigie://sessions/a/b",
            "vigie://sessionsx",
            "file:///etc",
        ] {
            assert_eq!(Which::of(other), None, "{other}");
        }
    }
}
