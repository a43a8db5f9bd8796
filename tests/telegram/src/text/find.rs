//! What Telegram finds in a text by itself: links, addresses, mentions, tags and commands.

use super::{
    entity::{Class, Entity, EntityKind},
    tlds::makes_a_link,
};

/// A finder looks at one place and tells where what begins there ends. Places are counted in
/// characters.
type Finder = fn(&[char], usize) -> Option<usize>;

/// In this order: what an earlier one took, a later one leaves alone.
const FINDERS: [(EntityKind, Finder); 7] = [
    (EntityKind::Email, email),
    (EntityKind::Url, full_url),
    (EntityKind::Url, bare_url),
    (EntityKind::Mention, mention),
    (EntityKind::Hashtag, hashtag),
    (EntityKind::Cashtag, cashtag),
    (EntityKind::BotCommand, command),
];

/// What is found outside of code and links.
pub(super) fn found(text: &str, taken: &[Entity]) -> Vec<Entity> {
    let chars: Vec<char> = text.chars().collect();
    let mut unit = 0;
    let mut units: Vec<usize> = Vec::with_capacity(chars.len() + 1);
    for c in &chars {
        units.push(unit);
        unit += c.len_utf16();
    }
    units.push(unit);
    let mut solid: Vec<(usize, usize)> = taken
        .iter()
        .filter(|entity| matches!(entity.class(), Class::Code | Class::Solid))
        .map(|entity| (entity.offset, entity.end()))
        .collect();
    let mut found = Vec::new();
    for (kind, finder) in FINDERS {
        let mut at = 0;
        while at < chars.len() {
            let Some(end) = finder(&chars, at) else {
                at += 1;
                continue;
            };
            let (from, to) = (units[at], units[end]);
            if solid.iter().all(|(a, b)| to <= *a || *b <= from) {
                found.push(Entity::new(kind, from, to - from));
                solid.push((from, to));
            }
            at = end;
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn before(chars: &[char], at: usize) -> Option<char> {
    chars[..at].last().copied()
}

/// The end of the run of `fits` that begins at `at`.
fn run(chars: &[char], at: usize, fits: impl Fn(char) -> bool) -> usize {
    chars[at..].iter().position(|c| !fits(*c)).map_or(chars.len(), |length| at + length)
}

/// Steps back over characters that do not end what they stand in.
fn without_last(chars: &[char], from: usize, mut end: usize, last: &str) -> usize {
    while end > from && last.contains(chars[end - 1]) {
        end -= 1;
    }
    end
}

fn email(chars: &[char], at: usize) -> Option<usize> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    if before(chars, at).is_some_and(|c| in_name(c) || is_word(c)) {
        return None;
    }
    let sign = run(chars, at, in_name);
    if sign == at || chars.get(sign) != Some(&'@') {
        return None;
    }
    let host = sign + 1;
    let end = run(chars, host, |c| is_word(c) || c == '.' || c == '-');
    let end = without_last(chars, host, end, ".-_");
    let labels: Vec<&[char]> = chars[host..end].split(|c| *c == '.').collect();
    let last = labels.last()?;
    let good = labels.len() > 1
        && labels.iter().all(|label| !label.is_empty())
        && last.len() > 1
        && last.iter().all(char::is_ascii_alphabetic);
    good.then_some(end)
}

/// The end of a path: no space, quote or angle bracket, and no punctuation last.
fn path_end(chars: &[char], at: usize) -> usize {
    let end = run(chars, at, |c| !c.is_whitespace() && !"<>\"'`".contains(c));
    without_last(chars, at, end, ".,;:!?)]")
}

fn full_url(chars: &[char], at: usize) -> Option<usize> {
    if before(chars, at).is_some_and(is_word) {
        return None;
    }
    let scheme = run(chars, at, |c| c.is_ascii_alphabetic());
    let name: String = chars[at..scheme].iter().collect::<String>().to_lowercase();
    if !["http", "https", "tg", "ton"].contains(&name.as_str())
        || !chars[scheme..].starts_with(&[':', '/', '/'])
    {
        return None;
    }
    let rest = scheme + 3;
    let end = path_end(chars, rest);
    (end > rest).then_some(end)
}

fn bare_url(chars: &[char], at: usize) -> Option<usize> {
    let in_host = |c: char| is_word(c) || c == '-' || c == '.';
    if before(chars, at).is_some_and(|c| in_host(c) || "@/#".contains(c)) {
        return None;
    }
    let full = run(chars, at, in_host);
    let end = without_last(chars, at, full, ".-");
    let host: String = chars[at..end].iter().collect();
    let labels: Vec<&str> = host.split('.').collect();
    let good = labels.len() > 1
        && labels.iter().all(|label| !label.is_empty())
        && makes_a_link(labels[labels.len() - 1]);
    if !good || chars.get(full) == Some(&'@') {
        return None;
    }
    if end < full {
        return Some(end);
    }
    let port = match chars.get(end) {
        Some(':') => run(chars, end + 1, |c| c.is_ascii_digit()),
        Some(_) | None => end,
    };
    let end = if port > end + 1 { port } else { end };
    match chars.get(end) {
        Some('/' | '?' | '#') => Some(path_end(chars, end).max(end)),
        Some(_) | None => Some(end),
    }
}

fn mention(chars: &[char], at: usize) -> Option<usize> {
    if chars[at] != '@' || before(chars, at).is_some_and(|c| is_word(c) || c == '@' || c == '/') {
        return None;
    }
    username(chars, at + 1)
}

/// The end of a name of 3 to 32 characters that begins with a letter.
fn username(chars: &[char], at: usize) -> Option<usize> {
    let end = run(chars, at, is_word);
    let name = &chars[at..end];
    let good = (3..=32).contains(&name.len())
        && name[0].is_ascii_alphabetic()
        && name.iter().all(|c| c.is_ascii_alphanumeric() || *c == '_');
    good.then_some(end)
}

fn hashtag(chars: &[char], at: usize) -> Option<usize> {
    if chars[at] != '#' || before(chars, at).is_some_and(|c| is_word(c) || c == '#') {
        return None;
    }
    let end = run(chars, at + 1, is_word);
    let tag = &chars[at + 1..end];
    let good = tag.len() <= 256 && tag.iter().any(|c| c.is_alphabetic());
    good.then_some(end)
}

fn cashtag(chars: &[char], at: usize) -> Option<usize> {
    if chars[at] != '$' || before(chars, at).is_some_and(|c| is_word(c) || c == '$') {
        return None;
    }
    let end = run(chars, at + 1, |c| c.is_ascii_uppercase());
    let good = (1..=8).contains(&(end - at - 1)) && chars.get(end).is_none_or(|c| !is_word(*c));
    good.then_some(end)
}

fn command(chars: &[char], at: usize) -> Option<usize> {
    if chars[at] != '/' || before(chars, at).is_some_and(|c| is_word(c) || "/<>".contains(c)) {
        return None;
    }
    let name = run(chars, at + 1, is_word);
    let letters = &chars[at + 1..name];
    if !(1..=64).contains(&letters.len())
        || !letters.iter().all(|c| c.is_ascii_alphanumeric() || *c == '_')
    {
        return None;
    }
    let end = match chars.get(name) {
        Some('@') => username(chars, name + 1).unwrap_or(name),
        Some(_) | None => name,
    };
    (chars.get(end) != Some(&'/')).then_some(end)
}
