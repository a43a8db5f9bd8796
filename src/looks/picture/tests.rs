use super::{
    palette::{GROUND, INK, Rgb, YELLOW},
    *,
};
use crate::{
    agents::Size,
    hold::protocol::{Colour, Look, Run},
};
use proptest::prelude::*;

const RED: Colour = Colour::Rgb { r: 200, g: 10, b: 10 };

fn run(text: &str, fg: Colour, bg: Colour, looks: &[Look]) -> Run {
    Run { text: text.into(), fg, bg, looks: looks.to_vec() }
}

fn plain(text: &str) -> Run {
    run(text, Colour::Default, Colour::Default, &[])
}

fn screen(columns: u16, rows: Vec<Vec<Run>>) -> Picture {
    let size = Size { columns, rows: u16::try_from(rows.len()).unwrap() };
    Picture { size, cursor: None, title: String::new(), rows, lines: vec![], printed: 0 }
}

fn lines(columns: u16, lines: &[&str]) -> Picture {
    screen(columns, lines.iter().map(|line| vec![plain(line)]).collect())
}

/// What a person reads, a row a line.
fn read(screen: &Picture) -> Vec<String> {
    let grid = Grid::read(screen, MOST_COLUMNS, MOST_ROWS);
    let text = |row: &Vec<Cell>| row.iter().map(|cell| cell.base).collect::<String>();
    grid.rows.iter().map(text).collect()
}

/// Width, height, and the pixels by column and row.
fn decoded(shot: &Shot) -> (u32, u32, impl Fn(u32, u32) -> Rgb) {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(&shot.png));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    assert_eq!((frame.width, frame.height), (shot.width, shot.height));
    let at = move |x: u32, y: u32| {
        let at = (y * frame.width + x) as usize * 3;
        Rgb(bytes[at], bytes[at + 1], bytes[at + 2])
    };
    (frame.width, frame.height, at)
}

/// The colours inside the cell at a column and row, at 16 to 32 pixels.
fn colours(shot: &Shot, column: u32, row: u32, columns: u32) -> Vec<Rgb> {
    let (_, _, at) = decoded(shot);
    let (left, top) = (16 + column * 16, 16 + row * 32);
    (top..top + 32)
        .flat_map(|y| (left..left + 16 * columns).map(move |x| (x, y)))
        .map(|(x, y)| at(x, y))
        .collect()
}

fn has_letter(shot: &Shot, column: u32, row: u32, ink: Rgb) -> bool {
    colours(shot, column, row, 1).contains(&ink)
}

#[test]
fn a_screen_is_drawn_in_its_colours_and_without_its_empty_end() {
    let rows = vec![
        vec![plain("ab"), run("  ", Colour::Default, RED, &[])],
        vec![run("█", Colour::Index { index: 196 }, Colour::Default, &[])],
        vec![plain("      ")],
        vec![plain("      ")],
    ];
    let shot = picture(&screen(80, rows)).unwrap();
    assert_eq!((shot.width, shot.height), ((40 + 2) * 16, 2 * 32 + 2 * 16));
    assert_eq!(shot.left_out, None);
    let (_, _, at) = decoded(&shot);
    assert_eq!(at(0, 0), GROUND);
    assert!(has_letter(&shot, 0, 0, INK));
    assert!(colours(&shot, 2, 0, 2).iter().all(|pixel| *pixel == Rgb(200, 10, 10)));
    assert!(colours(&shot, 0, 1, 1).iter().all(|pixel| *pixel == Rgb(255, 0, 0)));
}

#[test]
fn looks_and_the_cursor_are_seen() {
    let looked = |look| run("█ ", Colour::Default, Colour::Default, &[look]);
    let mut screen = screen(
        40,
        vec![
            vec![looked(Look::Inverse)],
            vec![looked(Look::Dim)],
            vec![looked(Look::Underline)],
            vec![plain("x")],
        ],
    );
    screen.cursor = Some((0, 3));
    let shot = picture(&screen).unwrap();
    assert_eq!(colours(&shot, 0, 0, 1)[0], GROUND);
    assert_eq!(colours(&shot, 1, 0, 1)[0], INK);
    assert_eq!(colours(&shot, 0, 1, 1)[0], palette::dimmed(INK, GROUND));
    assert!(has_letter(&shot, 1, 2, INK), "a line below the blank");
    assert_eq!(colours(&shot, 0, 3, 1)[0], INK);
    assert!(has_letter(&shot, 0, 3, GROUND), "a dark letter on the cursor");
    let ink = |looks: &[Look]| {
        let row = vec![run("n", Colour::Default, Colour::Default, looks)];
        let shot = picture(&super::tests::screen(40, vec![row])).unwrap();
        colours(&shot, 0, 0, 1).iter().filter(|pixel| **pixel != GROUND).count()
    };
    assert!(ink(&[Look::Bold]) > ink(&[]), "bold has more ink");
    assert_ne!(ink(&[Look::Italic]), ink(&[]), "italic is another shape");
}

#[test]
fn every_sign_of_an_agents_screen_has_a_shape_of_its_own() {
    let signs = "⏺✻✽✶✳✢·❯⎿✔✘☐☒⏵⏸⚠●○◯◉←→↑↓⏎…•★✓✗─│╭╮╰╯├┼═║█▀▄░▓▖⠋⠙⣿éßЖα⟦";
    let all = format!("\u{e0b0}{signs}");
    let shot = picture(&lines(100, &[&all])).unwrap();
    let drawn: Vec<_> = (0..).zip(all.chars()).map(|(at, _)| colours(&shot, at, 0, 1)).collect();
    let (unknown, drawn) = drawn.split_first().unwrap();
    assert!(unknown.contains(&INK), "an unknown character is a visible box");
    for (c, drawn) in signs.chars().zip(drawn) {
        assert!(drawn.iter().any(|pixel| *pixel != GROUND), "{c} is nothing");
        assert_ne!(drawn, unknown, "{c} is not in the font");
    }
}

#[test]
fn a_wide_character_takes_two_columns_even_as_a_box() {
    let shot = picture(&lines(40, &["漢x", "😀x", "abx"])).unwrap();
    let x = colours(&shot, 2, 2, 1);
    for row in [0, 1] {
        assert_eq!(colours(&shot, 2, row, 1), x);
        let wide = colours(&shot, 0, row, 2);
        let (left, right): (Vec<_>, Vec<_>) =
            wide.chunks(32).map(|line| (line[..16].to_vec(), line[16..].to_vec())).unzip();
        assert!(left.concat().contains(&INK) && right.concat().contains(&INK));
    }
}

#[test]
fn lines_of_boxes_meet() {
    let shot = picture(&lines(40, &["│─", "│─"])).unwrap();
    let (_, _, at) = decoded(&shot);
    assert!((16..16 + 64).all(|y| (16..32).any(|x| at(x, y) == INK)), "no gap between the rows");
    let across = (32 + 1..48 - 1).all(|x| (16..48).any(|y| at(x, y) == INK));
    assert!(across, "no gap between the columns");
}

#[test]
fn secrets_become_stars_in_place() {
    let key = "sk-ant-api03-abcdefghijklmnop1234567890";
    let shown = read(&lines(80, &[&format!("key {key} ok"), "PASSWORD=hunter2secret99 and more"]));
    assert_eq!(shown[0], format!("key sk-ant-{} ok", "*".repeat(key.len() - 7)));
    assert_eq!(shown[1], "PASSWORD=*************** and more");
    let two = format!("a={key} b plain c TOKEN=abcdef123456 d");
    let shown = &read(&lines(80, &[&two]))[0];
    assert!(shown.contains(" b plain c TOKEN=************ d"), "{shown}");
    assert_eq!(
        read(&lines(80, &["commit 3f2a9c1d7e", "nothing"])),
        ["commit 3f2a9c1d7e", "nothing"]
    );
}

#[test]
fn a_secret_that_wraps_is_gone_in_both_rows() {
    let rows = [
        "│ the key is long: use sk-ant-api03-ab12cd34 │",
        "│ ef56gh78ij90kl12mn34op                     │",
        "│ and go on                                  │",
    ];
    let shown = read(&lines(46, &rows));
    assert_eq!(shown[0], "│ the key is long: use sk-ant-************** │");
    assert_eq!(shown[1], "│ **********************                     │");
    assert_eq!(shown[2], rows[2]);
}

#[test]
fn a_private_key_is_gone_over_all_its_rows() {
    let rows = [
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUA",
        "-----END OPENSSH PRIVATE KEY-----",
        "after",
    ];
    let shown = read(&lines(80, &rows));
    assert!(shown[1].chars().all(|c| c == '*'), "{shown:?}");
    assert_eq!(shown[3], "after");
}

#[test]
fn hidden_characters_are_written_out_and_emoji_are_not() {
    assert_eq!(read(&lines(40, &["safe\u{202e}evil\u{200b}"])), ["safe⟦U+202E⟧evil⟦U+200B⟧"]);
    assert_eq!(read(&lines(40, &["⚠\u{fe0f} 👩\u{200d}💻 e\u{301}"])), ["⚠ 👩💻 e"]);
    let shot = picture(&lines(40, &["a\u{202e}"])).unwrap();
    assert!(has_letter(&shot, 1, 0, YELLOW), "it stands out");
    // Nothing hides a secret from the mask.
    let shown = &read(&lines(80, &["TOKEN=abc\u{200b}def123456"]))[0];
    assert!(!shown.contains("abc"), "{shown}");
}

#[test]
fn an_empty_screen_is_said() {
    assert_eq!(picture(&lines(80, &["   ", ""])), Err(PictureError::Empty));
    assert_eq!(picture(&screen(0, vec![])), Err(PictureError::Empty));
}

#[test]
fn a_screen_that_is_too_large_keeps_its_end_and_says_so() {
    let row = "x".repeat(500);
    let rows: Vec<&str> = std::iter::repeat_n(row.as_str(), 200).collect();
    let shot = picture(&lines(500, &rows)).unwrap();
    assert_eq!(
        shot.left_out.as_deref(),
        Some("not in the picture: the 20 uppermost rows and the 100 rightmost columns")
    );
    assert_eq!((shot.width, shot.height), (402 * 8, 180 * 16 + 16));
}

#[test]
fn a_picture_that_does_not_pack_is_drawn_with_fewer_colours() {
    // Every cell another letter on another ground.
    let rows = (0..40_u32).map(|row| {
        let cell = |column: u32| {
            let [a, b, c, d] = (row * 400 + column).wrapping_mul(2_654_435_761).to_be_bytes();
            let text = char::from(b'!' + d % 90).to_string();
            run(&text, Colour::Rgb { r: c, g: a, b }, Colour::Rgb { r: a, g: b, b: c }, &[])
        };
        (0..100).map(cell).collect()
    });
    let grid = Grid::read(&screen(100, rows.collect()), MOST_COLUMNS, MOST_ROWS);
    let (_, whole) = drawn_within(&grid, MOST_BYTES);
    let (canvas, fewer) = drawn_within(&grid, whole.len() - 1);
    assert_eq!((canvas.width, canvas.height), sides(&grid, SMALLEST));
    assert!(fewer.len() < whole.len());
    let shot = Shot { png: fewer, width: canvas.width, height: canvas.height, left_out: None };
    let (_, _, at) = decoded(&shot);
    assert_eq!(at(0, 0), Rgb(0, 0, 0), "the ground, in few colours");
}

#[test]
fn a_byte_a_pixel_is_under_the_limit_for_the_largest_screen() {
    let row = vec![plain(&"x".repeat(MOST_COLUMNS))];
    let columns = u16::try_from(MOST_COLUMNS).unwrap();
    let grid = Grid::read(&screen(columns, vec![row; MOST_ROWS]), MOST_COLUMNS, MOST_ROWS);
    let (width, height) = sides(&grid, SMALLEST);
    // PNG adds a byte a row, and five bytes for each 64 kB that do not pack.
    assert!((width + 1) as usize * height as usize * 101 / 100 <= MOST_BYTES);
    assert!(width + height <= 10_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn whatever_the_screen_a_chat_service_takes_the_picture(
        text in "(\\PC|\\p{Cf}|\\p{Cc}| ){0,40}",
        columns in 1_u16..300, repeated in 1_usize..40, cursor: Option<(u16, u16)>,
    ) {
        let mut screen = lines(columns, &vec![text.as_str(); repeated]);
        screen.cursor = cursor;
        if let Ok(shot) = picture(&screen) {
            let (long, short) = (shot.width.max(shot.height), shot.width.min(shot.height));
            prop_assert!(shot.width + shot.height <= 10_000);
            prop_assert!(long <= short * 20, "{} by {}", shot.width, shot.height);
            prop_assert!(shot.png.len() <= MOST_BYTES);
        }
    }

    #[test]
    fn nothing_that_the_mask_takes_is_drawn(
        before in "[a-z ]{0,30}", body in "[a-z]{4}[0-9]{4}[A-Z]{4}[a-z0-9]{12}", after in "( [a-z ]{0,20})?",
        columns in 20_usize..60,
    ) {
        let text = format!("{before} ghp_{body}abcdef {after}");
        let chars: Vec<char> = text.chars().collect();
        let rows: Vec<String> = chars.chunks(columns).map(|row| {
            let row: String = row.iter().collect();
            format!("{row:columns$}")
        }).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let shown = read(&lines(u16::try_from(columns).unwrap(), &rows)).concat();
        prop_assert!(!shown.contains(&body[..8]), "{shown}");
        prop_assert!(!shown.contains(&body[16..]), "{shown}");
    }
}
