//! The account's identity and its recovery key, as the person chooses.

use super::{Failure, InitMatrix, NOTHING, ask, asked, from_file, secret::Unshown, typed_tries};
use crate::{
    bridges::matrix::{Folder, Identity, SecureFailed, SetUp, Storage},
    cli::args::Keep,
};

const RESET: &str = "A new identity takes the place of the account's own: whoever verified it has to do \
    so again, and old messages stay unreadable where only its backup has their keys.";

const KEY_LOOKS: &str = "It has twelve groups of four letters and digits, with or without the blanks \
    between them, or is the passphrase that was chosen in its place.";

/// What became of the account's encryption.
pub(super) struct Secured {
    /// A new recovery key, which nobody has seen yet.
    pub shown: Option<String>,
    /// It, or the one before it, is kept in the folder.
    pub kept: bool,
    /// What was there was opened by its recovery key.
    pub recovered: bool,
}

/// Before anything is done, so that nothing is done half.
pub(super) fn confirm_reset(args: &InitMatrix) -> Result<(), Failure> {
    if args.yes {
        return Ok(());
    }
    if !ask::somebody() {
        return Err(Failure::usage(RESET).hint("Say that you want that: --yes"));
    }
    if ask::confirmed(&format!("{RESET} Go on?"), false)? {
        return Ok(());
    }
    Err(Failure::refused("cancelled", "nothing was changed"))
}

/// Makes what is missing, opens what is there, and replaces nothing that nobody wants replaced.
pub(super) async fn secure(
    args: &InitMatrix,
    folder: &Folder,
    set_up: &SetUp,
) -> Result<Secured, Failure> {
    let mut recovered = false;
    if args.reset_identity {
        Box::pin(set_up.reset_identity()).await.map_err(|error| failed(&error))?;
    } else {
        match set_up.identity().await.map_err(|error| failed(&error))? {
            Identity::Ours => {}
            Identity::Missing => {
                set_up.make_identity().await.map_err(|error| failed(&error))?;
            }
            Identity::Locked => {
                Box::pin(recover(args, folder, set_up)).await?;
                recovered = true;
            }
            Identity::Shut => return Err(shut()),
        }
    }
    let storage = set_up.storage().await.map_err(|error| failed(&error))?;
    let shown = match storage {
        Storage::Whole if !args.new_recovery_key && !args.reset_identity => None,
        Storage::Whole | Storage::Wanting => Some(new_key(args, folder, set_up).await?),
    };
    let kept = folder.recovery_key().ok().flatten().is_some();
    Ok(Secured { shown, kept, recovered })
}

/// A key is kept, or not, before anybody sees it.
async fn new_key(args: &InitMatrix, folder: &Folder, set_up: &SetUp) -> Result<String, Failure> {
    let keep = wants_kept(args, folder)?;
    let key = Box::pin(set_up.new_recovery_key()).await.map_err(|error| failed(&error))?;
    let done = if keep { folder.keep_recovery_key(&key) } else { folder.forget_recovery_key() };
    done.map_err(Failure::outside)?;
    Ok(key)
}

fn wants_kept(args: &InitMatrix, folder: &Folder) -> Result<bool, Failure> {
    match args.keep_recovery_key {
        Some(keep) => Ok(keep == Keep::Yes),
        None if ask::somebody() => {
            let file = folder.recovery_file();
            let question = format!(
                "A recovery key is shown at the end: it opens the account again when this machine \
                 is lost. Keep it in {} too, for Vigie to use?",
                file.display()
            );
            ask::confirmed(&question, true)
        }
        None => Ok(false),
    }
}

/// Opens the account with its recovery key: from the file that was named, the one that is kept, or the
/// person.
async fn recover(args: &InitMatrix, folder: &Folder, set_up: &SetUp) -> Result<(), Failure> {
    if let Some(file) = &args.recovery_key_file {
        let key = from_file(file, "recovery key")?;
        return opened(args, folder, set_up, &key).await.map_err(|error| failed(&error));
    }
    if let Some(key) = folder.recovery_key().map_err(Failure::outside)? {
        match Box::pin(set_up.recover(&key)).await {
            Ok(()) => return Ok(()),
            Err(SecureFailed::WrongRecoveryKey) => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    let mut tries = typed_tries();
    let _unshown = Unshown::enter();
    loop {
        let failure = match asked_key() {
            Ok(key) => match opened(args, folder, set_up, &key).await {
                Ok(()) => return Ok(()),
                Err(error @ SecureFailed::WrongRecoveryKey) => failed(&error),
                Err(error) => return Err(failed(&error)),
            },
            Err(nothing) if nothing.code == NOTHING => nothing,
            Err(error) => return Err(error),
        };
        if !tries.another(&failure, KEY_LOOKS) {
            return Err(failure);
        }
    }
}

fn asked_key() -> Result<String, Failure> {
    let prompt = "The account has an identity already. Its recovery key, or the passphrase in its \
        place, opens it; it is not shown: ";
    let hint = "Type it when asked, pipe it in after the password, or name a file: --recovery-key-file FILE. If it is lost: vigie init matrix --reset-identity";
    asked(prompt, "recovery key", hint)
}

async fn opened(
    args: &InitMatrix,
    folder: &Folder,
    set_up: &SetUp,
    key: &str,
) -> Result<(), SecureFailed> {
    Box::pin(set_up.recover(key)).await?;
    match args.keep_recovery_key {
        Some(Keep::Yes) => folder.keep_recovery_key(key)?,
        Some(Keep::No) => folder.forget_recovery_key()?,
        None => {}
    }
    Ok(())
}

fn shut() -> Failure {
    let words =
        "the account has an identity already, and keeps nothing that a recovery key could open";
    let hint = "Switch key storage on in a client where the account is logged in, then run this again with its recovery key. If there is no such client: vigie init matrix --reset-identity";
    Failure::refused("locked", words).hint(hint)
}

pub(super) fn failed(error: &SecureFailed) -> Failure {
    let failure = match error {
        SecureFailed::WrongRecoveryKey => Failure::refused("wrong_recovery_key", error),
        SecureFailed::PasswordNeeded
        | SecureFailed::WrongPassword
        | SecureFailed::ApprovalNeeded(_) => Failure::refused("wrong_password", error),
        SecureFailed::ForeignBackup | SecureFailed::Secrets(_) => Failure::refused("locked", error),
        SecureFailed::Ask(_) | SecureFailed::NotReady(_) | SecureFailed::Failed(_) => {
            Failure::outside(error)
        }
    };
    failure.hint(error.mend())
}
