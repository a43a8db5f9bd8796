//! What became of a message that was offered: taken, given back, or lost with whoever carried it.

use chrono::TimeDelta;

use super::{AFTER_A_REFUSAL, TRIES, offer::offer};
use crate::{
    agent::{OrderKind, RefusedPrompt},
    decide::Work,
    id::{MailId, SessionId},
    mail::{Mail, MailState, Offer, Taken},
    prompt::{Prompt, PromptState},
    session::Stirred,
    state::Row,
};

impl Work<'_> {
    /// A prompt is with the agent: whose words it was says how its turn came about.
    pub(in crate::decide) fn stirred_by(&mut self, prompt: &Prompt) {
        if prompt.by.is_some() {
            self.change(prompt.session, |s| s.stirred = Stirred::default());
        }
        let mut stirred = Stirred::default();
        for mail in self.mails_in(prompt) {
            stirred = stirred.with(Stirred::by(&mail));
            self.read(mail);
        }
        if !prompt.mails.is_empty() {
            self.change(prompt.session, |s| s.stirred = stirred);
        }
    }

    /// Those of its messages that are not on another way by now.
    fn mails_in(&self, prompt: &Prompt) -> Vec<Mail> {
        let here = |mail: &&Mail| {
            prompt.mails.contains(&mail.id)
                && match offer(mail) {
                    Some(Offer::Prompt { prompt: id }) => *id == prompt.id,
                    Some(Offer::Beside { .. } | Offer::Tool) => false,
                    // It comes late, and they were to be offered again.
                    None => true,
                }
        };
        self.state.mail_of(prompt.session).filter(here).cloned().collect()
    }

    /// A prompt of messages did not go in; no person has to hear of that before it was tried again.
    pub(in crate::decide) fn mail_prompt_refused(
        &mut self,
        mut prompt: Prompt,
        why: &RefusedPrompt,
    ) {
        let words = match why {
            RefusedPrompt::Withdrawn => "what a person wrote goes first",
            RefusedPrompt::Gone => "the program ended first",
            RefusedPrompt::NoSignal => "the agent never said it took it",
            RefusedPrompt::Empty => "nothing was left of it",
            RefusedPrompt::ByAgent { .. } => "the agent refused it",
        };
        let mails = self.mails_in(&prompt);
        prompt.state = PromptState::Refused { why: words.into(), at: self.now };
        self.put(Row::Prompt(prompt.clone()));
        match why {
            RefusedPrompt::Withdrawn | RefusedPrompt::Gone => self.wait_on(mails),
            RefusedPrompt::NoSignal => {
                self.doubt_prompt(prompt);
                self.offer_again(mails, Some(AFTER_A_REFUSAL));
            }
            RefusedPrompt::Empty | RefusedPrompt::ByAgent { .. } => {
                self.offer_again(mails, Some(AFTER_A_REFUSAL));
            }
        }
    }

    /// What a person wrote goes before a prompt of messages that is not typed yet.
    pub(in crate::decide) fn make_way_for_people(&mut self, session: SessionId) {
        let handed =
            |p: &&Prompt| !p.mails.is_empty() && matches!(p.state, PromptState::Handed { .. });
        let handed = self.state.line_of(session).find(handed).map(|prompt| prompt.id);
        if let Some(prompt) = handed {
            self.order(session, OrderKind::Withdraw { prompt });
        }
    }

    /// The words went to the agent with a tool's result; the end of the turn shows that it had them.
    pub(in crate::decide) fn mail_taken(&mut self, session: SessionId, id: MailId) {
        let Some(mail) = self.state.mail_of(session).find(|mail| mail.id == id).cloned() else {
            return;
        };
        let stirred = Stirred::by(&mail);
        self.change(session, |s| s.stirred = s.stirred.with(stirred));
        match offer(&mail) {
            Some(Offer::Beside { order, taken: Taken::NotYet }) => {
                let how = Offer::Beside { order: *order, taken: Taken::Yes };
                self.put_offered(mail, how);
            }
            // It comes late: it was to be offered again.
            None => self.read(mail),
            Some(Offer::Beside { taken: Taken::Yes, .. } | Offer::Prompt { .. } | Offer::Tool) => {}
        }
    }

    /// The turn ended before the words could go beside it, or the agent takes none that way.
    pub(in crate::decide) fn mail_returned(&mut self, session: SessionId, id: MailId) {
        let Some(mail) = self.state.mail_of(session).find(|mail| mail.id == id).cloned() else {
            return;
        };
        if let Some(Offer::Beside { taken: Taken::NotYet, .. }) = offer(&mail) {
            self.state.mail_lately.takes_nothing.insert(session);
            self.wait_on(vec![mail]);
        }
    }

    /// A turn is over: what went into it was read.
    pub(in crate::decide) fn mail_read_in_turn(&mut self, session: SessionId) {
        let in_it = |mail: &&Mail| {
            matches!(offer(mail), Some(Offer::Tool | Offer::Beside { taken: Taken::Yes, .. }))
        };
        for mail in self.state.mail_of(session).filter(in_it).cloned().collect::<Vec<_>>() {
            self.read(mail);
        }
    }

    /// The session's program is gone: what was on its way may have been read, or not.
    pub(in crate::decide) fn mail_of_gone(&mut self, session: SessionId) {
        let of_mails = |p: &&Prompt| !p.mails.is_empty();
        for mut prompt in self.state.line_of(session).filter(of_mails).cloned().collect::<Vec<_>>()
        {
            let why = "the program ended while it was handed over".into();
            prompt.state = PromptState::Refused { why, at: self.now };
            self.put(Row::Prompt(prompt));
        }
        let offered = self.state.mail_of(session).filter(|mail| offer(mail).is_some());
        let offered = offered.cloned().collect();
        self.offer_again(offered, None);
    }

    pub(super) fn read(&mut self, mail: Mail) {
        self.journal_mail("mail_read", &mail);
        self.put(Row::Mail(Mail { state: MailState::Read { at: self.now }, ..mail }));
    }

    /// Nothing of it reached the agent.
    fn wait_on(&mut self, mails: Vec<Mail>) {
        for mail in mails {
            self.put(Row::Mail(Mail { state: MailState::Waiting { not_before: None }, ..mail }));
        }
    }

    /// It may have reached the agent: it is offered again, marked, and not for ever.
    pub(super) fn offer_again(&mut self, mails: Vec<Mail>, after: Option<TimeDelta>) {
        let mut given_up = Vec::new();
        for mut mail in mails {
            mail.tries += 1;
            if mail.tries >= TRIES {
                given_up.push(mail);
            } else {
                mail.state = MailState::Waiting { not_before: after.map(|after| self.now + after) };
                self.put(Row::Mail(mail));
            }
        }
        let why = format!("it was offered {TRIES} times and nothing showed that it was read");
        self.bury(&given_up, &why);
    }
}
