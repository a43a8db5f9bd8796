//! Every key of the language, once: the parser refuses what does not stand here, and the schema for
//! editors is made of it.

/// What may stand under a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// An id: a letter, then letters, digits, `_` and `-`.
    Name,
    /// Text as it is.
    Text,
    /// Text with `{{ … }}` filled in.
    Template,
    /// An expression, as between the braces.
    Expr,
    Bool,
    Whole {
        least: u64,
        most: u64,
    },
    /// A number that may be below zero.
    Integer,
    /// Dollars.
    Money,
    /// `90s`, `10m`, `1h30m`, `7d`.
    Duration,
    /// `64KiB`, `10MiB`.
    Size,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any JSON.
    Any,
    List(&'static Shape),
    /// A list of steps, which may hold further ones.
    Steps,
    /// A map with keys of one's own.
    MapOf(&'static Shape),
    Map(&'static Table),
    /// The first in its short form.
    Either(&'static [Shape]),
}

#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
}

/// The keys of one kind of map.
#[derive(Debug)]
pub(crate) struct Table {
    /// Such as `a step`.
    pub(crate) of: &'static str,
    pub(crate) keys: &'static [Key],
    /// Keys that start with `x-` are nobody's business: anchors live there.
    pub(crate) free: bool,
}

const fn key(name: &'static str, shape: Shape, what: &'static str) -> Key {
    Key { name, what, shape, required: false }
}

const fn must(name: &'static str, shape: Shape, what: &'static str) -> Key {
    Key { name, what, shape, required: true }
}

const fn table(of: &'static str, keys: &'static [Key]) -> Table {
    Table { of, keys, free: false }
}

impl Table {
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }
}

pub(crate) const KINDS: [&str; 9] = [
    "shell",
    "claude",
    "http",
    "javascript",
    "sleep",
    "condition",
    "approval",
    "workflow",
    "foreach",
];
pub(crate) const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const TEXTS: Shape = Shape::List(&Shape::Text);
const ONE_OR_MORE_TEXTS: Shape = Shape::Either(&[Shape::Text, TEXTS]);
const ONE_OR_MORE_NAMES: Shape = Shape::Either(&[Shape::Name, Shape::List(&Shape::Name)]);
const ENV: Shape = Shape::MapOf(&Shape::Template);
const EXPRS: Shape = Shape::MapOf(&Shape::Expr);

pub(crate) static WORKFLOW: Table = Table {
    of: "a workflow",
    free: true,
    keys: &[
        must("name", Shape::Name, "What it is called, on the phone too."),
        key("title", Shape::Text, "What it is called in lists for people."),
        key("description", Shape::Text, "What it is for and when to use it."),
        key("project", Shape::Template, "The project it runs in, by name."),
        key("params", Shape::MapOf(&Shape::Map(&PARAM)), "What whoever starts it says, by name."),
        key("on", Shape::Map(&ON), "What starts it besides people and agents."),
        key("limits", Shape::Map(&LIMITS), "What a run of it may use."),
        key("env", ENV, "Environment variables of its steps."),
        key("secrets", Shape::List(&Shape::Name), "Secrets of the configuration it may use."),
        must(
            "steps",
            Shape::Steps,
            "What it does; steps that need nothing of one another run together.",
        ),
        key("outputs", EXPRS, "What a run gives to whoever called it, by name."),
        key("defaults", Shape::Any, "Anything: a place for what anchors repeat."),
    ],
};

pub(crate) static PARAM: Table = table(
    "a param",
    &[
        key("title", Shape::Text, "What it is called for people."),
        key(
            "type",
            Shape::Word(&["string", "integer", "number", "boolean", "json"]),
            "Its kind; `string` when it does not say.",
        ),
        key("enum", Shape::List(&Shape::Any), "The only values it may have."),
        key("default", Shape::Any, "Its value when nobody says; without one it must be given."),
        key(
            "longest",
            Shape::Whole { least: 1, most: 1_000_000 },
            "Of a string: characters at most.",
        ),
        key("minimum", Shape::Integer, "Of an integer."),
        key("maximum", Shape::Integer, "Of an integer."),
    ],
);

pub(crate) static ON: Table = table(
    "`on`",
    &[
        key(
            "cron",
            ONE_OR_MORE_TEXTS,
            "Times, five fields each: minute, hour, day, month, weekday.",
        ),
        key("timezone", Shape::Text, "IANA name such as `Europe/Paris`; UTC when it does not say."),
        key(
            "catch_up",
            Shape::Word(&["skip", "latest", "all"]),
            "What becomes of times that passed while nothing ran.",
        ),
        key("webhook", Shape::Map(&WEBHOOK), "Calls from outside."),
    ],
);

pub(crate) static WEBHOOK: Table = table(
    "`webhook`",
    &[
        must("secret", Shape::Name, "The secret a caller must know."),
        key("proof", Shape::Word(&["token", "hmac"]), "How a caller shows it."),
        key("max_body", Shape::Size, "Largest body that is taken."),
        key("params", EXPRS, "Params out of `body` (JSON) and `headers`."),
    ],
);

pub(crate) static LIMITS: Table = table(
    "`limits`",
    &[
        key("cost_usd", Shape::Money, "What its agents may cost, in dollars at list price."),
        key("timeout", Shape::Duration, "Of a run, waiting for people left out."),
        key("concurrency", Shape::Whole { least: 1, most: 1_000 }, "Runs of it at the same time."),
        key("overlap", Shape::Word(&["skip", "queue", "replace"]), "What becomes of one run more."),
        key("parallel", Shape::Whole { least: 1, most: 256 }, "Steps of one run at the same time."),
    ],
);

pub(crate) static STEP: Table = table(
    "a step",
    &[
        must("id", Shape::Name, "What other steps call it."),
        key("title", Shape::Text, "What it is called for people."),
        key("needs", ONE_OR_MORE_NAMES, "The steps that come before it."),
        key("if", Shape::Either(&[Shape::Expr, Shape::Bool]), "It runs only if this is true."),
        key("always", Shape::Bool, "It runs whatever became of what it needs."),
        key("continue_on_error", Shape::Bool, "Its failure is no failure of the run."),
        key("env", ENV, "Environment variables; the way values come into scripts."),
        key("project", Shape::Template, "The project it runs in, by name."),
        key("cwd", Shape::Template, "The folder it runs in, relative to the project's."),
        key(
            "in_session",
            Shape::Template,
            "The session in whose folder it runs instead, such as its worktree.",
        ),
        key("timeout", Shape::Duration, "It is ended after this."),
        key(
            "retry",
            Shape::Either(&[Shape::Whole { least: 0, most: 100 }, Shape::Map(&RETRY)]),
            "Tries beyond the first.",
        ),
        key(
            "on_crash",
            Shape::Word(&["ask", "retry", "fail"]),
            "What becomes of it if nobody knows how it ended.",
        ),
        key("output", Shape::Word(&["text", "json"]), "`json`: it must print JSON."),
        key(
            "files",
            Shape::MapOf(&Shape::Template),
            "Files it leaves that are kept with the run, by name.",
        ),
        key("output_cut", Shape::Word(&["ok"]), "`ok`: its text may be read though it was cut."),
        key("expect", Shape::Map(&EXPECT), "What must be true when it says it is done."),
        key(
            "shell",
            Shape::Either(&[Shape::Text, Shape::Map(&SHELL)]),
            "A script. Nothing is filled into it; values come by `env`.",
        ),
        key(
            "claude",
            Shape::Either(&[Shape::Template, Shape::Map(&CLAUDE)]),
            "A prompt for an agent.",
        ),
        key("http", Shape::Map(&HTTP), "A request."),
        key(
            "javascript",
            Shape::Either(&[Shape::Text, Shape::Map(&JAVASCRIPT)]),
            "A body of a function, without network or files.",
        ),
        key("sleep", Shape::Either(&[Shape::Duration, Shape::Map(&SLEEP)]), "Waits."),
        key(
            "condition",
            Shape::Either(&[Shape::Expr, Shape::Bool]),
            "If it is false, what needs it does not run.",
        ),
        key(
            "approval",
            Shape::Either(&[Shape::Template, Shape::Map(&APPROVAL)]),
            "Waits for people.",
        ),
        key("workflow", Shape::Either(&[Shape::Text, Shape::Map(&CALL)]), "Runs another workflow."),
        key("foreach", Shape::Map(&FOREACH), "Runs steps once for each item of a list."),
    ],
);

pub(crate) static RETRY: Table = table(
    "`retry`",
    &[
        must("times", Shape::Whole { least: 0, most: 100 }, "Tries beyond the first."),
        key("backoff", Shape::Duration, "Before the second try; doubled before each further one."),
        key("longest", Shape::Duration, "The longest wait between two tries."),
        key("same_error", Shape::Bool, "Goes on after the same error twice."),
    ],
);

pub(crate) static EXPECT: Table = table(
    "`expect`",
    &[
        key(
            "changed_only",
            ONE_OR_MORE_TEXTS,
            "Patterns of paths outside of which nothing may have changed.",
        ),
        key("unchanged", ONE_OR_MORE_TEXTS, "Patterns of paths that may not have changed."),
        key("claimed", Shape::Expr, "A list of paths that must be just what changed."),
        key(
            "that",
            Shape::Either(&[Shape::Expr, Shape::List(&Shape::Expr)]),
            "Expressions that must be true, over its own `output` too.",
        ),
        key("run", Shape::Text, "A command that must exit with 0 afterwards."),
    ],
);

pub(crate) static SHELL: Table = table(
    "`shell`",
    &[
        must("script", Shape::Text, "The script."),
        key(
            "shell",
            Shape::List(&Shape::Text),
            "The program that gets the script as its last argument.",
        ),
        key("read_only", Shape::Bool, "It may write nothing in the folder."),
    ],
);

pub(crate) static CLAUDE: Table = table(
    "`claude`",
    &[
        must("prompt", Shape::Template, "What it is asked."),
        key("session", Shape::Template, "A session people see, by name, that takes the prompt."),
        key("continue", Shape::Name, "The step whose conversation it goes on with."),
        key("model", Shape::Text, "The model."),
        key("tools", ONE_OR_MORE_TEXTS, "Tools it may use without asking."),
        key("read_only", Shape::Bool, "It may change nothing."),
        key(
            "schema",
            Shape::Either(&[Shape::Text, Shape::MapOf(&Shape::Any)]),
            "JSON schema of its result, or the name of a file beside this one.",
        ),
        key("cost_usd", Shape::Money, "What it may cost, in dollars at list price."),
        key("max_turns", Shape::Whole { least: 1, most: 10_000 }, "Turns at most."),
    ],
);

pub(crate) static HTTP: Table = table(
    "`http`",
    &[
        key("method", Shape::Word(&METHODS), "`GET` when it does not say."),
        must("url", Shape::Template, "Where to."),
        key("headers", Shape::MapOf(&Shape::Template), "Headers, by name."),
        key("body", Shape::Template, "Text that is sent."),
        key("json", Shape::Any, "JSON that is sent; its strings are templates."),
        key(
            "expect",
            Shape::Either(&[STATUS, Shape::List(&STATUS)]),
            "Statuses that are fine; 200 to 299 when it does not say.",
        ),
        key("extract", EXPRS, "Values out of `response`, by name."),
        key(
            "allow_private",
            Shape::Bool,
            "Addresses of this machine and of private networks may be called.",
        ),
        key("redirects", Shape::Whole { least: 0, most: 20 }, "Redirections that are followed."),
    ],
);

const STATUS: Shape = Shape::Whole { least: 100, most: 599 };

pub(crate) static JAVASCRIPT: Table = table(
    "`javascript`",
    &[
        must("code", Shape::Text, "Reads `input` and returns its result."),
        key("input", EXPRS, "What it reads, by name."),
        key("memory", Shape::Size, "At most."),
    ],
);

pub(crate) static SLEEP: Table = table(
    "`sleep`",
    &[must("until", Shape::Template, "An instant, or `HH:MM` in the workflow's time zone.")],
);

pub(crate) static APPROVAL: Table = table(
    "`approval`",
    &[
        must("ask", Shape::Template, "The question."),
        key("show", Shape::Template, "What is shown under it."),
        key("form", Shape::List(&Shape::Map(&FIELD)), "What is asked for besides a yes."),
        key("by", ONE_OR_MORE_TEXTS, "Roles or people who may answer."),
        key(
            "count",
            Shape::Whole { least: 1, most: 20 },
            "How many different people must say yes.",
        ),
        key("not_starter", Shape::Bool, "Whoever started the run may not answer."),
        key("timeout", Shape::Duration, "How long it waits."),
        key("on_timeout", Shape::Word(&["deny", "approve", "fail"]), "What it does then."),
        key("send_back", Shape::Name, "The step the run goes back to when somebody sends it back."),
        key("no_is_fine", Shape::Bool, "A no ends the step well."),
    ],
);

pub(crate) static FIELD: Table = table(
    "a field of `form`",
    &[
        must("id", Shape::Name, "What steps call it."),
        key("title", Shape::Text, "What it is called for people."),
        key("choices", TEXTS, "The only answers; any words without them."),
    ],
);

pub(crate) static CALL: Table = table(
    "`workflow`",
    &[
        must("name", Shape::Text, "The workflow, such as `release` or `api/release`."),
        key("params", EXPRS, "Its params, by name."),
    ],
);

pub(crate) static FOREACH: Table = table(
    "`foreach`",
    &[
        must("in", Shape::Either(&[Shape::Expr, Shape::List(&Shape::Any)]), "The list."),
        key("as", Shape::Name, "What each item is called inside; `item` when it does not say."),
        key("parallel", Shape::Whole { least: 1, most: 256 }, "Rounds at the same time."),
        must("steps", Shape::Steps, "What is done for each item."),
    ],
);

/// Every table, to say where a key that stands in a wrong place belongs.
pub(crate) static ALL: [&Table; 17] = [
    &WORKFLOW,
    &STEP,
    &PARAM,
    &ON,
    &WEBHOOK,
    &LIMITS,
    &RETRY,
    &EXPECT,
    &SHELL,
    &CLAUDE,
    &HTTP,
    &JAVASCRIPT,
    &SLEEP,
    &APPROVAL,
    &FIELD,
    &CALL,
    &FOREACH,
];
