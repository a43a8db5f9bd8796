//! Switches Telegram on in the configuration, in place: whatever else stands there stays as it is,
//! comments and all.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};
use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::config::{Config, OnOff, Surroundings};

const FRESH: &str = "# Settings of Vigie. Whatever does not stand here has its default.\n";

/// What became of the configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settings {
    Unchanged,
    Written,
    /// It could not be changed safely; a person has to add these lines.
    Lines {
        lines: String,
        why: String,
    },
}

/// Switches Telegram on in `around.config`, at `api` when it is named.
pub(super) fn switch_on(around: &Surroundings, before: &Config, api: Option<&str>) -> Settings {
    let api = api.filter(|api| *api != before.telegram.api);
    if before.telegram.enabled == OnOff::On && api.is_none() {
        return Settings::Unchanged;
    }
    // A link stays a link: people keep such files elsewhere.
    let file = fs::canonicalize(&around.config).unwrap_or_else(|_| around.config.clone());
    let done = fs::read_to_string(&file).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(FRESH.into()),
        _ => Err(error),
    });
    let done = done.map_err(|error| error.to_string()).and_then(|text| {
        let text = changed(&text, api).and_then(|text| checked(text, around, before, api))?;
        write(&file, &text).map_err(|error| error.to_string())
    });
    match done {
        Ok(()) => Settings::Written,
        Err(why) => Settings::Lines { lines: lines(api), why },
    }
}

fn lines(api: Option<&str>) -> String {
    let api = api.map(|api| format!("api = {}\n", Value::from(api))).unwrap_or_default();
    format!("[telegram]\nenabled = true\n{api}")
}

fn changed(text: &str, api: Option<&str>) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|_| "it does not read".to_owned())?;
    let Some(table) = document.get_mut("telegram") else {
        // At the end, where no comment of another table comes to stand under it.
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{end}\n{}", lines(api)));
    };
    let table = table.as_table_like_mut().ok_or("`telegram` is no table in there")?;
    set(table, "enabled", true.into());
    if let Some(api) = api {
        set(table, "api", api.into());
    }
    Ok(document.to_string())
}

/// What stands around an old value, a comment for instance, stays around the new one.
fn set(table: &mut dyn TableLike, key: &str, value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let around = old.decor().clone();
            *old = value;
            *old.decor_mut() = around;
        }
        None => drop(table.insert(key, Item::Value(value))),
    }
}

/// The new text says what it should, and all else says what it said before.
fn checked(
    text: String,
    around: &Surroundings,
    before: &Config,
    api: Option<&str>,
) -> Result<String, String> {
    let after = Config::parse(&text, around).map_err(|error| error.to_string())?;
    let mut wanted = before.clone();
    wanted.telegram.enabled = OnOff::On;
    if let Some(api) = api {
        wanted.telegram.api = api.into();
    }
    let same = Config { warnings: Vec::new(), source: None, ..after }
        == Config { warnings: Vec::new(), source: None, ..wanted };
    if same { Ok(text) } else { Err("another setting would change".into()) }
}

/// Whole or not at all; who may read it stays as it was.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mode = match file.metadata() {
        Ok(meta) => meta.permissions().mode() & 0o777,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0o600,
        Err(error) => return Err(error),
    };
    let mut fresh = file.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    written.write_all(text.as_bytes())?;
    written.set_permissions(fs::Permissions::from_mode(mode))?;
    written.sync_all()?;
    fs::rename(&fresh, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_order_stay() {
        let text = "# mine\n[web] # the page\nlisten = \"127.0.0.1:80\"\n\n[telegram] # soon\n# not yet\nenabled = false # until Monday\n\n[gates]\n# the end";
        insta::assert_snapshot!(changed(text, Some("http://127.0.0.1:8081")).unwrap(), @r#"
        # mine
        [web] # the page
        listen = "127.0.0.1:80"

        [telegram] # soon
        # not yet
        enabled = true # until Monday
        api = "http://127.0.0.1:8081"

        [gates]
        # the end
        "#);
    }

    #[test]
    fn a_table_that_is_not_there_is_added_at_the_end() {
        let text = "[gates]\n#deadline = \"2h\"";
        assert_eq!(changed(text, None).unwrap(), format!("{text}\n\n[telegram]\nenabled = true\n"));
        assert_eq!(
            changed("telegram.enabled = false\n", None).unwrap(),
            "telegram.enabled = true\n"
        );
        assert_eq!(
            changed("telegram = { enabled = false }\n", None).unwrap(),
            "telegram = { enabled = true }\n"
        );
    }

    #[test]
    fn what_cannot_be_changed_is_left_to_the_person() {
        let folder = tempfile::tempdir().unwrap();
        let around = Surroundings {
            home: folder.path().into(),
            data: folder.path().into(),
            config: folder.path().join("there/config.toml"),
            user: "ines".into(),
            shell: "/bin/sh".into(),
            claude: None,
        };
        fs::write(folder.path().join("there"), "a file where a folder should be").unwrap();
        let Settings::Lines { lines, why } = switch_on(&around, &Config::defaults(&around), None)
        else {
            panic!("it was written")
        };
        assert_eq!(lines, "[telegram]\nenabled = true\n");
        assert!(!why.is_empty());
    }
}
