use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use vigie_core::{
    bridge::{Accepted, Heard, Inbox, NotAccepted, Noted},
    caller::{AgentCommand, AgentRefusal, AgentReply, Host, Known, TokenHash},
    command::{Refusal, Reply, Request},
    decide::Event,
    id::{BridgeName, ChatId, SessionName},
    run::Hook,
};

/// The handle: cheap to clone, and the only way in. Every answer comes after the commit.
#[derive(Clone)]
pub struct Hub {
    mailbox: mpsc::Sender<Mail>,
}

/// What others put into the hub's mailbox; who needs an answer waits for it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a mailbox holds a few hundred at most")]
pub enum Mail {
    Request {
        request: Request,
        answer: oneshot::Sender<Result<Reply, Refusal>>,
    },
    /// A call of an agent; what it is about is looked up before it is decided about.
    Agent {
        call: AgentCall,
        answer: oneshot::Sender<Result<AgentReply, AgentRefusal>>,
    },
    /// Something outside asks for a run, and its proof was checked; answered like a request.
    Hook {
        hook: Hook,
        answer: oneshot::Sender<Result<Reply, Refusal>>,
    },
    /// Who speaks with that token.
    Known {
        token: TokenHash,
        answer: oneshot::Sender<Option<Known>>,
    },
    Heard {
        heard: Heard,
        answer: oneshot::Sender<Result<Accepted, NotAccepted>>,
    },
    /// What a service says about itself; answered when it is written down.
    Noted {
        bridge: BridgeName,
        noted: Noted,
        answer: oneshot::Sender<Result<Accepted, NotAccepted>>,
    },
    /// Whether that person may be heard.
    Admits {
        bridge: BridgeName,
        from: String,
        answer: oneshot::Sender<bool>,
    },
    /// Whether nothing is on its way to that chat.
    IsStill {
        bridge: BridgeName,
        chat: ChatId,
        answer: oneshot::Sender<bool>,
    },
    /// Whether nothing about that makes a sound for this person now.
    IsHushed {
        bridge: BridgeName,
        from: String,
        session: Option<SessionName>,
        answer: oneshot::Sender<bool>,
    },
    Event(Event),
}

/// A call of an agent, with the token it came with and how the machine does.
#[derive(Clone, Debug)]
pub struct AgentCall {
    pub token: TokenHash,
    pub host: Host,
    pub what: AgentCommand,
}

impl Hub {
    pub fn new(mailbox: mpsc::Sender<Mail>) -> Self {
        Self { mailbox }
    }

    /// Carries out `request`; returns when it is written down.
    pub async fn ask(&self, request: Request) -> Result<Reply, Refusal> {
        let (answer, answered) = oneshot::channel();
        self.mailbox
            .send(Mail::Request { request, answer })
            .await
            .map_err(|_| Refusal::Stopping)?;
        answered.await.map_err(|_| Refusal::Stopping)?
    }

    /// Carries out what an agent asks for; returns when it is written down.
    pub async fn agent(&self, call: AgentCall) -> Result<AgentReply, AgentRefusal> {
        let (answer, answered) = oneshot::channel();
        self.mailbox.send(Mail::Agent { call, answer }).await.map_err(|_| Refusal::Stopping)?;
        answered.await.map_err(|_| Refusal::Stopping)?
    }

    /// Begins a run that something outside asks for; returns when it is written down.
    pub async fn hook(&self, hook: Hook) -> Result<Reply, Refusal> {
        let (answer, answered) = oneshot::channel();
        self.mailbox.send(Mail::Hook { hook, answer }).await.map_err(|_| Refusal::Stopping)?;
        answered.await.map_err(|_| Refusal::Stopping)?
    }

    /// Who speaks with that token right now.
    ///
    /// # Errors
    /// When Vigie is stopping.
    pub async fn known(&self, token: TokenHash) -> Result<Option<Known>, Refusal> {
        let (answer, answered) = oneshot::channel();
        self.mailbox.send(Mail::Known { token, answer }).await.map_err(|_| Refusal::Stopping)?;
        answered.await.map_err(|_| Refusal::Stopping)
    }

    /// Hands in something that happened; waits while the hub is behind.
    pub async fn tell(&self, event: Event) {
        // A hub that is gone means that the daemon stops: what happened is read again at the next start.
        let _ = self.mailbox.send(Mail::Event(event)).await;
    }
}

#[async_trait]
impl Inbox for Hub {
    async fn accept(&self, heard: Heard) -> Result<Accepted, NotAccepted> {
        let (answer, answered) = oneshot::channel();
        self.mailbox.send(Mail::Heard { heard, answer }).await.map_err(|_| stopping())?;
        answered.await.map_err(|_| stopping())?
    }

    async fn note(&self, bridge: &BridgeName, noted: Noted) -> Result<(), NotAccepted> {
        let (answer, answered) = oneshot::channel();
        let mail = Mail::Noted { bridge: bridge.clone(), noted, answer };
        self.mailbox.send(mail).await.map_err(|_| stopping())?;
        answered.await.map_err(|_| stopping())?.map(|_| ())
    }

    async fn admits(&self, bridge: &BridgeName, from: &str) -> Result<bool, NotAccepted> {
        let (answer, answered) = oneshot::channel();
        let mail = Mail::Admits { bridge: bridge.clone(), from: from.into(), answer };
        self.mailbox.send(mail).await.map_err(|_| stopping())?;
        answered.await.map_err(|_| stopping())
    }

    async fn is_still(&self, bridge: &BridgeName, chat: &ChatId) -> Result<bool, NotAccepted> {
        let (answer, answered) = oneshot::channel();
        let mail = Mail::IsStill { bridge: bridge.clone(), chat: chat.clone(), answer };
        self.mailbox.send(mail).await.map_err(|_| stopping())?;
        answered.await.map_err(|_| stopping())
    }

    async fn is_hushed(
        &self,
        bridge: &BridgeName,
        from: &str,
        session: Option<&SessionName>,
    ) -> Result<bool, NotAccepted> {
        let (answer, answered) = oneshot::channel();
        let (bridge, session) = (bridge.clone(), session.cloned());
        let mail = Mail::IsHushed { bridge, from: from.into(), session, answer };
        self.mailbox.send(mail).await.map_err(|_| stopping())?;
        answered.await.map_err(|_| stopping())
    }
}

fn stopping() -> NotAccepted {
    NotAccepted { reason: "Vigie is stopping".into() }
}
