//! Who logs in where, and with what.

use std::{path::PathBuf, time::Duration};

use super::{
    Desk, Failure, InitMatrix, NOTHING,
    ask::{self, Tries},
    asked, from_file,
    secret::Unshown,
    told, typed_tries,
};
use crate::bridges::matrix::{
    Folder, FolderError, Held, LoggedIn, Login, LoginFailed, NoHomeserver, Session, Way, find,
    log_in as log_in_there,
};

/// Longest that is waited for a homeserver that wants the next try later.
const PATIENT: Duration = Duration::from_mins(1);

const ACCOUNT: &str = "The account that Vigie speaks as, such as vigie";

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

    /// A person at the terminal may mistype either.
    async fn with_password(&self, args: &InitMatrix) -> Result<(LoggedIn, String), Failure> {
        let usual = self.only.map(|old| old.user.to_string());
        let mut user = told(args.user.as_deref(), ACCOUNT, usual.as_deref(), "--user USER")?;
        let typed = ask::somebody() && args.password_file.is_none();
        let mut tries = if typed { Tries::of_a_person() } else { Tries::one() };
        loop {
            let failure = match Box::pin(self.one_try(args, &user)).await {
                Err(failure) if is_a_slip(&failure) => failure,
                done => return done,
            };
            if !tries.another(&failure, "") {
                return Err(failure);
            }
            if args.user.is_none() {
                user = ask::line(ACCOUNT, Some(&user))?;
            }
        }
    }

    async fn one_try(&self, args: &InitMatrix, user: &str) -> Result<(LoggedIn, String), Failure> {
        let password = match &args.password_file {
            Some(file) => from_file(file, "password")?,
            None => password(user)?,
        };
        let way = Way::Password { user, password: &password };
        // Whoever sees that it was wrong types it once more at once.
        let _unshown = Unshown::enter();
        let mut done = Box::pin(self.log_in(way)).await;
        if let Err(LoginFailed::Later { after }) = done
            && after <= PATIENT
            && ask::somebody()
        {
            // Somebody who mistyped it a few times; the right one is not refused for that.
            let seconds = after.as_secs().max(1);
            ask::say(&format!("The homeserver wants the next try in {seconds} s. Vigie waits."));
            tokio::time::sleep(after).await;
            done = Box::pin(self.log_in(way)).await;
        }
        done.map(|done| (done, password)).map_err(|error| refused(&error))
    }
}

/// Whether typing it again may help.
fn is_a_slip(failure: &Failure) -> bool {
    ["wrong_password", "other_account", "deactivated", NOTHING].contains(&failure.code.as_str())
}

/// Where the homeserver answers: as it was said, as the account's whole id has it, as it was, or asked.
async fn homeserver(args: &InitMatrix, old: Option<&Session>) -> Result<String, Failure> {
    // Another account of the same server is where the old one is.
    let elsewhere = |server: &str| old.is_none_or(|old| old.user.server_name() != server);
    let of_user = args.user.as_deref().and_then(|user| user.strip_prefix('@')?.split_once(':'));
    let of_user = of_user.map(|(_, server)| server).filter(|server| elsewhere(server));
    let given = args.homeserver.as_deref().or(of_user).or(old.map(|old| &*old.homeserver));
    let prompt = "The account's homeserver, such as example.org";
    let mut tries = if given.is_none() { typed_tries() } else { Tries::one() };
    loop {
        let text = told(given, prompt, None, "--homeserver SERVER")?;
        let error = match Box::pin(find(&text)).await {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        let failure = match error {
            NoHomeserver::Name(_) | NoHomeserver::Unencrypted(_) => Failure::usage(&error),
            NoHomeserver::Unreached { .. }
            | NoHomeserver::NotMatrix(_)
            | NoHomeserver::TooOld(_) => Failure::outside(&error),
        };
        if !tries.another(&failure, error.mend()) {
            return Err(failure.hint(error.mend()));
        }
    }
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
