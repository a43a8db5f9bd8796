//! A strict look at the HTML of messages: what the specification recommends that clients show, whole,
//! and the same words as the plain text beside it.
//!
//! Clients mend or drop what is not so, each in its own way; what a bridge sends needs no mending.
//! Source: Matrix 1.15, client-server API, "m.room.message msgtypes", the lists of tags and attributes.

/// Tags that stand for themselves alone.
const VOID: [&str; 3] = ["br", "hr", "img"];
/// Tags that make a paragraph of their own, which none of [`INLINE`] and no paragraph can hold.
const BLOCKS: [&str; 23] = [
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "p",
    "ul",
    "ol",
    "li",
    "hr",
    "div",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "caption",
    "pre",
    "details",
    "summary",
];
const INLINE: [&str; 14] =
    ["del", "a", "sup", "sub", "b", "i", "u", "strong", "em", "s", "code", "span", "br", "img"];
/// What `<a href>` may begin with.
const SCHEMES: [&str; 5] = ["https:", "http:", "ftp:", "mailto:", "magnet:"];
/// Clients need not show more.
const DEEPEST: usize = 100;

/// A tag with what is in it, or a stretch of text.
enum Piece<'a> {
    Open { name: &'a str, attributes: Vec<(&'a str, String)>, closed: bool },
    Close(&'a str),
    Text(String),
}

/// Whether every client shows it as it is meant.
///
/// # Errors
/// Why not, with the place.
pub fn check(html: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for piece in pieces(html)? {
        match piece {
            Piece::Text(text) => holds_text(open.last().copied(), &text)?,
            Piece::Open { name, attributes, closed } => {
                holds(&open, name)?;
                for (attribute, value) in &attributes {
                    may_have(name, attribute, value)?;
                }
                if VOID.contains(&name) {
                    continue;
                }
                if closed {
                    return Err(format!("<{name}/> closes itself, which this tag cannot"));
                }
                open.push(name);
                if open.len() > DEEPEST {
                    return Err(format!("more than {DEEPEST} tags in each other"));
                }
            }
            Piece::Close(name) => {
                let last = open.pop();
                if last != Some(name) {
                    return Err(format!("</{name}> closes {last:?}"));
                }
            }
        }
    }
    open.last().map_or(Ok(()), |name| Err(format!("<{name}> is never closed")))
}

/// Whether the plain text beside it has the same words in the same order. It may have more where HTML
/// has none: the numbers of a list, where a link leads, the language of a code block.
///
/// # Errors
/// The first word that one of them lacks.
pub fn says_the_same(plain: &str, html: &str) -> Result<(), String> {
    let (mut shown, mut hidden) = (String::new(), String::new());
    let mut numbered = false;
    for piece in pieces(html)? {
        match piece {
            Piece::Text(text) => shown.push_str(&text),
            Piece::Open { name, attributes, .. } => {
                numbered |= name == "ol";
                for (_, value) in attributes {
                    hidden.push(' ');
                    hidden.push_str(&value);
                }
                push_break(name, &mut shown);
            }
            Piece::Close(name) => push_break(name, &mut shown),
        }
    }
    let extra: Vec<String> = words(&hidden).collect();
    let may_be_extra = |word: &str| {
        extra.iter().any(|one| one.contains(word)) || (numbered && word.parse::<u32>().is_ok())
    };
    let mut expected = words(&shown).peekable();
    for word in words(plain) {
        if expected.peek() == Some(&word) {
            expected.next();
        } else if !may_be_extra(&word) {
            return Err(format!("`{word}` stands in the plain text alone"));
        }
    }
    expected.next().map_or(Ok(()), |word| Err(format!("the plain text lacks `{word}`")))
}

/// Words end where a block or a line does.
fn push_break(tag: &str, text: &mut String) {
    if BLOCKS.contains(&tag) || tag == "br" {
        text.push(' ');
    }
}

/// Letters and digits that stand together; all other signs may be a way of marking.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(Into::into)
}

/// Whether a tag may stand where it does.
fn holds(open: &[&str], name: &str) -> Result<(), String> {
    if !BLOCKS.contains(&name) && !INLINE.contains(&name) {
        return Err(format!("<{name}> is no tag that clients show"));
    }
    let parent = open.last().copied();
    let wanted: &[&str] = match name {
        "li" => &["ul", "ol"],
        "thead" | "tbody" | "caption" => &["table"],
        "tr" => &["table", "thead", "tbody"],
        "td" | "th" => &["tr"],
        "summary" => &["details"],
        _ => &[],
    };
    let misses = !wanted.is_empty() && !parent.is_some_and(|parent| wanted.contains(&parent));
    let only: &[&str] = match parent {
        Some("ul" | "ol") => &["li"],
        Some("table") => &["caption", "thead", "tbody", "tr"],
        Some("thead" | "tbody") => &["tr"],
        Some("tr") => &["td", "th"],
        _ => &[],
    };
    let refused = !only.is_empty() && !only.contains(&name);
    // A paragraph ends where a block begins, and what was open in it is open twice.
    let holds_no_block = |tag: &&str| {
        INLINE.contains(tag)
            || matches!(*tag, "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "pre" | "summary")
    };
    let broken = BLOCKS.contains(&name) && name != "caption" && open.iter().any(holds_no_block);
    if misses || refused || broken || (name == "a" && open.contains(&"a")) {
        return Err(format!("<{name}> cannot stand in {open:?}"));
    }
    Ok(())
}

/// Lists and tables hold no text of their own.
fn holds_text(parent: Option<&str>, text: &str) -> Result<(), String> {
    match parent {
        Some(tag @ ("ul" | "ol" | "table" | "thead" | "tbody" | "tr"))
            if !text.trim().is_empty() =>
        {
            Err(format!("<{tag}> holds text: {text:?}"))
        }
        _ => Ok(()),
    }
}

fn may_have(tag: &str, attribute: &str, value: &str) -> Result<(), String> {
    let good = match (tag, attribute) {
        ("a", "href") => SCHEMES.iter().any(|scheme| value.starts_with(scheme)),
        ("a", "target") | ("img", "alt" | "title") | ("span", "data-mx-spoiler") => true,
        ("span", "data-mx-color" | "data-mx-bg-color") => is_color(value),
        ("img", "width" | "height") | ("ol", "start") => value.parse::<u32>().is_ok(),
        ("img", "src") => value.starts_with("mxc://"),
        ("code", "class") => {
            value.split(' ').all(|class| class.len() > 9 && class.starts_with("language-"))
        }
        _ => false,
    };
    if good { Ok(()) } else { Err(format!("<{tag} {attribute}={value:?}> is not shown")) }
}

fn is_color(value: &str) -> bool {
    value.len() == 7
        && value.starts_with('#')
        && value[1..].bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// The HTML, taken apart. Nothing is guessed: a sign that has a meaning and not its place is a mistake.
fn pieces(html: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = html;
    while !rest.is_empty() {
        let Some(inside) = rest.strip_prefix('<') else {
            let end = rest.find('<').unwrap_or(rest.len());
            pieces.push(Piece::Text(unescaped(&rest[..end])?));
            rest = &rest[end..];
            continue;
        };
        let end =
            end_of_tag(inside).ok_or_else(|| format!("a tag that does not end: {rest:.40}"))?;
        pieces.push(tag(&inside[..end])?);
        rest = &inside[end + 1..];
    }
    Ok(pieces)
}

/// Where the tag's `>` is, which may stand in a value too.
fn end_of_tag(inside: &str) -> Option<usize> {
    let mut quoted = false;
    for (at, letter) in inside.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '>' if !quoted => return Some(at),
            '<' if !quoted => return None,
            _ => {}
        }
    }
    None
}

fn tag(inside: &str) -> Result<Piece<'_>, String> {
    if let Some(name) = inside.strip_prefix('/') {
        return is_name(name)
            .then_some(Piece::Close(name))
            .ok_or(format!("</{name}> is no end of a tag"));
    }
    let (inside, closed) =
        inside.strip_suffix('/').map_or((inside, false), |inside| (inside, true));
    let (name, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
    if !is_name(name) {
        return Err(format!("<{inside}> is no tag"));
    }
    let mut attributes: Vec<(&str, String)> = Vec::new();
    while !rest.trim_start().is_empty() {
        let mistake = || format!("<{inside}>: what comes after <{name} is no attribute");
        let (attribute, value) = rest.trim_start().split_once('=').ok_or_else(mistake)?;
        let value = value.strip_prefix('"').ok_or_else(mistake)?;
        let (value, more) = value.split_once('"').ok_or_else(mistake)?;
        if !is_name(attribute) || attributes.iter().any(|(known, _)| *known == attribute) {
            return Err(mistake());
        }
        if !more.is_empty() && !more.starts_with(' ') {
            return Err(mistake());
        }
        attributes.push((attribute, unescaped(value)?));
        rest = more;
    }
    Ok(Piece::Open { name, attributes, closed })
}

/// Names are small letters, so that nothing has two spellings.
fn is_name(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(good)
}

/// Text with its references resolved; a `&` has to be written as one.
fn unescaped(text: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        let mistake = || format!("`{:.12}` is a bare &", &rest[at..]);
        let (name, more) = rest[at + 1..].split_once(';').ok_or_else(mistake)?;
        plain.push(reference(name).ok_or_else(mistake)?);
        rest = more;
    }
    plain.push_str(rest);
    let bad = |letter: &char| letter.is_control() && !matches!(letter, '\n' | '\t');
    match plain.chars().find(bad) {
        Some(letter) => Err(format!("{letter:?} is no sign of a text")),
        None => Ok(plain),
    }
}

/// What a reference stands for; those that any parser knows.
fn reference(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{A0}',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|letter| *letter != '\0')?
        }
    })
}
