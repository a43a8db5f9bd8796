//! A daemon that dies, without a word, at the numbered commit of either of its databases, before or
//! after it is on disk. It is the test binary itself: the daemon has no part in this, SQLite's own
//! hooks do the counting.
#![expect(
    unsafe_code,
    reason = "SQLite's hooks for every connection are set through its C interface"
)]

use rusqlite::ffi;
use serde_json::Value;
use std::{
    os::raw::{c_char, c_int, c_void},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};
use vigie::{
    config::{Config, Named, Surroundings},
    daemon::{self, Options},
};

use super::home::{DEADLINE, Home};

/// Which commit to die at, counted from 1; 0 or nothing: none.
pub(crate) const DIE_AT: &str = "VIGIE_TEST_DIE_AT";
/// `before` or `after` the commit.
pub(crate) const DIE_WHEN: &str = "VIGIE_TEST_DIE_WHEN";
/// Set for the child alone.
const CHILD: &str = "VIGIE_TEST_CHILD";

static COMMITS: AtomicU32 = AtomicU32::new(0);
static DEADLY: AtomicU32 = AtomicU32::new(0);

fn die_if_due(commits: u32) {
    if commits == DEADLY.load(Ordering::SeqCst) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
        std::process::abort();
    }
}

unsafe extern "C" fn before_commit(_: *mut c_void) -> c_int {
    die_if_due(COMMITS.fetch_add(1, Ordering::SeqCst) + 1);
    0
}

/// Called when a statement has run; `COMMIT` has then put its pages into the log and synced it.
unsafe extern "C" fn after_statement(
    _: u32,
    _: *mut c_void,
    statement: *mut c_void,
    _: *mut c_void,
) -> c_int {
    let text = unsafe { ffi::sqlite3_sql(statement.cast()) };
    if !text.is_null()
        && unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes().starts_with(b"COMMIT")
    {
        die_if_due(COMMITS.fetch_add(1, Ordering::SeqCst) + 1);
    }
    0
}

unsafe extern "C" fn hook_before(
    db: *mut ffi::sqlite3,
    _: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    unsafe { ffi::sqlite3_commit_hook(db, Some(before_commit), std::ptr::null_mut()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn hook_after(
    db: *mut ffi::sqlite3,
    _: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    unsafe {
        ffi::sqlite3_trace_v2(
            db,
            ffi::SQLITE_TRACE_PROFILE,
            Some(after_statement),
            std::ptr::null_mut(),
        )
    };
    ffi::SQLITE_OK
}

/// The daemon that the tests kill, where this process is to be it. To be called by a test named `child`.
pub(crate) fn be_the_child() {
    if std::env::var(CHILD).is_err() {
        return;
    }
    let at = std::env::var(DIE_AT).ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    DEADLY.store(at, Ordering::SeqCst);
    // A file that may not grow is to be an error here, as a full disk is, and not the end of us.
    let ignore = nix::sys::signal::SigHandler::SigIgn;
    unsafe { nix::sys::signal::signal(nix::sys::signal::Signal::SIGXFSZ, ignore) }.unwrap();
    let hook =
        if std::env::var(DIE_WHEN).as_deref() == Ok("after") { hook_after } else { hook_before };
    unsafe { ffi::sqlite3_auto_extension(Some(hook)) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = |name: &str| std::env::var(name).unwrap().into();
        let around = Surroundings::of_this_process(
            Some(folder("VIGIE_TEST_DATA")),
            Some(folder("VIGIE_TEST_CONFIG")),
        )
        .unwrap();
        let config = Config::load(&around, Named::Yes).unwrap();
        let mut options = Options::new(config, &around).unwrap();
        options.binary = env!("CARGO_BIN_EXE_vigie").into();
        daemon::start(options).await.unwrap().finish().await.unwrap();
    });
}

pub(crate) fn start_child(home: &Home) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, "1")
        .env("VIGIE_TEST_DATA", home.data())
        .env("VIGIE_TEST_CONFIG", home.settings());
    command
}

/// Does `act` again and again, as the page does, and starts the daemon whenever it has died.
pub(crate) async fn until_done<T>(
    home: &mut Home,
    mut act: impl AsyncFnMut(&Home) -> Option<T>,
) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if home.exited().is_some() {
            home.env.clear(); // it dies once
            home.kill();
            home.up().await;
        }
        if let Some(done) = act(home).await {
            return done;
        }
        if Instant::now() > end {
            let status: Result<Value, _> = home.desk().get("/status").await;
            let shown = home.phone().await.try_messages().await;
            panic!("it is never done: {status:#?}\n{shown:#?}\n{}", home.log());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
