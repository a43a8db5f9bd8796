//! What a file that does not read still says of itself, line by line: under which name people look for
//! it, and how a caller of its webhook would have to show who it is. Nothing is ever run by this.

use vigie_workflow::{
    language::{Proof, Webhook},
    value::WorkflowName,
};

/// Of a webhook that does not say.
const MOST_BODY: u64 = 256 << 10;

pub(super) fn name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("name:"))?;
    let name: WorkflowName = word(value).parse().ok()?;
    Some(name.to_string())
}

pub(super) fn webhook(text: &str) -> Option<Webhook> {
    let rest = text.split_once("webhook:")?.1;
    let within = rest.split("\nsteps:").next().unwrap_or(rest);
    let secret = word(within.split_once("secret:")?.1).parse().ok()?;
    let proof = within.split_once("proof:").map(|(_, rest)| word(rest));
    let proof = if proof == Some("hmac") { Proof::Hmac } else { Proof::Token };
    Some(Webhook { secret, proof, max_body: MOST_BODY, params: Vec::new() })
}

/// The first word, without what may stand around it.
fn word(text: &str) -> &str {
    let text = text.trim_start_matches([' ', '\t', '"', '\'']);
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_file_still_says_its_name_and_how_its_webhook_is_guarded() {
        let text =
            "name: release # the real one\non:\n  webhook: {secret: HOOK, proof: hmac}\nsteps: [\n";
        assert_eq!(name(text).unwrap(), "release");
        let webhook = webhook(text).unwrap();
        assert_eq!((webhook.secret.as_str(), webhook.proof), ("HOOK", Proof::Hmac));
        assert_eq!(name("name: [\n"), None);
        assert!(super::webhook("steps:\n  - secret: X\n").is_none());
    }
}
