//! `vigie workflow check`: every mistake with its place.

use serde::Serialize;
use std::collections::HashSet;

use super::files;
use crate::{
    cli::{
        Desk,
        failure::Failure,
        out::{Ink, Out},
        plain,
    },
    web::shapes::ProblemShape,
    workflows::{self, FileRead},
};

/// A file and what is wrong with it.
#[derive(Serialize)]
struct CheckedFile {
    file: String,
    name: String,
    runs: bool,
    problems: Vec<ProblemShape>,
}

/// Everything that was looked at.
#[derive(Serialize)]
struct CheckedFiles {
    files: Vec<CheckedFile>,
    /// Why some folders are not read as a whole.
    faults: Vec<String>,
}

pub(super) fn run(which: &[String], named: bool, desk: &Desk) -> Result<(), Failure> {
    let config = files::config(named, desk)?;
    let folders = files::folders_of(&config, desk);
    let all = workflows::build(&folders);
    let mut chosen = Vec::new();
    let mut seen = HashSet::new();
    for which in which {
        if files::is_file(which) {
            chosen.push(files::one(which, &folders)?.1);
        } else {
            files::named(which, &all)?;
            chosen.extend(all.named(which).cloned());
        }
    }
    let faults = if which.is_empty() { all.faults } else { Vec::new() };
    let mut chosen = if which.is_empty() { all.files } else { chosen };
    chosen.retain(|file| seen.insert(file.path.clone()));
    for file in &mut chosen {
        file.warn_of_secrets(&config.secrets);
    }
    let broken = chosen.iter().filter(|file| file.problems.has_errors()).count();
    let checked = CheckedFiles { files: chosen.iter().map(checked).collect(), faults };
    desk.out.show(&checked, |out, checked| words(out, &chosen, checked, broken))?;
    match broken {
        0 => Ok(()),
        1 => Err(Failure::not_right("mistakes", "1 workflow does not run")),
        count => Err(Failure::not_right("mistakes", format!("{count} workflows do not run"))),
    }
}

fn checked(file: &FileRead) -> CheckedFile {
    CheckedFile {
        file: file.shown.clone(),
        name: file.whole_name(),
        runs: !file.problems.has_errors(),
        problems: file.problems.all.iter().map(ProblemShape::new).collect(),
    }
}

/// The texts are other people's as well: nothing in them moves the cursor.
fn words(out: &Out, files: &[FileRead], checked: &CheckedFiles, broken: usize) -> String {
    let rendered = files.iter().map(|file| file.problems.render(&file.shown, &file.text));
    let mut parts: Vec<String> =
        rendered.filter(|text| !text.is_empty()).map(|text| plain::lines(&text)).collect();
    parts.extend(checked.faults.iter().map(|fault| out.ink(Ink::Bad, &plain::line(fault))));
    let fine = files.len() - broken;
    parts.push(match (fine, files) {
        (1, [one]) => format!("{} runs as it stands", plain::line(&one.whole_name())),
        (fine, files) => format!("{fine} of {} run as they stand", files.len()),
    });
    parts.join("\n")
}
