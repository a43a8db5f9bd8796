//! The program's screen as a model, and the last of its output as bytes.

use std::{
    collections::{BTreeSet, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
};
use vt100::{Callbacks, Parser};

use super::protocol::{Colour, Look, Picture, Run};
use crate::agents::{Printed, Size};

/// Output kept in memory, in bytes: what a viewer or a reader may be behind before it jumps.
pub(crate) const RING: usize = 4 << 20;
/// Lines above the screen the model keeps, enough that a resize does not lose what was just seen.
const SCROLLBACK: usize = 500;
/// An escape sequence that is longer than this is not waited for.
const LONGEST_SEQUENCE: usize = 4096;
/// Programs nest one or two keyboard modes; a program that pushes for ever must not grow us.
const KEYBOARD_STACK: usize = 16;

/// Private modes that `vt100` does not keep and a freshly attached terminal needs all the same.
/// Source: xterm's control sequences; 1004 reports focus, 2031 reports the colour scheme.
const EXTRA_MODES: [u16; 2] = [1004, 2031];

pub(crate) struct Terminal {
    parser: Parser<Extras>,
    ring: Ring,
}

/// Bytes that bring any terminal of the right size to the program's state, and the offset in the
/// output from which it goes on.
pub(crate) struct Repaint {
    pub(crate) bytes: Vec<u8>,
    pub(crate) offset: u64,
}

impl Terminal {
    pub(crate) fn new(size: Size) -> Self {
        let parser =
            Parser::new_with_callbacks(size.rows, size.columns, SCROLLBACK, Extras::default());
        Self { parser, ring: Ring::default() }
    }

    /// Takes what the program printed; returns all bytes so far.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> u64 {
        self.change(self.size(), |parser| parser.process(bytes));
        self.ring.push(bytes);
        self.ring.end()
    }

    pub(crate) fn size(&self) -> Size {
        let (rows, columns) = self.parser.screen().size();
        Size { columns, rows }
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.change(size, |parser| parser.screen_mut().set_size(size.rows, size.columns));
    }

    /// What the program prints is data: a sequence that upsets the model costs us the picture,
    /// which the program draws again, and never the session.
    fn change(&mut self, size: Size, change: impl FnOnce(&mut Parser<Extras>)) {
        let parser = &mut self.parser;
        if catch_unwind(AssertUnwindSafe(|| change(parser))).is_err() {
            let extras = std::mem::take(self.parser.callbacks_mut());
            self.parser = Parser::new_with_callbacks(size.rows, size.columns, SCROLLBACK, extras);
        }
    }

    /// The screen as text, top to bottom, without trailing blanks.
    pub(crate) fn lines(&self) -> Vec<String> {
        let screen = self.parser.screen();
        let rows = screen.rows(0, screen.size().1);
        let mut lines: Vec<_> = rows.map(|row| row.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    pub(crate) fn takes_paste(&self) -> bool {
        self.parser.screen().bracketed_paste()
    }

    /// Arrows, Home and End as a program hears them that switched its keys over (DECCKM), which editors
    /// and dialogs do. Source: xterm's control sequences, "PC-Style Function Keys".
    pub(crate) fn as_pressed(&self, bytes: Vec<u8>) -> Vec<u8> {
        if !self.parser.screen().application_cursor() {
            return bytes;
        }
        let mut heard = Vec::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        while let Some((first, after)) = rest.split_first() {
            if let [0x1b, b'[', key @ (b'A'..=b'D' | b'H' | b'F'), more @ ..] = rest {
                heard.extend([0x1b, b'O', *key]);
                rest = more;
            } else {
                heard.push(*first);
                rest = after;
            }
        }
        heard
    }

    /// At most `most` bytes of output from `offset` on.
    pub(crate) fn since(&self, offset: u64, most: usize) -> Printed {
        self.ring.since(offset, most)
    }

    /// Everything for a terminal exactly as large as the program's.
    pub(crate) fn repaint(&self) -> Repaint {
        let screen = self.parser.screen();
        let mut bytes = self.switch_screen();
        bytes.extend(screen.state_formatted());
        bytes.extend(self.parser.callbacks().restore());
        Repaint { bytes, offset: self.ring.settled() }
    }

    /// Row by row with explicit positions, for a terminal of any other size.
    /// `drawn` is what that terminal shows already, one entry a row; changed rows alone are sent.
    pub(crate) fn draw(&self, drawn: &mut Vec<Vec<u8>>) -> Vec<u8> {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let mut bytes = Vec::new();
        if drawn.len() != usize::from(rows) {
            *drawn = vec![Vec::new(); usize::from(rows)];
            bytes.extend(self.switch_screen());
            bytes.extend(b"\x1b[r\x1b[m\x1b[H\x1b[2J");
            bytes.extend(self.parser.callbacks().restore());
        }
        bytes.extend(b"\x1b[?25l");
        for (at, (row, before)) in screen.rows_formatted(0, columns).zip(drawn).enumerate() {
            if *before != row {
                bytes.extend(format!("\x1b[{};1H\x1b[m\x1b[2K", at + 1).bytes());
                bytes.extend(&row);
                *before = row;
            }
        }
        let (row, column) = screen.cursor_position();
        bytes.extend(format!("\x1b[m\x1b[{};{}H", row + 1, column + 1).bytes());
        if !screen.hide_cursor() {
            bytes.extend(b"\x1b[?25h");
        }
        bytes.extend(screen.input_mode_formatted());
        bytes
    }

    fn switch_screen(&self) -> Vec<u8> {
        let to: &[u8] =
            if self.parser.screen().alternate_screen() { b"\x1b[?1049h" } else { b"\x1b[?1049l" };
        to.to_vec()
    }

    /// What went off the top of the screen, the oldest first.
    pub(crate) fn above(&mut self) -> Vec<Vec<Run>> {
        let mut rows = Vec::new();
        self.change(self.size(), |parser| {
            let screen = parser.screen_mut();
            let height = screen.size().0;
            screen.set_scrollback(usize::MAX);
            let mut left = screen.scrollback();
            while left > 0 {
                screen.set_scrollback(left);
                let shown = u16::try_from(left).unwrap_or(u16::MAX).min(height).max(1);
                rows.extend((0..shown).map(|row| runs(screen, row)));
                left = left.saturating_sub(usize::from(shown));
            }
            screen.set_scrollback(0);
        });
        rows
    }

    pub(crate) fn picture(&self) -> Picture {
        let screen = self.parser.screen();
        let (row, column) = screen.cursor_position();
        Picture {
            size: self.size(),
            cursor: (!screen.hide_cursor()).then_some((column, row)),
            title: self.parser.callbacks().title.clone(),
            rows: (0..screen.size().0).map(|row| runs(screen, row)).collect(),
            lines: self.lines(),
            printed: self.ring.end(),
        }
    }
}

fn runs(screen: &vt100::Screen, row: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..screen.size().1 {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation())
        else {
            continue;
        };
        let looks: Vec<_> = [
            (cell.bold(), Look::Bold),
            (cell.dim(), Look::Dim),
            (cell.italic(), Look::Italic),
            (cell.underline(), Look::Underline),
            (cell.inverse(), Look::Inverse),
        ]
        .into_iter()
        .filter_map(|(on, look)| on.then_some(look))
        .collect();
        let (fg, bg) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
        let text = if cell.has_contents() { cell.contents() } else { " " };
        match runs.last_mut() {
            Some(run) if run.fg == fg && run.bg == bg && run.looks == looks => {
                run.text.push_str(text);
            }
            Some(_) | None => runs.push(Run { text: text.into(), fg, bg, looks }),
        }
    }
    runs
}

fn colour(colour: vt100::Color) -> Colour {
    match colour {
        vt100::Color::Default => Colour::Default,
        vt100::Color::Idx(index) => Colour::Index { index },
        vt100::Color::Rgb(r, g, b) => Colour::Rgb { r, g, b },
    }
}

/// What a terminal is told and `vt100` does not keep.
#[derive(Default)]
struct Extras {
    title: String,
    modes: BTreeSet<u16>,
    /// Flags pushed by the kitty keyboard protocol (`CSI > flags u`).
    keyboard: Vec<u16>,
    /// xterm's `modifyOtherKeys`.
    other_keys: u16,
}

impl Extras {
    /// Longest title kept, in characters.
    const TITLE: usize = 256;

    fn restore(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if !self.title.is_empty() {
            bytes.extend(format!("\x1b]0;{}\x07", self.title).bytes());
        }
        for mode in &self.modes {
            bytes.extend(format!("\x1b[?{mode}h").bytes());
        }
        for flags in &self.keyboard {
            bytes.extend(format!("\x1b[>{flags}u").bytes());
        }
        if self.other_keys > 0 {
            bytes.extend(format!("\x1b[>4;{}m", self.other_keys).bytes());
        }
        bytes
    }
}

impl Callbacks for Extras {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        let title = String::from_utf8_lossy(title);
        self.title = title.chars().filter(|c| !c.is_control()).take(Self::TITLE).collect();
    }

    fn unhandled_csi(
        &mut self,
        _: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        let number = |at: usize| params.get(at).and_then(|part| part.first()).copied();
        match (first, last) {
            (Some(b'?'), 'h') => self.modes.extend(extra_modes(params)),
            (Some(b'?'), 'l') => extra_modes(params).for_each(|mode| {
                self.modes.remove(&mode);
            }),
            (Some(b'>'), 'u') if self.keyboard.len() < KEYBOARD_STACK => {
                self.keyboard.push(number(0).unwrap_or_default());
            }
            (Some(b'<'), 'u') => {
                let pops = usize::from(number(0).unwrap_or(1).max(1));
                self.keyboard.truncate(self.keyboard.len().saturating_sub(pops));
            }
            (Some(b'>'), 'm') if number(0) == Some(4) => {
                self.other_keys = number(1).unwrap_or_default();
            }
            (Some(_) | None, _) => {}
        }
    }
}

fn extra_modes(params: &[&[u16]]) -> impl Iterator<Item = u16> {
    params.iter().filter_map(|part| part.first().copied()).filter(|mode| EXTRA_MODES.contains(mode))
}

/// The last [`RING`] bytes of output and how many came before them.
#[derive(Default)]
struct Ring {
    bytes: VecDeque<u8>,
    start: u64,
}

impl Ring {
    fn push(&mut self, bytes: &[u8]) {
        let skipped = bytes.len().saturating_sub(RING);
        self.bytes.extend(&bytes[skipped..]);
        let over = self.bytes.len().saturating_sub(RING);
        self.bytes.drain(..over);
        self.start += (skipped + over) as u64;
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn since(&self, offset: u64, most: usize) -> Printed {
        let from = offset.clamp(self.start, self.end());
        let at = usize::try_from(from - self.start).expect("an offset inside the ring");
        let bytes: Vec<u8> = self.bytes.range(at..).take(most).copied().collect();
        Printed { lost: from.saturating_sub(offset), end: from + bytes.len() as u64, bytes }
    }

    /// Where the last whole sequence ends: what comes after is half of an escape sequence or of a
    /// character, which changed nothing yet and has to reach a new terminal in one piece.
    fn settled(&self) -> u64 {
        let tail = self.bytes.len().saturating_sub(LONGEST_SEQUENCE);
        let tail: Vec<u8> = self.bytes.range(tail..).copied().collect();
        self.end() - unfinished(&tail) as u64
    }
}

/// How many bytes at the end of `tail` begin something that is not over yet.
fn unfinished(tail: &[u8]) -> usize {
    if let Some(at) = tail.iter().rposition(|byte| *byte == 0x1b) {
        let sequence = &tail[at..];
        let over = match sequence.get(1) {
            None => false,
            Some(b'[') => sequence[2..].iter().any(|byte| (0x40..=0x7e).contains(byte)),
            Some(b']' | b'P' | b'_' | b'^') => sequence.contains(&0x07),
            Some(b' '..=b'/') => sequence.len() > 2,
            Some(_) => true,
        };
        if !over {
            return sequence.len();
        }
    }
    let Err(error) = std::str::from_utf8(&tail[tail.len().saturating_sub(4)..]) else { return 0 };
    // The cut itself may have split a character at the front; only an open end counts.
    let rest = tail.len().min(4) - error.valid_up_to();
    match error.error_len() {
        None => rest,
        Some(bad) => {
            let tail = &tail[tail.len() - rest + bad..];
            std::str::from_utf8(tail)
                .err()
                .filter(|error| error.error_len().is_none())
                .map_or(0, |error| tail.len() - error.valid_up_to())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: Size = Size { columns: 20, rows: 4 };

    fn shown(terminal: &Terminal) -> (Vec<String>, (u16, u16), bool) {
        let screen = terminal.parser.screen();
        (terminal.lines(), screen.cursor_position(), screen.alternate_screen())
    }

    #[test]
    fn a_repaint_brings_another_terminal_to_the_same_state() {
        let mut one = Terminal::new(SIZE);
        one.feed(
            b"\x1b]0;hello\x07\x1b[?1049h\x1b[?2004h\x1b[?1004h\x1b[?1002h\x1b[2;3H\x1b[31mred",
        );
        let mut other = Terminal::new(SIZE);
        other.feed(b"old text everywhere");
        other.feed(&one.repaint().bytes);
        assert_eq!(shown(&other), shown(&one));
        assert!(other.takes_paste());
        assert_eq!(other.parser.callbacks().title, "hello");
        assert!(other.parser.callbacks().modes.contains(&1004));
        assert_eq!(other.picture().rows[1], one.picture().rows[1]);
    }

    #[test]
    fn arrows_are_what_the_program_asked_for() {
        let pressed = b"yes\x1b[A\x1b[D\x1b[H\x1b[3~\x1b[Z\x1b\r".to_vec();
        let mut terminal = Terminal::new(SIZE);
        assert_eq!(terminal.as_pressed(pressed.clone()), pressed);
        terminal.feed(b"\x1b[?1h");
        let heard = b"yes\x1bOA\x1bOD\x1bOH\x1b[3~\x1b[Z\x1b\r";
        assert_eq!(terminal.as_pressed(pressed.clone()), heard);
        terminal.feed(b"\x1b[?1l");
        assert_eq!(terminal.as_pressed(pressed.clone()), pressed);
    }

    #[test]
    fn a_larger_terminal_shows_the_same_rows() {
        let mut one = Terminal::new(SIZE);
        one.feed(b"abcdefghijklmnopqrstuvwxyz\r\nsecond");
        let mut other = Terminal::new(Size { columns: 40, rows: 10 });
        let mut drawn = Vec::new();
        other.feed(&one.draw(&mut drawn));
        assert_eq!(other.lines(), one.lines());
        one.feed(b"\x1b[1;1Hnew\x1b[K");
        other.feed(&one.draw(&mut drawn));
        assert_eq!(other.lines(), one.lines());
    }

    proptest! {
        #[test]
        fn whatever_is_printed_can_be_shown(
            steps in prop::collection::vec((printed(), 2_u16..12, 2_u16..8), 1..12),
        ) {
            let mut terminal = Terminal::new(SIZE);
            let mut drawn = Vec::new();
            for (bytes, columns, rows) in steps {
                terminal.feed(&bytes);
                terminal.resize(Size { columns, rows });
                prop_assert_eq!(terminal.picture().rows.len(), usize::from(rows));
                terminal.repaint();
                terminal.draw(&mut drawn);
            }
        }

        #[test]
        fn whatever_is_printed_is_repainted(bytes in printed()) {
            let mut terminal = Terminal::new(SIZE);
            terminal.feed(&bytes);
            let mut other = Terminal::new(SIZE);
            other.feed(&terminal.repaint().bytes);
            prop_assert_eq!(other.lines(), terminal.lines());
        }
    }

    fn printed() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            "\\PC{0,12}".prop_map(String::into_bytes),
            "\x1b\\[[?>]?[0-9;]{0,6}[A-Za-z@`]".prop_map(String::into_bytes),
            "[\r\n\t\x08\x0b]{1,3}".prop_map(String::into_bytes),
            Just("\u{5b57}\u{5b57}\u{301}".as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..8),
        ];
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    #[test]
    fn a_repaint_never_cuts_a_sequence_or_a_character() {
        for (printed, open) in [
            ("plain".as_bytes(), 0),
            (b"a\x1b", 1),
            (b"a\x1b[38;5;1", 8),
            (b"a\x1b[38;5;1m", 0),
            (b"a\x1b]0;tit", 7),
            (b"a\x1b]0;tit\x07b", 0),
            ("aé".as_bytes(), 0),
            (&"aé".as_bytes()[..2], 1),
            (&"\u{1f600}".as_bytes()[..3], 3),
            (&"é\u{1f600}".as_bytes()[..5], 3),
        ] {
            assert_eq!(unfinished(printed), open, "{printed:?}");
        }
    }

    #[test]
    fn the_ring_is_bounded_and_says_what_is_lost() {
        let mut ring = Ring::default();
        ring.push(&vec![b'a'; RING]);
        ring.push(b"tail");
        let printed = ring.since(0, usize::MAX);
        assert_eq!((printed.lost, printed.end, printed.bytes.len()), (4, RING as u64 + 4, RING));
        assert_eq!(ring.since(RING as u64, 2).bytes, b"ta");
    }
}
