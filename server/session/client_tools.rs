//! A session lets a client offer tools that the client runs itself, and takes their results. A
//! call waits as an event of its thread; the results of a turn's calls begin the next turn.

use uuid::Uuid;

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_event::envelope::Event;
use thinkd_event::fact::client::Offered;
use thinkd_event::request::FromClient;
use thinkd_log::blob::Blob;
use thinkd_runtime::refused::Refused;
use thinkd_runtime::requests::client::Asked;
use thinkd_thread::settings::{Language, Settings};
use thinkd_tools::toolbox::client::Offer;
use thinkd_words::id::{Seq, ThreadId};

/// A call that a client was asked to run.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientCall(pub Asked);

impl ClientCall {
    /// The thread that made it.
    pub fn thread(&self) -> &ThreadId {
        &self.0.thread
    }

    /// The turn that made it. All its calls end together.
    pub fn turn(&self) -> u64 {
        self.0.turn
    }

    /// The seq of the event that asked the client.
    pub fn seq(&self) -> Seq {
        self.0.seq
    }

    /// True if it has no result yet.
    pub fn is_open(&self) -> bool {
        self.0.is_open
    }
}

impl Session {
    /// Keeps the tools that a client offers, for the words that offer them. `client`: the mark of
    /// the client, to be made of its credentials. `thread`: where the words are said, as far as known.
    pub async fn offer(
        &self,
        offer: &Offer,
        client: String,
        thread: Option<&ThreadId>,
    ) -> Acted<Offered> {
        let (runtime, space) = self.acting(Right::Speak)?;
        let row = match thread {
            Some(thread) => runtime.store().thread(space, thread).await?,
            None => None,
        };
        let settings = row.map(|row| Settings::of(&row.settings));
        let settings = settings.unwrap_or_default();
        let refuse = |text: &str| Err(Refused::Unprocessable(text.to_owned()).into());
        if settings.is_process() {
            return refuse("only conversations take tools of their clients; this thread is none");
        }
        if settings.language(runtime.options().turn.language) == Language::Xml {
            return refuse(
                "the decision of this thread acts by elements (turn.language), and takes no tools of its clients",
            );
        }
        if let Err(wrong) = offer.check() {
            return refuse(&wrong.text);
        }
        let bytes = serde_json::to_vec(offer).unwrap_or_default();
        let blob = Blob {
            mime: "application/json".to_owned(),
            bytes: bytes.into(),
        };
        let tools = runtime.store().put_blob(space, blob).await?;
        Ok(Offered { tools, client })
    }

    /// Returns a call by the id of the event that asked this client to run it.
    pub async fn client_call(&self, request: Uuid, client: &str) -> Acted<Option<ClientCall>> {
        let requests = self.runtime(Right::Speak)?.requests();
        let found = requests.client_call(self.space(), request, client);
        Ok(found.await?.map(ClientCall))
    }

    /// Returns the event with which the calls of that turn ended, the newest one: the turn about it
    /// has the answer. None: they have not, or came to nothing.
    pub async fn client_results(&self, call: &ClientCall) -> Acted<Option<Event>> {
        let requests = self.runtime(Right::Speak)?.requests();
        Ok(requests.client_results(self.space(), &call.0).await?)
    }

    /// Ends the calls of that turn by the results of the client; a call without one fails. Returns
    /// the event that begins the next turn; none: they have ended already, and nothing is stored.
    pub async fn give_results(&self, call: &ClientCall, from: &FromClient) -> Acted<Option<Event>> {
        let requests = self.runtime(Right::Speak)?.requests();
        let given = requests.give(self.space(), &call.0, from, self.user());
        Ok(given.await?)
    }

    /// Has the turn about these results made again, where it was cut off. Returns the event that
    /// begins it.
    pub async fn give_again(&self, results: &Event, from: &FromClient) -> Acted<Option<Event>> {
        let requests = self.runtime(Right::Speak)?.requests();
        let again = requests.give_again(self.space(), results, from, self.user());
        Ok(again.await?)
    }
}
