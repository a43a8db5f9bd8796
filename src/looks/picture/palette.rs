//! Which colour a terminal's colour is.

use crate::hold::protocol::Colour;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rgb(pub(super) u8, pub(super) u8, pub(super) u8);

/// The page's `--term-bg`, `--term-ink` and so on: the picture and the page look alike.
pub(super) const GROUND: Rgb = Rgb(0x11, 0x18, 0x1a);
pub(super) const INK: Rgb = Rgb(0xd5, 0xdd, 0xdd);
pub(super) const YELLOW: Rgb = Rgb(0xe9, 0xbd, 0x6b);
const DIM: Rgb = Rgb(0x8d, 0x9a, 0x9d);
const LINE: Rgb = Rgb(0x27, 0x31, 0x34);
const RED: Rgb = Rgb(0xf2, 0x8b, 0x82);
const GREEN: Rgb = Rgb(0x84, 0xcf, 0x9f);
const BLUE: Rgb = Rgb(0x86, 0xb7, 0xec);
const CYAN: Rgb = Rgb(0x6f, 0xc6, 0xd3);
const MAGENTA: Rgb = Rgb(0xcf, 0xa3, 0xe0);
const WHITE: Rgb = Rgb(0xff, 0xff, 0xff);

/// The first eight of the palette, then their bright forms but for black and white.
const NAMED: [Rgb; 8] = [LINE, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, INK];
/// How much of 255 a bright colour goes towards white.
const BRIGHTER: u8 = 90;
/// How much of 255 a dim letter keeps of its colour; `--term-dim` is that much of `--term-ink`.
const DIMMED: u8 = 160;

pub(super) fn ink(colour: Colour) -> Rgb {
    plain(colour).unwrap_or(INK)
}

pub(super) fn ground(colour: Colour) -> Rgb {
    plain(colour).unwrap_or(GROUND)
}

pub(super) fn dimmed(ink: Rgb, ground: Rgb) -> Rgb {
    mix(ground, ink, DIMMED)
}

/// `None` for the terminal's own.
fn plain(colour: Colour) -> Option<Rgb> {
    match colour {
        Colour::Default => None,
        Colour::Index { index } => Some(indexed(index)),
        Colour::Rgb { r, g, b } => Some(Rgb(r, g, b)),
    }
}

/// Source of what lies above 15: xterm's `256colres.h`, a cube of six steps and 24 greys.
fn indexed(index: u8) -> Rgb {
    let step = |at: u8| if at == 0 { 0 } else { 55 + 40 * at };
    match index {
        0..=7 => NAMED[usize::from(index)],
        8 => DIM,
        9..=14 => mix(NAMED[usize::from(index - 8)], WHITE, BRIGHTER),
        15 => WHITE,
        16..=231 => {
            let at = index - 16;
            Rgb(step(at / 36), step(at / 6 % 6), step(at % 6))
        }
        232..=255 => {
            let grey = 8 + 10 * (index - 232);
            Rgb(grey, grey, grey)
        }
    }
}

/// `under` with `share` of 255 of `over` on it.
pub(super) fn mix(under: Rgb, over: Rgb, share: u8) -> Rgb {
    let part = |under: u8, over: u8| {
        let (under, over, share) = (u32::from(under), u32::from(over), u32::from(share));
        u8::try_from((under * (255 - share) + over * share + 127) / 255)
            .expect("between two colours lies a colour")
    };
    Rgb(part(under.0, over.0), part(under.1, over.1), part(under.2, over.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_and_the_greys_are_xterms() {
        assert_eq!(indexed(16), Rgb(0, 0, 0));
        assert_eq!(indexed(196), Rgb(255, 0, 0));
        assert_eq!(indexed(110), Rgb(135, 175, 215));
        assert_eq!(indexed(231), WHITE);
        assert_eq!(indexed(232), Rgb(8, 8, 8));
        assert_eq!(indexed(255), Rgb(238, 238, 238));
    }

    #[test]
    fn mixing_ends_at_both_ends() {
        assert_eq!(mix(GROUND, INK, 0), GROUND);
        assert_eq!(mix(GROUND, INK, 255), INK);
        let Rgb(r, g, b) = dimmed(INK, GROUND);
        let near = |a: u8, b: u8| a.abs_diff(b) < 12;
        assert!(near(r, DIM.0) && near(g, DIM.1) && near(b, DIM.2), "{r} {g} {b}");
    }
}
