//! Durations, sizes and money as people write them.

use std::time::Duration;

/// Longest duration: a year and a day is no timeout but a mistake.
const LONGEST: Duration = Duration::from_hours(366 * 24);
/// Largest size.
const LARGEST: u64 = 1 << 40;
/// Most money one run may be given, in dollars.
const MOST_USD: u64 = 1_000_000;

/// `90s`, `10m`, `2h`, `1h30m`, `7d`, `500ms`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration such as `90s`, `10m`, `1h30m` or `7d`");
    if !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()) {
        return Err(format!("`{text}` has no unit; `{text}s` is seconds, `{text}m` is minutes"));
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    // From the largest unit down, each once: `30m1h` is more likely a slip than a duration.
    let mut units: &[(&str, u64)] =
        &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let count: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit = &rest[digits..digits + letters];
        let at = units.iter().position(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let millis = count.checked_mul(units[at].1).ok_or_else(wrong)?;
        total = total.checked_add(Duration::from_millis(millis)).ok_or_else(wrong)?;
        units = &units[at + 1..];
        rest = &rest[digits + letters..];
    }
    if text.is_empty() {
        Err(wrong())
    } else if total > LONGEST {
        Err(format!("`{text}` is longer than a year"))
    } else {
        Ok(total)
    }
}

/// `64KiB`, `10MiB`, `1GiB`, `512B`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size such as `64KiB` or `10MiB`");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let factor: u64 = match text[digits..].trim_start() {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(wrong()),
    };
    let bytes = text[..digits].parse::<u64>().ok().and_then(|count| count.checked_mul(factor));
    let bytes = bytes.ok_or_else(wrong)?;
    if bytes > LARGEST { Err(format!("`{text}` is more than {LARGEST} bytes")) } else { Ok(bytes) }
}

/// Dollars, in millionths.
pub(crate) fn money(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no sum in dollars such as `5` or `0.25`");
    let (whole, cents) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(cents) || cents.len() > 6 {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    if whole > MOST_USD {
        return Err(format!("`{text}` is more than {MOST_USD} dollars"));
    }
    let millionths: u64 = format!("{cents:0<6}").parse().map_err(|_| wrong())?;
    Ok(whole * 1_000_000 + millionths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_write_them() {
        for (text, millis) in [
            ("90s", 90_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("7d", 604_800_000),
            ("1s500ms", 1_500),
            ("0s", 0),
        ] {
            assert_eq!(duration(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        for text in [
            "",
            "10",
            "s",
            "1x",
            "-1s",
            "1.5h",
            "30m1h",
            "1h1h",
            "9999999999999999999s",
            "400d",
            "1 h",
            "1é",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_and_money() {
        assert_eq!(size("64KiB").unwrap(), 65_536);
        assert_eq!(size("10 MiB").unwrap(), 10_485_760);
        for text in ["", "10", "1MB", "-1B", "1.5MiB", "99999999999GiB", "9999GiB", "é"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(money("5").unwrap(), 5_000_000);
        assert_eq!(money("0.25").unwrap(), 250_000);
        assert_eq!(money("0.000001").unwrap(), 1);
        for text in ["", ".5", "-1", "1e3", "0.0000001", "1000001", "$5"] {
            assert!(money(text).is_err(), "{text}");
        }
    }
}
