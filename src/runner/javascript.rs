//! `vigie javascript`: the process that runs one script of a step. The script has the language and
//! nothing else: no files, no network, no modules, no clock to wait on. What it may use of memory is
//! bounded twice, by the language's own machine and by the system.

use nix::sys::{
    resource::{Resource, setrlimit},
    signal::SigSet,
};
use rquickjs::{
    CatchResultExt as _, CaughtError, Context, Ctx, Function, Runtime, Value, context::EvalOptions,
};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Read as _, Write as _},
    process::ExitCode,
};

/// What the program needs besides the script: it is mapped whole.
const PROGRAM: u64 = 256 << 20;
/// Of a script's calls in calls; the system gives a thread more.
const STACK: usize = 1 << 20;
/// In the place of a file's name, for lines in errors.
const NAME: &str = "script";
/// Stands on a line of its own ahead of the script, which is the body of a function.
const HEAD: &str = "(function (input) { 'use strict';\n";
const TAIL: &str = "\n})";
/// Nothing in the input can be changed, so that what a script reads is what it was given.
const FREEZE: &str = "(function freeze(value) {
    if (value !== null && typeof value === 'object') {
        Object.values(value).forEach(freeze);
        Object.freeze(value);
    }
    return value;
})";

#[derive(Serialize, Deserialize)]
pub(super) struct Script {
    pub code: String,
    pub input: serde_json::Value,
    /// In bytes.
    pub memory: u64,
}

/// The whole life of the process: a script comes in, its result goes out as JSON; where there is
/// none, a sentence says why.
#[expect(clippy::print_stderr, reason = "whoever started it reads it")]
pub fn main() -> ExitCode {
    // Whoever started it holds signals back, and this ends by any.
    let open = SigSet::empty().thread_set_mask().map_err(|error| error.to_string());
    let result = open.and_then(|()| read()).and_then(|script| {
        limit(&script).map_err(|error| format!("its limits cannot be set: {error}"))?;
        run(&script)
    });
    match result.and_then(|json| io::stdout().write_all(json.as_bytes()).map_err(|e| e.to_string()))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn read() -> Result<Script, String> {
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

fn limit(script: &Script) -> nix::Result<()> {
    let set = |resource, most| setrlimit(resource, most, most);
    set(Resource::RLIMIT_AS, script.memory.saturating_add(PROGRAM))?;
    set(Resource::RLIMIT_CORE, 0)?;
    set(Resource::RLIMIT_FSIZE, 0)
}

fn run(script: &Script) -> Result<String, String> {
    let broken = |error: rquickjs::Error| format!("it cannot be run: {error}");
    let runtime = Runtime::new().map_err(broken)?;
    runtime.set_memory_limit(usize::try_from(script.memory).unwrap_or(usize::MAX));
    runtime.set_max_stack_size(STACK);
    let context = Context::full(&runtime).map_err(broken)?;
    context.with(|ctx| {
        let result = evaluate(&ctx, script).catch(&ctx);
        result.map_err(|error| sentence(&error, script.memory))
    })
}

fn evaluate(ctx: &Ctx<'_>, script: &Script) -> rquickjs::Result<String> {
    let eval = |code: String| {
        let mut options = EvalOptions::default();
        options.filename = Some(NAME.into());
        ctx.eval_with_options::<Function<'_>, _>(code, options)
    };
    let freeze = eval(FREEZE.to_owned())?;
    let input: Value<'_> = freeze.call((ctx.json_parse(script.input.to_string())?,))?;
    let body = eval(format!("{HEAD}{}{TAIL}", script.code))?;
    let result: Value<'_> = body.call((input,))?;
    if result.is_promise() {
        let words =
            "it returned a promise, and nothing here is worth waiting for: return the value";
        return Err(rquickjs::Exception::throw_message(ctx, words));
    }
    match ctx.json_stringify(result)? {
        Some(json) => json.to_string(),
        None => Ok("null".into()), // it returned nothing
    }
}

/// What went wrong, and in which line of the script.
fn sentence(error: &CaughtError<'_>, memory: u64) -> String {
    match error {
        CaughtError::Exception(exception) => {
            let message = exception.message().unwrap_or_default();
            if message == "out of memory" {
                return out_of_memory(memory);
            }
            let kind = exception.as_object().get::<_, String>("name").unwrap_or_default();
            let message = if kind.is_empty() || kind == "Error" {
                message
            } else {
                format!("{kind}: {message}")
            };
            match exception.stack().as_deref().and_then(line) {
                Some(line) => format!("{message} (line {line})"),
                None => message,
            }
        }
        CaughtError::Value(value) if value.is_null() => out_of_memory(memory), // too little to say so
        CaughtError::Value(value) => {
            let words = value.ctx().json_stringify(value.clone()).ok().flatten();
            let words = words.and_then(|words| words.to_string().ok()).unwrap_or_default();
            format!("it threw {words}")
        }
        CaughtError::Error(error) => error.to_string(),
    }
}

fn out_of_memory(memory: u64) -> String {
    format!("it needs more than the {} MiB of memory it may use", memory >> 20)
}

/// The first place in the script that the stack names, as its writer counts lines.
fn line(stack: &str) -> Option<u32> {
    let (_, rest) = stack.split_once(&format!("{NAME}:"))?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse::<u32>().ok()?.checked_sub(1).filter(|line| *line > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MIB: u64 = 1 << 20;

    fn ran(code: &str) -> Result<String, String> {
        let input = json!({ "list": [3, 1, 2], "name": "quay" });
        run(&Script { code: code.into(), input, memory: 16 * MIB })
    }

    #[test]
    fn a_script_returns_what_can_be_written_as_json() {
        assert_eq!(ran("return input.list.toSorted()").unwrap(), "[1,2,3]");
        assert_eq!(
            ran("return {name: input.name, at: new Date(0)}").unwrap(),
            r#"{"name":"quay","at":"1970-01-01T00:00:00.000Z"}"#
        );
        assert_eq!(ran("const x = 1").unwrap(), "null");
        assert!(ran("const a = {}; a.a = a; return a").unwrap_err().contains("circular"));
        assert!(ran("return Promise.resolve(1)").unwrap_err().contains("promise"));
    }

    #[test]
    fn what_goes_wrong_names_its_line() {
        assert_eq!(ran("\nthrow new Error('no quay')").unwrap_err(), "no quay (line 2)");
        let why = ran("const a = 1;\nreturn a.b.c").unwrap_err();
        assert!(why.starts_with("TypeError: ") && why.ends_with("(line 2)"), "{why}");
        let why = ran("return 1;\n\nif (").unwrap_err();
        assert!(why.starts_with("SyntaxError: "), "{why}");
        assert_eq!(ran("throw 'words'").unwrap_err(), "it threw \"words\"");
    }

    #[test]
    fn the_input_cannot_be_changed() {
        for code in ["input.name = 1", "input.list.push(1)", "input.more = 1"] {
            assert!(ran(code).unwrap_err().starts_with("TypeError"), "{code}");
        }
    }

    #[test]
    fn memory_and_calls_have_an_end() {
        let why = ran("const a = []; for (;;) a.push('x'.repeat(1000) + a.length)").unwrap_err();
        assert_eq!(why, "it needs more than the 16 MiB of memory it may use");
        let why = ran("const f = () => f() + 1; return f()").unwrap_err();
        assert!(why.contains("stack"), "{why}");
    }

    #[test]
    fn there_is_nothing_but_the_language() {
        for name in [
            "std",
            "os",
            "fetch",
            "require",
            "process",
            "setTimeout",
            "print",
            "console",
            "XMLHttpRequest",
            "Deno",
        ] {
            assert_eq!(ran(&format!("return typeof {name}")).unwrap(), "\"undefined\"", "{name}");
        }
        assert!(ran("return import('std')").is_err());
        assert!(ran("import * as os from 'os'").is_err());
    }
}
