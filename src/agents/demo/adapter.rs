//! The holder's side of the demo agent.

use std::{collections::BTreeMap, io};

use crate::agents::{
    AgentIo, CommandLine, Conversation, HookAddress, Spec,
    claude::{Source, drive, own_program},
};

/// Our own binary as the demo agent, on top of the cleaned environment `env`; what it remembers
/// lies in `folder`.
pub fn command_line(
    spec: &Spec,
    hooks: &HookAddress,
    mut env: BTreeMap<String, String>,
) -> io::Result<CommandLine> {
    env.insert("VIGIE_HOOK_URL".into(), hooks.url.clone());
    env.insert("VIGIE_HOOK_TOKEN".into(), hooks.token.clone());
    let (how, id) = match &spec.conversation {
        Conversation::New { id } => ("--session-id", id),
        Conversation::Resume { id } => ("--resume", id),
    };
    let mut args = vec!["demo-agent".to_owned()];
    args.extend(spec.args.clone());
    args.extend([how.into(), id.clone(), "--memory".into(), spec.shared.display().to_string()]);
    Ok(CommandLine { program: own_program()?, args, env })
}

/// Runs until the program has exited and everything is reported.
pub async fn run(io: AgentIo) {
    drive(io, Source::Hooks(None)).await;
}
