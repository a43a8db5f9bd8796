//! The handle that a test holds.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use crate::{
    Clock,
    faults::{ActiveFault, Fault},
    records::{Call, Defect, Flood, UpdateLife},
    refusal::Refusal,
    server::Server,
    shared::Shared,
    state::State,
    world::{Group, Person, World},
};

/// A running emulator. Dropping it stops it.
pub struct Emulator {
    pub(crate) shared: Arc<Shared>,
    pub(crate) patience: Duration,
    server: Server,
}

impl Emulator {
    /// Starts one on 127.0.0.1, on a thread of its own.
    ///
    /// # Panics
    /// If the port is taken.
    pub fn start(world: World) -> Self {
        let (port, patience) = (world.port, world.patience);
        let shared = Arc::new(Shared::new(State::new(world)));
        let server = Server::start(shared.clone(), port)
            .unwrap_or_else(|error| panic!("cannot listen on 127.0.0.1:{port}: {error}"));
        Self { shared, patience, server }
    }

    /// What a bot takes for `https://api.telegram.org`.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// The bot's token.
    pub fn token(&self) -> String {
        self.shared.look(|state| state.bot.token.clone())
    }

    /// Breaks all connections and refuses new ones. What was said stays.
    pub fn stop_listening(&self) {
        self.server.close();
    }

    /// Listens again, on the same port.
    pub fn listen_again(&self) {
        self.server.open();
    }

    /// Telegram's clock.
    pub fn clock(&self) -> Clock {
        self.shared.clock().clone()
    }

    /// Moves Telegram's clock on: updates, presses, previews and flood windows age.
    pub fn advance(&self, by: Duration) {
        self.shared.clock().advance(by);
        self.shared.act(State::expire);
    }

    /// Takes the token back, as `BotFather` does, or gives it again.
    pub fn revoke(&self, revoked: bool) {
        self.shared.act(|state| state.revoked = revoked);
    }

    /// Topics in private chats, as `BotFather` switches them.
    pub fn set_private_topics(&self, enabled: bool) {
        self.shared.act(|state| state.bot.has_topics_enabled = enabled);
    }

    /// Somebody new.
    pub fn add_person(&self, person: Person) {
        self.shared.act(|state| state.add_person(person));
    }

    /// A new group. The bot is not told; see [`Emulator::member`] for that.
    pub fn add_group(&self, group: Group) {
        self.shared.act(|state| state.add_group(group));
    }

    /// From now on this goes wrong. Faults strike in the order in which they were added.
    pub fn fault(&self, fault: Fault) {
        self.shared.act(|state| state.faults.push(ActiveFault { fault, struck: 0 }));
    }

    /// Takes back all faults, and says how often each struck.
    pub fn clear_faults(&self) -> Vec<(Fault, u32)> {
        self.shared.act(|state| {
            state.faults.drain(..).map(|active| (active.fault, active.struck)).collect()
        })
    }

    /// Queues an update as it is: `payload` is the content of its field `kind`. Gives its number, or
    /// none if the bot does not want the kind.
    pub fn inject(&self, kind: &str, payload: Value) -> Option<i64> {
        self.shared.act(|state| state.push(kind, payload))
    }

    /// Every call, oldest first.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.look(|state| state.records.calls.clone())
    }

    /// The calls of one method.
    pub fn calls_of(&self, method: &str) -> Vec<Call> {
        self.calls().into_iter().filter(|call| call.method == method).collect()
    }

    /// Every call that was refused, except by a fault: method and refusal.
    pub fn refused(&self) -> Vec<(String, Refusal)> {
        self.shared.look(|state| state.records.refused.clone())
    }

    /// Everything that a correct bot never does.
    pub fn defects(&self) -> Vec<Defect> {
        self.shared.look(|state| state.records.defects.clone())
    }

    /// Every 429 of flood control.
    pub fn floods(&self) -> Vec<Flood> {
        self.shared.look(|state| state.records.floods.clone())
    }

    /// The life of every update.
    pub fn updates(&self) -> Vec<UpdateLife> {
        self.shared.look_mut(|state| {
            state.expire();
            state.records.updates.clone()
        })
    }

    /// How many updates wait.
    pub fn waiting_updates(&self) -> usize {
        self.shared.look_mut(|state| {
            state.expire();
            state.inbox.waiting()
        })
    }

    /// Panics if the bot did anything wrong: a defect, a refused call, a 429.
    pub fn assert_clean(&self) {
        let (defects, refused, floods) = (self.defects(), self.refused(), self.floods());
        assert!(
            defects.is_empty() && refused.is_empty() && floods.is_empty(),
            "the bot is not clean\ndefects: {defects:#?}\nrefused: {refused:#?}\nfloods: {floods:#?}\n{}",
            self.picture()
        );
    }
}
