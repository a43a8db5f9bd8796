use serde_json::Value;

use super::{Finding, care, command, digest::digest, place};
use crate::{
    bridge::{Fact, Risk},
    text::{Revealed, Rich, Style, reveal, unified_diff, warning},
};

/// A request as a card shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// "asks to run a command that deletes files"; the session's name stands before it.
    pub title: String,
    /// Exactly what is asked, whole, hidden characters made visible.
    pub content: Rich,
    /// For edits: what changes, as a unified diff.
    pub diff: Option<String>,
    pub warnings: Vec<String>,
    pub facts: Vec<Fact>,
    pub risk: Risk,
    /// Hex SHA-256 of the request, for comparing what was shown with what runs.
    pub digest: String,
}

/// Describes what a tool asks to do, by the tool's own input. Claude Code's tools are known by name;
/// anything else is shown as JSON. What the agent says about the request is shown as its saying.
pub fn describe(tool: &str, input: &Value, cwd: &str) -> Described {
    let mut request = Request::new(input, cwd);
    request.tool(tool);
    request.finish(digest(tool, input, cwd))
}

/// Its risk alone, which takes less time where much would be changed.
pub fn risk_of(tool: &str, input: &Value, cwd: &str) -> Risk {
    let mut request = Request { wanted: Wanted::Risk, ..Request::new(input, cwd) };
    request.tool(tool);
    request.finish(String::new()).risk
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    Risk,
}

/// A request on its way to being described.
struct Request<'a> {
    input: &'a Value,
    cwd: &'a str,
    title: String,
    content: Rich,
    diff: Option<String>,
    facts: Vec<Fact>,
    found: Vec<Finding>,
    hidden: usize,
    look_alikes: usize,
    /// Keys of the input that are shown already.
    said: Vec<&'static str>,
    wanted: Wanted,
}

impl<'a> Request<'a> {
    fn new(input: &'a Value, cwd: &'a str) -> Self {
        Self {
            input,
            cwd,
            title: String::new(),
            content: Rich::default(),
            diff: None,
            facts: Vec::new(),
            found: Vec::new(),
            hidden: 0,
            look_alikes: 0,
            said: Vec::new(),
            wanted: Wanted::All,
        }
    }

    fn tool(&mut self, tool: &str) {
        let known = match tool {
            "Bash" => self.bash(),
            "Write" => self.write(),
            "Edit" => self.edit(),
            "MultiEdit" => self.edits(),
            "NotebookEdit" => self.notebook(),
            "Read" => self.read(),
            "WebFetch" => self.fetch(),
            "WebSearch" => self.search(),
            _ => None,
        };
        match known {
            Some(()) => self.rest(),
            None => self.anything(tool),
        }
    }

    fn bash(&mut self) -> Option<()> {
        let command = self.text("command")?;
        self.found = command::judge(command, self.cwd);
        let shown = self.show(command);
        self.content = shown.wrapped(Style::Pre { language: Some("sh".into()) });
        self.title = "asks to run a command".into();
        if let Some(about) = self.text("description") {
            self.fact("The agent says", about);
        }
        if self.input.get("dangerouslyDisableSandbox") == Some(&Value::Bool(true)) {
            self.found.push(care("leaves the sandbox"));
        }
        Some(())
    }

    fn write(&mut self) -> Option<()> {
        let (path, content) = (self.text("file_path")?, self.text("content")?);
        self.title = format!("asks to write {}", self.name(path));
        self.code(content, language_of(path));
        self.place(path);
        Some(())
    }

    fn edit(&mut self) -> Option<()> {
        let (path, old, new) =
            (self.text("file_path")?, self.text("old_string")?, self.text("new_string")?);
        self.title = format!("asks to edit {}", self.name(path));
        self.diff = Some(self.change(path, old, new));
        if self.flag("replace_all") {
            self.fact("Where", "every place it stands in the file");
        }
        self.place(path);
        Some(())
    }

    fn edits(&mut self) -> Option<()> {
        let path = self.text("file_path")?;
        let edits = self.input.get("edits")?.as_array()?;
        let pairs: Vec<(&str, &str, bool)> = edits
            .iter()
            .map(|edit| {
                let all = edit.get("replace_all") == Some(&Value::Bool(true));
                Some((edit.get("old_string")?.as_str()?, edit.get("new_string")?.as_str()?, all))
            })
            .collect::<Option<_>>()?;
        self.said.push("edits");
        self.title = format!("asks to edit {} in {} places", self.name(path), pairs.len());
        let diffs: Vec<String> =
            pairs.iter().map(|(old, new, _)| self.change(path, old, new)).collect();
        self.diff = Some(diffs.concat());
        if pairs.iter().any(|(.., all)| *all) {
            self.fact("Where", "some of them in every place they stand in the file");
        }
        self.place(path);
        Some(())
    }

    fn notebook(&mut self) -> Option<()> {
        let (path, source) = (self.text("notebook_path")?, self.text("new_source")?);
        self.title = format!("asks to edit a cell of {}", self.name(path));
        self.code(source, None);
        self.place(path);
        Some(())
    }

    fn read(&mut self) -> Option<()> {
        let path = self.text("file_path")?;
        self.title = format!("asks to read {}", self.name(path));
        self.content = self.show(path).wrapped(Style::Code);
        self.found.extend(place::read_of(path, self.cwd));
        Some(())
    }

    fn fetch(&mut self) -> Option<()> {
        let url = self.text("url")?;
        self.title = "asks to read a page on the web".into();
        self.content = self.show(url).wrapped(Style::Code);
        self.found.push(care("reaches the network"));
        if let Some(prompt) = self.text("prompt") {
            self.fact("To find", prompt);
        }
        Some(())
    }

    fn search(&mut self) -> Option<()> {
        let query = self.text("query")?;
        self.title = "asks to search the web".into();
        self.content = self.show(query).wrapped(Style::Code);
        self.found.push(care("reaches the network"));
        Some(())
    }

    /// A tool we do not know, or one whose input is not as we know it.
    fn anything(&mut self, tool: &str) {
        let mut parts = tool.splitn(3, "__");
        let parts = (parts.next(), parts.next(), parts.next());
        self.title = if let (Some("mcp"), Some(server), Some(name)) = parts {
            self.found.push(care("uses a tool of another program"));
            format!("asks to use {} of {}", self.line(name), self.line(server))
        } else {
            if !matches!(tool, "Glob" | "Grep" | "LS" | "TodoWrite" | "Task" | "Agent") {
                self.found.push(care("uses a tool that Vigie does not know"));
            }
            format!("asks to use {}", self.line(tool))
        };
        let json =
            serde_json::to_string_pretty(self.input).unwrap_or_else(|_| self.input.to_string());
        let shown = self.show(&json);
        self.content = shown.wrapped(Style::Pre { language: Some("json".into()) });
        self.diff = None;
    }

    /// What else the input holds: nothing of a request is left unsaid.
    fn rest(&mut self) {
        let Some(object) = self.input.as_object() else { return };
        let more: Vec<(&String, String)> = object
            .iter()
            .filter(|(key, value)| {
                !self.said.contains(&key.as_str())
                    && **value != Value::Bool(false)
                    && !value.is_null()
            })
            .map(|(key, value)| {
                (key, value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            })
            .collect();
        for (key, value) in more {
            let label = self.line(key);
            self.fact(&label, &value);
        }
    }

    fn finish(mut self, digest: String) -> Described {
        let folder = self.cwd.to_owned();
        if !folder.is_empty() {
            let value = self.line(&folder);
            self.facts.insert(0, Fact { label: "Folder".into(), value });
        }
        let sight = Revealed::counted(self.hidden, self.look_alikes);
        let unseen = warning(&sight);
        let worst = self.found.iter().map(|finding| finding.risk).max().unwrap_or(Risk::Plain);
        let risk = if unseen.is_some() { Risk::Code } else { worst };
        let told = self.title == "asks to run a command";
        let first = self.found.iter().position(|finding| finding.risk == worst);
        if let (true, Some(at)) = (told, first) {
            let finding = self.found.remove(at);
            self.title = format!("{} that {}", self.title, finding.words);
        } else if told && unseen.is_some() {
            self.title.push_str(" that hides characters");
        }
        let mut warnings: Vec<String> = unseen.into_iter().collect();
        warnings.extend(self.found.iter().map(|finding| format!("It {}.", finding.words)));
        Described {
            title: self.title,
            content: self.content,
            diff: self.diff,
            warnings,
            facts: self.facts,
            risk,
            digest,
        }
    }

    /// A text of the input, which counts as shown from now on.
    fn text(&mut self, key: &'static str) -> Option<&'a str> {
        let text = self.input.get(key)?.as_str()?;
        self.said.push(key);
        Some(text)
    }

    fn flag(&mut self, key: &'static str) -> bool {
        let set = self.input.get(key) == Some(&Value::Bool(true));
        if set {
            self.said.push(key);
        }
        set
    }

    fn show(&mut self, text: &str) -> Rich {
        let revealed = reveal(text);
        self.hidden += revealed.hidden;
        self.look_alikes += revealed.look_alikes;
        revealed.text
    }

    /// Text for one line of a card.
    fn line(&mut self, text: &str) -> String {
        self.show(text).text.replace('\n', "⏎").replace('\t', " ")
    }

    fn fact(&mut self, label: &str, value: &str) {
        let value = self.show(value).text;
        self.facts.push(Fact { label: label.into(), value });
    }

    /// A path as people know it: from the folder when it lies below.
    fn name(&mut self, path: &str) -> String {
        let below = path
            .strip_prefix(self.cwd)
            .and_then(|rest| rest.strip_prefix('/'))
            .filter(|_| !self.cwd.is_empty());
        self.line(below.filter(|below| !below.is_empty()).unwrap_or(path))
    }

    fn place(&mut self, path: &str) {
        self.fact("File", path);
        self.found.extend(place::write_to(path, self.cwd));
    }

    /// The text of a file. Windows line ends are ordinary there, so they are a fact and not hidden.
    fn code(&mut self, text: &str, language: Option<String>) {
        let text = self.unix(text);
        self.content = self.show(&text).wrapped(Style::Pre { language });
    }

    fn change(&mut self, path: &str, old: &str, new: &str) -> String {
        let (old, new) = (self.unix(old), self.unix(new));
        let (path, old, new) = (self.name(path), self.show(&old).text, self.show(&new).text);
        if self.content.is_empty() {
            self.content = Rich::plain(path.clone()).wrapped(Style::Code);
        }
        if self.wanted == Wanted::Risk {
            return String::new();
        }
        let (old, new) = whole_lines(old, new);
        unified_diff(&path, &old, &new)
    }

    fn unix(&mut self, text: &str) -> String {
        if text.contains("\r\n") && !self.facts.iter().any(|fact| fact.label == "Line ends") {
            self.fact("Line ends", "CRLF");
        }
        text.replace("\r\n", "\n")
    }
}

fn language_of(path: &str) -> Option<String> {
    let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    let fits = !ending.is_empty()
        && ending.len() <= 10
        && ending.bytes().all(|b| b.is_ascii_alphanumeric());
    fits.then(|| ending.to_ascii_lowercase())
}

/// A piece out of the middle of a file says nothing about how the file ends.
fn whole_lines(old: String, new: String) -> (String, String) {
    if old.ends_with('\n') || new.ends_with('\n') {
        return (old, new);
    }
    let ended = |text: String| if text.is_empty() { text } else { text + "\n" };
    (ended(old), ended(new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const CWD: &str = "/home/ines/quay";

    fn fact<'a>(described: &'a Described, label: &str) -> Option<&'a str> {
        described.facts.iter().find(|fact| fact.label == label).map(|fact| fact.value.as_str())
    }

    #[test]
    fn a_command_is_shown_whole_and_the_agents_words_apart() {
        let command = format!("echo {} && rm -rf build", "a ".repeat(3_000));
        let described = describe(
            "Bash",
            &json!({"command": command, "description": "List files", "timeout": 5}),
            CWD,
        );
        assert_eq!(described.title, "asks to run a command that deletes files");
        assert_eq!(described.content.text, command);
        assert_eq!(described.risk, Risk::Code);
        assert_eq!(fact(&described, "The agent says"), Some("List files"));
        assert_eq!(fact(&described, "timeout"), Some("5"));
        assert_eq!(fact(&described, "Folder"), Some(CWD));
    }

    #[test]
    fn hidden_characters_need_the_code() {
        let described = describe("Bash", &json!({"command": "ls \u{202E}аrchive"}), CWD);
        assert_eq!(described.title, "asks to run a command that hides characters");
        assert_eq!(described.content.text, "ls ⟦U+202E⟧⟦а Cyrillic⟧rchive");
        assert_eq!(described.content.check(), Ok(()));
        assert_eq!(described.risk, Risk::Code);
        assert_eq!(
            described.warnings,
            ["1 hidden character, 1 look-alike letter. It runs exactly as shown."]
        );
        let told = describe("Bash", &json!({"command": "ls", "description": "a\u{200B}b"}), CWD);
        assert_eq!(told.risk, Risk::Code);
    }

    #[test]
    fn an_edit_is_a_diff() {
        let input = json!({"file_path": "/home/ines/quay/src/a.rs", "old_string": "a\r\nb\r\n", "new_string": "a\r\nc\r\n", "replace_all": true});
        let described = describe("Edit", &input, CWD);
        assert_eq!(described.title, "asks to edit src/a.rs");
        assert_eq!(
            described.diff.as_deref(),
            Some("--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n")
        );
        assert_eq!((described.risk, fact(&described, "Line ends")), (Risk::Plain, Some("CRLF")));
        assert_eq!(fact(&described, "Where"), Some("every place it stands in the file"));
        let input = json!({"file_path": "src/a.rs", "old_string": "a berth", "new_string": "b"});
        let diff = describe("Edit", &input, CWD).diff.unwrap();
        assert!(diff.ends_with("-a berth\n+b\n"), "a piece has no end of the file: {diff}");
        let input = json!({"file_path": "src/a.rs", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "\u{200B}"}]});
        let described = describe("MultiEdit", &input, CWD);
        assert_eq!(described.title, "asks to edit src/a.rs in 2 places");
        assert!(described.diff.unwrap().contains("+⟦U+200B⟧"));
        assert_eq!(described.risk, Risk::Code);
    }

    #[test]
    fn a_write_says_where_and_what() {
        let described =
            describe("Write", &json!({"file_path": "/home/ines/.zshrc", "content": "x\n"}), CWD);
        assert_eq!(described.title, "asks to write /home/ines/.zshrc");
        assert_eq!((described.content.text.as_str(), described.risk), ("x\n", Risk::Care));
        assert_eq!(described.warnings, ["It changes what every shell runs at its start."]);
        let plain =
            describe("Write", &json!({"file_path": "src/a.rs", "content": "⚠\u{FE0F}"}), CWD);
        assert_eq!((plain.risk, plain.diff), (Risk::Plain, None));
    }

    #[test]
    fn other_tools_say_what_they_are_given() {
        let described = describe("mcp__lab__echo", &json!({"b": 1, "a": "x\u{2066}"}), CWD);
        assert_eq!(described.title, "asks to use echo of lab");
        assert!(described.content.text.contains("\"a\": \"x⟦U+2066⟧\""));
        assert_eq!(described.risk, Risk::Code);
        let broken = describe("Bash", &json!({"command": ["rm", "-rf", "/"]}), CWD);
        assert_eq!((broken.title.as_str(), broken.risk), ("asks to use Bash", Risk::Care));
        assert_eq!(
            describe("WebFetch", &json!({"url": "https://example.org"}), CWD).risk,
            Risk::Care
        );
        assert_eq!(describe("Read", &json!({"file_path": "a.rs"}), CWD).risk, Risk::Plain);
        assert_eq!(describe("Grep", &json!({"pattern": "x"}), CWD).risk, Risk::Plain);
        assert_eq!(
            describe(
                "NotebookEdit",
                &json!({"notebook_path": "a.ipynb", "new_source": "x", "cell_id": "7"}),
                CWD
            )
            .title,
            "asks to edit a cell of a.ipynb"
        );
        assert_eq!(describe("X\ny", &json!(null), "").title, "asks to use X⏎y");
    }

    proptest! {
        #[test]
        fn nothing_is_left_out(command in "(rm|ls|-r|'|\"|;| |\n|\\PC|\u{200B}){0,30}", extra in "[a-z]{1,8}") {
            let described = describe("Bash", &json!({"command": command, "x": extra}), CWD);
            prop_assert_eq!(described.content.check(), Ok(()));
            prop_assert_eq!(&described.content.text, &reveal(&command).text.text);
            prop_assert_eq!(fact(&described, "x"), Some(extra.as_str()));
            let hides = command.contains('\u{200B}');
            prop_assert!(described.risk == Risk::Code || !hides);
        }
    }
}
