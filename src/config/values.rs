//! Small values as people write them: `23h`, `64 MiB`, `https://harbour.example.org`.

use std::{
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use super::{PublicUrl, Scheme};

/// In bytes, with everything. Source: Matrix specification, "User identifiers".
const LONGEST_USER: usize = 255;

/// `90s`, `15m`, `23h`, `1h30m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text.trim();
    let mut last_unit = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let amount: u64 = rest[..digits].parse().ok()?;
        let unit = match &rest[digits..=digits] {
            "h" => 3600,
            "m" => 60,
            "s" => 1,
            _ => return None,
        };
        if unit >= last_unit {
            return None; // `30m1h`, `1h1h`: nobody means that
        }
        last_unit = unit;
        total = total.checked_add(Duration::from_secs(amount.checked_mul(unit)?))?;
        rest = &rest[digits + 1..];
    }
    (total > Duration::ZERO).then_some(total)
}

/// `512 KiB`, `64 MiB`, `2 GiB`, with or without the space.
pub(super) fn size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let amount: u64 = text[..digits].parse().ok()?;
    let unit: u64 = match text[digits..].trim() {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    amount.checked_mul(unit).filter(|bytes| *bytes > 0)
}

/// `http://` or `https://`, a host and perhaps a port; nothing after it but one `/`.
pub(super) fn public_url(text: &str) -> Option<PublicUrl> {
    let (scheme, rest) = if let Some(rest) = text.strip_prefix("https://") {
        (Scheme::Https, rest)
    } else {
        (Scheme::Http, text.strip_prefix("http://")?)
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest).to_ascii_lowercase();
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (authority.as_str(), None),
    };
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    (host(name) && port_fits).then_some(PublicUrl { scheme, authority })
}

/// Where a Bot API is: as [`public_url`], and perhaps a path. Without the `/` at its end.
pub(super) fn api_url(text: &str) -> Option<String> {
    let after_scheme = text.find("://")? + 3;
    let path_at = text[after_scheme..].find('/').map_or(text.len(), |at| after_scheme + at);
    let (origin, path) = text.split_at(path_at);
    let path = path.trim_end_matches('/');
    let segment = |part: &str| {
        !part.is_empty()
            && !token_follows(part)
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let fits = path.is_empty() || path[1..].split('/').all(segment);
    fits.then(|| public_url(origin).map(|url| format!("{url}{path}")))?
}

/// Somebody pasted the address of a method, up to the colon of the token at least.
fn token_follows(part: &str) -> bool {
    part.strip_prefix("bot").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// `@ines:example.org`: the local part exactly as it is, the server's name in lower case.
/// Source: Matrix specification, "User identifiers" (with the local parts that older servers gave) and
/// "Server name".
pub(super) fn matrix_user(text: &str) -> Option<String> {
    let (local, server) = text.strip_prefix('@')?.split_once(':')?;
    let (name, port) = match server.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (server, None),
    };
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let local_fits = !local.is_empty() && local.chars().all(|c| c.is_ascii_graphic());
    let fits = local_fits && host(name) && port_fits && text.len() <= LONGEST_USER;
    fits.then(|| format!("@{local}:{}", server.to_ascii_lowercase()))
}

/// A host as it stands in a `Host` header without its port: a name, an IPv4 address, or an IPv6
/// address in brackets.
pub(super) fn host(text: &str) -> bool {
    if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return inner.parse::<Ipv6Addr>().is_ok();
    }
    let label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    text.parse::<IpAddr>().is_ok_and(|address| address.is_ipv4()) || text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        let seconds = |text| duration(text).map(|d| d.as_secs());
        assert_eq!(seconds("23h"), Some(82_800));
        assert_eq!(seconds("1h30m"), Some(5_400));
        for bad in
            ["", "0s", "5", "h", "30m1h", "1h1h", "5 m", "-1h", "1d", "99999999999999999999h"]
        {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes_need_their_unit() {
        assert_eq!(size("64 MiB"), Some(64 << 20));
        assert_eq!(size("2GiB"), Some(2 << 30));
        for bad in ["64", "0 MiB", "MiB", "64 MB", "99999999999999 GiB"] {
            assert_eq!(size(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_address_of_a_bot_api_may_have_a_path_and_never_a_token() {
        assert_eq!(api_url("https://api.telegram.org/").unwrap(), "https://api.telegram.org");
        assert_eq!(api_url("http://127.0.0.1:8081/bots/").unwrap(), "http://127.0.0.1:8081/bots");
        for bad in [
            "api.telegram.org",
            "https://",
            "ftp://a",
            "https://api.telegram.org/bot123456:TEST-TOKEN",
            "https://api.telegram.org/bot123456",
            "https://a/x?y",
            "https://ines:secret@a",
        ] {
            assert_eq!(api_url(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_person_on_matrix_goes_by_the_whole_id() {
        for (text, id) in [
            ("@ines:example.org", "@ines:example.org"),
            ("@ines:Example.ORG", "@ines:example.org"),
            (
                "@Ines=caradec/x:harbour.example.org:8448",
                "@Ines=caradec/x:harbour.example.org:8448",
            ),
            ("@ines:[2001:DB8::1]:8448", "@ines:[2001:db8::1]:8448"),
            ("@ines:[2001:db8::1]", "@ines:[2001:db8::1]"),
        ] {
            assert_eq!(matrix_user(text).as_deref(), Some(id), "{text}");
        }
        let long = format!("@{}:example.org", "i".repeat(250));
        for bad in [
            "ines",
            "@ines",
            "ines:example.org",
            "@:example.org",
            "@ines:",
            "@ines:example org",
            "@in es:example.org",
            "@ines:example.org/",
            "@ines:example.org:0",
            "@inès:example.org",
            "#ines:example.org",
            " @ines:example.org",
            long.as_str(),
        ] {
            assert_eq!(matrix_user(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_address_has_no_path() {
        assert_eq!(
            public_url("https://Harbour.example.org/").unwrap().authority,
            "harbour.example.org"
        );
        assert_eq!(public_url("http://[::1]:80").unwrap().authority, "[::1]:80");
        for bad in [
            "harbour.example.org",
            "https://a/b",
            "https://",
            "https://a:0",
            "ftp://a",
            "https://a b",
        ] {
            assert_eq!(public_url(bad), None, "{bad}");
        }
    }
}
