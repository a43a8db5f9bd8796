//! What a person may have meant by a key that is none.

use crate::{
    keys::{ALL, Table},
    nearest::nearest,
};

/// Words of other tools for what is called otherwise here.
const ELSEWHERE: [(&str, &str); 28] = [
    ("command", "shell"),
    ("commands", "shell"),
    ("cmd", "shell"),
    ("run", "shell"),
    ("exec", "shell"),
    ("bash", "shell"),
    ("prompt", "claude"),
    ("agent", "claude"),
    ("js", "javascript"),
    ("script", "shell"),
    ("request", "http"),
    ("fetch", "http"),
    ("wait", "sleep"),
    ("delay", "sleep"),
    ("gate", "approval"),
    ("approve", "approval"),
    ("call", "workflow"),
    ("uses", "workflow"),
    ("loop", "foreach"),
    ("matrix", "foreach"),
    ("when", "if"),
    ("depends", "needs"),
    ("depends_on", "needs"),
    ("workdir", "cwd"),
    ("working_directory", "cwd"),
    ("vars", "env"),
    ("inputs", "params"),
    ("schedule", "on"),
];

pub(super) fn key(word: &str, table: &Table) -> String {
    let here = |name: &&str| table.names().any(|key| key == *name);
    let ours = || {
        let other = nearest(word, ELSEWHERE.iter().map(|(other, _)| *other))?;
        let (_, ours) = ELSEWHERE.iter().find(|(name, _)| *name == other)?;
        Some(*ours).filter(here)
    };
    if let Some(near) = nearest(word, table.names()).or_else(ours) {
        return format!("did you mean `{near}`?");
    }
    let places: Vec<_> = ALL
        .iter()
        .filter(|table| table.names().any(|key| key == word))
        .map(|table| table.of)
        .collect();
    if !places.is_empty() {
        return format!("`{word}` is a key of {}, not of {}", places.join(" and of "), table.of);
    }
    let names: Vec<_> = table.names().collect();
    format!("keys of {}: {}", table.of, names.join(", "))
}
