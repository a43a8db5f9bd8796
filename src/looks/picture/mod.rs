//! A session's screen as a PNG that a phone shows well.

mod canvas;
mod glyphs;
mod grid;
mod palette;
mod secrets;
mod shapes;

use crate::hold::protocol::Picture;
use canvas::{Area, Canvas, Depth};
use glyphs::Glyphs;
use grid::{Cell, Grid};

/// Columns drawn; what is right of them is said and not shown. With [`MOST_ROWS`] and the smallest
/// of [`CELLS`] this bounds both the sides and the bytes of every picture.
const MOST_COLUMNS: usize = 400;
/// Rows drawn, the lowest ones: there agents ask and people type.
const MOST_ROWS: usize = 180;
/// Sizes of a character in pixels, the first that fits is taken. The smallest can still be read
/// when zoomed in.
const CELLS: [(u32, u32); 5] = [(16, 32), (14, 28), (12, 24), (10, 20), (8, 16)];
const SMALLEST: (u32, u32) = CELLS[CELLS.len() - 1];
/// The longer side a picture should have: services shrink larger ones, and phones have no more
/// pixels to show.
const GOOD_SIDE: u32 = 2560;
/// Longest side over shortest. Source: Bot API, `sendPhoto`, at most 20.
const RATIO: u32 = 20;
/// Largest picture, in bytes. Source: Bot API, `sendPhoto`, 10 MB.
const MOST_BYTES: usize = 10_000_000;

/// A picture and what is not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shot {
    pub png: Vec<u8>,
    /// In pixels; both together at most 10,000, one at most 20 times the other.
    pub width: u32,
    pub height: u32,
    /// A sentence for a caption, when the screen is larger than a picture may be.
    pub left_out: Option<String>,
}

/// Why there is no picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    #[error("the screen is empty")]
    Empty,
}

/// Draws `screen` as a terminal shows it, without the empty rows at its end and the empty columns
/// at its right. Secrets become stars of the same width, hidden characters are written out. At most
/// 10 MB, whatever the screen.
///
/// # Errors
/// [`PictureError::Empty`] when nothing stands on the screen.
pub fn picture(screen: &Picture) -> Result<Shot, PictureError> {
    let grid = Grid::read(screen, MOST_COLUMNS, MOST_ROWS);
    if grid.rows.is_empty() {
        return Err(PictureError::Empty);
    }
    let (canvas, png) = drawn_within(&grid, MOST_BYTES);
    Ok(Shot { png, width: canvas.width, height: canvas.height, left_out: grid.left_out })
}

/// The picture and its file, of at most `most` bytes if a byte a pixel is few enough.
fn drawn_within(grid: &Grid, most: usize) -> (Canvas, Vec<u8>) {
    let fits = |cell: &&(u32, u32)| {
        let (width, height) = sides(grid, **cell);
        width.max(height) <= GOOD_SIDE
    };
    let canvas = draw(grid, *CELLS.iter().find(fits).unwrap_or(&SMALLEST));
    let png = canvas.png(Depth::Full);
    if png.len() <= most {
        return (canvas, png);
    }
    let canvas = draw(grid, SMALLEST);
    let png = canvas.png(Depth::Few);
    (canvas, png)
}

/// Width and height in pixels, with a margin of one character all around and blank ground where
/// the sides would be too unequal.
fn sides(grid: &Grid, (width, height): (u32, u32)) -> (u32, u32) {
    let many = |cells: usize| u32::try_from(cells).expect("a grid is bounded");
    let across = (many(grid.columns) + 2) * width;
    let down = many(grid.rows.len()) * height + 2 * width;
    (across.max(down.div_ceil(RATIO)), down.max(across.div_ceil(RATIO)))
}

fn draw(grid: &Grid, (width, height): (u32, u32)) -> Canvas {
    let (across, down) = sides(grid, (width, height));
    let mut canvas = Canvas::new(across, down, palette::GROUND);
    let mut glyphs = Glyphs::new(width, height);
    let margin = width;
    let mut top = margin;
    for row in &grid.rows {
        // All grounds before all letters: a letter may lean over its neighbour's ground.
        for (left, cell) in placed(row, margin, width) {
            let area = Area { left, top, width: width * cell.columns, height };
            canvas.fill(area, cell.bg);
        }
        for (left, cell) in placed(row, margin, width) {
            letter(&mut canvas, &mut glyphs, (left, top), cell);
            if cell.underline {
                let area = Area {
                    left,
                    top: top + height - height / 8,
                    width: width * cell.columns,
                    height: (height / 16).max(1),
                };
                canvas.fill(area, cell.fg);
            }
        }
        top += height;
    }
    canvas
}

fn placed(row: &[Cell], margin: u32, width: u32) -> impl Iterator<Item = (u32, &Cell)> {
    row.iter().scan(margin, move |left, cell| {
        let here = *left;
        *left += width * cell.columns;
        Some((here, cell))
    })
}

fn letter(canvas: &mut Canvas, glyphs: &mut Glyphs, at: (u32, u32), cell: &Cell) {
    for c in std::iter::once(cell.base).chain(cell.marks.chars()) {
        if c != ' ' {
            canvas.blend(at, glyphs.of(c, cell), cell.fg);
        }
    }
}

#[cfg(test)]
mod tests;
