//! The pages at the desk: each is read from what there is, drawn by `vigie-dashboard`, and told again
//! while somebody looks.

mod audit;
mod board;
mod ledger;
mod live;
mod log;
mod run;
mod runs;
mod session;
pub(in crate::web) mod system;
mod terminal;
mod waiting;
mod workflow;

use axum::{Router, routing::get};
use vigie_core::{
    Timestamp,
    command::{CardView, Command, Reply, Status},
    gate::Waits,
};
use vigie_dashboard::{
    Me,
    gate::{Asked, May},
    words::many,
};

use super::{
    api::{self, ask, unexpected},
    fault::Fault,
    people::Caller,
    serve::App,
};
use crate::config::{OnOff, Role};

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/board", get(board::show))
        .route("/ledger", get(ledger::show))
        .route("/ledger.csv", get(ledger::table))
        .route("/audit", get(audit::show))
        .route("/audit.csv", get(audit::table))
        .route("/waiting", get(waiting::show))
        .route("/waiting/count", get(waiting::count))
        .route("/sessions/{name}", get(session::show))
        .route("/sessions/{name}/file", get(session::file))
        .route("/sessions/{name}/terminal", get(terminal::follow))
        .route("/sessions/{name}/terminal/before", get(terminal::before))
        .route("/sessions/{name}/recording", get(terminal::recording))
        .route("/runs", get(runs::show))
        .route("/runs/{name}", get(run::show))
        .route("/runs/{name}/log", get(log::follow))
        .route("/workflows/{*name}", get(workflow::show))
        .route("/system", get(system::show))
}

/// What every page is drawn from.
struct Seen {
    app: App,
    caller: Caller,
    status: Status,
    /// Open gates, oldest first.
    waiting: Vec<Asked>,
    /// What was decided, newest first.
    decided: Vec<Asked>,
    now: Timestamp,
}

/// Decided gates that the page of what waits shows.
const DECIDED: usize = 30;

impl Seen {
    async fn read(app: App, caller: Caller) -> Result<Self, Fault> {
        let status = api::read_status(&app, &caller).await?;
        let cards =
            match ask(&app, &caller, Role::Viewer, Command::Cards { decided: DECIDED }).await? {
                Reply::Cards(cards) => cards,
                other => return Err(unexpected(&other)),
            };
        let (waiting, decided) = cards.into_iter().map(asked).partition(Asked::is_open);
        let now = app.clock.now();
        Ok(Self { app, caller, status, waiting, decided, now })
    }

    fn may(&self, role: Role) -> bool {
        self.caller.role >= role
    }

    fn may_answer(&self) -> May {
        if self.may(Role::Approver) { May::Answer } else { May::Look }
    }

    /// "Telegram listened 8 s ago · 1 message undelivered".
    fn health(&self) -> Vec<String> {
        let bridge = |bridge: &vigie_core::command::BridgeView| -> Option<String> {
            let name = &bridge.name;
            match (&bridge.trouble, bridge.heard) {
                (Some(_), _) => format!("{name} has trouble"),
                (None, Some(heard)) if (self.now - heard).num_minutes() < 1 => {
                    format!("{name} listens")
                }
                (None, Some(heard)) => {
                    format!("{name} listened {} ago", vigie_dashboard::words::age(heard, self.now))
                }
                (None, None) => return None,
            }
            .into()
        };
        let mut parts: Vec<_> = self.status.bridges.iter().filter_map(bridge).collect();
        let failed = self.status.failed_deliveries.len();
        if failed > 0 {
            parts.push(format!("{} undelivered", many(failed, "message", "messages")));
        }
        parts
    }
}

fn asked(view: CardView) -> Asked {
    let CardView { from, waits, card } = view;
    let href = match &waits {
        Waits::Session(waits) => format!("/sessions/{}", waits.session),
        Waits::Step(waits) => format!("/runs/{}", waits.run_name),
    };
    Asked { from: from.map(|name| name.to_string()), href, card }
}

fn me(caller: &Caller) -> Me {
    let role = match caller.role {
        Role::Viewer => "viewer",
        Role::Talker => "talker",
        Role::Approver => "approver",
        Role::Owner => "owner",
    };
    Me { name: caller.name.clone(), role: role.into(), phone: caller.phone == OnOff::On }
}
