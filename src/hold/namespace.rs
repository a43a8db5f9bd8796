//! User namespaces: sessions have their own, so whoever is in another than ours may be an agent.

/// Whether `pid` is in our own user namespace; `true` where the system has none.
#[cfg(target_os = "linux")]
pub(crate) fn shared_with(pid: u32) -> bool {
    let link = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/user"));
    match (link("self"), link(&pid.to_string())) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        // A process that hides from its own user. What is in a namespace below ours cannot hide from
        // us, except behind a program of another user; its ids are mapped differently then.
        (Ok(_) | Err(_), Err(_)) | (Err(_), Ok(_)) => {
            let map = |pid: &str| std::fs::read(format!("/proc/{pid}/uid_map")).ok();
            map("self") == map(&pid.to_string())
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn shared_with(_: u32) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::shared_with;

    #[test]
    fn we_share_ours_with_ourselves_and_not_with_the_dead() {
        assert!(shared_with(std::process::id()));
        assert!(!shared_with(u32::MAX >> 1));
    }
}
