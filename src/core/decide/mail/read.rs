//! Messages that their reader fetches itself.

use super::LONGEST;
use crate::{
    caller::{AgentReply, Principal},
    decide::Work,
    id::MailId,
    mail::{Mail, Offer},
    session::Stirred,
};

/// Messages fetched at a time, whatever was asked for …
const AT_ONCE: usize = 50;

/// … and their bytes together; the first comes whatever its length.
const BYTES: usize = LONGEST;

impl Work<'_> {
    /// What waits for the caller. What is on its way already is not told a second time: it comes
    /// as a prompt, or beside the result of this very call, and what came after it waits for that.
    pub(in crate::decide) fn read_mail(&mut self, caller: &Principal, most: usize) -> AgentReply {
        let waiting: Vec<_> = self
            .state
            .mail_for(caller)
            .filter(|mail| mail.is_waiting())
            .map(|m| m.number)
            .collect();
        let on_its_way = self.state.mail_for(caller).any(Mail::is_on_its_way);
        let most = if on_its_way { 0 } else { most.clamp(1, AT_ONCE) };
        let mut mails = Vec::new();
        let mut bytes = 0;
        for mail in waiting.iter().take(most).filter_map(|number| self.state.mails.get(number)) {
            bytes += mail.text.len();
            if bytes > BYTES && !mails.is_empty() {
                break;
            }
            mails.push(mail.clone());
        }
        for mail in mails.clone() {
            if let Principal::Session { session } = caller {
                let stirred = Stirred::by(&mail);
                self.change(*session, |s| s.stirred = s.stirred.with(stirred));
            }
            self.put_offered(mail, Offer::Tool);
        }
        let left = waiting.len() - mails.len();
        AgentReply::Inbox { mails, left }
    }

    /// The caller has these; what is not theirs, or settled before, is not counted.
    pub(in crate::decide) fn acknowledge_mail(
        &mut self,
        caller: &Principal,
        mails: &[MailId],
    ) -> AgentReply {
        let own = self.state.mail_for(caller).filter(|mail| mails.contains(&mail.id));
        let own: Vec<_> = own.cloned().collect();
        let count = own.len();
        for mail in own {
            self.read(mail);
        }
        AgentReply::Acknowledged { count }
    }
}
