//! What was spent, on what, and what may be.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, State},
    http::StatusCode,
};
use serde::Deserialize;
use utoipa::IntoParams;
use vigie_core::{
    account::Wanted,
    command::{Command, Reply},
    ledger::{By, UsageQuestion, moment},
};

use super::{ask, read, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        query::Query,
        serve::App,
        shapes::{DelegationShape, Done, PriceShape, PricesShape, SetBudget, UsageShape},
    },
};

#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    by: Option<String>,
    /// A day, or a moment as in RFC 3339 …
    since: Option<String>,
    /// … and the one before which it ends; a day is the last that counts.
    until: Option<String>,
}

impl Asked {
    fn question(&self, app: &App) -> Result<UsageQuestion, Fault> {
        let by = match self.by.as_deref() {
            None => By::Day,
            Some(word) => By::ALL.into_iter().find(|by| by.as_str() == word).ok_or_else(|| {
                let all: Vec<_> = By::ALL.iter().map(|by| by.as_str()).collect();
                Fault::unreadable(format!("`{word}` is none of {}", all.join(", ")))
            })?,
        };
        let zone = app.outside.ledger.zone;
        let at = |text: &Option<String>, after: bool| {
            let Some(text) = text else { return Ok(None) };
            let read = moment(text, zone).map(|(first, next)| if after { next } else { first });
            read.map(Some).ok_or_else(|| {
                let words = format!("`{text}` is no day such as 2026-11-30, and no moment");
                Fault::unreadable(words)
            })
        };
        let (since, until) = (at(&self.since, false)?, at(&self.until, true)?);
        if let (Some(first), Some(end)) = (since, until)
            && first >= end
        {
            let [since, until] =
                [&self.since, &self.until].map(|it| it.as_deref().unwrap_or_default());
            let words = format!("nothing lies between `{since}` and `{until}`");
            return Err(Fault::unreadable(words).hint("The first is where it begins."));
        }
        Ok(UsageQuestion { by, since, until })
    }
}

/// What was used, summed by day, session, story, project, run, step, model, delegation or tree.
#[utoipa::path(get, path = "/usage", params(Asked), responses((status = 200, body = UsageShape)))]
pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
) -> Result<Json<UsageShape>, Fault> {
    caller.needs(Role::Viewer)?;
    let question = asked.question(&app)?;
    let rows = (app.outside.ledger.usage)(question).await?;
    let by_model = UsageQuestion { by: By::Model, ..question };
    let models = (app.outside.ledger.usage)(by_model).await?;
    Ok(Json(UsageShape::new(question.by.as_str(), &rows, &models)))
}

/// Work that agents did themselves and work that was handed on, compared.
#[utoipa::path(get, path = "/usage/delegations", params(Asked),
    responses((status = 200, body = Vec<DelegationShape>))
)]
pub(super) async fn delegations(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
) -> Result<Json<Vec<DelegationShape>>, Fault> {
    caller.needs(Role::Viewer)?;
    let question = asked.question(&app)?;
    let rows = (app.outside.ledger.delegations)(question.since, question.until).await?;
    Ok(Json(rows.iter().map(DelegationShape::new).collect()))
}

/// What models cost.
#[utoipa::path(get, path = "/usage/prices", responses((status = 200, body = PricesShape)))]
pub(super) async fn prices(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<PricesShape>, Fault> {
    caller.needs(Role::Viewer)?;
    let list = app.outside.ledger.prices.borrow().clone();
    let models = list.prices.iter().map(|(model, price)| PriceShape::new(model, price, &list.own));
    Ok(Json(PricesShape {
        file: list.file.clone(),
        us_permille: list.prices.us_permille(),
        models: models.collect(),
    }))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    name: Option<String>,
}

/// How that session or story stands, else whatever runs, in words.
#[utoipa::path(get, path = "/budget", params(Named), responses((status = 200, body = Done)))]
pub(super) async fn budgets(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(Named { name }): Query<Named>,
) -> Result<Json<Done>, Fault> {
    let what = Command::Budget { name, wanted: None };
    words(ask(&app, &caller, Role::Viewer, what).await?)
}

/// Sets what a session or a story may cost.
#[utoipa::path(post, path = "/budget", request_body = SetBudget,
    responses((status = 200, body = Done))
)]
pub(super) async fn set_budget(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Json<Done>, Fault> {
    let SetBudget { name, budget } = read(&body)?;
    let wanted = Wanted::read(&budget).ok_or_else(|| {
        let words = format!("`{budget}` is no budget");
        Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "unreadable", words)
            .hint("Dollars such as 5 or 2.50; or more, none, usual.")
    })?;
    let what = Command::Budget { name: Some(name), wanted: Some(wanted) };
    words(ask(&app, &caller, Role::Approver, what).await?)
}

fn words(reply: Reply) -> Result<Json<Done>, Fault> {
    match reply {
        Reply::Done { words } => Ok(Json(Done { words })),
        other => Err(unexpected(&other)),
    }
}
