use std::collections::BTreeMap;

use crate::{agents::Spec, confine::Account};

/// Names that would tell the program it runs inside somebody else's terminal, service or agent.
const FOREIGN: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "COLUMNS",
    "LINES",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "WINDOWID",
    "VTE_VERSION",
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "LISTEN_PID",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "OLDPWD",
];

/// Our own environment without other sessions' marks and Vigie's own secrets.
pub(crate) fn cleaned() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| passes(name))
        .collect()
}

/// The program's environment: the cleaned one, with the configuration's on top.
pub(crate) fn of_program(spec: &Spec) -> BTreeMap<String, String> {
    let mut env = cleaned();
    let account = spec.confinement.as_ref().and_then(|confinement| confinement.account.as_ref());
    env.extend(account.into_iter().flat_map(Account::environment));
    env.extend(spec.env.clone());
    env.insert("TERM".into(), "xterm-256color".into());
    env.insert("COLORTERM".into(), "truecolor".into());
    env.insert("PWD".into(), spec.cwd.display().to_string());
    env.insert("VIGIE_SESSION".into(), spec.name.to_string());
    env.insert(super::tree::MARK.into(), spec.session.to_string());
    env
}

fn passes(name: &str) -> bool {
    // How a person is logged in belongs to them, although it shares the prefix of the marks.
    let login = name == "CLAUDE_CODE_OAUTH_TOKEN" || name.starts_with("CLAUDE_CODE_USE_");
    let mark = name.starts_with("CLAUDE_CODE_") && !login;
    !(mark || name.starts_with("VIGIE_") || FOREIGN.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::passes;

    #[test]
    fn marks_and_secrets_stay_behind() {
        for gone in ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "VIGIE_TELEGRAM_TOKEN", "TMUX"] {
            assert!(!passes(gone), "{gone}");
        }
        for kept in ["PATH", "HOME", "ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_BEDROCK", "LANG"] {
            assert!(passes(kept), "{kept}");
        }
    }
}
