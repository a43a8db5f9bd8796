/// Longest address that goes behind a label. Our own choice: longer ones are not links people tap.
const LONGEST: usize = 2_000;

/// Whether Telegram makes a link to `url`. One it does not take makes it refuse the whole message.
///
/// Source: `TDLib`, `LinkManager::check_link` and `parse_url`: web addresses with a dot in the host.
/// A `mailto:` address would be taken for a web page of that host, so it is none.
pub(super) fn is_taken(url: &str) -> bool {
    if url.len() > LONGEST || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return false;
    }
    let lower = url.get(..8).unwrap_or(url).to_ascii_lowercase();
    let Some(scheme) = ["https://", "http://"].iter().find(|scheme| lower.starts_with(**scheme))
    else {
        return false;
    };
    let rest = &url[scheme.len()..];
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        Some(_) | None => (host, None),
    };
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    port_fits && is_host(host)
}

fn is_host(host: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_') || !c.is_ascii();
    host.contains('.') && host.chars().all(inside) && host.chars().any(char::is_alphanumeric)
}

/// Whether a reader who sees `label` knows where `url` leads.
pub(super) fn says(label: &str, url: &str) -> bool {
    let bare = |text: &str| {
        let text = text.trim();
        let text = ["https://", "http://", "mailto:"]
            .iter()
            .find_map(|scheme| text.strip_prefix(scheme))
            .unwrap_or(text);
        text.trim_end_matches('/').to_owned()
    };
    bare(label) == bare(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_telegram_takes_becomes_a_link() {
        for url in [
            "https://example.org",
            "HTTP://Example.ORG:8080/x?a=1&b=(2)#c",
            "https://user:word@example.org/",
            "https://bücher.example/ä",
            "http://192.0.2.7:3000/x",
        ] {
            assert!(is_taken(url), "{url}");
        }
        for url in [
            "http://localhost:3000/",
            "http://[::1]:3000/",
            "https://intranet/wiki",
            "https://example.org:0/",
            "https://example.org:99999/",
            "https://exa mple.org",
            "https://example.org/a\nb",
            "https://",
            "https://.",
            "https://ex%41mple.org",
            "https://ex`ample.org",
            "mailto:ines@example.org",
            "tg://resolve?domain=somebody",
            "javascript:alert(1)",
            "ftp://example.org/x",
            "example.org",
            "",
        ] {
            assert!(!is_taken(url), "{url}");
        }
        assert!(!is_taken(&format!("https://example.org/{}", "x".repeat(LONGEST))));
    }

    #[test]
    fn a_label_can_be_its_own_address() {
        assert!(says("example.org", "https://example.org/"));
        assert!(says("ines@example.org", "mailto:ines@example.org"));
        assert!(!says("the page", "https://example.org/"));
    }
}
