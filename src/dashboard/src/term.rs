//! A terminal's screen as rows of markup: text, cut into spans that look alike. Colours are classes of
//! `palette.css`, since a page carries no style of its own.

use maud::{Markup, html};
use unicode_width::UnicodeWidthChar;
use vigie_core::text::reveal;

/// What a terminal shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    pub columns: u16,
    pub rows: Vec<Vec<Run>>,
    /// Column and row from 0; `None` while hidden.
    pub cursor: Option<(u16, u16)>,
}

/// Neighbouring cells that look alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub text: String,
    pub fg: Colour,
    pub bg: Colour,
    pub looks: Vec<Look>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Default,
    /// One of the 256 of xterm's palette.
    Index(u8),
    Rgb(u8, u8, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Bold,
    Dim,
    Italic,
    Underline,
    Inverse,
}

impl Screen {
    /// Each row's markup, without the blanks at its end.
    pub fn lines(&self) -> Vec<Markup> {
        let cursor = |at: usize| {
            let (column, row) = self.cursor?;
            (usize::from(row) == at).then_some(column)
        };
        self.rows.iter().enumerate().map(|(at, runs)| line(runs, cursor(at))).collect()
    }
}

/// What somebody sees of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Painted {
    columns: u16,
    lines: Vec<String>,
}

/// What makes it another picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paint {
    pub columns: u16,
    /// Rows in all.
    pub count: usize,
    /// Rows that changed, by their number from 0.
    pub rows: Vec<(usize, String)>,
}

impl Painted {
    /// `None`: it is seen already.
    pub fn paint(&mut self, screen: &Screen) -> Option<Paint> {
        let lines: Vec<String> = screen.lines().into_iter().map(|line| line.0).collect();
        let is_new = |(at, line): &(usize, &String)| self.lines.get(*at) != Some(*line);
        let rows: Vec<_> =
            lines.iter().enumerate().filter(is_new).map(|(at, line)| (at, line.clone())).collect();
        let same =
            rows.is_empty() && lines.len() == self.lines.len() && screen.columns == self.columns;
        *self = Self { columns: screen.columns, lines };
        (!same).then_some(Paint { columns: screen.columns, count: self.lines.len(), rows })
    }
}

/// What stands in one cell, and its classes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    text: String,
    wide: bool,
    /// The colour behind it; empty: the terminal's own.
    ground: String,
    class: String,
}

impl Cell {
    fn is_blank(&self) -> bool {
        let seen = ["ul", "cur"].iter().any(|mark| self.class.contains(mark));
        self.text == " " && self.ground.is_empty() && !seen
    }
}

/// One row. The cursor is a cell of its own.
pub fn line(runs: &[Run], cursor: Option<u16>) -> Markup {
    let mut cells: Vec<Cell> = runs.iter().flat_map(cells).collect();
    if let Some(column) = cursor {
        mark(&mut cells, column);
    }
    while cells.last().is_some_and(Cell::is_blank) {
        cells.pop();
    }
    html! {
        @for alike in cells.chunk_by(|one, other| one.ground == other.ground) {
            @let ground = &alike[0].ground;
            @if ground.is_empty() { (inked(alike)) } @else { span class={ "k " (ground) } { (inked(alike)) } }
        }
    }
}

fn inked(cells: &[Cell]) -> Markup {
    html! {
        @for alike in cells.chunk_by(|one, other| one.class == other.class) {
            @let class = &alike[0].class;
            @if class.is_empty() { (text(alike)) } @else { span class=(class) { (text(alike)) } }
        }
    }
}

/// Wide characters get two columns whatever the font makes of them; what is hidden is seen.
fn text(cells: &[Cell]) -> Markup {
    html! {
        @for alike in cells.chunk_by(|one, other| !one.wide && !other.wide) {
            @let text: String = alike.iter().map(|cell| cell.text.as_str()).collect();
            @let seen = reveal(&text);
            @let shown = html! {
                @if seen.hidden > 0 { (crate::rich::inline(&seen.text)) } @else { (text) }
            };
            @if alike[0].wide { span.w { (shown) } } @else { (shown) }
        }
    }
}

fn cells(run: &Run) -> Vec<Cell> {
    let (ground, class) = classes(run);
    let mut cells: Vec<Cell> = Vec::new();
    for c in run.text.chars().filter(|c| !c.is_control()) {
        match (c.width(), cells.last_mut()) {
            // What joins two pictures into one: here each has cells of its own.
            (Some(0), Some(before)) if before.wide && matches!(c, '\u{200d}' | '\u{fe0f}') => {}
            (Some(0) | None, Some(before)) => before.text.push(c),
            (width, _) => {
                let wide = width.is_some_and(|width| width > 1);
                let (ground, class) = (ground.clone(), class.clone());
                cells.push(Cell { text: c.into(), wide, ground, class });
            }
        }
    }
    cells
}

/// Right behind the last column it waits to wrap and stands on the last one.
fn mark(cells: &mut Vec<Cell>, column: u16) {
    let mut end = 0;
    let under = cells.iter().position(|cell| {
        end += 1 + usize::from(cell.wide);
        end > usize::from(column)
    });
    if cells.is_empty() {
        cells.push(Cell {
            text: " ".into(),
            wide: false,
            ground: String::new(),
            class: String::new(),
        });
    }
    let at = under.unwrap_or(cells.len() - 1);
    cells[at].ground.clear();
    cells[at].class = "cur".into();
}

/// The class of its ground, and those of its text. A ground is the colour of a span around it, so
/// the text on it always says its own.
fn classes(run: &Run) -> (String, String) {
    let has = |look| run.looks.contains(&look);
    let named = |colour: Option<u8>| colour.map(|colour| format!("f{colour}"));
    let (ink, ground) = (named(index(run.fg)), named(index(run.bg)));
    let (ink, ground) = if has(Look::Inverse) {
        (ground.unwrap_or("fi".into()), ink.unwrap_or("fd".into()))
    } else {
        match ground {
            Some(ground) => (ink.unwrap_or("fd".into()), ground),
            None => (named(index(run.fg).map(legible)).unwrap_or_default(), String::new()),
        }
    };
    let looks =
        [(Look::Bold, "st"), (Look::Dim, "dim"), (Look::Italic, "it"), (Look::Underline, "ul")];
    let looks = looks.into_iter().filter(|(look, _)| has(*look)).map(|(_, class)| class);
    let ink = Some(ink.as_str()).filter(|ink| !ink.is_empty());
    (ground, ink.into_iter().chain(looks).collect::<Vec<_>>().join(" "))
}

/// Black letters on the terminal's own dark ground would not be seen.
fn legible(ink: u8) -> u8 {
    match ink {
        0 | 16 | 232..=236 => 8,
        ink => ink,
    }
}

/// Of the palette; `None`: the terminal's own.
fn index(colour: Colour) -> Option<u8> {
    match colour {
        Colour::Default => None,
        Colour::Index(index) => Some(index),
        Colour::Rgb(r, g, b) => Some(nearest([r, g, b])),
    }
}

/// Steps of the palette's cube, which 24 greys follow. Source: xterm's `256colres.h`.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// What of the cube and the greys comes closest: the first sixteen are the page's own.
fn nearest(colour: [u8; 3]) -> u8 {
    let near = |part: u8| {
        let steps = (0..6u8).min_by_key(|step| STEPS[usize::from(*step)].abs_diff(part));
        steps.unwrap_or_default()
    };
    let [r, g, b] = colour.map(near);
    let cube = 16 + 36 * r + 6 * g + b;
    let mean = colour.iter().map(|part| u32::from(*part)).sum::<u32>() / 3;
    let step = u8::try_from((mean.saturating_sub(3) / 10).min(23)).unwrap_or(23);
    let (grey, level) = (232 + step, 8 + 10 * step);
    let far = |other: [u8; 3]| {
        let parts =
            colour.iter().zip(other).map(|(one, other)| u32::from(one.abs_diff(other)).pow(2));
        parts.sum::<u32>()
    };
    let of_cube = [r, g, b].map(|step| STEPS[usize::from(step)]);
    if far([level; 3]) < far(of_cube) { grey } else { cube }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    fn run(text: &str, fg: Colour, bg: Colour, looks: &[Look]) -> Run {
        Run { text: text.into(), fg, bg, looks: looks.into() }
    }

    fn plain(text: &str) -> Run {
        run(text, Colour::Default, Colour::Default, &[])
    }

    #[test]
    fn a_row_is_text_with_classes_and_no_more() {
        let runs = [
            plain("ok <b> "),
            run("red", Colour::Index(1), Colour::Default, &[Look::Bold]),
            run(" on ", Colour::Default, Colour::Index(238), &[]),
            plain("      "),
        ];
        assert_eq!(
            line(&runs, None).0,
            "ok &lt;b&gt; <span class=\"f1 st\">red</span><span class=\"k f238\"><span class=\"fd\"> on </span></span>"
        );
        assert_eq!(line(&[plain("    ")], None).0, "");
    }

    #[test]
    fn black_letters_are_seen_unless_their_ground_is_light() {
        let (black, white) = (Colour::Index(0), Colour::Index(7));
        let shown = line(&[run("log", black, Colour::Default, &[])], None).0;
        assert!(shown.contains("f8") && !shown.contains("f0"), "{shown}");
        let shown = line(&[run("log", black, white, &[])], None).0;
        assert!(shown.contains("f0") && shown.contains("f7"), "{shown}");
    }

    #[test]
    fn inverse_turns_both_colours_round() {
        let both = run("x", Colour::Index(2), Colour::Index(4), &[Look::Inverse]);
        assert_eq!(
            line(&[both], None).0,
            "<span class=\"k f2\"><span class=\"f4\">x</span></span>"
        );
        let own = run(" ", Colour::Default, Colour::Default, &[Look::Inverse]);
        assert_eq!(line(&[own], None).0, "<span class=\"k fd\"><span class=\"fi\"> </span></span>");
    }

    #[test]
    fn the_cursor_stands_where_columns_say_and_not_characters() {
        assert_eq!(
            line(&[plain("終点x ")], Some(4)).0,
            "<span class=\"w\">終</span><span class=\"w\">点</span><span class=\"cur\">x</span>"
        );
        assert_eq!(line(&[plain("ab   ")], Some(3)).0, "ab <span class=\"cur\"> </span>");
        assert_eq!(line(&[plain("ab")], Some(2)).0, "a<span class=\"cur\">b</span>");
        assert_eq!(line(&[], Some(0)).0, "<span class=\"cur\"> </span>");
    }

    #[test]
    fn what_is_hidden_is_seen_and_what_controls_is_gone() {
        let shown = line(&[plain("a\u{202e}b\u{1b}[2Jc\u{7}")], None).0;
        assert!(shown.contains("U+202E") && !shown.contains('\u{202e}'), "{shown}");
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'), "{shown}");
    }

    #[test]
    fn only_what_changed_is_painted() {
        let screen = |rows: &[&str]| Screen {
            columns: 4,
            rows: rows.iter().map(|row| vec![plain(row)]).collect(),
            cursor: None,
        };
        let mut painted = Painted::default();
        let first = painted.paint(&screen(&["one", "two"])).unwrap();
        assert_eq!((first.columns, first.count, first.rows.len()), (4, 2, 2));
        assert_eq!(painted.paint(&screen(&["one", "two"])), None);
        let next = painted.paint(&screen(&["one", "<2>", ""])).unwrap();
        assert_eq!((next.count, next.rows), (3, vec![(1, "&lt;2&gt;".into()), (2, String::new())]));
        let less = painted.paint(&screen(&["one"])).unwrap();
        assert_eq!((less.count, less.rows.len()), (1, 0));
    }

    #[test]
    fn pictures_that_are_joined_stand_side_by_side() {
        assert_eq!(
            line(&[plain("👩\u{200d}💻.")], None).0,
            "<span class=\"w\">👩</span><span class=\"w\">💻</span>."
        );
    }

    #[test]
    fn any_colour_finds_its_neighbour_in_the_palette() {
        assert_eq!(nearest([255, 0, 0]), 196);
        assert_eq!(nearest([254, 254, 254]), 231);
        assert_eq!(nearest([0, 0, 0]), 16);
        assert_eq!(nearest([128, 128, 128]), 244);
        assert_eq!(nearest([130, 178, 212]), 110);
    }

    /// `palette.css` is this, written down.
    fn palette() -> String {
        let named = ["line", "red", "green", "yellow", "blue", "magenta", "cyan", "ink", "dim"];
        let mut css =
            String::from("/* Colours of terminals; src/dashboard/src/term.rs says which. */\n");
        for index in 0..=255u8 {
            let colour = match index {
                0..=8 => format!("var(--term-{})", named[usize::from(index)]),
                9..=14 => {
                    let name = named[usize::from(index - 8)];
                    format!("color-mix(in srgb,var(--term-{name}) 65%,#fff)")
                }
                15 => "#fff".into(),
                16..=231 => {
                    let at = usize::from(index - 16);
                    let [r, g, b] = [at / 36, at / 6 % 6, at % 6].map(|step| STEPS[step]);
                    format!("#{r:02x}{g:02x}{b:02x}")
                }
                232..=255 => {
                    let grey = 8 + 10 * (index - 232);
                    format!("#{grey:02x}{grey:02x}{grey:02x}")
                }
            };
            writeln!(css, ".f{index}{{color:{colour}}}").unwrap();
        }
        css
    }

    #[test]
    fn the_style_sheet_has_every_colour() {
        assert!(include_str!("../page/palette.css") == palette(), "write palette.css anew");
    }
}
