//! What a secret looks like. Every look is bounded or ends where the next one begins, so a scan
//! over a text takes time with its length.

use super::mask::MASK;

/// Blanks allowed between a name, its sign and its value.
const MOST_BLANKS: usize = 4;

/// Longest part of an address looked at for a password.
const LONGEST_AUTHORITY: usize = 512;

/// Shortest value behind a telling name.
const SHORTEST_VALUE: usize = 8;

/// The bytes to take out; what stands before `start` stays.
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A key known by its first letters.
struct Shape {
    prefix: &'static str,
    /// Shortest body after the prefix.
    body: usize,
    /// Characters of the body besides letters and digits.
    also: &'static str,
}

/// Sources: each service's own documentation of its token formats.
const SHAPES: &[Shape] = &[
    Shape { prefix: "AKIA", body: 16, also: "" },
    Shape { prefix: "ASIA", body: 16, also: "" },
    Shape { prefix: "ghp_", body: 30, also: "" },
    Shape { prefix: "gho_", body: 30, also: "" },
    Shape { prefix: "ghu_", body: 30, also: "" },
    Shape { prefix: "ghs_", body: 30, also: "_-." },
    Shape { prefix: "ghr_", body: 30, also: "" },
    Shape { prefix: "github_pat_", body: 30, also: "_" },
    Shape { prefix: "glpat-", body: 16, also: "_-." },
    Shape { prefix: "xoxb-", body: 10, also: "-" },
    Shape { prefix: "xoxp-", body: 10, also: "-" },
    Shape { prefix: "xoxa-", body: 10, also: "-" },
    Shape { prefix: "xoxr-", body: 10, also: "-" },
    Shape { prefix: "xoxs-", body: 10, also: "-" },
    Shape { prefix: "xapp-", body: 10, also: "-" },
    Shape { prefix: "sk-ant-", body: 20, also: "_-" },
    Shape { prefix: "sk-proj-", body: 20, also: "_-" },
    Shape { prefix: "sk-", body: 20, also: "_-" },
    Shape { prefix: "sk_live_", body: 16, also: "" },
    Shape { prefix: "rk_live_", body: 16, also: "" },
    Shape { prefix: "AIza", body: 30, also: "_-" },
    Shape { prefix: "npm_", body: 30, also: "" },
    Shape { prefix: "hf_", body: 30, also: "" },
    Shape { prefix: "syt_", body: 16, also: "_" },
    Shape { prefix: "AGE-SECRET-KEY-1", body: 30, also: "" },
];

/// Last words of a name whose value is a secret.
const TELLING: &[&str] =
    &["password", "passwd", "passphrase", "secret", "token", "apikey", "credential", "credentials"];

/// And pairs of last words.
const TELLING_PAIRS: &[&str] = &[
    "api_key",
    "access_key",
    "private_key",
    "secret_key",
    "signing_key",
    "encryption_key",
    "auth_key",
];

/// A secret whose telling part begins at `at`, which is on a `char` boundary.
pub(super) fn at(text: &str, at: usize) -> Option<Found> {
    let rest = &text[at..];
    let before = text.as_bytes()[..at].last().copied();
    match rest.as_bytes()[0] {
        b'-' if before != Some(b'-') => private_key(rest, at),
        b':' => password_in_address(rest, at),
        first if is_word(first) => {
            if before.is_some_and(is_word) {
                return bot_token(rest, at, text);
            }
            shaped(rest, at, before)
                .or_else(|| web_token(rest, at))
                .or_else(|| bot_token(rest, at, text))
                .or_else(|| header(rest, at))
                .or_else(|| assigned(rest, at))
        }
        _ => None,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn run(text: &str, also: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && !also.contains(c)).unwrap_or(text.len())
}

fn shaped(rest: &str, at: usize, before: Option<u8>) -> Option<Found> {
    if before == Some(b'-') {
        return None; // inside a word with hyphens
    }
    let shape = SHAPES.iter().find(|shape| rest.starts_with(shape.prefix))?;
    let body = &rest[shape.prefix.len()..];
    let body = &body[..run(body, shape.also)];
    let random = body.split(['-', '_']).any(|piece| piece.len() >= 8 && is_mixed(piece));
    (body.len() >= shape.body && (random || is_mixed(body) && !shape.also.contains('-'))).then(
        || Found { start: at + shape.prefix.len(), end: at + shape.prefix.len() + body.len() },
    )
}

/// Letters and digits both, or letters in both cases in the midst of the word.
fn is_mixed(text: &str) -> bool {
    let digit = text.bytes().any(|b| b.is_ascii_digit());
    let upper = text.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    let lower = text.bytes().any(|b| b.is_ascii_lowercase());
    (digit && (upper || lower)) || (upper && lower)
}

/// Three base64url parts, of which the first is a JSON object.
fn web_token(rest: &str, at: usize) -> Option<Found> {
    const KEPT: &str = "eyJ";
    let head = rest.strip_prefix(KEPT)?;
    let head = run(head, "_-");
    let body = rest[KEPT.len() + head..].strip_prefix(".eyJ")?;
    let body_end = KEPT.len() + head + ".eyJ".len() + run(body, "_-");
    let end =
        rest[body_end..].strip_prefix('.').map_or(body_end, |sign| body_end + 1 + run(sign, "_-"));
    (head >= 6).then(|| Found { start: at + KEPT.len(), end: at + end })
}

/// `123456789:AA…`, also right behind `/bot`.
/// Source: Bot API, "Authorizing your bot"; ids have 8 to 10 digits today, secrets 35 characters.
fn bot_token(rest: &str, at: usize, text: &str) -> Option<Found> {
    let before = &text.as_bytes()[..at];
    if before.last().copied().is_some_and(is_word) && !before.ends_with(b"bot") {
        return None;
    }
    let digits = rest.bytes().take(13).take_while(u8::is_ascii_digit).count();
    let secret = rest[digits..].strip_prefix(':').filter(|_| (6..=12).contains(&digits))?;
    let length = run(secret, "_-");
    (length >= 30).then(|| Found { start: at + digits + 1, end: at + digits + 1 + length })
}

/// The value of an `Authorization` header, or what follows `Bearer` and looks random.
fn header(rest: &str, at: usize) -> Option<Found> {
    let (name, sure) = ["authorization", "bearer"]
        .iter()
        .find(|name| rest.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name)))
        .map(|name| (*name, *name == "authorization"))?;
    let mut from = name.len();
    from += blanks(&rest[from..], "\"':= ");
    if sure {
        for scheme in ["bearer", "basic", "token"] {
            if rest[from..]
                .get(..scheme.len())
                .is_some_and(|word| word.eq_ignore_ascii_case(scheme))
            {
                from += scheme.len();
                from += blanks(&rest[from..], " ");
                let length = run(&rest[from..], "._~+/=-");
                return (length >= SHORTEST_VALUE)
                    .then(|| Found { start: at + from, end: at + from + length });
            }
        }
    }
    let length = run(&rest[from..], "._~+/=-");
    let value = &rest[from..from + length];
    (from > name.len()
        && length >= 16
        && is_mixed(value)
        && value.bytes().any(|b| b.is_ascii_digit()))
    .then(|| Found { start: at + from, end: at + from + length })
}

fn blanks(text: &str, of: &str) -> usize {
    text.bytes().take(MOST_BLANKS).take_while(|b| of.as_bytes().contains(b)).count()
}

/// `://name:password@host`.
fn password_in_address(rest: &str, at: usize) -> Option<Found> {
    let authority = rest.strip_prefix("://")?;
    let end = authority
        .bytes()
        .take(LONGEST_AUTHORITY)
        .take_while(|b| {
            !b.is_ascii_whitespace()
                && !matches!(b, b'/' | b'"' | b'\'' | b'<' | b'>' | b'?' | b'#' | b'`')
        })
        .count();
    let authority = authority.get(..end)?;
    let (login, _) = authority.rsplit_once('@')?;
    let (name, password) = login.split_once(':')?;
    let told = password.is_empty() || password.starts_with(['$', '{', '<', '*', '[', '%']);
    let start = at + "://".len() + name.len() + 1;
    (!told).then(|| Found { start, end: start + password.len() })
}

/// Everything between the two lines of a private key; to the end of the text when the second is cut off.
fn private_key(rest: &str, at: usize) -> Option<Found> {
    const LONGEST_KIND: usize = 40;
    let kind = rest.strip_prefix("-----BEGIN ")?;
    let close = kind.bytes().take(LONGEST_KIND).position(|b| b == b'-')?;
    let (kind, body) = (kind.get(..close)?, kind.get(close..)?.strip_prefix("-----")?);
    if !kind.contains("PRIVATE KEY") {
        return None;
    }
    let start = at + rest.len() - body.len();
    let length = body.find("-----END ").unwrap_or(body.len());
    (!masked(body[..length].trim()) && !body[..length].trim().is_empty())
        .then(|| Found { start, end: start + length })
}

/// `NAME=value`, `"name": "value"` and the like, when the name tells and the value looks random.
fn assigned(rest: &str, at: usize) -> Option<Found> {
    let name = rest
        .bytes()
        .take(80)
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        .count();
    if !is_telling(&rest[..name]) {
        return None;
    }
    let mut from = name + blanks(&rest[name..], "\"' ]");
    if !rest[from..].starts_with([':', '=']) {
        return None;
    }
    from += 1;
    from += blanks(&rest[from..], "> ");
    let quote = rest[from..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    from += quote.map_or(0, char::len_utf8);
    let value = &rest[from..];
    let end = value
        .find(|c: char| {
            c.is_whitespace()
                || matches!(
                    c,
                    '"' | '\'' | '`' | ',' | ';' | '(' | ')' | '<' | '>' | '{' | '}' | '[' | ']'
                )
        })
        .unwrap_or(value.len());
    let calls = value[end..].starts_with(['(', '<', '{', '[']);
    (!calls && looks_random(&value[..end]))
        .then(|| Found { start: at + from, end: at + from + end })
}

fn is_telling(name: &str) -> bool {
    let mut folded = String::with_capacity(name.len() + 4);
    let mut before = b'_';
    for byte in name.bytes() {
        if byte.is_ascii_uppercase() && before.is_ascii_lowercase() {
            folded.push('_');
        }
        folded.push(if byte == b'-' { '_' } else { char::from(byte.to_ascii_lowercase()) });
        before = byte;
    }
    let last = folded.rsplit('_').next().unwrap_or_default();
    TELLING.contains(&last) || TELLING_PAIRS.iter().any(|pair| folded.ends_with(pair))
}

/// Taken out already, by us or by whoever printed it.
fn masked(value: &str) -> bool {
    value.contains(MASK) || value.contains("***")
}

/// Long enough, with letters and digits, and neither a place-holder nor a path through names.
fn looks_random(value: &str) -> bool {
    let letter = value.bytes().any(|b| b.is_ascii_alphabetic());
    let digit = value.bytes().any(|b| b.is_ascii_digit());
    let place_holder = value.starts_with(['$', '%', '*', '/', '.', ':', '=', '&']) || masked(value);
    let path = value.contains('.')
        && value.split('.').all(|name| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        });
    value.len() >= SHORTEST_VALUE
        && letter
        && digit
        && !place_holder
        && !path
        && !value.contains("::")
}
