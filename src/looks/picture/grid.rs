//! The holder's picture as cells that can be drawn.

use unicode_width::UnicodeWidthChar;
use vigie_core::text::{Style, reveal};

use super::{
    palette::{self, Rgb},
    secrets,
};
use crate::hold::protocol::{Colour, Look, Picture, Run};

/// Narrowest picture, in columns: a screen of three words is no strip.
const FEWEST_COLUMNS: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) base: char,
    /// What is drawn over `base`: accents.
    pub(super) marks: String,
    /// One, or two for a wide character.
    pub(super) columns: u32,
    pub(super) fg: Rgb,
    pub(super) bg: Rgb,
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) underline: bool,
}

pub(super) struct Grid {
    pub(super) rows: Vec<Vec<Cell>>,
    pub(super) columns: usize,
    pub(super) left_out: Option<String>,
}

impl Grid {
    /// At most `most_columns` and the last `most_rows` of what stands on `screen`, secrets gone and
    /// hidden characters written out. No rows when nothing stands there.
    pub(super) fn read(screen: &Picture, most_columns: usize, most_rows: usize) -> Self {
        let mut rows: Vec<Vec<Cell>> = screen.rows.iter().map(|runs| cells(runs)).collect();
        if let Some((column, row)) = screen.cursor
            && let Some(row) = rows.get_mut(usize::from(row))
        {
            mark_cursor(row, column);
        }
        while rows.last().is_some_and(|row| row.iter().all(is_empty)) {
            rows.pop();
        }
        // Before anything is cut: half a secret is not recognised.
        secrets::star(&mut rows);
        let above = rows.len().saturating_sub(most_rows);
        rows.drain(..above);
        let mut right = 0;
        for row in &mut rows {
            *row = reveal_hidden(std::mem::take(row));
            row.truncate(row.iter().rposition(|cell| !is_empty(cell)).map_or(0, |at| at + 1));
            right = right.max(cut(row, most_columns));
        }
        let widest = rows.iter().map(|row| width(row)).max().unwrap_or_default();
        Self {
            columns: widest.max(FEWEST_COLUMNS.min(usize::from(screen.size.columns))),
            rows,
            left_out: left_out(above, right),
        }
    }
}

fn left_out(above: usize, right: usize) -> Option<String> {
    let rows = (above > 0).then(|| format!("the {above} uppermost rows"));
    let columns = (right > 0).then(|| format!("the {right} rightmost columns"));
    let parts: Vec<String> = [rows, columns].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("not in the picture: {}", parts.join(" and ")))
}

fn cells(runs: &[Run]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for run in runs {
        let blank = cell(run);
        for c in run.text.chars() {
            match (c.width(), cells.last_mut()) {
                (Some(columns @ 1..), _) => {
                    let columns = u32::try_from(columns.min(2)).expect("one or two");
                    cells.push(Cell { base: c, columns, ..blank.clone() });
                }
                (Some(0) | None, Some(before)) => before.marks.push(c),
                (Some(0) | None, None) => {
                    cells.push(Cell { marks: c.into(), ..blank.clone() });
                }
            }
        }
    }
    cells
}

/// A blank that looks like `run`.
fn cell(run: &Run) -> Cell {
    let has = |look| run.looks.contains(&look);
    let (mut fg, mut bg) = (palette::ink(run.fg), palette::ground(run.bg));
    if has(Look::Inverse) {
        (fg, bg) = (bg, fg);
    }
    if has(Look::Dim) {
        fg = palette::dimmed(fg, bg);
    }
    Cell {
        base: ' ',
        marks: String::new(),
        columns: 1,
        fg,
        bg,
        bold: has(Look::Bold),
        italic: has(Look::Italic),
        underline: has(Look::Underline),
    }
}

/// A block: the ground is light and the letter on it dark.
fn mark_cursor(row: &mut [Cell], column: u16) {
    let mut end = 0;
    let under = row.iter().position(|cell| {
        end += cell.columns;
        end > u32::from(column)
    });
    // Right behind the last column it waits to wrap and stands on the last.
    let at = under.or(row.len().checked_sub(1));
    if let Some(cell) = at.and_then(|at| row.get_mut(at)) {
        (cell.fg, cell.bg) = (palette::GROUND, palette::INK);
    }
}

fn is_empty(cell: &Cell) -> bool {
    cell.base == ' ' && cell.marks.is_empty() && cell.bg == palette::GROUND && !cell.underline
}

fn width(row: &[Cell]) -> usize {
    row.iter().map(|cell| cell.columns as usize).sum()
}

/// Leaves at most `most` columns and says how many more there were.
fn cut(row: &mut Vec<Cell>, most: usize) -> usize {
    let whole = width(row);
    let mut kept = 0;
    row.retain(|cell| {
        kept += cell.columns as usize;
        kept <= most
    });
    whole.saturating_sub(most)
}

/// Writes `⟦U+202E⟧` behind the cell that such a character hides in; the rest of the row moves.
/// A terminal gives it no cell of its own. A blank of odd width has one and is seen.
fn reveal_hidden(row: Vec<Cell>) -> Vec<Cell> {
    if row.iter().all(|cell| cell.marks.is_empty()) {
        return row;
    }
    let mut shown = Vec::with_capacity(row.len());
    let mut rest = row.into_iter().peekable();
    while let Some(mut cell) = rest.next() {
        let labels = hidden(&cell, rest.peek().map(|next| next.base));
        cell.marks.retain(|c| !is_hidden(c) && c != '\u{fe0f}' && c != '\u{200d}');
        let plain = Run {
            text: String::new(),
            fg: Colour::Default,
            bg: Colour::Default,
            looks: Vec::new(),
        };
        let note = Cell { fg: palette::GROUND, bg: palette::YELLOW, ..self::cell(&plain) };
        shown.push(cell);
        shown.extend(labels.chars().map(|base| Cell { base, ..note.clone() }));
    }
    shown
}

fn is_hidden(c: char) -> bool {
    reveal(c.encode_utf8(&mut [0; 4])).hidden > 0
}

/// What of a cell's marks nobody would see, written out. What shapes an emoji is seen.
fn hidden(cell: &Cell, next: Option<char>) -> String {
    if cell.marks.is_empty() {
        return String::new();
    }
    let next = next.filter(|next| !is_hidden(*next));
    let base = if is_hidden(cell.base) { ' ' } else { cell.base };
    let text: String = [base].into_iter().chain(cell.marks.chars()).chain(next).collect();
    let shown = reveal(&text).text;
    let spans = shown.spans.iter().filter(|span| span.style == Style::Hidden);
    spans.map(|span| &shown.text[span.range.clone()]).collect()
}
