//! The text of a message as a person meant it: without what their app puts around it.

use serde_json::{Map, Value};
use vigie_core::menu::MENU;

/// What is only to be seen where an app shows no replies, and where a link to us stood.
const LINK_TO_A_PERSON: [&str; 2] = ["https://matrix.to/#/", "matrix:u/"];

/// The words of a message's content. The plain text is what a person typed; the HTML beside it is
/// their app's reading of it. Without the quote that old apps put before a reply, and without our own
/// name in front where it is a mention.
pub(crate) fn words(content: &Map<String, Value>, me: &str) -> String {
    let body = text(content, "body").unwrap_or_default();
    let body = if is_reply(content) { without_quote(body) } else { body };
    as_command(without_mention(body, content, me).trim_end())
}

/// Some clients take every `/word` for a command of their own and do not send it, so `!status` is
/// `/status`. Only for words that are commands of Vigie's, and for a word alone, which is nothing else: of
/// that it is said that there is no such command.
fn as_command(text: &str) -> String {
    let word = text.strip_prefix('!').and_then(|rest| rest.split(char::is_whitespace).next());
    let is_ours = |word: &str| {
        let word = word.to_ascii_lowercase();
        word == "help" || word == "pair" || MENU.iter().any(|entry| entry.word == word)
    };
    let alone = |word: &str| {
        text.len() == word.len() + 1
            && word.len() > 2
            && word.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    if word.is_some_and(|word| is_ours(word) || alone(word)) {
        text.replacen('!', "/", 1)
    } else {
        text.to_owned()
    }
}

/// The words under a file: there are some only where the file's name stands beside them.
/// Source: Matrix specification, "Media captions".
pub(crate) fn caption(content: &Map<String, Value>, me: &str) -> String {
    match (text(content, "filename"), text(content, "body")) {
        (Some(name), Some(body)) if name != body => words(content, me),
        (Some(_) | None, _) => String::new(),
    }
}

pub(crate) fn text<'v>(content: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    content.get(key).and_then(Value::as_str)
}

fn is_reply(content: &Map<String, Value>) -> bool {
    let relation = content.get("m.relates_to");
    relation.is_some_and(|relation| relation.get("m.in_reply_to").is_some())
}

/// What an old app quotes begins with the name of whom it quotes.
/// Source: Matrix specification 1.12, "Fallbacks for rich replies".
fn without_quote(body: &str) -> &str {
    if !body.starts_with("> <@") && !body.starts_with("> * <@") {
        return body;
    }
    let mut rest = body;
    while rest.starts_with('>') {
        let Some((_, after)) = rest.split_once('\n') else { return "" };
        rest = after;
    }
    rest.strip_prefix('\n').unwrap_or(rest)
}

/// `Vigie: list the branches`, where `Vigie` is a link to us in the HTML.
fn without_mention<'b>(body: &'b str, content: &Map<String, Value>, me: &str) -> &'b str {
    let Some(name) = text(content, "formatted_body").and_then(|html| mentioned(html, me)) else {
        return body;
    };
    let Some(rest) = body.strip_prefix(&name) else { return body };
    let rest = rest.trim_start_matches([' ', '\u{a0}']);
    rest.strip_prefix([':', ',']).unwrap_or(rest).trim_start()
}

/// What the link to us that the HTML begins with shows.
fn mentioned(html: &str, me: &str) -> Option<String> {
    let html = html.strip_prefix("<p>").unwrap_or(html);
    let link = html.strip_prefix("<a href=\"")?;
    let (to, rest) = link.split_once("\">")?;
    let whom = LINK_TO_A_PERSON.iter().find_map(|prefix| to.strip_prefix(prefix))?;
    let whom = whom.replace("%40", "@").replace("%3A", ":").replace("%3a", ":");
    let (shown, _) = rest.split_once("</a>")?;
    (whom.trim_start_matches('@') == me.trim_start_matches('@')).then(|| unescaped(shown))
}

fn unescaped(shown: &str) -> String {
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    marks.iter().fold(shown.to_owned(), |shown, (mark, meant)| shown.replace(mark, meant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ME: &str = "@vigie:example.org";

    fn words_of(content: Value) -> String {
        let Value::Object(content) = content else { panic!("no content") };
        words(&content, ME)
    }

    #[test]
    fn a_command_may_begin_with_an_exclamation_mark() {
        for (body, meant) in [
            ("!status", "/status"),
            ("!New PD-285 try it", "/New PD-285 try it"),
            ("!important: stop", "!important: stop"),
            ("!frobnicate", "/frobnicate"),
            ("!frobnicate this", "!frobnicate this"),
            ("!ls", "!ls"),
            ("! status", "! status"),
            ("well!status", "well!status"),
        ] {
            assert_eq!(words_of(json!({ "body": body })), meant, "{body:?}");
        }
    }

    #[test]
    fn quotes_of_old_apps_are_no_words_of_the_person() {
        let reply = json!({"m.in_reply_to": {"event_id": "$1"}});
        for (body, meant) in [
            ("> <@ines:example.org> ship it?\n> now?\n\nyes", "yes"),
            ("> * <@ines:example.org> waves\n\nhello", "hello"),
            ("> <@ines:example.org> one\n\n> two", "> two"),
            ("> <@ines:example.org> only that", ""),
            ("> a quote of my own\n\nyes", "> a quote of my own\n\nyes"),
            ("yes", "yes"),
        ] {
            assert_eq!(words_of(json!({"body": body, "m.relates_to": reply})), meant, "{body:?}");
        }
        let no_reply = "> <@ines:example.org> said so\n\nand I agree";
        assert_eq!(words_of(json!({ "body": no_reply })), no_reply);
    }

    #[test]
    fn our_own_name_in_front_is_an_address() {
        let mention = "<a href=\"https://matrix.to/#/@vigie:example.org\">Vigie</a>: status";
        for (body, html, meant) in [
            ("Vigie: status", mention, "status"),
            ("Vigie status", &mention.replace(':', "&#58;"), "Vigie status"),
            ("Vigie, status", "<a href=\"matrix:u/vigie:example.org\">Vigie</a>, status", "status"),
            (
                "A & B: go",
                "<p><a href=\"https://matrix.to/#/%40vigie%3Aexample.org\">A &amp; B</a>: go</p>",
                "go",
            ),
            (
                "Ines: look",
                "<a href=\"https://matrix.to/#/@ines:example.org\">Ines</a>: look",
                "Ines: look",
            ),
            (
                "ask Vigie",
                "ask <a href=\"https://matrix.to/#/@vigie:example.org\">Vigie</a>",
                "ask Vigie",
            ),
            ("Vigie: status", "<b>Vigie</b>: status", "Vigie: status"),
        ] {
            assert_eq!(words_of(json!({"body": body, "formatted_body": html})), meant, "{html}");
        }
    }

    #[test]
    fn a_caption_stands_beside_a_name() {
        let of = |content: Value| caption(content.as_object().unwrap(), ME);
        assert_eq!(of(json!({"body": "look", "filename": "a.png"})), "look");
        assert_eq!(of(json!({"body": "a.png", "filename": "a.png"})), "");
        assert_eq!(of(json!({"body": "a.png"})), "");
    }
}
