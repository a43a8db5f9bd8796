//! Makes entities lie in each other properly: code and links never overlap, styles are cut at their
//! borders and taken out of code, equal styles that touch become one.

use super::entity::{Class, Entity, EntityKind, sort};

/// The entities as the server keeps them, in order.
pub(super) fn repair(entities: Vec<Entity>) -> Vec<Entity> {
    let (styles, rest): (Vec<_>, Vec<_>) =
        entities.into_iter().partition(|entity| entity.class() == Class::Style);
    let (quotes, solid): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|entity| entity.class() == Class::Quote);
    let quotes = without_overlaps(quotes);
    let mut kept = without_overlaps(solid);
    kept.retain(|entity| !quotes.iter().any(|quote| crosses(entity, quote)));
    let codes: Vec<(usize, usize)> = kept
        .iter()
        .filter(|entity| entity.class() == Class::Code)
        .map(|entity| (entity.offset, entity.end()))
        .collect();
    kept.extend(quotes);
    let mut borders: Vec<usize> =
        kept.iter().flat_map(|entity| [entity.offset, entity.end()]).collect();
    borders.sort_unstable();
    borders.dedup();
    for kind in EntityKind::STYLES {
        for (from, to) in merged(&styles, kind) {
            kept.extend(
                pieces(from, to, &borders)
                    .filter(|(from, to)| !codes.iter().any(|(a, b)| a <= from && to <= b))
                    .map(|(from, to)| Entity::new(kind, from, to - from)),
            );
        }
    }
    sort(&mut kept);
    kept
}

/// The first of any that overlap.
fn without_overlaps(mut entities: Vec<Entity>) -> Vec<Entity> {
    sort(&mut entities);
    let mut end = 0;
    entities.retain(|entity| {
        let free = entity.offset >= end;
        if free {
            end = entity.end();
        }
        free
    });
    entities
}

/// Whether `entity` lies partly in `quote` and partly outside.
fn crosses(entity: &Entity, quote: &Entity) -> bool {
    entity.offset < quote.end()
        && quote.offset < entity.end()
        && !(quote.offset <= entity.offset && entity.end() <= quote.end())
}

/// The stretches of one style, those that touch as one.
fn merged(styles: &[Entity], kind: EntityKind) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = styles
        .iter()
        .filter(|style| style.kind == kind)
        .map(|style| (style.offset, style.end()))
        .collect();
    spans.sort_unstable();
    spans.into_iter().fold(Vec::new(), |mut merged, (from, to)| {
        match merged.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            Some(_) | None => merged.push((from, to)),
        }
        merged
    })
}

/// A stretch cut at every border inside of it.
fn pieces(from: usize, to: usize, borders: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let inner = borders.iter().copied().filter(move |border| (from + 1..to).contains(border));
    let cuts: Vec<usize> = std::iter::once(from).chain(inner).chain([to]).collect();
    (1..cuts.len()).map(move |at| (cuts[at - 1], cuts[at]))
}
