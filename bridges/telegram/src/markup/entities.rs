//! Spans as entities: cut where Telegram would cut them, so that nothing crosses, nothing lies in
//! code, and no more are sent than it shows.

use std::ops::Range;
use vigie_core::text::{Rich, Style};

use super::guard::guards;
use crate::api::{Entity, EntityKind};

/// Most entities of one message; Telegram drops the rest unsaid. Source: Bot API, `sendMessage`, and
/// `TDLib`, `MAX_USER_ENTITY_COUNT`.
pub(super) const MOST: usize = 100;

/// Of those, what first lines keep for their own looks when code and links alone are more than
/// enough: they say who speaks.
const FOR_THE_BEGINNING: usize = 4;

/// The entities of a text that was cleaned and trimmed, in order, at most [`MOST`].
pub(super) fn entities(rich: &Rich) -> Vec<Entity> {
    let solids = solids(rich);
    let guards = free(guards(&rich.text), &solids);
    let looks = looks(rich, &solids, &guards);
    let parts = chosen(solids, guards, looks);
    counted(&rich.text, parts)
}

/// A part of the text, in bytes.
#[derive(Clone, Debug)]
struct Part {
    range: Range<usize>,
    kind: EntityKind,
}

/// Code, links and quotes: no two of them cross, no link lies in code nor code in a link, and no
/// quote lies in any of them. The outer wins.
fn solids(rich: &Rich) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut taken_until, mut quoted_until) = (0, 0);
    for span in &rich.spans {
        let kind = match &span.style {
            Style::Code => EntityKind::Code,
            Style::Pre { language } => EntityKind::Pre { language: plain(language.as_deref()) },
            Style::Link { url } => EntityKind::TextLink { url: url.clone() },
            Style::Quote => EntityKind::Blockquote,
            Style::Bold
            | Style::Italic
            | Style::Strike
            | Style::Heading
            | Style::Hidden
            | Style::LookAlike => continue,
        };
        let is_quote = kind == EntityKind::Blockquote;
        if span.range.start < taken_until || (is_quote && span.range.start < quoted_until) {
            continue;
        }
        let until = if is_quote { &mut quoted_until } else { &mut taken_until };
        *until = span.range.end;
        parts.push(Part { range: span.range.clone(), kind });
    }
    parts
}

/// A language as a client can look it up.
fn plain(language: Option<&str>) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '.' | '-' | '_');
    language.filter(|word| !word.is_empty() && word.chars().all(fits)).map(str::to_owned)
}

/// The guards that touch no code and no link, and that no quote begins or ends in.
fn free(guards: Vec<Range<usize>>, solids: &[Part]) -> Vec<Part> {
    let mut ahead = solids.iter().peekable();
    let (mut taken_until, mut quote) = (0, 0..0);
    let mut parts = Vec::new();
    for range in guards {
        let mut crossed =
            quote.start < range.start && (range.start + 1..range.end).contains(&quote.end);
        while let Some(solid) = ahead.next_if(|solid| solid.range.start < range.end) {
            if solid.kind == EntityKind::Blockquote {
                quote = solid.range.clone();
                crossed |=
                    range.start < quote.start || quote.end < range.end && range.start < quote.end;
            } else {
                taken_until = solid.range.end;
            }
        }
        if range.start >= taken_until && !crossed {
            parts.push(Part { range, kind: EntityKind::Code });
        }
    }
    parts
}

/// Bold and its like, each kind joined where it overlaps itself, cut at every border of what is solid
/// and where another kind begins, and left out in code.
fn looks(rich: &Rich, solids: &[Part], guards: &[Part]) -> Vec<Part> {
    let kinds =
        [EntityKind::Bold, EntityKind::Italic, EntityKind::Underline, EntityKind::Strikethrough];
    let joined = kinds.map(|kind| (joined(rich, &kind), kind));
    let whole = solids.iter().chain(guards);
    let mut borders: Vec<usize> =
        whole.flat_map(|part| [part.range.start, part.range.end]).collect();
    borders.extend(joined.iter().flat_map(|(ranges, _)| ranges.iter().map(|range| range.start)));
    borders.sort_unstable();
    borders.dedup();
    let mut code: Vec<&Range<usize>> =
        solids.iter().chain(guards).filter(|part| part.is_code()).map(|part| &part.range).collect();
    code.sort_unstable_by_key(|range| range.start);
    let mut parts = Vec::new();
    for (ranges, kind) in joined {
        for range in ranges {
            let inside = borders.partition_point(|border| *border <= range.start);
            let mut from = range.start;
            for to in borders[inside..]
                .iter()
                .copied()
                .take_while(|to| *to < range.end)
                .chain([range.end])
            {
                let before = code.partition_point(|code| code.start <= from);
                if code[..before].last().is_none_or(|code| code.end <= from) {
                    parts.push(Part { range: from..to, kind: kind.clone() });
                }
                from = to;
            }
        }
    }
    parts
}

impl Part {
    fn is_code(&self) -> bool {
        match &self.kind {
            EntityKind::Code | EntityKind::Pre { .. } => true,
            EntityKind::Bold
            | EntityKind::Italic
            | EntityKind::Underline
            | EntityKind::Strikethrough
            | EntityKind::Blockquote
            | EntityKind::TextLink { .. } => false,
        }
    }
}

/// Where the text looks so, as ranges that do not touch.
fn joined(rich: &Rich, kind: &EntityKind) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for span in rich.spans.iter().filter(|span| look(&span.style).as_ref() == Some(kind)) {
        match ranges.last_mut() {
            Some(last) if span.range.start <= last.end => last.end = last.end.max(span.range.end),
            Some(_) | None => ranges.push(span.range.clone()),
        }
    }
    ranges
}

/// What was hidden or looks like another letter is underlined: it stands between words and must not
/// be copied alone, as code would be.
fn look(style: &Style) -> Option<EntityKind> {
    match style {
        Style::Bold | Style::Heading => Some(EntityKind::Bold),
        Style::Italic => Some(EntityKind::Italic),
        Style::Strike => Some(EntityKind::Strikethrough),
        Style::Hidden | Style::LookAlike => Some(EntityKind::Underline),
        Style::Code | Style::Pre { .. } | Style::Quote | Style::Link { .. } => None,
    }
}

/// As many as fit, the first of each sort: first the looks of the beginning, then code, links and
/// quotes, then guards, then looks.
fn chosen(mut solids: Vec<Part>, mut guards: Vec<Part>, mut looks: Vec<Part>) -> Vec<Part> {
    looks.sort_by_key(|part| (part.range.start, part.range.end));
    let beginning = looks.len().min(FOR_THE_BEGINNING);
    let mut room = MOST - beginning;
    solids.truncate(room);
    room -= solids.len();
    guards.truncate(room);
    room -= guards.len();
    looks.truncate(beginning + room);
    let mut parts = solids;
    parts.extend(guards);
    parts.extend(looks);
    parts.sort_by_key(|part| (part.range.start, usize::MAX - part.range.end, order(&part.kind)));
    parts
}

/// What lies outside of what, where both cover the same. Source: `TDLib`, `get_type_priority`.
fn order(kind: &EntityKind) -> u8 {
    match kind {
        EntityKind::Blockquote => 0,
        EntityKind::Pre { .. } => 1,
        EntityKind::Code => 2,
        EntityKind::TextLink { .. } => 3,
        EntityKind::Bold => 4,
        EntityKind::Italic => 5,
        EntityKind::Underline => 6,
        EntityKind::Strikethrough => 7,
    }
}

/// Bytes become UTF-16 units.
fn counted(text: &str, parts: Vec<Part>) -> Vec<Entity> {
    let mut places: Vec<usize> =
        parts.iter().flat_map(|part| [part.range.start, part.range.end]).collect();
    places.sort_unstable();
    places.dedup();
    let mut units = Vec::with_capacity(places.len());
    let (mut from, mut count) = (0, 0);
    for place in &places {
        count += super::utf16_len(&text[from..*place]);
        from = *place;
        units.push(count);
    }
    let unit = |place: usize| places.binary_search(&place).map_or(0, |at| units[at]);
    let entity = |part: Part| {
        let offset = unit(part.range.start);
        Entity { offset, length: unit(part.range.end) - offset, kind: part.kind }
    };
    parts.into_iter().map(entity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each entity as `kind:what it covers`.
    fn shown(rich: &Rich) -> Vec<String> {
        assert_eq!(rich.check(), Ok(()));
        let units: Vec<u16> = rich.text.encode_utf16().collect();
        let one = |entity: Entity| {
            let part = &units[entity.offset..entity.offset + entity.length];
            let part = String::from_utf16(part).unwrap();
            let kind = match entity.kind {
                EntityKind::Bold => "b",
                EntityKind::Italic => "i",
                EntityKind::Underline => "u",
                EntityKind::Strikethrough => "s",
                EntityKind::Code => "code",
                EntityKind::Pre { .. } => "pre",
                EntityKind::Blockquote => "quote",
                EntityKind::TextLink { .. } => "a",
            };
            format!("{kind}:{part}")
        };
        entities(rich).into_iter().map(one).collect()
    }

    fn link() -> Style {
        Style::Link { url: "https://example.org".into() }
    }

    #[test]
    fn offsets_count_utf_16() {
        let mut rich = Rich::plain("🟢🟢 ");
        rich.push("漢字", Some(Style::Bold));
        assert_eq!(entities(&rich), [Entity { offset: 5, length: 2, kind: EntityKind::Bold }]);
    }

    #[test]
    fn nothing_lies_in_code_and_what_crosses_it_is_cut() {
        let mut rich = Rich::plain("one ");
        rich.push("two", Some(Style::Code));
        rich.push(" three", None);
        assert_eq!(shown(&rich.wrapped(Style::Heading)), ["b:one ", "code:two", "b: three"]);

        let mut rich = Rich::default();
        rich.push("⟦U+202E⟧", Some(Style::Hidden));
        assert_eq!(shown(&rich.clone().wrapped(Style::Pre { language: None })), ["pre:⟦U+202E⟧"]);
        assert_eq!(shown(&rich), ["u:⟦U+202E⟧"]);
    }

    #[test]
    fn a_link_keeps_its_address_and_loses_the_code_in_it() {
        let mut rich = Rich::plain("");
        rich.push("main.rs", Some(Style::Code));
        let rich = rich.wrapped(link());
        assert_eq!(shown(&rich), ["a:main.rs"]);
    }

    #[test]
    fn quotes_hold_code_and_no_quotes() {
        let mut rich = Rich::plain("a ");
        rich.push("b", Some(Style::Code));
        let rich = rich.wrapped(Style::Quote).wrapped(Style::Quote);
        assert_eq!(shown(&rich), ["quote:a b", "code:b"]);
    }

    #[test]
    fn equal_looks_are_joined_and_others_cut_where_they_begin() {
        let mut rich = Rich::plain("ab");
        rich.spans = vec![
            vigie_core::text::Span { range: 0..2, style: Style::Heading },
            vigie_core::text::Span { range: 0..1, style: Style::Bold },
            vigie_core::text::Span { range: 1..2, style: Style::Italic },
        ];
        assert_eq!(shown(&rich), ["b:a", "b:b", "i:b"]);
    }

    #[test]
    fn names_of_files_are_guarded_but_not_twice() {
        let mut rich = Rich::plain("see main.rs and ");
        rich.push("lib.rs", Some(Style::Code));
        rich.push(" and ", None);
        rich.push("x.rs", Some(link()));
        rich.push(" and ", None);
        rich.push("a.rs too", Some(Style::Bold));
        assert_eq!(shown(&rich), ["code:main.rs", "code:lib.rs", "a:x.rs", "code:a.rs", "b: too"]);
    }

    #[test]
    fn a_guard_never_crosses_a_quote() {
        let mut rich = Rich::plain("a");
        rich.push(".rs b", Some(Style::Quote));
        rich.push("x.rs", None);
        assert_eq!(shown(&rich), ["quote:.rs b"]);
        let mut rich = Rich::default();
        rich.push("see a.rs", Some(Style::Quote));
        rich.push("\nb.rs", None);
        assert_eq!(shown(&rich), ["quote:see a.rs", "code:a.rs", "code:b.rs"]);
    }

    #[test]
    fn the_beginning_and_the_code_come_before_other_looks() {
        let mut rich = Rich::default();
        rich.push("PD-285", Some(Style::Bold));
        for _ in 0..60 {
            rich.push(" ", None);
            rich.push("it", Some(Style::Italic));
            rich.push(" ", None);
            rich.push("code", Some(Style::Code));
            rich.push(" a.rs", None);
        }
        let all = shown(&rich);
        assert_eq!(all.len(), MOST);
        assert_eq!(all[0], "b:PD-285");
        let count = |what: &str| all.iter().filter(|one| *one == what).count();
        assert_eq!((count("code:code"), count("code:a.rs"), count("i:it")), (60, 36, 3));
    }
}
