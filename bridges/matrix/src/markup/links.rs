//! Which addresses become links.

/// Longest address that goes behind a label, in bytes. Our own choice: longer ones are not links
/// people tap.
const LONGEST: usize = 2_000;

/// Whether a label may lead to `url`: to the web or to a mailbox. An address of Matrix's own would
/// be shown as the person or the room it names, so it is none. Source of the schemes: Matrix
/// specification, "m.room.message msgtypes", which has some more that nobody needs here.
pub(super) fn is_taken(url: &str) -> bool {
    if url.len() > LONGEST || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return false;
    }
    let lower = url.to_ascii_lowercase();
    if let Some(mailbox) = lower.strip_prefix("mailto:") {
        return mailbox.contains('@');
    }
    let web = ["https://", "http://"].iter().find_map(|scheme| lower.strip_prefix(scheme));
    web.is_some_and(|rest| {
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        let name = host.split(':').next().unwrap_or_default().trim_end_matches('.');
        !host.is_empty() && name != "matrix.to"
    })
}

/// Whether a reader who sees `label` knows where `url` leads.
pub(super) fn says(label: &str, url: &str) -> bool {
    bare(label) == bare(url) || (!url.is_empty() && label.contains(url))
}

/// Whether `label` reads as an address, and so must not lead to another one.
pub(super) fn reads_as_address(label: &str) -> bool {
    let label = label.trim();
    label.contains("://") || label.starts_with("www.")
}

fn bare(text: &str) -> &str {
    let text = text.trim();
    let schemes = ["https://", "http://", "mailto:"];
    let text = schemes.iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
    text.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_web_and_mailboxes_are_linked() {
        for url in [
            "https://example.org",
            "HTTP://Example.ORG:8080/x?a=1&b=(2)#c",
            "http://localhost:3000/x",
            "mailto:ines@example.org",
            "https://bücher.example/ä",
        ] {
            assert!(is_taken(url), "{url}");
        }
    }

    #[test]
    fn nothing_else_is() {
        for url in [
            "",
            "https://",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "ftp://example.org",
            "matrix:u/ines:example.org",
            "https://matrix.to/#/@ines:example.org",
            "https://x@MATRIX.to:443/#/!room",
            "https://matrix.to.?x",
            "https://example.org/a b",
            "mailto:",
            "main.rs",
        ] {
            assert!(!is_taken(url), "{url}");
        }
        assert!(!is_taken(&format!("https://example.org/{}", "x".repeat(2_000))));
    }

    #[test]
    fn a_label_that_is_the_address_says_it() {
        assert!(says("example.org/a", "https://example.org/a/"));
        assert!(says("ines@example.org", "mailto:ines@example.org"));
        assert!(says("example.org (https://example.net)", "https://example.net"));
        assert!(!says("the page", "https://example.org"));
    }
}
