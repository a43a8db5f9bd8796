use vigie_core::Timestamp;

/// The holder is a process of its own and this is its edge: the one place that asks what time it is.
#[expect(clippy::disallowed_methods, reason = "the holder's outermost shell has no other clock")]
pub(crate) fn now() -> Timestamp {
    chrono::Utc::now()
}
