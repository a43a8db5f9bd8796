//! A Landlock domain. Processes outside of it can be neither traced nor signalled from inside. It
//! takes no rights to files: a domain that does lets nothing inside mount, and agents' own sandboxes
//! mount.

use landlock::{
    AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, Scope,
};

/// Closes both, where the kernel is 6.12 or newer.
pub(super) fn without_signals() -> Result<(), String> {
    let scoped = || -> Result<_, RulesetError> {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.scope(Scope::Signal)?.create()?.restrict_self()
    };
    scoped().map(drop).map_err(|error| error.to_string())
}

/// Closes tracing alone. A domain must handle something: here it is a right that is then granted
/// everywhere, and moving files between folders, which every such domain forbids unless it is
/// granted (Linux 5.19).
pub(super) fn without_tracing() -> Result<(), String> {
    let granted = AccessFs::MakeBlock | AccessFs::Refer;
    let denied = || -> Result<_, Box<dyn std::error::Error>> {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let everywhere = PathBeneath::new(PathFd::new("/")?, granted);
        Ok(rules.handle_access(granted)?.create()?.add_rule(everywhere)?.restrict_self()?)
    };
    denied().map(drop).map_err(|error| error.to_string())
}
