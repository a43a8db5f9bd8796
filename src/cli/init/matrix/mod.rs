//! The login, the person, the account's encryption, the settings, and what is left to do.

mod login;
mod person;
mod secure;
mod words;

use std::{fs, io::Read as _, path::Path};
use toml_edit::Value;

use super::{
    Desk, Failure, InitMatrix,
    ask::{self, Tries},
    secret::{self, NoText},
    settings::{self, Change, Settings},
};
use crate::{
    bridges::matrix::{Folder, FolderError, Held, OldDevice, SetUp, folder},
    config::{Config, Named, OnOff},
    web::shapes::DaemonShape,
};
use login::{Before, Known};
use person::Person;
use secure::Secured;
use words::Done;

/// At a terminal: nothing was typed.
const NOTHING: &str = "nothing_typed";

/// Longer than any password, token or recovery key; more is another file.
const LONGEST_SECRET: u64 = 4096;

pub(super) async fn run(args: InitMatrix, desk: &Desk) -> Result<(), Failure> {
    super::outside_of_sessions()?;
    let config = Config::load(&desk.around, Named::No).map_err(Failure::usage)?;
    let chosen = person::chosen(&args, &config)?;
    if args.reset_identity {
        secure::confirm_reset(&args)?;
    }
    let account = folder(&desk.around.data);
    let held = account.hold().map_err(in_use)?;
    account.settle(&held, desk.clock.now()).map_err(Failure::outside)?;
    let known = Box::pin(login::log_in(&args, &account, &held, desk)).await?;
    let set_up = set_up(&account, &held, &known).await?;
    let person = person::confirmed(&args, chosen, &config, &known.session).await?;
    let secured = Box::pin(secure::secure(&args, &account, &set_up)).await?;
    let old = match &known.before {
        Before::Lost(old) => Some((old.device.to_string(), set_up.remove_device(old).await)),
        Before::Nothing | Before::Same => None,
    };
    let trouble = set_up.check().await.err().map(|trouble| trouble.to_string());
    let settings =
        settings::switch_on(&desk.around, &config, &change(&config, person.as_ref(), desk));
    let ended = Ended { known, person, secured, old, trouble, settings };
    desk.out.show(&done(&args, &config, &account, ended, desk).await, words::words)
}

/// What became of each step.
struct Ended {
    known: Known,
    person: Option<Person>,
    secured: Secured,
    old: Option<(String, OldDevice)>,
    trouble: Option<String>,
    settings: Settings,
}

fn in_use(error: FolderError) -> Failure {
    match error {
        FolderError::InUse(_) => Failure::refused("running", "Vigie runs and uses the account")
            .hint("Stop it first: vigie down, then run this again. Sessions go on."),
        other => Failure::outside(other).hint("Look: vigie doctor"),
    }
}

async fn set_up(folder: &Folder, held: &Held, known: &Known) -> Result<SetUp, Failure> {
    let begun = SetUp::begin(folder, held, known.session.clone(), known.password.clone());
    Box::pin(begun).await.map_err(|error| secure::failed(&error))
}

/// Switches Matrix on, and writes down who the person is there.
fn change(before: &Config, person: Option<&Person>, desk: &Desk) -> Change {
    let mut wanted = before.clone();
    wanted.matrix.enabled = OnOff::On;
    let person = person.filter(|person| person.is_new).map(|person| {
        if let Some(human) = wanted.humans.iter_mut().find(|human| human.id == person.human) {
            human.matrix = Some(person.id.clone());
        }
        let value = Value::from(person.id.as_str());
        let row = vec![
            ("id", person.human.as_str().into()),
            ("name", desk.around.user.as_str().into()),
            ("role", "owner".into()),
            ("matrix", value.clone()),
        ];
        settings::Person { human: person.human.clone(), key: "matrix", value, row }
    });
    Change { table: "matrix", keys: Vec::new(), person, wanted }
}

async fn done(
    args: &InitMatrix,
    config: &Config,
    folder: &Folder,
    ended: Ended,
    desk: &Desk,
) -> Done {
    let Ended { known, person, secured, old, trouble, settings } = ended;
    let (lines, why) = match settings {
        Settings::Unchanged | Settings::Written => (None, None),
        Settings::Lines { lines, why } => (Some(lines), Some(why)),
    };
    let heard = config.humans.iter().any(|human| human.matrix.is_some()) || person.is_some();
    let old_left = old.and_then(|(device, what)| (what == OldDevice::Left).then_some(device));
    Done {
        user: known.session.user.to_string(),
        device: known.session.device.to_string(),
        homeserver: known.session.homeserver.clone(),
        already: matches!(known.before, Before::Same),
        recovered: secured.recovered,
        recovery_key: secured.shown,
        recovery_key_file: secured.kept.then(|| folder.recovery_file().display().to_string()),
        person: person.as_ref().map(|person| person.id.clone()),
        human: person.as_ref().map(|person| person.human.to_string()),
        heard,
        old_device: old_left,
        aside: known.aside.map(|aside| aside.display().to_string()),
        trouble,
        config: desk.around.config.display().to_string(),
        lines,
        why,
        running: desk.client.get::<DaemonShape>("/daemon").await.is_ok(),
        start: match &args.config {
            Some(file) => format!("vigie up --config {}", file.display()),
            None => "vigie up".into(),
        },
    }
}

/// A secret out of a file: what stands in it, without blanks around it.
fn from_file(file: &Path, what: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = fs::File::open(file)
        .and_then(|file| file.take(LONGEST_SECRET).read_to_string(&mut text))
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))?;
    match text.trim() {
        "" => Err(Failure::usage(format!("there is no {what} in {}", file.display()))),
        _ if u64::try_from(read).is_ok_and(|read| read == LONGEST_SECRET) => {
            let words = format!("what stands in {} is far longer than a {what}", file.display());
            Err(Failure::usage(words))
        }
        text => Ok(text.to_owned()),
    }
}

/// A secret from the terminal, which does not show it, or the next line of a pipe.
fn asked(prompt: &str, what: &str, hint: &str) -> Result<String, Failure> {
    secret::read(prompt).map_err(|why| match why {
        NoText::Cancelled => Failure::refused("cancelled", "it was broken off"),
        NoText::TooLong => Failure::usage(format!("what came is far longer than a {what}")),
        NoText::Nothing => {
            let mut failure = Failure::usage(format!("no {what} came")).hint(hint);
            if ask::somebody() {
                failure.code = NOTHING.into();
            }
            failure
        }
    })
}

/// How often something that is typed may be typed.
fn typed_tries() -> Tries {
    if ask::somebody() { Tries::of_a_person() } else { Tries::one() }
}

/// As whoever is asked types it; where nobody is, it must have been said.
fn told(
    given: Option<&str>,
    prompt: &str,
    usual: Option<&str>,
    flag: &str,
) -> Result<String, Failure> {
    let text = match (given, usual) {
        (Some(given), _) => given.to_owned(),
        (None, usual) if ask::somebody() => ask::line(prompt, usual)?,
        (None, Some(usual)) => usual.to_owned(),
        (None, None) => String::new(),
    };
    if text.is_empty() {
        return Err(Failure::usage(format!("`{flag}` is missing")).hint(format!("Say it: {flag}")));
    }
    Ok(text)
}
