//! Letters of the embedded font as stencils, each made once a picture.

use ab_glyph::{Font, FontRef, GlyphId, PxScale, point};
use std::collections::HashMap;

use super::{canvas::Stencil, grid::Cell, shapes};

/// `DejaVu` Sans Mono 2.37: Latin, Greek, Cyrillic, box drawing, arrows, dingbats. Its licence lies
/// beside it.
static REGULAR: &[u8] = include_bytes!("../fonts/DejaVuSansMono.ttf");
static BOLD: &[u8] = include_bytes!("../fonts/DejaVuSansMono-Bold.ttf");

/// What stands in for a sign that the font lacks and that has a near relation.
const STAND_INS: &[(char, char)] = &[('⎯', '─'), ('ℹ', 'i'), ('※', '×'), ('⧉', '❐')];
/// How far a slanted letter leans, across over up.
const SLANT: f32 = 0.2;

pub(super) struct Glyphs {
    regular: FontRef<'static>,
    bold: FontRef<'static>,
    width: u32,
    height: u32,
    made: HashMap<Key, Stencil>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    c: char,
    bold: bool,
    italic: bool,
    columns: u32,
}

impl Glyphs {
    /// Letters for cells of `width` to `height` pixels.
    pub(super) fn new(width: u32, height: u32) -> Self {
        let font = |bytes| FontRef::try_from_slice(bytes).expect("the embedded font is a font");
        Self { regular: font(REGULAR), bold: font(BOLD), width, height, made: HashMap::new() }
    }

    /// How `c` looks in `cell`; a box as wide as the cell when no font has it.
    pub(super) fn of(&mut self, c: char, cell: &Cell) -> &Stencil {
        let Cell { bold, italic, columns, .. } = *cell;
        let key = Key { c, bold, italic, columns };
        if !self.made.contains_key(&key) {
            let stencil = self.make(key);
            self.made.insert(key, stencil);
        }
        &self.made[&key]
    }

    fn make(&self, key: Key) -> Stencil {
        let drawn = shapes::stencil(key.c, self.width, self.height);
        let stand_in = STAND_INS.iter().find(|(c, _)| *c == key.c).map(|(_, other)| *other);
        let candidates = [Some(key.c), stand_in].into_iter().flatten();
        drawn
            .or_else(|| candidates.into_iter().find_map(|c| self.written(c, key)))
            .unwrap_or_else(|| self.unknown(key.columns))
    }

    fn written(&self, c: char, key: Key) -> Option<Stencil> {
        let fonts =
            if key.bold { [&self.bold, &self.regular] } else { [&self.regular, &self.bold] };
        fonts.into_iter().find_map(|font| {
            let id = font.glyph_id(c);
            (id != GlyphId(0)).then(|| self.outlined(font, id, key))
        })
    }

    /// Scaled so that the font's own cell is ours, to the pixel: lines of boxes meet.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a letter has few pixels"
    )]
    fn outlined(&self, font: &FontRef<'static>, id: GlyphId, key: Key) -> Stencil {
        let advance = font.h_advance_unscaled(font.glyph_id('M'));
        let scale = PxScale {
            x: self.width as f32 * font.height_unscaled() / advance,
            y: self.height as f32,
        };
        let baseline = self.height as f32 * font.ascent_unscaled() / font.height_unscaled();
        let indent = (self.width * (key.columns - 1)) as f32 / 2.0;
        let glyph = id.with_scale_and_position(scale, point(indent, baseline));
        // A blank has no outline.
        let Some(outline) = font.outline_glyph(glyph) else { return Stencil::default() };
        let bounds = outline.px_bounds();
        let lean = |y: f32| if key.italic { (baseline - y) * SLANT } else { 0.0 };
        let (left, right) = (bounds.min.x + lean(bounds.max.y), bounds.max.x + lean(bounds.min.y));
        let (left, right) = (left.floor() as i32, right.ceil() as i32 + 1);
        let width = right.abs_diff(left);
        let mut cover = vec![0.0_f32; (width * bounds.height().ceil() as u32) as usize];
        outline.draw(|x, y, share| {
            let from_left = bounds.min.x + x as f32 + lean(bounds.min.y + y as f32) - left as f32;
            let at = y * width + from_left as u32;
            let split = from_left.fract();
            for (at, share) in [(at, share * (1.0 - split)), (at + 1, share * split)] {
                if let Some(pixel) = cover.get_mut(at as usize) {
                    *pixel += share;
                }
            }
        });
        let cover = cover.into_iter().map(|share| (share.clamp(0.0, 1.0) * 255.0) as u8).collect();
        Stencil { left, top: bounds.min.y as i32, width, cover }
    }

    /// An empty frame: something stands here.
    fn unknown(&self, columns: u32) -> Stencil {
        let width = self.width * columns;
        let (side, top) = (self.width / 8, self.height / 6);
        let line = (self.width / 8).max(1);
        let cover = (0..self.height).flat_map(|y| {
            (0..width).map(move |x| {
                let outer =
                    (side..width - side).contains(&x) && (top..self.height - top).contains(&y);
                let inner = (side + line..width - side - line).contains(&x)
                    && (top + line..self.height - top - line).contains(&y);
                if outer && !inner { 255 } else { 0 }
            })
        });
        Stencil { left: 0, top: 0, width, cover: cover.collect() }
    }
}
