//! How money is written, wherever it is: one rule for the desk, chats and pages.

use std::fmt::Write as _;

/// What was spent, from millionths of a dollar: whole cents, and any part of a cent is one more, so that
/// it never looks like less than it is. Less than a cent is said to be that: "$0.00", "under $0.01",
/// "$4.13".
pub fn spent(micro_usd: u64) -> String {
    match micro_usd {
        0 => "$0.00".into(),
        1..10_000 => "under $0.01".into(),
        more => {
            let cents = more.div_ceil(10_000);
            format!("${}.{:02}", cents / 100, cents % 100)
        }
    }
}

/// What somebody set, a budget or a price, exactly: as many decimals as it has, at least two. "$5.00",
/// "$0.125".
pub fn exact(micro_usd: u64) -> String {
    format!("${}", dollars(micro_usd))
}

/// The same without the sign.
pub fn dollars(micro_usd: u64) -> String {
    let (whole, part) = (micro_usd / 1_000_000, micro_usd % 1_000_000);
    let mut text = format!("{whole}.{:02}", part / 10_000);
    let more = part % 10_000;
    if more > 0 {
        let _ = write!(text, "{more:04}");
        text.truncate(text.trim_end_matches('0').len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_spent_is_never_shown_as_less_and_never_as_a_part_of_a_cent() {
        let said = [0, 1, 9_999, 10_000, 10_001, 1_230_000, 1_239_999, 112_720_000].map(spent);
        let expected = "$0.00, under $0.01, under $0.01, $0.01, $0.02, $1.23, $1.24, $112.72";
        assert_eq!(said.join(", "), expected);
    }

    #[test]
    fn what_was_set_is_shown_as_it_was_set() {
        let said = [0, 5_000_000, 2_500_000, 50_000, 125_000, 1, 1_000_001].map(exact);
        assert_eq!(said.join(", "), "$0.00, $5.00, $2.50, $0.05, $0.125, $0.000001, $1.000001");
    }

    proptest! {
        #[test]
        fn what_is_shown_of_a_budget_is_read_as_that_budget(micro_usd in 1_u64..1_000_000_000_000) {
            use crate::account::Wanted;
            prop_assert_eq!(Wanted::read(&exact(micro_usd)), Some(Wanted::Usd { micro_usd }));
        }

        #[test]
        fn nothing_is_shown_as_less_than_it_is(micro_usd in 10_000_u64..1_000_000_000_000) {
            let shown = spent(micro_usd).replace(['$', '.'], "").parse::<u64>().unwrap() * 10_000;
            prop_assert!(shown >= micro_usd && shown - micro_usd < 10_000);
        }
    }
}
