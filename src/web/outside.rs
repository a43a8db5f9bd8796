//! What the web part needs of parts it must not name; `daemon.rs` fills it in.

use async_trait::async_trait;
use axum::{Router, http::Extensions};
use serde::Deserialize;
use std::{future::Future, path::PathBuf, pin::Pin, sync::Arc};
use tokio::sync::watch;
use utoipa::ToSchema;
use vigie_core::{
    Timestamp,
    caller::MailQuery,
    command::Refusal,
    id::{BridgeName, RunId, SessionId},
    ledger::{DelegationRow, UsageQuestion, UsageRow, Zone},
    mail::Mail,
    session::Session,
};
use vigie_dashboard::system::{Finding, Host};
use vigie_workflow::value::{SecretName, StepPath};

use super::{
    Caller, Peer, Sight,
    shapes::{Event, MatrixShape, ProtectionShape, VerificationShape},
};
use crate::{
    config::{PriceList, PublicUrl},
    hub::Hub,
    workflows::Workflows,
};

/// A future that one of these calls returns.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Reads at most so many events after a sequence number.
type ReadEvents = Arc<dyn Fn(u64, usize) -> Boxed<Result<Vec<Event>, Refusal>> + Send + Sync>;

/// Reads at most so many events before a sequence number, newest first, whose kinds begin with one of
/// these words; with none, of every kind. With a session, those that are about it alone.
type ReadHistory = Arc<
    dyn Fn(
            u64,
            usize,
            &'static [&'static str],
            Option<SessionId>,
        ) -> Boxed<Result<Vec<Event>, Refusal>>
        + Send
        + Sync,
>;

/// Looks through what sessions wrote each other, newest first.
type ReadMail = Arc<dyn Fn(MailQuery) -> Boxed<Result<Vec<Mail>, Refusal>> + Send + Sync>;

/// Sums of the ledger.
type ReadUsage = Arc<dyn Fn(UsageQuestion) -> Boxed<Result<Vec<UsageRow>, Refusal>> + Send + Sync>;

/// Work that agents did themselves and work that was handed on, from the first moment on and before the
/// second.
type ReadDelegations = Arc<
    dyn Fn(Option<Timestamp>, Option<Timestamp>) -> Boxed<Result<Vec<DelegationRow>, Refusal>>
        + Send
        + Sync,
>;

/// What was spent, and at which prices.
#[derive(Clone)]
pub struct Ledger {
    pub usage: ReadUsage,
    pub delegations: ReadDelegations,
    pub prices: watch::Receiver<Arc<PriceList>>,
    /// In which days begin and end.
    pub zone: Zone,
    /// What one of them may cost, in millionths of a dollar.
    pub day_limit: Option<u64>,
}

/// Asks a session's holder for its screen, top to bottom.
type ReadScreen = Arc<dyn Fn(PathBuf) -> Boxed<Result<Vec<String>, String>> + Send + Sync>;

/// Asks a chat service where people find us there.
type AskInvite = Arc<dyn Fn(&BridgeName) -> Boxed<Option<String>> + Send + Sync>;

/// Has the doctor look at everything; what keeps it from looking is a sentence.
pub type Examine = Arc<dyn Fn() -> Boxed<Result<Vec<Finding>, String>> + Send + Sync>;

/// Looks a secret of the configuration up for the workflow of that name; what is wrong is a sentence.
pub type ReadSecret =
    Arc<dyn Fn(SecretName, String) -> Boxed<Result<String, String>> + Send + Sync>;

/// Where a step prints to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    #[default]
    Out,
    Err,
}

/// Reads at most so many bytes of what an attempt of a step printed, from an offset on; `None`: it
/// prints into no file.
pub type ReadOutput = Arc<
    dyn Fn(RunId, StepPath, u32, Stream, u64, usize) -> Boxed<Result<Option<OutputPart>, String>>
        + Send
        + Sync,
>;

/// Some of what a step printed, in bytes of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPart {
    pub offset: u64,
    /// Where it goes on.
    pub next: u64,
    /// So far.
    pub size: u64,
    pub text: String,
}

#[derive(Clone)]
pub struct Outside {
    pub hub: Hub,
    /// The newest event's sequence number.
    pub newest: watch::Receiver<u64>,
    pub events: ReadEvents,
    pub history: ReadHistory,
    pub mail: ReadMail,
    pub ledger: Ledger,
    pub workflows: Workflows,
    pub secret: ReadSecret,
    pub output: ReadOutput,
    /// The folder of the session's present run: its holder's socket and recording are in there.
    pub folder: Arc<dyn Fn(&Session) -> PathBuf + Send + Sync>,
    pub screen: ReadScreen,
    /// What the page of a session shows of it.
    pub sight: Arc<dyn Sight>,
    /// The link under which people find us on a chat service, when that has one and says it.
    pub invite: AskInvite,
    /// Whose a process of this user is: the person's, or an agent's.
    pub whose: fn(u32) -> Peer,
    pub protections: Arc<[ProtectionShape]>,
    /// Goes under `/assets`, for everybody: style, icons and scripts.
    pub assets: Router,
    /// What runs here: a name and a version each, Vigie's own first.
    pub versions: Arc<[(String, String)]>,
    pub doctor: Examine,
    /// The machine this runs on, as it is right now.
    pub host: Arc<dyn Fn() -> Host + Send + Sync>,
    /// What a new session can be in.
    pub projects: Arc<[String]>,
    pub agents: Arc<[String]>,
    pub phone: Option<PhoneMount>,
    pub programs: Option<ProgramsMount>,
    /// The account on Matrix, where there is one.
    pub matrix: Option<Arc<dyn MatrixDesk>>,
}

/// What a person at the desk does with the account on Matrix; users are named by their full ids.
#[async_trait]
pub trait MatrixDesk: Send + Sync {
    /// How the account stands.
    async fn look(&self) -> Result<MatrixShape, MatrixRefusal>;

    /// Verifications that run, and those that ended lately, oldest first.
    fn verifications(&self) -> Vec<VerificationShape>;

    /// Asks `user` to be verified.
    async fn verify(&self, user: String) -> Result<VerificationShape, MatrixRefusal>;

    /// Does one step of a verification.
    async fn step(
        &self,
        id: String,
        step: VerificationStep,
    ) -> Result<VerificationShape, MatrixRefusal>;

    /// Takes somebody as they are now, although it is not the identity that was known: with the master
    /// key that whoever says so looked at.
    async fn accept_change(&self, user: String, identity: String) -> Result<(), MatrixRefusal>;
}

/// What is done with a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerificationStep {
    Accept,
    /// With what is the same, repeated.
    Confirm(Vec<String>),
    Mismatch,
    Cancel,
}

/// It was not done: why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixRefusal {
    pub kind: MatrixRefusalKind,
    pub words: String,
    pub hint: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixRefusalKind {
    /// There is no such person or verification.
    NotThere,
    /// Not now, or not so.
    NotNow,
    /// The request itself is wrong.
    Unreadable,
    /// The homeserver or the account's files.
    Outside,
}

/// What programs and agents call, as its own part hands it out. It has a guard of its own: who calls
/// is no person and has no login.
#[derive(Clone)]
pub struct ProgramsMount {
    /// Made once it is known under which address people know us.
    pub router: Arc<dyn Fn(&PublicUrl) -> Router + Send + Sync>,
    /// Puts where a call comes from into a request as that router expects it.
    pub whence: fn(Peer, &mut Extensions),
}

/// The phone page, as its own package hands it out.
#[derive(Clone)]
pub struct PhoneMount {
    /// Goes under `/phone`.
    pub router: Router,
    /// The page that asks for a code, with a line that says why.
    pub login_page: fn(Option<&str>) -> String,
    /// Puts the caller into a request as the phone's router expects it.
    pub person: fn(&Caller, &mut Extensions),
}
