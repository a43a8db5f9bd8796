//! Tables for a narrow screen: columns aligned in monospace, or a list per row where they would wrap.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr;

use super::{Rich, Style};

/// Display columns beyond which a phone wraps a monospace line into a mess.
const WIDEST: usize = 60;

const GAP: &str = "  ";

#[derive(Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    /// The first row is the head.
    pub(super) rows: Vec<Vec<Rich>>,
}

impl Table {
    pub(super) fn into_rich(self) -> Rich {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(width).max().unwrap_or(0))
            .collect();
        let whole = widths.iter().sum::<usize>() + GAP.len() * columns.saturating_sub(1);
        if whole <= WIDEST { self.aligned(&widths) } else { self.listed() }
    }

    fn aligned(&self, widths: &[usize]) -> Rich {
        let mut lines: Vec<String> = self.rows.iter().map(|row| self.line(row, widths)).collect();
        let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        lines.insert(lines.len().min(1), rules.join(GAP));
        Rich::plain(lines.join("\n")).wrapped(Style::Pre { language: None })
    }

    fn line(&self, row: &[Rich], widths: &[usize]) -> String {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(at, (cell, wide))| {
                let free = wide.saturating_sub(width(cell));
                let left = match self.alignments.get(at).unwrap_or(&Alignment::None) {
                    Alignment::None | Alignment::Left => 0,
                    Alignment::Center => free / 2,
                    Alignment::Right => free,
                };
                format!("{}{}{}", " ".repeat(left), cell.text, " ".repeat(free - left))
            })
            .collect();
        cells.join(GAP).trim_end().to_owned()
    }

    /// One item per row, each cell behind its column's name; columns that hold nothing come first.
    fn listed(&self) -> Rich {
        let mut list = Rich::default();
        let Some((head, rows)) = self.rows.split_first() else { return list };
        let holds =
            |at: usize| rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_empty()));
        let bare = head.iter().enumerate().filter(|(at, _)| !holds(*at));
        item(&mut list, bare.map(|(_, name)| (None, name)));
        for row in rows {
            item(&mut list, row.iter().enumerate().map(|(at, cell)| (head.get(at), cell)));
        }
        list
    }
}

fn item<'a>(list: &mut Rich, cells: impl Iterator<Item = (Option<&'a Rich>, &'a Rich)>) {
    for (at, (name, cell)) in cells.filter(|(_, cell)| !cell.is_empty()).enumerate() {
        if !list.is_empty() {
            list.text.push('\n');
        }
        list.text.push_str(if at == 0 { "• " } else { "  " });
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            list.append(name);
            list.text.push_str(": ");
        }
        list.append(cell);
    }
}

/// Where a backslash must go into the source of a table, so that `a|b` in code stays one cell, and
/// the last cell takes what a row has too much instead of its being dropped. `row` is one line.
pub(super) fn pipes_to_escape(row: &str, columns: usize) -> Vec<usize> {
    let bytes = row.as_bytes();
    let mut escape = Vec::new();
    let mut dividers = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'`' => {
                let ticks = bytes[at..].iter().take_while(|b| **b == b'`').count();
                let inside = at + ticks;
                let end = closing_ticks(bytes, inside, ticks).unwrap_or(inside);
                let open = |pipe: &usize| bytes[*pipe] == b'|' && bytes[*pipe - 1] != b'\\';
                escape.extend((inside..end).filter(open));
                at = if end == inside { inside } else { end + ticks };
            }
            b'|' => {
                dividers.push(at);
                at += 1;
            }
            _ => at += 1,
        }
    }
    if dividers.first().is_some_and(|first| row[..*first].trim_matches(['>', ' ']).is_empty()) {
        dividers.remove(0);
    }
    if dividers.last().is_some_and(|last| row[last + 1..].trim().is_empty()) {
        dividers.pop();
    }
    escape.extend(dividers.into_iter().skip(columns.saturating_sub(1)));
    escape.sort_unstable();
    escape
}

fn closing_ticks(bytes: &[u8], from: usize, ticks: usize) -> Option<usize> {
    let mut at = from;
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|b| **b == b'`').count();
        if run == ticks {
            return Some(at);
        }
        at += run.max(1);
    }
    None
}

fn width(cell: &Rich) -> usize {
    cell.text.width()
}
