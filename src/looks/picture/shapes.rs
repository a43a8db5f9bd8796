//! Characters drawn from their definition instead of a font: blocks and braille meet without a seam
//! at every size, and some signs of agents' screens stand in few monospace fonts.

use super::canvas::Stencil;

/// Samples each way in a pixel, for smooth edges.
const SAMPLES: u32 = 4;

/// Covers a cell; `None` when `c` is none of ours.
pub(super) fn stencil(c: char, width: u32, height: u32) -> Option<Stencil> {
    let shape = shape(c)?;
    let tall = f64::from(height) / f64::from(width);
    let mut cover = Vec::with_capacity((width * height) as usize);
    for y in 0..height {
        for x in 0..width {
            cover.push(covered(&shape, tall, (x, y), (width, height)));
        }
    }
    Some(Stencil { left: 0, top: 0, width, cover })
}

/// A point of a cell is in the shape or not; both coordinates go from 0 to 1.
enum Shape {
    /// Left, top, right, bottom of each.
    Boxes(Vec<[f64; 4]>),
    /// The whole cell, so many of 255.
    Shade(u8),
    /// Middle and half the width, in widths of the cell.
    Discs(Vec<[f64; 3]>),
    /// Pointing right; [`Shape::Left`] the other way.
    Right,
    Left,
}

fn covered(shape: &Shape, tall: f64, (x, y): (u32, u32), (width, height): (u32, u32)) -> u8 {
    if let Shape::Shade(share) = shape {
        return *share;
    }
    let at = |pixel: u32, sample: u32, side: u32| {
        (f64::from(pixel) + (f64::from(sample) + 0.5) / f64::from(SAMPLES)) / f64::from(side)
    };
    let samples = (0..SAMPLES).flat_map(|down| (0..SAMPLES).map(move |across| (across, down)));
    let hits = samples
        .filter(|(across, down)| is_in(shape, tall, at(x, *across, width), at(y, *down, height)))
        .count();
    u8::try_from(hits * 255 / (SAMPLES * SAMPLES) as usize).expect("at most all samples")
}

fn is_in(shape: &Shape, tall: f64, x: f64, y: f64) -> bool {
    // Within half a width of the middle, in widths.
    let down = (y - 0.5) * tall;
    match shape {
        Shape::Boxes(boxes) => boxes.iter().any(|[left, top, right, bottom]| {
            (*left..*right).contains(&x) && (*top..*bottom).contains(&y)
        }),
        Shape::Shade(_) => true,
        Shape::Discs(discs) => discs.iter().any(|[middle, from_top, radius]| {
            let (across, down) = (x - middle, (y - from_top) * tall);
            across * across + down * down <= radius * radius
        }),
        Shape::Right => x >= 0.12 && down.abs() <= (0.9 - x) * 0.62,
        Shape::Left => x <= 0.88 && down.abs() <= (x - 0.1) * 0.62,
    }
}

fn shape(c: char) -> Option<Shape> {
    let one = |left, top, right, bottom| Some(Shape::Boxes(vec![[left, top, right, bottom]]));
    let eighth = |first: u32| f64::from(u32::from(c) - first + 1) / 8.0;
    match c {
        '▀' => one(0.0, 0.0, 1.0, 0.5),
        '▁'..='█' => one(0.0, 1.0 - eighth(0x2581), 1.0, 1.0),
        '▉'..='▏' => one(0.0, 0.0, 1.0 - eighth(0x2589), 1.0),
        '▐' => one(0.5, 0.0, 1.0, 1.0),
        '░' => Some(Shape::Shade(64)),
        '▒' => Some(Shape::Shade(128)),
        '▓' => Some(Shape::Shade(191)),
        '▔' => one(0.0, 0.0, 1.0, 0.125),
        '▕' => one(0.875, 0.0, 1.0, 1.0),
        '▖'..='▟' => Some(quadrants(c)),
        '\u{2800}'..='\u{28ff}' => Some(braille(c)),
        '⏺' => Some(Shape::Discs(vec![[0.5, 0.54, 0.4]])),
        '⎿' => Some(Shape::Boxes(vec![[0.36, 0.0, 0.46, 0.62], [0.36, 0.58, 0.95, 0.62]])),
        '⏵' => Some(Shape::Right),
        '⏴' => Some(Shape::Left),
        '⏸' => Some(Shape::Boxes(vec![[0.18, 0.3, 0.4, 0.72], [0.6, 0.3, 0.82, 0.72]])),
        '⏹' => one(0.14, 0.34, 0.86, 0.7),
        _ => None,
    }
}

/// Source: The Unicode Standard, chart U+2580, the names of 2596 to 259F.
fn quadrants(c: char) -> Shape {
    const UPPER_LEFT: [f64; 4] = [0.0, 0.0, 0.5, 0.5];
    const UPPER_RIGHT: [f64; 4] = [0.5, 0.0, 1.0, 0.5];
    const LOWER_LEFT: [f64; 4] = [0.0, 0.5, 0.5, 1.0];
    const LOWER_RIGHT: [f64; 4] = [0.5, 0.5, 1.0, 1.0];
    Shape::Boxes(match c {
        '▖' => vec![LOWER_LEFT],
        '▗' => vec![LOWER_RIGHT],
        '▘' => vec![UPPER_LEFT],
        '▙' => vec![UPPER_LEFT, LOWER_LEFT, LOWER_RIGHT],
        '▚' => vec![UPPER_LEFT, LOWER_RIGHT],
        '▛' => vec![UPPER_LEFT, UPPER_RIGHT, LOWER_LEFT],
        '▜' => vec![UPPER_LEFT, UPPER_RIGHT, LOWER_RIGHT],
        '▝' => vec![UPPER_RIGHT],
        '▞' => vec![UPPER_RIGHT, LOWER_LEFT],
        _ => vec![UPPER_RIGHT, LOWER_LEFT, LOWER_RIGHT],
    })
}

/// Eight bits, a dot each. Source: The Unicode Standard, chart U+2800: dots 1 to 3 and 7 stand on
/// the left from top to bottom, 4 to 6 and 8 on the right.
fn braille(c: char) -> Shape {
    const DOTS: [(f64, f64); 8] = [
        (0.27, 0.2),
        (0.27, 0.4),
        (0.27, 0.6),
        (0.73, 0.2),
        (0.73, 0.4),
        (0.73, 0.6),
        (0.27, 0.8),
        (0.73, 0.8),
    ];
    let bits = u32::from(c) - 0x2800;
    let set = (0..8).zip(DOTS).filter(|(bit, _)| bits >> bit & 1 == 1);
    Shape::Discs(set.map(|(_, (x, y))| [x, y, 0.13]).collect())
}
