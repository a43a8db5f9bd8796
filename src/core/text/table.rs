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

    /// One item per row: the first cell, then each further cell behind its column's name.
    fn listed(&self) -> Rich {
        let mut list = Rich::default();
        let Some((head, rows)) = self.rows.split_first() else { return list };
        if rows.is_empty() {
            item(&mut list, head.iter().map(|cell| (None, cell)));
        }
        for row in rows {
            let named = row.iter().enumerate();
            item(&mut list, named.map(|(at, cell)| (head.get(at).filter(|_| at > 0), cell)));
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

fn width(cell: &Rich) -> usize {
    cell.text.width()
}
