//! Words that Telegram would make links, commands or mentions of, though they are none: `main.rs` is
//! a web page in Serbia, `/stop` in an agent's words a button that stops it.

use std::ops::Range;

/// Endings of addresses that people mean as such, and that are no endings of files.
const OF_THE_WEB: &[&str] = &[
    "ai", "app", "at", "au", "be", "biz", "br", "ca", "ch", "cloud", "cn", "co", "com", "cz", "de",
    "dev", "dk", "edu", "es", "eu", "fi", "fr", "gg", "gov", "ie", "io", "it", "jp", "kr", "me",
    "mil", "net", "nl", "no", "nz", "online", "org", "pt", "ru", "se", "site", "tech", "tv", "uk",
    "us", "xyz",
];

/// Longest ending of a name on the web in Latin letters. Source: the list of top-level domains,
/// IANA.
const LONGEST_ENDING: usize = 18;

/// The parts of `text` that must look like code so as not to become something to tap: names of files
/// and of members (`x.py`, `self.name`), paths, commands, mentions, tags. Real addresses are left as
/// they are. In order, and none touches another.
pub(super) fn guards(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let Some(start) = rest.find(is_inside) else { break };
        let word = &rest[start..];
        let length = word.find(|c| !is_inside(c)).unwrap_or(word.len());
        at += start;
        if word[..length].contains("://") {
            at += word.find(ends_an_address).unwrap_or(word.len());
            continue;
        }
        if let Some(part) = guarded(&word[..length]) {
            found.push(at + part.start..at + part.end);
        }
        at += length;
    }
    found
}

/// Part of a word, of a path or of an address.
fn is_inside(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '.' | '_' | '-' | '/' | '@' | '~' | '+' | '#' | '$' | ':' | '%')
}

fn ends_an_address(c: char) -> bool {
    c.is_whitespace() || matches!(c, '<' | '>' | '"' | '«' | '»')
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The part of a word that needs a guard.
fn guarded(word: &str) -> Option<Range<usize>> {
    // A dot or a dash behind a word is the sentence's, and so is a bracket's colon in front.
    let end = word.trim_end_matches([':', '.', '-', '%', '$', '#', '+', '~']).len();
    let start = end - word[..end].trim_start_matches([':', '-', '+', '%']).len();
    let word = &word[start..end];
    let needs = match word.chars().next()? {
        '/' => word[1..].starts_with(is_name),
        '@' => word[1..].chars().take_while(|c| is_name(*c)).count() >= 3,
        '#' => is_tag(&word[1..]),
        '$' => is_cash_tag(&word[1..]),
        '~' => word.starts_with("~/"),
        '.' if word.starts_with("./") || word.starts_with("../") => true,
        _ if word.contains('@') => is_place_of_somebody(word),
        _ => is_file_name(word),
    };
    needs.then_some(start..end)
}

fn is_tag(word: &str) -> bool {
    let tag = word.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    tag.chars().any(char::is_alphabetic)
}

fn is_cash_tag(word: &str) -> bool {
    let capitals = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let next = word[capitals..].chars().next();
    (1..=8).contains(&capitals) && !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// `git@example.org:quay/web.git` is one, a mail address is not.
fn is_place_of_somebody(word: &str) -> bool {
    let (_, place) = word.split_once('@').unwrap_or_default();
    place.contains('.') && place.contains([':', '/', '@'])
}

/// A name with an ending, or a path of such, that is not an address of the web.
fn is_file_name(word: &str) -> bool {
    // `main.rs:12:5`
    let word = word.split(':').next().unwrap_or_default();
    let (first, path) = word.split_once('/').unwrap_or((word, ""));
    if first.starts_with("www.") {
        return false;
    }
    match ending(first) {
        Some(ending) => !OF_THE_WEB.contains(&ending.to_ascii_lowercase().as_str()),
        None if is_number_of_a_host(first) => true,
        None => path.rsplit('/').next().and_then(ending).is_some(),
    }
}

/// The ending of a name that Telegram could take for one of the web.
fn ending(name: &str) -> Option<&str> {
    let (stem, ending) = name.rsplit_once('.')?;
    let letters = ending.bytes().all(|b| b.is_ascii_alphabetic());
    let small = ending.bytes().all(|b| b.is_ascii_lowercase());
    let large = ending.bytes().all(|b| b.is_ascii_uppercase());
    // `done.Then` is two sentences; `done.In` is too, and would be a link to India.
    let reads_so = small
        || large
        || (ending.len() == 2 && !ending.starts_with(|c: char| c.is_ascii_lowercase()));
    let named = stem.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let fits = letters && (2..=LONGEST_ENDING).contains(&ending.len()) && reads_so && named;
    fits.then_some(ending)
}

/// `127.0.0.1`, which leads nowhere from a phone, or a version.
fn is_number_of_a_host(word: &str) -> bool {
    let parts: Vec<&str> = word.splitn(5, '.').collect();
    parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarded_in(text: &str) -> Vec<&str> {
        guards(text).into_iter().map(|part| &text[part]).collect()
    }

    #[test]
    fn files_paths_commands_and_mentions_are_guarded() {
        for (text, parts) in [
            ("see main.rs, README.md.", vec!["main.rs", "README.md"]),
            ("(src/lib.rs:12:5)", vec!["src/lib.rs:12:5"]),
            ("in /tmp/x and ~/.config: done", vec!["/tmp/x", "~/.config"]),
            ("./run.sh ../x", vec!["./run.sh", "../x"]),
            ("x.py|y.PY", vec!["x.py", "y.PY"]),
            ("@scope/pkg @pytest.fixture", vec!["@scope/pkg", "@pytest.fixture"]),
            ("write /stop or /stop@some_bot", vec!["/stop", "/stop@some_bot"]),
            ("#fix $HOME $PATH/bin", vec!["#fix", "$HOME", "$PATH/bin"]),
            ("self.name, done.In a row", vec!["self.name", "done.In"]),
            ("git@example.org:quay/web.git", vec!["git@example.org:quay/web.git"]),
            ("on 127.0.0.1:8080", vec!["127.0.0.1:8080"]),
            ("Datei.übung.rs", vec!["Datei.übung.rs"]),
            ("a/b/c.toml:", vec!["a/b/c.toml"]),
            ("build.sh-", vec!["build.sh"]),
        ] {
            assert_eq!(guarded_in(text), parts, "{text}");
        }
    }

    #[test]
    fn words_and_real_addresses_are_left_alone() {
        for text in [
            "https://example.org/src/lib.rs and http://x.rs/a,b.",
            "example.org, www.example.rs, github.com/quay/web/main.rs",
            "ines@example.org",
            "either/or, 1/2, km/h, 3.5, v1.2, e.g. this, i.e. that, a.m., Ph.D",
            "wait...what, done.Then more, U.S.A",
            "issue #41, C#, $5, a $ b, @me, user@host",
            "ssh://git@example.org/x.git",
            "… – — «» 漢字.",
            "::std: - -- / // . .. ~",
        ] {
            assert_eq!(guarded_in(text), Vec::<&str>::new(), "{text}");
        }
    }
}
