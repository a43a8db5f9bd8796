//! What single programs do with which words. Sources: the programs' own manuals.

use super::{Finding, care, code};

const DELETES: Finding = code("deletes files");
const ERASES_HISTORY: Finding = code("throws away changes or history");
const REWRITES: Finding = code("rewrites what others may have pulled");
const DELETES_CLOUD: Finding = code("deletes what runs elsewhere");
const DELETES_RECORDS: Finding = code("deletes records of a database");
const PUBLISHES: Finding = care("publishes");
const NETWORK: Finding = care("reaches the network");
const INSTALLS: Finding = care("installs software");
const STOPS: Finding = care("stops other programs");

/// `-rf` holds `r`; `--recursive` does not count here.
pub(super) fn is_cluster(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|flags| {
        !flags.starts_with('-')
            && flags.chars().all(|c| c.is_ascii_alphanumeric())
            && flags.contains(letter)
    })
}

/// A short flag, or a long one.
fn has(words: &[&str], letter: char, long: &str) -> bool {
    words.iter().any(|word| is_cluster(word, letter)) || has_long(words, &[long])
}

/// One of these long flags, perhaps only begun, as getopt and git take it: `--rec`, `--r`.
fn has_long(words: &[&str], of: &[&str]) -> bool {
    words.iter().filter_map(|word| word.strip_prefix("--")).any(|word| {
        let name = word.split('=').next().unwrap_or(word);
        !name.is_empty() && of.iter().any(|long| long.starts_with(name))
    })
}

fn any(words: &[&str], of: &[&str]) -> bool {
    words.iter().any(|word| of.contains(word))
}

/// The first word that is no flag, and the second.
fn verbs<'a>(words: &[&'a str]) -> (&'a str, &'a str) {
    let mut plain = words.iter().filter(|word| !word.starts_with('-'));
    (plain.next().copied().unwrap_or_default(), plain.next().copied().unwrap_or_default())
}

/// What the program `name` does when called with `words`.
pub(super) fn program(name: &str, words: &[&str]) -> Option<Finding> {
    let (verb, object) = verbs(words);
    match name {
        "rm" | "del" | "rd" | "rmdir" | "unlink" | "trash" => Some(removal(name, words)),
        "shred" | "srm" | "wipe" | "rimraf" => Some(DELETES),
        "find" | "fd" if any(words, &["-delete"]) => Some(DELETES),
        "git" => git(words),
        "dd" if words.iter().any(|word| word.starts_with("of=")) => {
            Some(code("overwrites a file or disk"))
        }
        _ if name.starts_with("mkfs") => Some(code("overwrites a disk")),
        "fdisk" | "sfdisk" | "parted" | "wipefs" | "sgdisk" | "gdisk" | "mkswap" | "lvremove"
        | "vgremove" | "pvremove" | "cryptsetup" | "blkdiscard" | "diskutil" | "format" => {
            Some(code("overwrites a disk"))
        }
        "zfs" | "zpool" | "btrfs" if any(words, &["destroy", "rollback", "delete"]) => {
            Some(code("overwrites a disk"))
        }
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" if has(words, 'R', "recursive") => {
            Some(code("changes who may use many files"))
        }
        "truncate" => Some(care("empties files")),
        "mv" | "cp" if any(words, &["/dev/null"]) => Some(DELETES),
        "rsync"
            if words
                .iter()
                .any(|word| word.starts_with("--del") || *word == "--remove-source-files") =>
        {
            Some(DELETES)
        }
        "sudo" | "doas" | "su" | "pkexec" | "runuser" => Some(code("runs as another user")),
        "shutdown" | "reboot" | "halt" | "poweroff" => Some(code("stops the machine")),
        "init" | "telinit" if any(words, &["0", "6"]) => Some(code("stops the machine")),
        "systemctl" | "launchctl" | "service" => {
            Some(if any(words, &["poweroff", "reboot", "halt", "kexec"]) {
                code("stops the machine")
            } else {
                STOPS
            })
        }
        "kill" if any(words, &["-1"]) && words.len() > 1 => Some(code("stops every program")),
        "kill" | "pkill" | "killall" => Some(STOPS),
        "crontab" => Some(if has(words, 'r', "remove") {
            code("deletes the timetable")
        } else {
            care("changes the timetable")
        }),
        "terraform" | "tofu" | "terragrunt" | "pulumi" | "cdk" | "vagrant" | "eksctl" | "sst" => {
            infrastructure(words)
        }
        "kubectl" | "oc" | "k" => {
            Some(if any(words, &["delete", "drain", "replace"]) { DELETES_CLOUD } else { NETWORK })
        }
        "helm" => Some(if any(words, &["uninstall", "delete", "rollback"]) {
            DELETES_CLOUD
        } else {
            NETWORK
        }),
        "docker" | "podman" | "docker-compose" | "nerdctl" => containers(words),
        "dropdb" | "dropuser" => Some(DELETES_RECORDS),
        "redis-cli" if words.iter().any(|word| word.to_lowercase().starts_with("flush")) => {
            Some(DELETES_RECORDS)
        }
        "aws" | "gcloud" | "az" | "doctl" | "gsutil" | "s3cmd" | "flyctl" | "fly" | "heroku"
        | "vercel" | "wrangler" => Some(cloud(words)),
        "gh" | "glab" => Some(if any(words, &["delete"]) { DELETES_CLOUD } else { NETWORK }),
        "npm" | "pnpm" | "yarn" | "cargo" | "gem" | "twine" | "poetry" | "uv" | "mvn"
        | "gradle" | "dotnet" | "pip" | "pip3" | "pipx" | "brew" | "apt" | "apt-get" | "dnf"
        | "yum" | "pacman" | "apk" | "snap" | "go" => packages(verb, object),
        "curl" | "wget" | "http" | "https" | "xh" => {
            Some(if sends(words) { care("sends data over the network") } else { NETWORK })
        }
        "ssh" | "scp" | "sftp" | "rsync" | "ftp" | "nc" | "ncat" | "netcat" | "telnet"
        | "socat" | "mosh" | "rclone" => Some(NETWORK),
        "mail" | "sendmail" | "mutt" => Some(care("sends data over the network")),
        "iptables" | "nft" | "ufw" => Some(care("changes what the network lets through")),
        "useradd" | "userdel" | "usermod" | "passwd" | "visudo" => {
            Some(code("changes who may log in"))
        }
        "vigie" => Some(care("steers Vigie itself")),
        _ => None,
    }
}

fn removal(name: &str, words: &[&str]) -> Finding {
    let wide = words.iter().any(|word| word.contains(['*', '?', '[', '$', '{', '~']));
    let forced = [('r', "recursive"), ('R', "recursive"), ('f', "force")];
    let named = words.iter().any(|word| !word.starts_with('-')); // `… | xargs rm` names nothing itself
    if wide || !named || forced.iter().any(|(short, long)| has(words, *short, long)) {
        DELETES
    } else if name == "rmdir" {
        care("removes empty folders")
    } else {
        care("deletes single files")
    }
}

fn git(words: &[&str]) -> Option<Finding> {
    if words.iter().any(|word| word.contains("=!")) {
        return Some(code("runs a command through git's settings"));
    }
    let mut rest = words;
    while let Some((first, behind)) = rest.split_first().filter(|(first, _)| first.starts_with('-'))
    {
        let takes_one = matches!(
            *first,
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path"
        );
        rest = if takes_one { behind.get(1..).unwrap_or_default() } else { behind };
    }
    let (verb, rest) = rest.split_first()?;
    let object = verbs(rest).0;
    let force = has(rest, 'f', "force");
    match *verb {
        "push" => {
            let all = has_long(rest, &["mirror", "prune"]) || has(rest, 'd', "delete");
            let refs = rest.iter().any(|word| word.starts_with(['+', ':']))
                || has_long(rest, &["force-with-lease", "force-if-includes"]);
            Some(if force || all || refs { REWRITES } else { PUBLISHES })
        }
        "reset" if has_long(rest, &["hard", "merge", "keep"]) => Some(ERASES_HISTORY),
        "read-tree" if has(rest, 'u', "reset") => Some(ERASES_HISTORY),
        "checkout-index" if force => Some(ERASES_HISTORY),
        "clean" if !has(rest, 'n', "dry-run") || force => Some(DELETES),
        "checkout" | "switch"
            if force || any(rest, &["--", "."]) || has_long(rest, &["discard-changes"]) =>
        {
            Some(ERASES_HISTORY)
        }
        "restore" if !any(rest, &["--staged", "-S"]) || any(rest, &["--worktree", "-W"]) => {
            Some(ERASES_HISTORY)
        }
        "branch"
            if rest.iter().any(|word| is_cluster(word, 'D'))
                || (force && has(rest, 'd', "delete")) =>
        {
            Some(ERASES_HISTORY)
        }
        "stash" if matches!(object, "drop" | "clear") => Some(ERASES_HISTORY),
        "reflog" if matches!(object, "expire" | "delete") => Some(ERASES_HISTORY),
        "gc" if has_long(rest, &["prune"]) => Some(ERASES_HISTORY),
        "filter-branch" | "filter-repo" | "prune" => Some(ERASES_HISTORY),
        "update-ref" if has(rest, 'd', "delete") => Some(ERASES_HISTORY),
        "worktree" if object == "remove" => {
            Some(if force { ERASES_HISTORY } else { care("removes a worktree") })
        }
        "rm" => Some(if force || has(rest, 'r', "recursive") {
            DELETES
        } else {
            care("deletes single files")
        }),
        "rebase" | "tag" | "cherry-pick" | "revert" | "merge" if !rest.is_empty() => {
            Some(care("changes branches or tags"))
        }
        "branch"
            if rest
                .iter()
                .any(|word| ['d', 'm', 'M', 'f'].iter().any(|c| is_cluster(word, *c))) =>
        {
            Some(care("changes branches or tags"))
        }
        "config" | "remote" if rest.len() > 1 => Some(care("changes git's own files")),
        "fetch" | "pull" | "clone" | "ls-remote" | "submodule" | "send-email" => Some(NETWORK),
        _ => None,
    }
}

fn infrastructure(words: &[&str]) -> Option<Finding> {
    let destroys =
        any(words, &["destroy", "-destroy", "--destroy", "delete", "remove", "rm", "taint"]);
    let applies =
        any(words, &["apply", "up", "deploy", "import", "run-all", "provision", "reload"]);
    if destroys {
        Some(DELETES_CLOUD)
    } else {
        applies.then_some(care("changes what runs elsewhere"))
    }
}

fn containers(words: &[&str]) -> Option<Finding> {
    let removes = any(words, &["prune", "rm", "rmi", "remove", "kill"]);
    let volumes = any(words, &["down"]) && has(words, 'v', "volumes");
    if removes || volumes {
        return Some(code("deletes containers, images or volumes"));
    }
    let wide = words
        .iter()
        .any(|word| word.starts_with("--privileged") || *word == "-v=/" || word.starts_with("/:"));
    if wide {
        return Some(code("gives a container the whole machine"));
    }
    any(words, &["push", "login"]).then_some(PUBLISHES)
}

fn cloud(words: &[&str]) -> Finding {
    const ENDS: &[&str] = &["delete", "terminate", "destroy", "remove", "purge", "deregister"];
    let ends = words.iter().any(|word| {
        matches!(*word, "rm" | "rb" | "del")
            || ENDS.iter().any(|end| {
                *word == *end
                    || word.starts_with(&format!("{end}-"))
                    || word.ends_with(&format!(":{end}"))
            })
            || word.starts_with("--delete")
    });
    if ends { DELETES_CLOUD } else { NETWORK }
}

fn packages(verb: &str, object: &str) -> Option<Finding> {
    match verb {
        "unpublish" | "yank" => Some(DELETES_CLOUD),
        "publish" | "upload" | "push" | "deploy" | "release" => Some(PUBLISHES),
        "nuget" if object == "push" => Some(PUBLISHES),
        "remove" | "uninstall" | "purge" | "autoremove" => Some(care("removes software")),
        "install" | "add" | "i" | "ci" | "get" | "upgrade" | "update" | "dlx" => Some(INSTALLS),
        _ => None,
    }
}

/// Whether a request carries something out, or asks for a change.
fn sends(words: &[&str]) -> bool {
    let verb = |word: &str| {
        matches!(word.to_ascii_uppercase().as_str(), "POST" | "PUT" | "PATCH" | "DELETE")
    };
    words.iter().any(|word| {
        verb(word)
            || word.get(..2) == Some("-X") && word.get(2..).is_some_and(verb)
            || [
                "-d",
                "-F",
                "-T",
                "--data",
                "--form",
                "--json",
                "--upload",
                "--post",
                "--request=",
                "--body",
            ]
            .iter()
            .any(|flag| word.starts_with(flag))
    })
}

/// Files that the program writes, from its words.
pub(super) fn targets<'a>(name: &str, words: &[&'a str]) -> Vec<&'a str> {
    let mut plain = words.iter().copied().filter(|word| !word.starts_with('-'));
    match name {
        "tee" | "touch" | "mkdir" | "truncate" | "rm" | "rmdir" | "unlink" | "chmod" | "chown"
        | "mv" => plain.collect(),
        "cp" | "ln" | "install" | "rsync" | "scp" => plain.next_back().into_iter().collect(),
        "sed" | "perl"
            if words.iter().any(|word| {
                is_cluster(word, 'i') || word.starts_with("-i") || word.starts_with("--in-place")
            }) =>
        {
            plain.skip(1).collect()
        }
        "curl" | "wget" => words
            .windows(2)
            .filter(|pair| matches!(pair[0], "-o" | "-O" | "--output" | "--output-document" | "-P"))
            .map(|pair| pair[1])
            .filter(|path| !path.contains("://"))
            .collect(),
        "dd" => words.iter().filter_map(|word| word.strip_prefix("of=")).collect(),
        _ => Vec::new(),
    }
}

/// What an interpreter's program text does.
pub(super) fn program_text(text: &str) -> Option<Finding> {
    const REMOVES: &[&str] = &[
        "rmtree",
        "os.remove",
        "os.unlink",
        "unlink(",
        "unlink ",
        ".unlink",
        "rmsync",
        "rmdirsync",
        "fs.rm",
        "remove_dir",
        "removedirs",
        "rm_rf",
        "rm_r",
        "file.delete",
        "remove_tree",
        "rm -r",
        "rm -f",
        "os.rmdir",
        "deno.remove",
        "rimraf",
    ];
    const RUNS: &[&str] = &[
        "os.system",
        "subprocess",
        "child_process",
        "popen",
        "exec(",
        "system(",
        "execsync",
        "spawn",
        "pty.",
    ];
    const NET: &[&str] =
        &["requests.", "urllib", "http.client", "socket", "fetch(", "net::http", "axios"];
    let text = text.to_lowercase();
    let holds = |of: &[&str]| of.iter().any(|word| text.contains(word));
    if holds(REMOVES) {
        Some(DELETES)
    } else if holds(RUNS) {
        Some(care("runs further programs"))
    } else {
        holds(NET).then_some(NETWORK)
    }
}

/// What is said in any word of the script: queries and tricks that no program's name gives away.
pub(super) fn anywhere(text: &str) -> Option<Finding> {
    const QUERIES: &[&str] = &[
        "drop table",
        "drop database",
        "drop schema",
        "drop index",
        "drop view",
        "truncate table",
        "delete from",
        "dropdatabase(",
        "deletemany(",
        ".drop()",
    ];
    let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    if QUERIES.iter().any(|query| text.contains(query)) {
        return Some(DELETES_RECORDS);
    }
    let bomb: String = text.chars().filter(|c| *c != ' ').collect();
    bomb.contains(":(){:|:&};:").then_some(code("stops the machine"))
}
