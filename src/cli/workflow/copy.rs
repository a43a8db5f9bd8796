//! `vigie workflow copy`: one of Vigie's or a project's among one's own.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
};

use super::{files, schema};
use crate::{
    cli::{Desk, failure::Failure},
    web::shapes::Done,
    workflows,
};

pub(super) fn run(name: &str, named: bool, desk: &Desk) -> Result<(), Failure> {
    let reading = workflows::build(&files::folders(named, desk)?);
    let from = files::named(name, &reading)?;
    let folder = workflows::own_folder(&desk.around.config);
    let file = folder.join(format!("{}.yaml", from.name));
    let made = fs::create_dir_all(&folder)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&file))
        .and_then(|mut to| to.write_all(from.text.as_bytes()));
    made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let words = format!("{} is there already", file.display());
            Failure::refused("exists", words).hint("Change that one, or move it away first.")
        }
        _ => Failure::outside(format!("{} cannot be written: {error}", file.display())),
    })?;
    schema::put(&folder)?;
    let words = format!(
        "{} is yours now, and runs instead of {}. If it has times or a webhook, they count.",
        file.display(),
        from.shown
    );
    desk.out.show(&Done { words }, |_, done| done.words.clone())
}
