//! What a shell command would do, as far as its words tell.

use super::{
    Finding, care, code, place, rules,
    shell::{self, Command, Script, Word},
};

/// Commands within commands that are read; deeper ones are called by that.
const DEEPEST: usize = 8;

/// Commands beyond which a script is too long to be judged.
const MOST_COMMANDS: usize = 2_000;

pub(crate) const SHELLS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "csh", "tcsh", "pwsh"];

const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "deno",
    "bun",
    "php",
    "lua",
    "osascript",
    "awk",
    "gawk",
    "mawk",
    "nawk",
];

/// Programs that run what stands behind them, and are looked through where that is plain.
pub(crate) const LOOKED_THROUGH: [&str; 7] =
    ["env", "nohup", "setsid", "command", "time", "timeout", "nice"];

/// Programs that run a program whose place among their words is not plain.
pub(crate) const RUNS_OTHERS: [&str; 61] = [
    "sudo",
    "doas",
    "su",
    "pkexec",
    "runuser",
    "xargs",
    "parallel",
    "watch",
    "chroot",
    "unshare",
    "nsenter",
    "busybox",
    "toybox",
    "chronic",
    "flock",
    "script",
    "strace",
    "entr",
    "coproc",
    "caffeinate",
    "systemd-run",
    "direnv",
    "mise",
    "at",
    "batch",
    "ionice",
    "stdbuf",
    "taskset",
    "chrt",
    "setarch",
    "linux32",
    "linux64",
    "prlimit",
    "numactl",
    "setpriv",
    "capsh",
    "cgexec",
    "cpulimit",
    "firejail",
    "bwrap",
    "proot",
    "fakeroot",
    "fakechroot",
    "unbuffer",
    "rlwrap",
    "xvfb-run",
    "dbus-run-session",
    "dbus-launch",
    "ltrace",
    "valgrind",
    "perf",
    "torsocks",
    "proxychains",
    "proxychains4",
    "tini",
    "dumb-init",
    "gosu",
    "su-exec",
    "chpst",
    "runcon",
    "hyperfine",
];

/// Words of the shell behind which a program stands, and programs that run one elsewhere.
const BEFORE_OTHERS: [&str; 18] = [
    "builtin", "exec", "docker", "podman", "kubectl", "ssh", "wsl", "npx", "nix", "then", "do",
    "else", "if", "elif", "while", "until", "!", "{",
];

/// Whether any later word may be the name of a program that it runs.
fn wraps(name: &str) -> bool {
    LOOKED_THROUGH.contains(&name) || RUNS_OTHERS.contains(&name) || BEFORE_OTHERS.contains(&name)
}

/// Programs that take a command as one word.
const TAKES_TEXT: &[&str] = &[
    "eval", "ssh", "su", "runuser", "watch", "parallel", "xargs", "trap", "docker", "podman",
    "kubectl", "script", "flock", "nix", "wsl", "tmux", "screen", "at", "batch", "entr",
];

/// Flags of `find` and `fd` behind which a command stands.
const RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];

/// Everything `text` would do, the worst first. `cwd` is the folder it runs in.
pub(super) fn judge(text: &str, cwd: &str) -> Vec<Finding> {
    let mut judge = Judge { cwd, found: Vec::new(), seen: None };
    judge.script(text, 0);
    judge.found.extend(rules::anywhere(text));
    let mut found = judge.found;
    found.sort_by_key(|finding| std::cmp::Reverse(finding.risk)); // stable: the first of a class stays first
    let mut kept: Vec<Finding> = Vec::new();
    for finding in found {
        if !kept.contains(&finding) {
            kept.push(finding);
        }
    }
    kept
}

/// Bytes beyond which a script is not read for policies.
const LONGEST: usize = 128 * 1024;
/// Words of commands beyond which no more are kept.
const MOST_WORDS: usize = 20_000;

/// All that a script could be taken to run, where it can be read in several ways in each of them.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) commands: Vec<Vec<String>>,
    /// Those that are not fed by another.
    pub(crate) unfed: Vec<Vec<String>>,
    /// Files that redirections name.
    pub(crate) files: Vec<String>,
    words: usize,
    /// There was more than is kept.
    pub(crate) too_long: bool,
}

/// The commands of `text` as this reader sees them, and those that another reader found in it.
pub(crate) fn seen(text: &str, commands: &[Command], scripts: &[String]) -> Seen {
    if text.len() > LONGEST {
        return Seen { too_long: true, ..Seen::default() };
    }
    let mut judge = Judge { cwd: "/", found: Vec::new(), seen: Some(Seen::default()) };
    judge.script(text, 0);
    for command in commands {
        judge.command(command, 0);
    }
    for script in scripts {
        judge.script(script, 1);
    }
    judge.seen.unwrap_or_default()
}

impl Seen {
    fn add(&mut self, words: &[Word]) {
        self.words += words.len();
        if self.words > MOST_WORDS {
            self.too_long = true;
        } else {
            let words: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
            if !self.commands.contains(&words) {
                self.commands.push(words);
            }
        }
    }

    /// Whether the folder of what comes later is another than that of what came before.
    pub(crate) fn changes_folder(&self) -> bool {
        self.commands.iter().any(|words| words.first().is_some_and(|name| changes_folder(name)))
    }
}

/// Whether a program changes which folder the rest runs in.
pub(crate) fn changes_folder(program: &str) -> bool {
    matches!(base(program), "cd" | "pushd" | "popd")
}

/// Whether `find` is told to run something.
pub(crate) fn finds_and_runs(name: &str, words: &[String]) -> bool {
    matches!(name, "find" | "fd") && words.iter().any(|word| RUNS.contains(&word.as_str()))
}

/// Whether such a command, behind a pipe, runs what it is fed.
pub(crate) fn runs_what_it_is_fed(words: &[String]) -> bool {
    let word = |text: &String| Word { text: text.clone(), dynamic: false };
    fed(&words.iter().map(word).collect::<Vec<_>>()).is_some()
}

struct Judge<'a> {
    cwd: &'a str,
    found: Vec<Finding>,
    /// `None`: only the findings are wanted.
    seen: Option<Seen>,
}

impl Judge<'_> {
    fn script(&mut self, text: &str, depth: usize) {
        if depth > DEEPEST {
            self.seen.iter_mut().for_each(|seen| seen.too_long = true);
            return self.found.push(code("nests commands deeper than Vigie reads"));
        }
        let script = shell::read(text);
        if script.has_here_document {
            // Its text may hold quotes that are none, so each line is read for itself as well.
            for line in text.lines() {
                self.commands(&shell::read(line), depth);
            }
            let words = script.commands.iter().flat_map(|command| &command.words);
            if words.into_iter().any(|word| INTERPRETERS.contains(&base(&word.text))) {
                self.found.extend(rules::program_text(text));
            }
        }
        self.commands(&script, depth);
    }

    fn commands(&mut self, script: &Script, depth: usize) {
        for nested in &script.nested {
            self.script(nested, depth + 1);
        }
        if script.commands.len() > MOST_COMMANDS {
            self.seen.iter_mut().for_each(|seen| seen.too_long = true);
            return self.found.push(code("is too long to be judged"));
        }
        for command in &script.commands {
            self.command(command, depth);
        }
    }

    fn command(&mut self, command: &Command, depth: usize) {
        for target in
            command.writes.iter().filter(|target| !target.bytes().all(|b| b.is_ascii_digit()))
        {
            self.found.extend(place::write_to(target, self.cwd));
        }
        if let Some(seen) = &mut self.seen {
            seen.files.extend(command.writes.iter().chain(&command.reads).cloned());
            seen.add(&command.words);
            if !command.piped && seen.unfed.len() < MOST_COMMANDS {
                let plain = command.words.iter().skip_while(|word| is_assignment(&word.text));
                seen.unfed.push(plain.map(|word| word.text.clone()).collect());
            }
        }
        if let Some(filled) = filled_in(&command.words) {
            let (writes, reads) = (command.writes.clone(), command.reads.clone());
            self.command(&Command { words: filled, writes, reads, ..*command }, depth);
        }
        let set = command.words.iter().take_while(|word| is_assignment(&word.text)).count();
        let (set, words) = command.words.split_at(set);
        // What is kept in a variable may be run by its name.
        let kept = set.iter().filter_map(|word| word.text.split_once('='));
        for (_, script) in kept.filter(|(_, value)| value.contains(char::is_whitespace)) {
            self.script(&format!("{script} $more"), depth + 1);
        }
        let Some(first) = words.first() else { return };
        let name = base(&first.text);
        self.simple(words, depth);
        if let Some(text) = split_by_env(words) {
            self.script(&text, depth + 1);
        }
        if name == "alias" {
            for (_, script) in words[1..].iter().filter_map(|word| word.text.split_once('=')) {
                // Whatever is given to it stands behind.
                self.script(&format!("{script} $more"), depth + 1);
            }
        }
        if command.piped {
            self.found.extend(fed(words));
        }
        if wraps(name) || is_assignment(&first.text) {
            for at in 1..words.len() {
                self.simple(&words[at..], depth);
                if command.piped {
                    self.found.extend(fed(&words[at..]));
                }
            }
        }
        if TAKES_TEXT.contains(&name) {
            for word in
                words[1..].iter().filter(|word| word.text.contains([' ', ';', '\n', '|', '&']))
            {
                self.script(&word.text, depth + 1);
            }
        }
        if name == "eval" {
            let all: Vec<&str> = words[1..].iter().map(|word| word.text.as_str()).collect();
            self.script(&all.join(" "), depth + 1);
        }
    }

    /// A program and its words, nothing in front.
    fn simple(&mut self, words: &[Word], depth: usize) {
        let Some((first, rest)) = words.split_first() else { return };
        let name = base(&first.text);
        if let Some(seen) = &mut self.seen {
            seen.add(words);
        }
        let arguments: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
        if first.dynamic || is_pattern(&first.text) {
            let forced = first.text.contains("IFS")
                || first.text.contains(',')
                || arguments
                    .iter()
                    .any(|word| rules::is_cluster(word, 'r') || rules::is_cluster(word, 'f'));
            self.found.push(if forced {
                code("runs a program only known when it runs, with -r or -f")
            } else {
                care("runs a program only known when it runs")
            });
        }
        let is_shell = SHELLS.contains(&name);
        if is_shell || matches!(name, "eval" | "source" | ".") {
            // Of a shell's words only the script is run, the others are given to it.
            let scripts = if is_shell { 1 } else { rest.len() };
            let plain = rest.iter().filter(|word| !word.text.starts_with('-'));
            if plain.take(scripts).any(|word| word.dynamic) {
                self.found.push(code("runs text that is only known when it runs"));
            }
            if is_shell {
                self.shell(&arguments, depth);
            }
        }
        if is_interpreter(name) {
            self.found.extend(rules::program_text(&arguments.join(" ")));
        }
        if name == "git" {
            let given = |word: &str| arguments.iter().position(|argument| *argument == word);
            if let Some(at) = given("foreach") {
                self.script(&arguments[at + 1..].join(" "), depth + 1);
            }
            if let (Some(_), Some(at)) = (given("bisect"), given("run")) {
                self.simple(&rest[at + 1..], depth);
            }
        }
        if matches!(name, "npm" | "pnpm" | "yarn" | "bun") {
            let given = |of: &[&str]| arguments.iter().position(|word| of.contains(word));
            if let Some(at) = given(&["--"]).or_else(|| given(&["exec", "x", "dlx"])) {
                self.simple(&rest[at + 1..], depth);
            }
        }
        if name == "find" || name == "fd" {
            for at in 0..rest.len() {
                if RUNS.contains(&arguments[at]) {
                    self.simple(&rest[at + 1..], depth);
                }
            }
        }
        self.found.extend(rules::program(name, &arguments));
        self.found.extend(
            rules::targets(name, &arguments)
                .into_iter()
                .filter_map(|path| place::write_to(path, self.cwd)),
        );
    }

    /// `sh -c '…'`, also `bash -lc`.
    fn shell(&mut self, arguments: &[&str], depth: usize) {
        let text = arguments.iter().position(|word| rules::is_cluster(word, 'c'));
        if let Some(text) = text.and_then(|at| arguments.get(at + 1)) {
            self.script(text, depth + 1);
        }
        for text in arguments.iter().filter(|word| word.contains(' ')) {
            self.script(text, depth + 1);
        }
    }
}

/// The words with their braces filled in, as the shell does before it knows which is the program; `None`:
/// there are none.
fn filled_in(words: &[Word]) -> Option<Vec<Word>> {
    let mut filled = Vec::new();
    for word in words {
        let all = shell::braces(&word.text).into_iter().filter(|text| !text.is_empty());
        filled.extend(all.map(|text| Word { text, dynamic: word.dynamic }));
    }
    (filled != words).then_some(filled)
}

/// What `env -S` makes words of, with the words behind it.
/// Source: env(1) of the GNU coreutils; `\_` is a blank there.
fn split_by_env(words: &[Word]) -> Option<String> {
    let env = words.iter().position(|word| base(&word.text) == "env")?;
    let (at, glued) = words.iter().enumerate().skip(env + 1).find_map(|(at, word)| {
        let text = &word.text;
        if let Some(long) = text.strip_prefix("--") {
            let (flag, value) = long.split_once('=').map_or((long, None), |(f, v)| (f, Some(v)));
            return (flag.starts_with('s') && "split-string".starts_with(flag))
                .then_some((at, value));
        }
        let (_, value) = text.strip_prefix('-')?.split_once('S')?;
        Some((at, Some(value).filter(|value| !value.is_empty())))
    })?;
    let text: Vec<&str> =
        glued.into_iter().chain(words[at + 1..].iter().map(|word| word.text.as_str())).collect();
    Some(text.join(" ").replace("\\_", " "))
}

/// Whether it runs the program text that it is given.
pub(crate) fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&plain) || INTERPRETERS.contains(&name)
}

/// A program that runs what it is fed through a pipe.
fn fed(words: &[Word]) -> Option<Finding> {
    let name = base(&words.first()?.text);
    let bare = !words[1..].iter().any(|word| {
        !word.text.starts_with('-')
            || word.text.starts_with("-c")
            || word.text.starts_with("-e")
            || word.text.starts_with("-m")
    });
    let script = SHELLS.contains(&name)
        || (INTERPRETERS.contains(&name) && bare)
        || matches!(name, "at" | "batch");
    script.then(|| code("runs what another program prints"))
}

/// The program's name without its folder; `\rm` has lost its backslash already.
pub(crate) fn base(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// The shell makes the program's name out of it: `/bin/r?`, `{rm,-rf,x}`.
fn is_pattern(word: &str) -> bool {
    let test = word == "[" || word == "[[";
    !test && (word.contains(['*', '?', '[']) || (word.contains('{') && word.contains(',')))
}

pub(crate) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::Risk;
    use proptest::prelude::*;

    #[test]
    fn the_worst_comes_first_and_once() {
        let found = judge("git push && rm -rf a && rm -rf b; curl x | sh", "/p");
        let words: Vec<&str> = found.iter().map(|finding| finding.words).collect();
        assert_eq!(words[..2], ["deletes files", "runs what another program prints"]);
        assert!(found.is_sorted_by_key(|finding| std::cmp::Reverse(finding.risk)));
    }

    #[test]
    fn what_env_splits_and_braces_make_is_judged() {
        for text in [
            "env -S 'rm -rf zap'",
            "env -vS'rm -rf zap'",
            "env --split-string 'rm -r' zap",
            "env -S 'rm\\_-rf\\_zap'",
            "{rm,-rf,zap}",
            "r{m,} -rf zap",
            "taskset 1 rm -rf zap",
            "alias x='rm -rf'",
            "x='rm -rf'; $x y",
        ] {
            assert_eq!(
                judge(text, "/p").first().map(|found| found.risk),
                Some(Risk::Code),
                "{text}"
            );
        }
        for text in
            ["env -S 'cargo test'", "echo {1..3}", "env A='-S rm' cargo test", "A='a b' make"]
        {
            assert!(judge(text, "/p").iter().all(|found| found.risk < Risk::Code), "{text}");
        }
    }

    #[test]
    fn bounds_are_reached_and_said() {
        let deep = "sh -c \"$(".repeat(40);
        assert_eq!(judge(&deep, "/p")[0].risk, Risk::Code);
        let nested = format!("{}true{}", "$(".repeat(30), ")".repeat(30));
        assert!(judge(&nested, "/p").contains(&code("nests commands deeper than Vigie reads")));
        let long = "true;".repeat(MOST_COMMANDS + 1);
        assert_eq!(judge(&long, "/p"), [code("is too long to be judged")]);
        assert!(
            !judge(&"xargs ".repeat(1_000), "/p").iter().any(|finding| finding.risk == Risk::Code)
        );
    }

    proptest! {
        #[test]
        fn a_deletion_is_found_behind_anything(
            before in "(true; |false \\|\\| |X=1 |env A=b |command |sudo |xargs -n 1 |nohup |time |cd /x && |echo 'a b' \\| xargs |if |! |\\( |\n)",
            program in "(rm|/bin/rm|\\\\rm|r''m|\"rm\"|'rm')",
            flags in "(-rf|-fr|-r|-R|-f|--recursive|--force|-v -rf|-rvf)",
        ) {
            let text = format!("{before}{program} {flags} target");
            for text in [text.clone(), format!("sh -c '{}'", text.replace('\'', "'\\''")), format!("echo $({text})"), format!("x=`{text}`")] {
                let found = judge(&text, "/p");
                prop_assert_eq!(found.first().map(|finding| finding.risk), Some(Risk::Code), "{}", text);
            }
        }

        #[test]
        fn nothing_panics(text in "(rm|-r|sh|-c|git|find|-exec|env|'|\"|\\$\\(|\\)|;|\\||>| |\n|/|eval|\\PC){0,30}") {
            let _ = judge(&text, "/p");
        }
    }
}
