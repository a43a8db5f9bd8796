//! Which characters nobody sees. Own tables, so that a newer Unicode does not change them unseen.

/// General category Cf. Source: Unicode 16, `DerivedGeneralCategory.txt`.
const FORMAT: &[(u32, u32)] = &[
    (0x00AD, 0x00AD),
    (0x0600, 0x0605),
    (0x061C, 0x061C),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x1_10BD, 0x1_10BD),
    (0x1_10CD, 0x1_10CD),
    (0x1_3430, 0x1_343F),
    (0x1_BCA0, 0x1_BCA3),
    (0x1_D173, 0x1_D17A),
    (0xE_0001, 0xE_0001),
    (0xE_0020, 0xE_007F),
];

/// What else leaves no mark: joiners, fillers, variation selectors, line separators, blanks of odd
/// width. The no-break spaces of French and the wide space of Japanese are ordinary text.
const OTHERS: &[(u32, u32)] = &[
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180D),
    (0x180F, 0x180F),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x205F, 0x205F),
    (0x2065, 0x2065),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE_0000, 0xE_0FFF),
];

fn is_in(table: &[(u32, u32)], c: char) -> bool {
    let c = u32::from(c);
    table.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// General category Cf: bidirectional controls, zero-width characters, tags.
pub(super) fn is_format(c: char) -> bool {
    !c.is_ascii() && is_in(FORMAT, c)
}

/// Nothing would be seen of it, line feed and tab apart.
pub(super) fn is_invisible(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => false,
        _ => c.is_control() || is_in(FORMAT, c) || is_in(OTHERS, c),
    }
}

/// Nothing at all to see in it.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c))
}
