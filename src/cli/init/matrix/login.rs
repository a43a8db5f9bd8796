//! Who logs in where, and with what.

use std::path::PathBuf;

use super::{Desk, Failure, InitMatrix, ask, asked, from_file, told};
use crate::bridges::matrix::{
    Folder, FolderError, Held, LoggedIn, Login, LoginFailed, NoHomeserver, Session, Way, find,
    log_in as log_in_there,
};

/// Tries of a person at the terminal.
const TRIES: usize = 3;

/// The account as it is after this.
pub(super) struct Known {
    pub session: Session,
    /// Should the homeserver want to see it once more.
    pub password: Option<String>,
    pub before: Before,
    /// Where the login before it lies.
    pub aside: Option<PathBuf>,
}

/// What there was.
pub(super) enum Before {
    Nothing,
    /// This very login.
    Same,
    /// A login whose device is over.
    Lost(Session),
}

/// Logs in, unless it is done already and nobody wants it again.
pub(super) async fn log_in(
    args: &InitMatrix,
    folder: &Folder,
    held: &Held,
    desk: &Desk,
) -> Result<Known, Failure> {
    match (folder.session(), args.again) {
        (Ok(session), false) => already(args, session),
        (Ok(old), true) => Box::pin(fresh(args, Some(old), folder, held, desk)).await,
        (Err(FolderError::NoSession), _) | (Err(_), true) => {
            Box::pin(fresh(args, None, folder, held, desk)).await
        }
        // It says itself what to do.
        (Err(error), false) => Err(Failure::outside(error)),
    }
}

fn already(args: &InitMatrix, session: Session) -> Result<Known, Failure> {
    if let Some(user) = args.user.as_deref().filter(|user| !is_of(user, &session)) {
        let words = format!("Matrix is set up as {}, not as {user}", session.user);
        let hint = "For another account move the folder `matrix` out of Vigie's own folder first.";
        return Err(Failure::refused("other_account", words).hint(hint));
    }
    let password = match &args.password_file {
        Some(file) => Some(from_file(file, "password")?),
        None if args.reset_identity => Some(password(session.user.as_str())?),
        None => None,
    };
    Ok(Known { session, password, before: Before::Same, aside: None })
}

/// Whether what was typed is that account: its name or its whole id.
fn is_of(user: &str, session: &Session) -> bool {
    user == session.user.as_str() || user == session.user.localpart()
}

async fn fresh(
    args: &InitMatrix,
    old: Option<Session>,
    folder: &Folder,
    held: &Held,
    desk: &Desk,
) -> Result<Known, Failure> {
    let homeserver = homeserver(args, old.as_ref()).await?;
    let by = By {
        homeserver: &homeserver,
        device_name: args.device_name.clone().unwrap_or_else(usual_name),
        only: old.as_ref(),
        folder,
        held,
        desk,
    };
    let (done, password) = if let Some(file) = &args.token_file {
        let token = from_file(file, "token")?;
        let done = Box::pin(by.log_in(Way::Token(&token))).await;
        (done.map_err(|error| refused(&error))?, None)
    } else {
        let (done, password) = Box::pin(by.with_password(args)).await?;
        (done, Some(password))
    };
    let LoggedIn { session, aside } = done;
    Ok(Known { session, password, before: old.map_or(Before::Nothing, Before::Lost), aside })
}

/// All of a login but what it is proved with.
struct By<'a> {
    homeserver: &'a str,
    device_name: String,
    /// Only its account will do.
    only: Option<&'a Session>,
    folder: &'a Folder,
    held: &'a Held,
    desk: &'a Desk,
}

impl By<'_> {
    async fn log_in(&self, way: Way<'_>) -> Result<LoggedIn, LoginFailed> {
        let login = Login {
            homeserver: self.homeserver,
            way,
            device_name: &self.device_name,
            only: self.only.map(|old| &*old.user),
        };
        log_in_there(self.folder, self.held, &login, self.desk.clock.now()).await
    }

    /// A person at the terminal may mistype it.
    async fn with_password(&self, args: &InitMatrix) -> Result<(LoggedIn, String), Failure> {
        let usual = self.only.map(|old| old.user.to_string());
        let prompt = "The account that Vigie speaks as, such as vigie";
        let user = told(args.user.as_deref(), prompt, usual.as_deref(), "--user USER")?;
        let retried = ask::somebody() && args.password_file.is_none();
        let mut tries = if retried { TRIES } else { 1 };
        loop {
            tries -= 1;
            let password = match &args.password_file {
                Some(file) => from_file(file, "password")?,
                None => password(&user)?,
            };
            let way = Way::Password { user: &user, password: &password };
            match Box::pin(self.log_in(way)).await {
                Ok(done) => return Ok((done, password)),
                Err(LoginFailed::WrongPassword) if tries > 0 => {}
                Err(error) => return Err(refused(&error)),
            }
        }
    }
}

/// Where the homeserver answers: as it was said, as the account's whole id has it, as it was, or asked.
async fn homeserver(args: &InitMatrix, old: Option<&Session>) -> Result<String, Failure> {
    // Another account of the same server is where the old one is.
    let elsewhere = |server: &str| old.is_none_or(|old| old.user.server_name() != server);
    let of_user = args.user.as_deref().and_then(|user| user.strip_prefix('@')?.split_once(':'));
    let of_user = of_user.map(|(_, server)| server).filter(|server| elsewhere(server));
    let given = args.homeserver.as_deref().or(of_user);
    let usual = old.map(|old| old.homeserver.as_str());
    let prompt = "The account's homeserver, such as example.org";
    let text = match given {
        Some(given) => given.to_owned(),
        None => told(usual, prompt, None, "--homeserver SERVER")?,
    };
    Box::pin(find(&text)).await.map_err(|error| {
        let failure = match error {
            NoHomeserver::Name(_) | NoHomeserver::Unencrypted(_) => Failure::usage(&error),
            NoHomeserver::Unreached { .. }
            | NoHomeserver::NotMatrix(_)
            | NoHomeserver::TooOld(_) => Failure::outside(&error),
        };
        failure.hint(error.mend())
    })
}

fn password(user: &str) -> Result<String, Failure> {
    let prompt = format!("Password of {user}; it is not shown: ");
    let hint = "Type it when asked, pipe it in, or name a file: --password-file FILE";
    asked(&prompt, "password", hint)
}

fn usual_name() -> String {
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    host.map_or_else(|| "Vigie".into(), |host| format!("Vigie on {host}"))
}

fn refused(error: &LoginFailed) -> Failure {
    let failure = match error {
        LoginFailed::WrongPassword => Failure::refused("wrong_password", error),
        LoginFailed::WrongToken => Failure::refused("wrong_token", error),
        LoginFailed::NoDevice | LoginFailed::Guest | LoginFailed::ForeignDevice(_) => {
            Failure::refused("foreign_device", error)
        }
        LoginFailed::OtherAccount { .. } => Failure::refused("other_account", error),
        LoginFailed::Deactivated => Failure::refused("deactivated", error),
        LoginFailed::NoPasswords
        | LoginFailed::Later { .. }
        | LoginFailed::Ask(_)
        | LoginFailed::NotReady(_)
        | LoginFailed::Failed(_) => Failure::outside(error),
    };
    failure.hint(error.mend())
}
