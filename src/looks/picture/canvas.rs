//! Pixels, and their way into a PNG.

use super::palette::{Rgb, mix};

pub(super) struct Canvas {
    pub(super) width: u32,
    pub(super) height: u32,
    pixels: Vec<Rgb>,
}

/// A rectangle in pixels; what of it lies outside of the canvas is left out.
#[derive(Clone, Copy)]
pub(super) struct Area {
    pub(super) left: u32,
    pub(super) top: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// How much of 255 each pixel is covered, relative to a cell's upper left corner.
#[derive(Clone, Default)]
pub(super) struct Stencil {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) width: u32,
    pub(super) cover: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Three bytes a pixel.
    Full,
    /// One: eight reds, eight greens, four blues.
    Few,
}

impl Canvas {
    pub(super) fn new(width: u32, height: u32, ground: Rgb) -> Self {
        let pixels = vec![ground; width as usize * height as usize];
        Self { width, height, pixels }
    }

    pub(super) fn fill(&mut self, area: Area, colour: Rgb) {
        let right = (area.left + area.width).min(self.width) as usize;
        let left = (area.left as usize).min(right);
        for y in area.top..(area.top + area.height).min(self.height) {
            let start = y as usize * self.width as usize;
            self.pixels[start + left..start + right].fill(colour);
        }
    }

    /// Lays `stencil` over the cell at `at` and lets `colour` through.
    pub(super) fn blend(&mut self, (left, top): (u32, u32), stencil: &Stencil, colour: Rgb) {
        let inside = |at: i64, side: u32| u32::try_from(at).ok().filter(|at| *at < side);
        let width = stencil.width.max(1) as usize;
        for (y, line) in (0_i64..).zip(stencil.cover.chunks(width)) {
            let Some(y) = inside(i64::from(top) + i64::from(stencil.top) + y, self.height) else {
                continue;
            };
            for (x, share) in (0_i64..).zip(line).filter(|(_, share)| **share > 0) {
                if let Some(x) = inside(i64::from(left) + i64::from(stencil.left) + x, self.width) {
                    let pixel = &mut self.pixels[y as usize * self.width as usize + x as usize];
                    *pixel = mix(*pixel, colour, *share);
                }
            }
        }
    }

    pub(super) fn png(&self, depth: Depth) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width, self.height);
        encoder.set_depth(png::BitDepth::Eight);
        let bytes: Vec<u8> = match depth {
            Depth::Full => {
                encoder.set_color(png::ColorType::Rgb);
                self.pixels.iter().flat_map(|Rgb(r, g, b)| [*r, *g, *b]).collect()
            }
            Depth::Few => {
                encoder.set_color(png::ColorType::Indexed);
                encoder.set_palette(few_colours());
                self.pixels
                    .iter()
                    .map(|Rgb(r, g, b)| (r & 0xe0) | (g >> 5 << 2) | (b >> 6))
                    .collect()
            }
        };
        let mut writer =
            encoder.write_header().expect("a canvas has sides, a Vec takes everything");
        writer.write_image_data(&bytes).expect("as many bytes as the header says");
        writer.finish().expect("a Vec takes everything");
        file
    }
}

/// Red, green and blue of all 256, by their byte.
fn few_colours() -> Vec<u8> {
    (0..=u8::MAX)
        .flat_map(|byte| {
            let (r, g, b) = (byte >> 5, byte >> 2 & 7, byte & 3);
            [r << 5 | r << 2 | r >> 1, g << 5 | g << 2 | g >> 1, b << 6 | b << 4 | b << 2 | b]
        })
        .collect()
}
