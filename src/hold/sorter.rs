//! Tells what a person typed from what a terminal says by itself. Sequences: xterm's control
//! sequences, the kitty keyboard protocol.

/// Longest answer that is waited for; terminals' answers are far shorter.
const LONGEST: usize = 4096;

/// Whether this viewer's terminal answers the program's questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    Yes,
    No,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sorted {
    /// For the program.
    pub(crate) keep: Vec<u8>,
    /// Somebody pressed a key.
    pub(crate) typed: bool,
}

/// Sorts the input of one viewer. A terminal's answer may come in pieces; an Escape key alone, or
/// with one more key, is never kept back.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    half: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Key,
    /// An answer to a question of the program.
    Answer,
    /// Said by the terminal itself and wanted by the program: mouse, focus.
    Report,
}

impl Sorter {
    pub(crate) fn sort(&mut self, bytes: &[u8], answers: Answers) -> Sorted {
        let mut input = std::mem::take(&mut self.half);
        input.extend_from_slice(bytes);
        let mut sorted = Sorted::default();
        let mut rest = &input[..];
        while !rest.is_empty() {
            let Some((length, kind)) = next(rest) else {
                if rest.len() > 2 && rest.len() < LONGEST {
                    self.half = rest.to_vec();
                    return sorted;
                }
                sorted.typed = true;
                sorted.keep.extend(rest);
                return sorted;
            };
            let (part, more) = rest.split_at(length);
            rest = more;
            sorted.typed |= kind == Kind::Key;
            if kind != Kind::Answer || answers == Answers::Yes {
                sorted.keep.extend(part);
            }
        }
        sorted
    }
}

/// The length and kind of what `bytes` begins with; `None` when its end has not come.
fn next(bytes: &[u8]) -> Option<(usize, Kind)> {
    if bytes[0] != 0x1b {
        let plain = bytes.iter().position(|byte| *byte == 0x1b).unwrap_or(bytes.len());
        return Some((plain, Kind::Key));
    }
    match bytes.get(1)? {
        b'[' => control(bytes),
        b']' | b'P' | b'_' => string(bytes).map(|length| (length, Kind::Answer)),
        _ => Some((2, Kind::Key)),
    }
}

fn control(bytes: &[u8]) -> Option<(usize, Kind)> {
    let body = &bytes[2..];
    let end = body.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
    let (params, last) = (&body[..end], body[end]);
    let length = end + 3;
    let private = matches!(params.first(), Some(b'?' | b'>' | b'='));
    let kind = match (last, params) {
        (b'M', []) => return (bytes.len() >= length + 3).then_some((length + 3, Kind::Report)),
        (b'M' | b'm', [b'<', ..]) | (b'I' | b'O', []) => Kind::Report,
        (b'c' | b'u' | b'y' | b'n', _) if private => Kind::Answer,
        // With 1 as its row this is the key F3 with modifiers, in all but the first line.
        (b'R', [b'1', b';', ..]) => Kind::Key,
        (b'n' | b't' | b'R', _) => Kind::Answer,
        (_, _) => Kind::Key,
    };
    Some((length, kind))
}

fn string(bytes: &[u8]) -> Option<usize> {
    let bell = bytes.iter().position(|byte| *byte == 0x07).map(|at| at + 1);
    let proper = bytes.windows(2).skip(1).position(|pair| pair == b"\x1b\\").map(|at| at + 3);
    match (bell, proper) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sort(bytes: &[u8], answers: Answers) -> (Vec<u8>, bool) {
        let sorted = Sorter::default().sort(bytes, answers);
        (sorted.keep, sorted.typed)
    }

    #[test]
    fn answers_of_other_terminals_are_dropped_and_keys_are_not() {
        for answer in [
            &b"\x1b[?62;4c"[..],
            b"\x1b[>41;354;0c",
            b"\x1b[?0u",
            b"\x1b[12;40R",
            b"\x1b[?2026;2$y",
            b"\x1b]11;rgb:0000/0000/0000\x1b\\",
            b"\x1b]10;rgb:ffff/ffff/ffff\x07",
            b"\x1bP>|term 1\x1b\\",
        ] {
            assert_eq!(sort(answer, Answers::No), (Vec::new(), false), "{answer:?}");
            assert_eq!(sort(answer, Answers::Yes), (answer.to_vec(), false), "{answer:?}");
        }
        for key in [&b"a"[..], b"\x1b", b"\x1b[", b"\x1b[A", b"\x1bx", b"\x1b[1;2R", b"\x1b[97;5u"]
        {
            assert_eq!(sort(key, Answers::No), (key.to_vec(), true), "{key:?}");
        }
        for report in [&b"\x1b[<0;3;4M"[..], b"\x1b[I", b"\x1b[M !!"] {
            assert_eq!(sort(report, Answers::No), (report.to_vec(), false), "{report:?}");
        }
    }

    #[test]
    fn an_answer_in_pieces_is_one_answer() {
        let mut sorter = Sorter::default();
        assert_eq!(sorter.sort(b"x\x1b]11;rgb:00", Answers::No).keep, b"x");
        assert_eq!(sorter.sort(b"00/00\x07y", Answers::No).keep, b"y");
    }

    proptest! {
        #[test]
        fn the_one_who_answers_loses_nothing(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut sorter = Sorter::default();
            let mut kept = sorter.sort(&bytes, Answers::Yes).keep;
            kept.extend(sorter.half);
            prop_assert_eq!(kept, bytes);
        }
    }
}
