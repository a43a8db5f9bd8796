//! Who is heard: a person's whole id, which counts, and the name they go by, which does not.

use vigie_core::{id::HumanId, text::reveal};

use super::{
    Failure, InitMatrix,
    ask::{self, Tries},
};
use crate::{
    bridges::matrix::{AskError, Plain, Session, user},
    config::{Config, Human, matrix_user},
};

/// Who is heard from now on.
pub(super) struct Person {
    pub id: String,
    pub human: HumanId,
    /// They do not stand in the configuration yet.
    pub is_new: bool,
}

/// Whom the command line or the person at it names, before anything is done. `None`: nobody.
pub(super) fn chosen(args: &InitMatrix, config: &Config) -> Result<Option<Person>, Failure> {
    if let Some(text) = &args.person {
        return person(text, args, config).map(Some);
    }
    let nobody = config.humans.iter().all(|human| human.matrix.is_none());
    if nobody && ask::somebody() { typed(args, config) } else { Ok(None) }
}

/// Whom the person at the terminal names.
fn typed(args: &InitMatrix, config: &Config) -> Result<Option<Person>, Failure> {
    let mut tries = Tries::of_a_person();
    loop {
        let prompt = "Your own id on Matrix, whole (@you:example.org); nothing: later";
        let text = ask::line(prompt, None)?;
        if text.is_empty() {
            return Ok(None);
        }
        match person(&text, args, config) {
            Err(failure)
                if tries.another(&failure, failure.hint.as_deref().unwrap_or_default()) => {}
            done => return done.map(Some),
        }
    }
}

fn person(text: &str, args: &InitMatrix, config: &Config) -> Result<Person, Failure> {
    let id = matrix_user(text).ok_or_else(|| {
        let hint = "Write the whole of it, as your own client shows it: @ines:example.org.";
        Failure::usage(format!("`{text}` is no user id on Matrix")).hint(hint)
    })?;
    let human = human(args, config)?;
    let other = |other: &&Human| other.id != human.id && other.matrix.as_ref() == Some(&id);
    if let Some(other) = config.humans.iter().find(other) {
        let words = format!("{id} is {} in the configuration already", other.id);
        return Err(Failure::usage(words).hint("Take it out there first, or name them: --human ID"));
    }
    let is_new = human.matrix.as_ref() != Some(&id);
    if is_new && !args.yes && !ask::somebody() {
        let words = format!("nobody can be asked whether {id} is the right person");
        return Err(Failure::usage(words).hint("Say that it is: --yes"));
    }
    Ok(Person { id, human: human.id.clone(), is_new })
}

fn human<'a>(args: &InitMatrix, config: &'a Config) -> Result<&'a Human, Failure> {
    let Some(wanted) = &args.human else { return Ok(config.owner()) };
    let found = config.humans.iter().find(|human| human.id.as_str() == wanted);
    found.ok_or_else(|| {
        let known: Vec<&str> = config.humans.iter().map(|human| human.id.as_str()).collect();
        let words = format!("no person is called `{wanted}`");
        Failure::usage(words).hint(format!("People: {}.", known.join(", ")))
    })
}

/// Looks who that is, and asks: a slip of the finger would let somebody else in. Where one was typed,
/// another one can be.
pub(super) async fn confirmed(
    args: &InitMatrix,
    mut person: Option<Person>,
    config: &Config,
    session: &Session,
) -> Result<Option<Person>, Failure> {
    let was_typed = args.person.is_none() && ask::somebody();
    let mut tries = if was_typed { Tries::of_a_person() } else { Tries::one() };
    loop {
        let Some(found) = person.filter(|person| person.is_new) else { return Ok(None) };
        match is_meant(args, &found, config, session).await {
            Ok(()) => return Ok(Some(found)),
            Err(failure) if tries.another(&failure, "") => person = typed(args, config)?,
            Err(failure) => return Err(failure),
        }
    }
}

async fn is_meant(
    args: &InitMatrix,
    person: &Person,
    config: &Config,
    session: &Session,
) -> Result<(), Failure> {
    if person.id == session.user.as_str() {
        let words = format!("{} is the account that Vigie itself speaks as", person.id);
        return Err(Failure::usage(words).hint("Name your own: vigie init matrix --person ID"));
    }
    let name = name_of(&person.id, session).await?;
    let human = config.human(&person.human).map_or("", |human| human.name.as_str());
    let shown = match name {
        Some(name) => format!("{} calls themselves \"{}\"", person.id, reveal(&name).text.text),
        None => format!("{} shows no name", person.id),
    };
    let question = format!(
        "{shown}; the id is what counts. Is that the right person, to be heard here as {human}?"
    );
    if args.yes || ask::confirmed(&question, false)? {
        return Ok(());
    }
    let words = "nobody new is heard; the account itself is logged in";
    let hint = "Go on with the right one: vigie init matrix --person ID";
    Err(Failure::refused("cancelled", words).hint(hint))
}

/// What they call themselves. That their homeserver does not tell is no reason to stop; that it has
/// nobody of that id is.
async fn name_of(id: &str, session: &Session) -> Result<Option<String>, Failure> {
    let Some(user) = user(id) else { return Ok(None) };
    let asked = match Plain::of(session) {
        Ok(plain) => plain.display_name(&user).await,
        Err(error) => Err(error),
    };
    match asked {
        Ok(name) => Ok(name),
        Err(AskError::NotFound) => {
            let words = format!("the homeserver knows nobody called {id}");
            let hint = "Look at it in your own client, then: vigie init matrix --person ID";
            Err(Failure::refused("no_such_person", words).hint(hint))
        }
        Err(_) => Ok(None),
    }
}
