//! Letters that look like a Latin one. A small table of the common ones: enough to warn a reader,
//! never used to decide that two names are the same.

/// Pairs of a foreign letter and the ASCII letter it looks like.
const CYRILLIC: &str = "аaвBеeкkмMнHоoрpсcтTуyхxіiјjѕsԁdԛqԝwһhӏlгrпnьbАAВBЕEЗ3КKМMНHОOРPСCТTУYХXІIЈJЅSԌGҮYғfԍGԚQԜWүyѵvѴVҺhӀI";
const GREEK: &str = "αaβBγyεeιiκkνvοoρpτtυuχxωwΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϲcϳjϹC";
const ARMENIAN: &str = "օoսuոnհhքpցgզqԼLՕOՍUեtյj";
const CHEROKEE: &str = "ᎪAᏴBᏟCᎠDᎬEᏀGᎻHᎫJᏦKᏞLᎷMᏢPᎡRᏚSᎢTᏙVᎳWᏃZ";
const LATIN: &str = "ɑaɡgɩiıiʀRʟLɴNʜHⅰiⅼlⅽcⅾdⅿmⅠIⅤVⅩXⅬLⅭCⅮDⅯMſs";

/// The scripts of the table, by the name a reader knows.
const SCRIPTS: &[(&str, &str)] = &[
    ("Cyrillic", CYRILLIC),
    ("Greek", GREEK),
    ("Armenian", ARMENIAN),
    ("Cherokee", CHEROKEE),
    ("odd Latin", LATIN),
];

/// The ASCII letter that `c` looks like, and the name of the script `c` is from.
pub(crate) fn plain_letter(c: char) -> Option<(char, &'static str)> {
    if c.is_ascii() {
        return None;
    }
    if let Some(ascii) = full_width(c) {
        return Some((ascii, "full-width"));
    }
    if let Some(ascii) = mathematical(c) {
        return Some((ascii, "mathematical"));
    }
    SCRIPTS.iter().find_map(|(script, pairs)| {
        let mut letters = pairs.chars();
        std::iter::from_fn(|| Some((letters.next()?, letters.next()?)))
            .find(|(odd, _)| *odd == c)
            .map(|(_, ascii)| (ascii, *script))
    })
}

fn full_width(c: char) -> Option<char> {
    matches!(c, 'Ａ'..='Ｚ' | 'ａ'..='ｚ')
        .then(|| char::from_u32(u32::from(c) - 0xFF01 + 0x21))
        .flatten()
}

/// The alphabets of bold, script and the like: 52 letters each, from U+1D400 on.
/// Source: Unicode 16, block Mathematical Alphanumeric Symbols.
fn mathematical(c: char) -> Option<char> {
    let at = u32::from(c).checked_sub(0x1_D400).filter(|at| *at < 13 * 52)? % 52;
    let at = u8::try_from(at).ok()?;
    Some(char::from(if at < 26 { b'A' + at } else { b'a' + at - 26 }))
}

/// Letters of the scripts whose letters are taken for Latin ones.
pub(super) fn is_of_a_mixed_up_script(c: char) -> bool {
    matches!(u32::from(c), 0x0370..=0x052F | 0x0531..=0x0588 | 0x13A0..=0x13FF) && c.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_an_odd_letter_and_an_ascii_one() {
        for (script, pairs) in SCRIPTS {
            let letters: Vec<char> = pairs.chars().collect();
            for pair in letters.chunks(2) {
                let [odd, ascii] = pair else { panic!("{script}: a letter is left over") };
                assert!(!odd.is_ascii() && ascii.is_ascii_alphanumeric(), "{script}: {odd}{ascii}");
            }
        }
    }

    #[test]
    fn letters_are_told_apart_by_script() {
        assert_eq!(plain_letter('Р'), Some(('P', "Cyrillic")));
        assert_eq!(plain_letter('ο'), Some(('o', "Greek")));
        assert_eq!(plain_letter('ｒ'), Some(('r', "full-width")));
        assert_eq!(plain_letter('𝐫'), Some(('r', "mathematical")));
        assert_eq!(plain_letter('é'), None);
        assert_eq!(plain_letter('Ж'), None);
    }
}
