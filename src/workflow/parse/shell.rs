//! Scripts are run as they are written: what is filled into one could be run, and an agent or the
//! network may have written it.

use super::reader::{Reader, scalar};
use crate::yaml::Node;

/// Refuses what looks like a template where text stays as it is.
pub(super) fn is_filled_in_nowhere<'a>(reader: &Reader<'a>, node: &'a Node, name: &str) {
    let text = scalar(node);
    let found = text.match_indices("{{").find(|(start, _)| {
        let inner = text[start + 2..].trim_start_matches('-').trim_start();
        let word = inner.bytes().take_while(|c| c.is_ascii_alphanumeric() || *c == b'_').count();
        let root = &inner[..word];
        ROOTS.contains(&root) || reader.items.borrow().contains(&root)
    });
    if let Some((start, _)) = found {
        let end = text[start..].find("}}").map_or(start + 2, |end| start + end + 2);
        let span = reader.inside(node, &(start..end));
        let what = format!("nothing is filled into `{name}`");
        reader.hinted(span, what, "write out what it is");
    }
}

/// What templates read, by their first word.
const ROOTS: [&str; 8] = ["params", "steps", "run", "secrets", "env", "output", "item", "index"];

/// Refuses what looks like a template. `{{.Names}}` of other programs stays what it is.
pub(super) fn no_templates<'a>(reader: &Reader<'a>, node: &'a Node) {
    let text = scalar(node);
    for (start, opening) in openings(text) {
        if reader.is_full() {
            return;
        }
        let inner = text[start + opening.len()..].trim_start_matches(['-', '+']).trim_start();
        let word = inner.bytes().take_while(|c| c.is_ascii_alphanumeric() || *c == b'_').count();
        let (root, rest) = inner.split_at(word);
        let item = reader.items.borrow().contains(&root);
        if !item && !ROOTS.contains(&root) {
            continue;
        }
        let dollar = opening == "${";
        let reads = match rest.as_bytes().first() {
            Some(b'.' | b'[') => true,
            // `${run}` and `${item}` are variables of the shell.
            Some(_) if dollar => false,
            Some(_) => rest.trim_start().starts_with(['}', '|', '-']),
            None => false,
        };
        // `${env[1]}` is an element of a list of bash.
        if !reads || (dollar && !rest.starts_with('.')) {
            continue;
        }
        let close = if dollar { "}" } else { "}}" };
        let end = text[start..]
            .find(close)
            .map_or(start + opening.len(), |end| start + end + close.len());
        let words = text[start..end].trim_matches(['{', '}', '$', '-', ' ']).to_owned();
        let name = variable(&words);
        let span = reader.inside(node, &(start..end));
        let what = "nothing is filled into a script: what is filled in could be run";
        let words = words.replace(['\n', '\r'], " ");
        let hint = format!(
            "pass it by `env: {{{name}: '{{{{ {words} }}}}'}}` and write \"${name}\" in the script"
        );
        reader.hinted(span, what, hint);
    }
}

/// The same for code, where `${…}` is its own way to fill in its own values.
pub(super) fn no_templates_in_code<'a>(reader: &Reader<'a>, node: &'a Node) {
    let text = scalar(node);
    for (start, _) in text.match_indices("{{") {
        if reader.is_full() {
            return;
        }
        let inner = text[start + 2..].trim_start();
        if !["steps.", "params.", "secrets."].iter().any(|root| inner.starts_with(root)) {
            continue;
        }
        let end = text[start..].find("}}").map_or(start + 2, |end| start + end + 2);
        let words = text[start..end].trim_matches(['{', '}', ' ']).replace(['\n', '\r'], " ");
        let name = variable(&words).to_lowercase();
        let span = reader.inside(node, &(start..end));
        let hint = format!("pass it by `input: {{{name}: '{words}'}}` and read `input.{name}`");
        reader.hinted(span, "nothing is filled into code", hint);
    }
}

fn openings(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let braces = text.match_indices("{{").map(|(at, _)| (at, "{{"));
    braces.chain(text.match_indices("${").map(|(at, _)| (at, "${")))
}

/// `steps.title.text` → `TITLE`.
fn variable(words: &str) -> String {
    let parts: Vec<&str> = words
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')
        .filter(|part| !part.is_empty())
        .collect();
    let part = match parts[..] {
        [_, part, ..] | [part] => part,
        [] => "VALUE",
    };
    part.to_uppercase().replace('-', "_")
}
