//! Links as Telegram checks them.

/// The link as Telegram stores it; none where it drops it without a word, as for `localhost`.
pub(crate) fn checked_link(url: &str) -> Option<String> {
    let lower = url.to_lowercase();
    for scheme in ["tg:", "ton:", "tonsite:"] {
        if lower.starts_with(scheme) {
            let rest = &url[scheme.len()..];
            let rest = rest.strip_prefix("//").unwrap_or(rest);
            let named = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_.-".contains(c));
            return named.then(|| format!("{scheme}//{rest}"));
        }
    }
    if url.contains(char::is_whitespace) {
        return None;
    }
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let scheme = scheme.to_lowercase();
    if scheme != "http" && scheme != "https" {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    if !host.starts_with('[') && !host.split(':').next().unwrap_or_default().contains('.') {
        return None;
    }
    let authority =
        if authority.contains('@') { authority.to_owned() } else { authority.to_lowercase() };
    Some(format!("{scheme}://{authority}{}", if path.is_empty() { "/" } else { path }))
}

/// Whether a link means a person and no page.
pub(crate) fn names_a_user(url: &str) -> bool {
    let rest = url.strip_prefix("tg:").map(|rest| rest.strip_prefix("//").unwrap_or(rest));
    rest.is_some_and(|rest| rest.starts_with("user?") || rest.starts_with("user/?"))
}
