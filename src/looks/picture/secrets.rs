//! Secrets on a screen become stars, in place: the rest of the screen stays where it is.

use std::ops::Range;
use vigie_core::text::mask;

use super::grid::Cell;

/// A row whose text ends this near to the right edge may go on in the next one: terminals wrap at
/// the edge, programs somewhat before it, and both in the midst of a long word.
const MARGIN: usize = 10;
/// Rows that one secret is followed over; only private keys are longer, and they say their end.
const WRAPPED: usize = 12;
/// Places looked at for a cut between two secrets of one text; beyond it all between them goes.
const CUTS: usize = 64;
/// What stands between a row's text and the edge, and in front of where it goes on.
const FRAME: &[char] = &[' ', '│', '┃', '║', '|', '⎿', '▌', '▐'];

/// Stars every secret of `rows`: in a row, in rows that the terminal or the program wrapped, and
/// over many rows (a private key).
pub(super) fn star(rows: &mut [Vec<Cell>]) {
    let whole: Vec<_> = rows.iter().map(|row| 0..row.len()).collect();
    let texts: Vec<_> = rows.iter().map(|row| text_of(row)).collect();
    let widest = rows.iter().map(Vec::len).max().unwrap_or_default();
    let wraps = |text: &Range<usize>| !text.is_empty() && text.end + MARGIN >= widest;

    let mut gone: Vec<Vec<bool>> = rows.iter().map(|row| vec![false; row.len()]).collect();
    for at in 0..rows.len() {
        take(rows, at..at + 1, &whole, "", &mut gone);
    }
    // From each row anew: what ends in the row before may be a word of its own.
    for at in 0..rows.len() {
        let on = texts[at..].iter().take(WRAPPED).take_while(|text| wraps(text)).count();
        if on > 0 {
            take(rows, at..(at + on + 1).min(rows.len()), &texts, "", &mut gone);
        }
    }
    erase(rows, &gone);
    take(rows, 0..rows.len(), &whole, "\n", &mut gone);
    erase(rows, &gone);
}

/// The row without blanks and frames around it.
fn text_of(row: &[Cell]) -> Range<usize> {
    let is_text = |cell: &Cell| !FRAME.contains(&cell.base);
    let start = row.iter().position(is_text).unwrap_or(row.len());
    start..row.iter().rposition(is_text).map_or(start, |last| last + 1)
}

/// Marks the cells of every secret in `parts` of the rows, read as one text.
fn take(
    rows: &[Vec<Cell>],
    which: Range<usize>,
    parts: &[Range<usize>],
    between: &str,
    gone: &mut [Vec<bool>],
) {
    let mut text = String::new();
    let mut places = Vec::new(); // of each byte that begins a character
    for at in which {
        if !text.is_empty() {
            text.push_str(between);
        }
        for column in parts[at].clone() {
            places.push((text.len(), at, column));
            text.push(rows[at][column].base);
        }
    }
    let mut found = Vec::new();
    find(&text, 0, &mut found);
    for range in found {
        let first = places.partition_point(|(byte, _, _)| *byte < range.start);
        let inside = places[first..].iter().take_while(|(byte, _, _)| *byte < range.end);
        for (_, row, column) in inside {
            gone[*row][*column] = true;
        }
    }
}

/// Where the secrets of `text` are, moved by `offset`. What the mask leaves out lies between what
/// its result and the text have in common at both ends.
fn find(text: &str, offset: usize, found: &mut Vec<Range<usize>>) {
    let masked = mask(text);
    if masked.masked == 0 {
        return;
    }
    if masked.masked > 1 {
        for at in cuts(text) {
            let (left, right) = text.split_at(at);
            let halves = [mask(left), mask(right)];
            let each = halves.iter().all(|half| half.masked > 0);
            if each && [halves[0].text.as_str(), &halves[1].text].concat() == masked.text {
                find(left, offset, found);
                find(right, offset + at, found);
                return;
            }
        }
    }
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let bytes = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.map(|(c, _)| c.len_utf8()).sum()
    };
    let start = bytes(&mut text.chars().zip(masked.text.chars()).take_while(same));
    let (rest, masked) = (&text[start..], &masked.text[start..]);
    let end = bytes(&mut rest.chars().rev().zip(masked.chars().rev()).take_while(same));
    found.push(offset + start..offset + text.len() - end);
}

/// Where a text may be cut in two: behind blanks and line ends, the middlemost first.
fn cuts(text: &str) -> Vec<usize> {
    let ends: Vec<usize> = text.match_indices([' ', '\n']).map(|(at, _)| at + 1).collect();
    let mut cuts: Vec<usize> = ends.iter().step_by(ends.len() / CUTS + 1).copied().collect();
    cuts.sort_by_key(|at| at.abs_diff(text.len() / 2));
    cuts
}

fn erase(rows: &mut [Vec<Cell>], gone: &[Vec<bool>]) {
    for (row, gone) in rows.iter_mut().zip(gone) {
        for (cell, _) in row.iter_mut().zip(gone).filter(|(_, gone)| **gone) {
            cell.base = '*';
            cell.marks.clear();
        }
    }
}
