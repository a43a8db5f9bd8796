//! Who is heard: a person's whole id, which counts, and the name they go by, which does not.

use vigie_core::{id::HumanId, text::reveal};

use super::{Failure, InitMatrix, ask};
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
    let nobody = config.humans.iter().all(|human| human.matrix.is_none());
    let text = match &args.person {
        Some(text) => text.clone(),
        None if nobody && ask::somebody() => {
            ask::line("Your own id on Matrix, whole (@you:example.org); nothing: later", None)?
        }
        None => String::new(),
    };
    if text.is_empty() {
        return Ok(None);
    }
    let id = matrix_user(&text).ok_or_else(|| {
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
    Ok(Some(Person { id, human: human.id.clone(), is_new }))
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

/// Looks who that is, and asks: a slip of the finger would let somebody else in.
pub(super) async fn confirmed(
    args: &InitMatrix,
    person: Option<Person>,
    config: &Config,
    session: &Session,
) -> Result<Option<Person>, Failure> {
    let Some(person) = person.filter(|person| person.is_new) else { return Ok(None) };
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
    let question = format!("{shown}; the id is what counts. Are they {human}, who is heard then?");
    if !args.yes && !ask::confirmed(&question, false)? {
        let words = "nobody new is heard; the account itself is logged in";
        let hint = "Go on with the right one: vigie init matrix --person ID";
        return Err(Failure::refused("cancelled", words).hint(hint));
    }
    Ok(Some(person))
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
