//! `vigie workflow schema`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    cli::{Desk, failure::Failure},
    web::shapes::Done,
    workflows,
};

/// The first line of a file names it: `# yaml-language-server: $schema=./workflow.schema.json`.
const NAME: &str = "workflow.schema.json";

#[expect(clippy::option_option, reason = "as clap has it: absent, bare, with a folder")]
pub(super) fn run(write: Option<Option<PathBuf>>, desk: &Desk) -> Result<(), Failure> {
    let Some(folder) = write else {
        return desk.out.print(&text()?);
    };
    let folder = folder.unwrap_or_else(|| workflows::own_folder(&desk.around.config));
    let file = put(&folder)?;
    let words = format!(
        "{} is written. The first line of a file beside it: # yaml-language-server: $schema=./{NAME}",
        file.display()
    );
    desk.out.show(&Done { words }, |_, done| done.words.clone())
}

/// Puts it into a folder, which is made if it is not there.
pub(super) fn put(folder: &Path) -> Result<PathBuf, Failure> {
    let file = folder.join(NAME);
    let text = text()? + "\n";
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&file, text));
    written.map_err(|error| {
        Failure::outside(format!("{} cannot be written: {error}", file.display()))
    })?;
    Ok(file)
}

fn text() -> Result<String, Failure> {
    serde_json::to_string_pretty(&vigie_workflow::json_schema()).map_err(Failure::ours)
}
