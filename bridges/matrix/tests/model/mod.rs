//! How a client reads the HTML of a message. Strict: what Matrix's list of elements does not have, or
//! what is not well formed, is an error.
//! Source of the list: Matrix specification, "m.room.message msgtypes".

/// What a person would read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub text: String,
    /// The contents of code blocks, with what their class says.
    pub blocks: Vec<(Option<String>, String)>,
    /// Where labels lead.
    pub links: Vec<(String, String)>,
}

const EMPTY: &[&str] = &["br"];
const TAKEN: &[&str] = &["strong", "em", "del", "code", "pre", "blockquote", "a", "br"];
const BLOCKS: &[&str] = &["pre", "blockquote"];

struct Open {
    name: String,
    attribute: Option<String>,
    from: usize,
}

pub(crate) fn read(html: &str) -> Result<Page, String> {
    let mut page = Page::default();
    let mut open: Vec<Open> = Vec::new();
    let mut rest = html;
    while let Some(c) = rest.chars().next() {
        if c == '<' {
            let (tag, after) = rest[1..].split_once('>').ok_or("an element without an end")?;
            rest = after;
            element(tag, &mut page, &mut open)?;
        } else if c == '&' {
            let (name, after) = rest[1..].split_once(';').ok_or("an entity without an end")?;
            rest = after;
            page.text.push(entity(name)?);
        } else if c == '>' {
            return Err("a bare >".into());
        } else {
            rest = &rest[c.len_utf8()..];
            page.text.push(c);
        }
    }
    match open.pop() {
        Some(left) => Err(format!("<{}> has no end", left.name)),
        None => Ok(page),
    }
}

fn element(tag: &str, page: &mut Page, open: &mut Vec<Open>) -> Result<(), String> {
    if let Some(name) = tag.strip_prefix('/') {
        let last = open.pop().ok_or_else(|| format!("</{name}> ends nothing"))?;
        if last.name != name {
            return Err(format!("</{name}> ends <{}>", last.name));
        }
        return ended(&last, page, open);
    }
    let (name, attribute) = match tag.split_once(' ') {
        Some((name, attribute)) => (name, Some(attribute)),
        None => (tag, None),
    };
    if !TAKEN.contains(&name) {
        return Err(format!("<{name}> is not taken"));
    }
    let inside = |name: &str| open.iter().any(|open| open.name == name);
    let is_line_end = name == "br" && !inside("pre");
    if (inside("code") && !is_line_end) || (inside("pre") && name != "code") {
        return Err(format!("<{name}> in code"));
    }
    if BLOCKS.contains(&name) && open.iter().any(|open| open.name != "blockquote") {
        return Err(format!("<{name}> in a line"));
    }
    if name == "a" && inside("a") {
        return Err("a link in a link".into());
    }
    let attribute = attribute.map(|attribute| value(name, attribute)).transpose()?;
    if name == "a" && attribute.is_none() {
        return Err("a link without an address".into());
    }
    if EMPTY.contains(&name) {
        page.text.push('\n');
        return Ok(());
    }
    if BLOCKS.contains(&name) {
        page.text.push('\n');
    }
    open.push(Open { name: name.into(), attribute, from: page.text.len() });
    Ok(())
}

fn ended(last: &Open, page: &mut Page, open: &[Open]) -> Result<(), String> {
    let shown = page.text[last.from..].to_owned();
    if shown.is_empty() {
        return Err(format!("<{}> has nothing in it", last.name));
    }
    match last.name.as_str() {
        "code" if open.last().is_some_and(|outer| outer.name == "pre") => {
            page.blocks.push((last.attribute.clone(), shown));
        }
        "a" => page.links.push((shown, last.attribute.clone().unwrap_or_default())),
        "pre" if page.blocks.last().is_none_or(|(_, code)| *code != shown) => {
            return Err("a <pre> with more than one <code>".into());
        }
        _ => {}
    }
    if BLOCKS.contains(&last.name.as_str()) {
        page.text.push('\n');
    }
    Ok(())
}

fn value(name: &str, attribute: &str) -> Result<String, String> {
    let wrong = || format!("<{name} {attribute}> is not taken");
    let (key, quoted) = attribute.split_once('=').ok_or_else(wrong)?;
    let quoted = quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"')).ok_or_else(wrong)?;
    if quoted.contains(['"', '<', '>']) {
        return Err(wrong());
    }
    let value = unescaped(quoted)?;
    match (name, key) {
        ("a", "href") => {
            let taken = ["https://", "http://", "mailto:"];
            let lower = value.to_ascii_lowercase();
            let is_taken = taken.iter().any(|scheme| lower.starts_with(scheme));
            if is_taken && !lower.contains("matrix.to/") { Ok(value) } else { Err(wrong()) }
        }
        ("code", "class") => value.strip_prefix("language-").map(str::to_owned).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        let (name, after) = after.split_once(';').ok_or("an entity without an end")?;
        out.push_str(before);
        out.push(entity(name)?);
        rest = after;
    }
    Ok(out + rest)
}

fn entity(name: &str) -> Result<char, String> {
    match name {
        "amp" => Ok('&'),
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "quot" => Ok('"'),
        _ => Err(format!("&{name}; is not one of ours")),
    }
}
