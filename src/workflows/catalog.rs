//! All files together: whose name counts, and what each calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use vigie_core::run::{Catalog, Known, Origin};
use vigie_workflow::{language::Webhook, run::Source};

use super::{
    built_in,
    called::{self, All, Callable},
    file::{FileRead, problem},
    folder::FolderRead,
};

/// Everything that was read, and what it comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub catalog: Catalog,
    /// Each file with all that is wrong with it, those that nobody can run included.
    pub files: Vec<FileRead>,
    /// Why some folders are not read as a whole, a sentence each.
    pub faults: Vec<String>,
}

impl Reading {
    /// The files of that name; a broken one may share it with others.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &FileRead> {
        self.files.iter().filter(move |file| file.whole_name() == name)
    }

    /// What a caller of that one's webhook has to show, broken or not. What ships with Vigie takes no
    /// calls until somebody made it their own.
    pub fn webhook(&self, name: &str) -> Option<&Webhook> {
        let own = self.named(name).filter(|file| file.origin != Origin::BuiltIn);
        own.filter_map(|file| file.webhook.as_ref()).next()
    }
}

/// The same with one more file, which takes the place of whatever has its name.
pub fn build_with(folders: &[FolderRead], file: FileRead) -> (Reading, FileRead) {
    let name = file.whole_name();
    let mut folders = folders.to_vec();
    for folder in &mut folders {
        folder.files.retain(|other| other.whole_name() != name);
    }
    let path = file.path.clone();
    folders.push(FolderRead { files: vec![file.clone()], ..FolderRead::default() });
    let reading = build(&folders);
    let checked = reading.files.iter().find(|other| other.path == path).cloned();
    (reading, checked.unwrap_or(file))
}

/// Puts the folders together with what ships with Vigie.
pub fn build<'a>(folders: impl IntoIterator<Item = &'a FolderRead>) -> Reading {
    let mut files = built_in::read();
    let mut faults = Vec::new();
    for folder in folders {
        files.extend(folder.files.iter().cloned());
        faults.extend(folder.fault.clone());
    }
    drop_replaced(&mut files);
    tell_twins(&mut files);
    let called = tell_calls(&mut files);
    let catalog = catalog(&files, called);
    Reading { catalog, files, faults }
}

/// The person's own takes the place of what ships under its name, also while it is broken: what runs
/// is never another one than they think.
fn drop_replaced(files: &mut Vec<FileRead>) {
    let own = files.iter().filter(|file| file.origin == Origin::Own);
    let own: BTreeSet<String> = own.map(|file| file.name.clone()).collect();
    files.retain(|file| file.origin != Origin::BuiltIn || !own.contains(&file.name));
}

/// Two files of one name: nobody can tell which is meant, so neither runs.
fn tell_twins(files: &mut [FileRead]) {
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        by_name.entry(file.whole_name()).or_default().push(at);
    }
    for (name, twins) in by_name.into_iter().filter(|(_, twins)| twins.len() > 1) {
        let shown: Vec<String> = twins.iter().map(|at| files[*at].shown.clone()).collect();
        for at in &twins {
            let file = &mut files[*at];
            let others: Vec<_> =
                shown.iter().filter(|other| **other != file.shown).cloned().collect();
            let line = file.text.lines().position(|line| line.starts_with("name:"));
            let (line, column) = line.map_or((0, 0), |at| (at + 1, 1));
            let what = format!("`{name}` is the name of {} too", others.join(", "));
            let hint = "give one of them another name".to_owned();
            file.add(problem(line, column, "name".len(), what, Some(hint)));
        }
    }
}

/// Tells what is wrong with calls, and gives what each of the rest calls.
fn tell_calls(files: &mut [FileRead]) -> Vec<BTreeMap<String, Source>> {
    let names: Vec<String> = files.iter().map(FileRead::whole_name).collect();
    let sources: Vec<Option<Source>> = files.iter().map(source).collect();
    let all: All<'_> = names
        .iter()
        .zip(&sources)
        .map(|(name, source)| (name.as_str(), source.as_ref().map(Callable::new)))
        .collect();
    // One that calls what does not run does not run either, and so on upwards.
    let mut broken = BTreeSet::new();
    let mut found: Vec<Vec<_>>;
    loop {
        found = names.iter().map(|name| called::problems(&all, name, &broken)).collect();
        let worse: BTreeSet<String> = names
            .iter()
            .zip(&found)
            .filter(|(_, problems)| !problems.is_empty())
            .map(|(name, _)| name.clone())
            .collect();
        if worse.len() == broken.len() {
            break;
        }
        broken = worse;
    }
    let called = names.iter().map(|name| called::called(&all, name)).collect();
    for (file, problems) in files.iter_mut().zip(found) {
        // A second file of that name says nothing: it does not run anyway.
        for problem in problems.into_iter().filter(|_| file.workflow.is_some()).collect::<Vec<_>>()
        {
            file.add(problem);
        }
    }
    called
}

fn source(file: &FileRead) -> Option<Source> {
    let workflow = file.workflow.clone()?;
    let (name, text) = (file.whole_name(), file.text.clone());
    Some(Source { name, file: file.shown.clone(), text, workflow })
}

fn catalog(files: &[FileRead], called: Vec<BTreeMap<String, Source>>) -> Catalog {
    let mut all = BTreeMap::new();
    for (file, called) in files.iter().zip(called) {
        let name = file.whole_name();
        let source = source(file);
        let called = if source.is_some() { called } else { BTreeMap::new() };
        let known = Known {
            name: name.clone(),
            origin: file.origin.clone(),
            file: file.shown.clone(),
            source,
            called,
            problems: file.problems.clone(),
        };
        // Of twins the first stands for both.
        all.entry(name).or_insert_with(|| Arc::new(known));
    }
    Catalog { all }
}
