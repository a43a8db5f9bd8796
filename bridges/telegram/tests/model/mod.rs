//! Telegram's treatment of a text, written a second time and in another way: unit by unit, with a
//! set of looks for each. Source: `TDLib`, `fix_formatted_text`.

use std::collections::BTreeSet;
use vigie_telegram::{
    api::{Entity, EntityKind},
    markup::Text,
};

/// The looks of one UTF-16 unit, by name; links and languages with theirs.
pub(crate) type Looks = BTreeSet<String>;

fn name(kind: &EntityKind) -> String {
    match kind {
        EntityKind::Bold => "bold".into(),
        EntityKind::Italic => "italic".into(),
        EntityKind::Underline => "underline".into(),
        EntityKind::Strikethrough => "strike".into(),
        EntityKind::Code => "code".into(),
        EntityKind::Pre { language } => format!("pre {}", language.as_deref().unwrap_or_default()),
        EntityKind::Blockquote => "quote".into(),
        EntityKind::TextLink { url } => format!("link {url}"),
    }
}

fn is_solid(kind: &EntityKind) -> bool {
    matches!(kind, EntityKind::Code | EntityKind::Pre { .. } | EntityKind::TextLink { .. })
}

/// What each unit of the text looks like as it was sent.
pub(crate) fn sent(text: &Text) -> Vec<Looks> {
    let units = text.text.encode_utf16().count();
    let mut looks = vec![Looks::new(); units];
    for entity in &text.entities {
        for unit in &mut looks[entity.offset..entity.offset + entity.length] {
            unit.insert(name(&entity.kind));
        }
    }
    looks
}

/// The text and the looks Telegram would keep.
///
/// # Errors
/// Why it would refuse the message, or what it would drop unsaid.
pub(crate) fn kept(text: &Text) -> Result<(String, Vec<Looks>), String> {
    let units: Vec<u16> = text.text.encode_utf16().collect();
    let inside = |at: usize| units.get(at).is_some_and(|unit| (0xDC00..0xE000).contains(unit));
    for entity in &text.entities {
        let end = entity.offset + entity.length;
        if entity.length == 0 || end > units.len() || inside(entity.offset) || inside(end) {
            return Err(format!("a bad range: {entity:?}"));
        }
    }
    if units.len() > 4096 || text.text.len() > 32_768 {
        return Err("message is too long".into());
    }
    let fixed = fixed(&text.entities);
    let runs = runs(&fixed, units.len());
    if runs > 100 {
        return Err(format!("{runs} entities"));
    }
    let looks = fixed_looks(&fixed, units.len());
    let (units, looks) = cleaned(&units, looks);
    let (units, looks) = trimmed(units, looks);
    let kept = String::from_utf16(&units).map_err(|error| error.to_string())?;
    if kept
        .chars()
        .all(|c| matches!(c, ' ' | '\n' | '\u{200B}'..='\u{200F}' | '\u{FEFF}' | '\u{A0}'))
    {
        return Err("text must be non-empty".into());
    }
    Ok((kept, looks))
}

/// Without what crosses something: solid ones never meet, quotes never nest.
fn fixed(entities: &[Entity]) -> Vec<Entity> {
    let mut sorted = entities.to_vec();
    sorted.sort_by_key(|entity| (entity.offset, usize::MAX - entity.length));
    let alone = |of: &dyn Fn(&EntityKind) -> bool| {
        let mut until = 0;
        let mut kept: Vec<Entity> = Vec::new();
        for entity in sorted.iter().filter(|entity| of(&entity.kind)) {
            if entity.offset >= until {
                until = entity.offset + entity.length;
                kept.push(entity.clone());
            }
        }
        kept
    };
    let quotes = alone(&|kind| *kind == EntityKind::Blockquote);
    let mut kept = alone(&is_solid);
    kept.retain(|solid| {
        let end = solid.offset + solid.length;
        quotes.iter().all(|quote| {
            let quote = quote.offset..quote.offset + quote.length;
            let apart = end <= quote.start || quote.end <= solid.offset;
            apart || (quote.start <= solid.offset && end <= quote.end)
        })
    });
    kept.extend(quotes);
    kept.extend(
        sorted
            .iter()
            .filter(|entity| !is_solid(&entity.kind) && entity.kind != EntityKind::Blockquote)
            .cloned(),
    );
    kept
}

fn fixed_looks(entities: &[Entity], units: usize) -> Vec<Looks> {
    let mut looks = vec![Looks::new(); units];
    for entity in entities {
        for unit in &mut looks[entity.offset..entity.offset + entity.length] {
            unit.insert(name(&entity.kind));
        }
    }
    for unit in &mut looks {
        if unit.iter().any(|look| look == "code" || look.starts_with("pre ")) {
            for look in ["bold", "italic", "underline", "strike"] {
                unit.remove(look);
            }
        }
    }
    looks
}

/// How many entities Telegram counts: each look is cut wherever something solid begins or ends and
/// wherever another look begins.
fn runs(entities: &[Entity], units: usize) -> usize {
    let looks = fixed_looks(entities, units);
    let mut borders = BTreeSet::new();
    let mut count = 0;
    for entity in entities {
        if is_solid(&entity.kind) || entity.kind == EntityKind::Blockquote {
            borders.extend([entity.offset, entity.offset + entity.length]);
            count += 1;
        }
    }
    for look in ["bold", "italic", "underline", "strike"] {
        for at in 0..units {
            let here = looks[at].contains(look);
            if here && (at == 0 || !looks[at - 1].contains(look)) {
                borders.insert(at);
            }
        }
    }
    for look in ["bold", "italic", "underline", "strike"] {
        for at in 0..units {
            let begins = at == 0 || !looks[at - 1].contains(look) || borders.contains(&at);
            count += usize::from(looks[at].contains(look) && begins);
        }
    }
    count
}

fn cleaned(units: &[u16], looks: Vec<Looks>) -> (Vec<u16>, Vec<Looks>) {
    let both = units.iter().copied().zip(looks);
    let both = both.filter_map(|(unit, looks)| match unit {
        0x0D | 0x2028..=0x202E | 0x0333 | 0x033F | 0x030A => None,
        0x0A => Some((unit, looks)),
        0..0x20 => Some((0x20, looks)),
        _ => Some((unit, looks)),
    });
    let (mut units, looks): (Vec<u16>, Vec<Looks>) = both.unzip();
    let is_mark = |unit: u16| matches!(unit, 0x200E | 0x200F);
    for at in 1..units.len() {
        if is_mark(units[at - 1]) && is_mark(units[at]) {
            units[at - 1] = 0x200C;
        }
    }
    (units, looks)
}

fn trimmed(mut units: Vec<u16>, mut looks: Vec<Looks>) -> (Vec<u16>, Vec<Looks>) {
    let is_edge = |unit: &u16| matches!(unit, 0x20 | 0x0A);
    while units.last().is_some_and(is_edge) {
        units.pop();
        looks.pop();
    }
    let lead =
        (0..units.len()).take_while(|at| is_edge(&units[*at]) && looks[*at].is_empty()).count();
    (units.split_off(lead), looks.split_off(lead))
}
