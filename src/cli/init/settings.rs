//! Switches a chat service on in the configuration, in place: whatever else stands there stays as it is,
//! comments and all.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};
use toml_edit::{DocumentMut, Item, TableLike, Value};
use vigie_core::id::HumanId;

use crate::config::{Config, Surroundings};

const FRESH: &str = "# Settings of Vigie. Whatever does not stand here has its default.\n";

/// What should stand in the configuration.
pub(super) struct Change {
    /// The service's table, in which it is switched on.
    pub table: &'static str,
    /// Besides `enabled = true`.
    pub keys: Vec<(&'static str, Value)>,
    /// Who a person is there.
    pub person: Option<Person>,
    /// What the configuration then says.
    pub wanted: Config,
}

/// Who a person is on a service: a key of their `[[human]]`.
pub(super) struct Person {
    pub human: HumanId,
    pub key: &'static str,
    pub value: Value,
    /// Their `[[human]]`, should there be none at all.
    pub row: Vec<(&'static str, Value)>,
}

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

/// Makes `change` in `around.config`, of which `before` was read.
pub(super) fn switch_on(around: &Surroundings, before: &Config, change: &Change) -> Settings {
    if same(before, &change.wanted) {
        return Settings::Unchanged;
    }
    // A link stays a link: people keep such files elsewhere.
    let file = fs::canonicalize(&around.config).unwrap_or_else(|_| around.config.clone());
    let done = fs::read_to_string(&file).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(FRESH.into()),
        _ => Err(error),
    });
    let done = done.map_err(|error| error.to_string()).and_then(|text| {
        let text = changed(&text, change).and_then(|text| checked(text, around, change))?;
        write(&file, &text).map_err(|error| error.to_string())
    });
    match done {
        Ok(()) => Settings::Written,
        Err(why) => Settings::Lines { lines: change.lines(), why },
    }
}

/// Apart from where it came from and what it is worth a word.
fn same(one: &Config, other: &Config) -> bool {
    let bare = |config: &Config| Config { warnings: Vec::new(), source: None, ..config.clone() };
    bare(one) == bare(other)
}

impl Change {
    /// For a person to add.
    fn lines(&self) -> String {
        let person = self.person.as_ref().map(|person| {
            let Person { human, key, value, .. } = person;
            format!("\nand under the [[human]] with id = \"{human}\":\n{key} = {value}\n")
        });
        format!("{}{}", self.table_lines(), person.unwrap_or_default())
    }

    fn table_lines(&self) -> String {
        format!("[{}]\nenabled = true\n{}", self.table, pairs(&self.keys))
    }
}

fn pairs(keys: &[(&str, Value)]) -> String {
    let lines: Vec<_> = keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    lines.concat()
}

fn changed(text: &str, change: &Change) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|_| "it does not read".to_owned())?;
    // At the end, where no comment of another table comes to stand under it.
    let mut added = Vec::new();
    if let Some(person) = &change.person {
        match document.get_mut("human") {
            Some(humans) => {
                let row = human(humans, &person.human).ok_or("the person is not in there")?;
                set(row, person.key, person.value.clone());
            }
            None => added.push(format!("[[human]]\n{}", pairs(&person.row))),
        }
    }
    match document.get_mut(change.table) {
        Some(table) => {
            let no_table = || format!("`{}` is no table in there", change.table);
            let table = table.as_table_like_mut().ok_or_else(no_table)?;
            set(table, "enabled", true.into());
            for (key, value) in &change.keys {
                set(table, key, value.clone());
            }
        }
        None => added.push(change.table_lines()),
    }
    let mut text = document.to_string();
    for lines in added {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        text = format!("{text}{end}\n{lines}");
    }
    Ok(text)
}

/// The row of that person, however the list is written.
fn human<'a>(humans: &'a mut Item, id: &HumanId) -> Option<&'a mut dyn TableLike> {
    let named = |row: &dyn TableLike| row.get("id").and_then(Item::as_str) == Some(id.as_str());
    match humans {
        Item::ArrayOfTables(rows) => {
            let row = rows.iter_mut().find(|row| named(*row))?;
            Some(row)
        }
        Item::Value(Value::Array(rows)) => {
            let rows = rows.iter_mut().filter_map(Value::as_inline_table_mut);
            let mut found = rows.filter(|row| named(*row));
            found.next().map(|row| row as &mut dyn TableLike)
        }
        Item::None | Item::Value(_) | Item::Table(_) => None,
    }
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
fn checked(text: String, around: &Surroundings, change: &Change) -> Result<String, String> {
    let after = Config::parse(&text, around).map_err(|error| error.to_string())?;
    if same(&after, &change.wanted) { Ok(text) } else { Err("another setting would change".into()) }
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
    use crate::config::OnOff;

    fn around(home: &Path) -> Surroundings {
        Surroundings {
            home: home.into(),
            data: home.into(),
            config: home.join("there/config.toml"),
            user: "ines".into(),
            shell: "/bin/sh".into(),
            claude: None,
        }
    }

    fn change(keys: Vec<(&'static str, Value)>) -> Change {
        let wanted = Config::defaults(&around(Path::new("/home/ines")));
        Change { table: "telegram", keys, person: None, wanted }
    }

    fn person(human: &str) -> Change {
        let row = vec![("id", human.into()), ("role", "owner".into())];
        let value = Value::from("@ines:example.org");
        let row = [row, vec![("matrix", value.clone())]].concat();
        let person = Person { human: HumanId::new(human), key: "matrix", value, row };
        Change { table: "matrix", person: Some(person), ..change(Vec::new()) }
    }

    #[test]
    fn comments_and_order_stay() {
        let text = "# mine\n[web] # the page\nlisten = \"127.0.0.1:80\"\n\n[telegram] # soon\n# not yet\nenabled = false # until Monday\n\n[gates]\n# the end";
        let change = change(vec![("api", "http://127.0.0.1:8081".into())]);
        insta::assert_snapshot!(changed(text, &change).unwrap(), @r#"
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
        let change = change(Vec::new());
        assert_eq!(
            changed(text, &change).unwrap(),
            format!("{text}\n\n[telegram]\nenabled = true\n")
        );
        for (before, after) in [
            ("telegram.enabled = false\n", "telegram.enabled = true\n"),
            ("telegram = { enabled = false }\n", "telegram = { enabled = true }\n"),
        ] {
            assert_eq!(changed(before, &change).unwrap(), after);
        }
    }

    #[test]
    fn a_person_is_written_where_they_stand() {
        let text = "[[human]] # me\nid = \"ines\"\nrole = \"owner\" # of all\n# and him\n[[human]]\nid = \"tomas\"\n\n[matrix]\nenabled = true\n";
        insta::assert_snapshot!(changed(text, &person("ines")).unwrap(), @r#"
        [[human]] # me
        id = "ines"
        role = "owner" # of all
        matrix = "@ines:example.org"
        # and him
        [[human]]
        id = "tomas"

        [matrix]
        enabled = true
        "#);
        let inline = "human = [{ id = \"ines\", role = \"owner\" }]\n";
        insta::assert_snapshot!(changed(inline, &person("ines")).unwrap(), @r#"
        human = [{ id = "ines", role = "owner" , matrix = "@ines:example.org" }]

        [matrix]
        enabled = true
        "#);
        assert!(changed(text, &person("lena")).is_err());
    }

    #[test]
    fn where_nobody_stands_the_person_is_added() {
        insta::assert_snapshot!(changed("# mine\n", &person("owner")).unwrap(), @r#"
        # mine

        [[human]]
        id = "owner"
        role = "owner"
        matrix = "@ines:example.org"

        [matrix]
        enabled = true
        "#);
    }

    #[test]
    fn what_cannot_be_changed_is_left_to_the_person() {
        let folder = tempfile::tempdir().unwrap();
        let around = around(folder.path());
        fs::write(folder.path().join("there"), "a file where a folder should be").unwrap();
        let before = Config::defaults(&around);
        let mut change = Change { wanted: before.clone(), ..change(Vec::new()) };
        assert_eq!(switch_on(&around, &before, &change), Settings::Unchanged);
        change.wanted.telegram.enabled = OnOff::On;
        let Settings::Lines { lines, why } = switch_on(&around, &before, &change) else {
            panic!("it was written")
        };
        assert_eq!(lines, "[telegram]\nenabled = true\n");
        assert!(!why.is_empty());
    }
}
