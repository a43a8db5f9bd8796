//! Fetches what people ask to see of a session: its screen, its changes, its conversation, a file.

use vigie_core::{
    bridge::{Files, Place},
    decide::{Event, LookAt, Looked},
    session::Session,
};

use crate::{hold::client, hub::Hub, sessions::Ground, tasks::Tasks};

/// Where sessions are, and whom to tell.
#[derive(Clone)]
pub struct Looking {
    ground: Ground,
    tasks: Tasks,
    hub: Hub,
}

impl Looking {
    pub fn new(ground: Ground, tasks: Tasks, hub: Hub) -> Self {
        Self { ground, tasks, hub }
    }

    /// Does not wait: what is found is told to the hub.
    pub fn look(&self, session: Session, at: LookAt, files: Files, place: Place) {
        let this = self.clone();
        self.tasks.start("look", move |_| async move {
            let id = session.id;
            let found = this.find(&session, at, files).await;
            this.hub.tell(Event::Looked { session: id, place, found }).await;
        });
    }

    async fn find(&self, session: &Session, at: LookAt, _files: Files) -> Looked {
        match at {
            LookAt::Screen => {
                let folder = self.ground.folder(session.id, session.run);
                match client::screen(&folder).await {
                    Ok(picture) => Looked::Screen { lines: picture.lines, picture: None },
                    Err(error) => {
                        Looked::Nothing { why: format!("The screen cannot be read: {error}") }
                    }
                }
            }
            LookAt::Diff | LookAt::Transcript | LookAt::File { .. } => {
                Looked::Nothing { why: "This cannot be shown yet.".into() }
            }
        }
    }
}
