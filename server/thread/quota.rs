//! The accounts of budgets: the use that is left to a thread, a space, a mission and a root (an
//! event from outside). The log has the sums. An account adds the use that this process has let
//! through since it read them, so that calls at the same time stay within the budget together. An
//! account lives as long as a turn draws on it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde_json::json;

use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::told::{News, Told};
use thinkd_event::mission::MissionBudget;
use thinkd_log::change::Spent;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_words::budget::Budget;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{Seq, Space, ThreadId};

/// Accounts that are remembered before those that no turn draws on are forgotten.
const OPEN: usize = 1024;

/// Opens purses.
pub struct Quotas {
    store: Arc<dyn Store>,
    budget: Arc<Budget>,
    // A plain mutex: held for a look-up, never across an await.
    open: Mutex<HashMap<Key, Weak<Account>>>,
}

type Key = (Space, Whose);

/// The owner of an account.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Whose {
    Space,
    Thread(ThreadId),
    Root(Seq),
    /// Of the mission that began with this event.
    Mission(Seq),
}

/// The accounts that a turn draws on. Cheap to clone. The default one has no limit.
#[derive(Clone, Default)]
pub struct Purse {
    accounts: Vec<Arc<Account>>,
    root: Option<Seq>,
}

struct Account {
    key: Key,
    limits: [Limit; 2],
    threads: u64,
    store: Arc<dyn Store>,
    // A plain mutex: held to count, never across an await.
    sums: Mutex<Sums>,
    /// Only one turn of this process draws on it so far: there is nothing to read.
    private: AtomicBool,
}

/// The most that may be used, and the key of the configuration that says so.
type Limit = (Option<u64>, &'static str);

/// The use so far.
#[derive(Default)]
struct Sums {
    /// The use in the log when it was read, without that counted below; `None`: the log was not
    /// read yet.
    read: Option<Spent>,
    /// Let through by this process since.
    own: Spent,
}

impl Sums {
    fn all(&self) -> Spent {
        let read = self.read.unwrap_or_default();
        read.with(self.own, u64::saturating_add)
    }

    fn add(&mut self, spent: Spent) {
        self.own = self.own.with(spent, u64::saturating_add);
    }

    fn give_back(&mut self, spent: Spent) {
        self.own = self.own.with(spent, u64::saturating_sub);
    }
}

const CALL: Spent = Spent::call(0);
const THREAD: Spent = Spent::threads(1);

impl Quotas {
    /// Returns the quotas of a budget, over a store.
    pub fn new(store: Arc<dyn Store>, budget: Arc<Budget>) -> Self {
        Self {
            store,
            budget,
            open: Mutex::default(),
        }
    }

    /// Returns the accounts that a turn of a thread draws on. `new`: its root is an event that no
    /// turn was about before.
    pub fn open(&self, space: &Space, thread: &ThreadId, root: Option<Seq>, new: bool) -> Purse {
        let limits = [
            (self.budget.thread_model_calls, "budget.thread_model_calls"),
            (self.budget.thread_tokens, "budget.thread_tokens"),
        ];
        self.purse(space, (Whose::Thread(thread.clone()), limits), root, new)
    }

    /// Returns the purse of a mission and all its tasks, which began with event `root`: its own
    /// budget, and the rest of that of `cause`. The turn that began the mission goes back to
    /// `cause`, an event from outside.
    pub fn of_mission(
        &self,
        space: &Space,
        root: Seq,
        cause: Option<Seq>,
        own: &MissionBudget,
    ) -> Purse {
        let limits = [
            (Some(own.model_calls), "mission.model_calls"),
            (Some(own.tokens), "mission.tokens"),
        ];
        self.purse(space, (Whose::Mission(root), limits), cause, false)
    }

    fn purse(
        &self,
        space: &Space,
        (whose, own): (Whose, [Limit; 2]),
        root: Option<Seq>,
        new: bool,
    ) -> Purse {
        let budget = &self.budget;
        let of_space = [
            (budget.space_model_calls, "budget.space_model_calls"),
            (budget.space_tokens, "budget.space_tokens"),
        ];
        let of_root = [
            (Some(budget.root.model_calls), "budget.root.model_calls"),
            (Some(budget.root.tokens), "budget.root.tokens"),
        ];
        let whose = [
            Some((Whose::Space, of_space, false)),
            Some((whose, own, false)),
            root.map(|root| (Whose::Root(root), of_root, new)),
        ];
        let is_limited = |limits: &[Limit; 2]| limits.iter().any(|it| it.0.is_some());
        let whose = whose.into_iter().flatten();
        let limited = whose.filter(|(_, limits, _)| is_limited(limits));
        let mut open = self.open.lock();
        if open.len() >= OPEN {
            open.retain(|_, account| account.strong_count() > 0);
        }
        let accounts = limited.map(|(whose, limits, new)| {
            let key = (space.clone(), whose);
            if let Some(account) = open.get(&key).and_then(Weak::upgrade) {
                account.private.store(false, Ordering::Release);
                return account;
            }
            let sums = Sums {
                read: new.then(Spent::default),
                ..Sums::default()
            };
            let account = Arc::new(Account {
                key: key.clone(),
                limits,
                threads: self.budget.root.threads,
                store: self.store.clone(),
                sums: Mutex::new(sums),
                private: AtomicBool::new(new),
            });
            open.insert(key, Arc::downgrade(&account));
            account
        });
        Purse {
            accounts: accounts.collect(),
            root,
        }
    }
}

impl Purse {
    /// Returns the event from outside that the acts of the turn go back to.
    pub fn root(&self) -> Option<Seq> {
        self.root
    }

    /// Reads the use so far, where others may have drawn on it.
    pub async fn read(&self) -> Result<(), StoreError> {
        for account in &self.accounts {
            account.read().await?;
        }
        Ok(())
    }

    /// Why no model may be asked any more, if so.
    pub fn spent(&self) -> Option<Failure> {
        let mut accounts = self.accounts.iter();
        accounts.find_map(|account| account.spent(&account.sums.lock()))
    }

    /// Returns the model calls that the nearest limit leaves; none: there is no limit.
    pub fn calls_left(&self) -> Option<u64> {
        let left = |account: &Arc<Account>| {
            let used = account.sums.lock().all().calls;
            let [(limit, ..), _] = account.limits;
            limit.map(|limit| limit.saturating_sub(used))
        };
        self.accounts.iter().filter_map(left).min()
    }

    /// One more model call, or why not.
    pub fn take_call(&self) -> Result<(), Failure> {
        for (index, account) in self.accounts.iter().enumerate() {
            let mut sums = account.sums.lock();
            if let Some(failure) = account.spent(&sums) {
                drop(sums);
                for account in &self.accounts[..index] {
                    account.sums.lock().give_back(CALL);
                }
                return Err(failure);
            }
            sums.add(CALL);
        }
        Ok(())
    }

    /// Counts the use of a call.
    pub fn used(&self, tokens: u64) {
        let spent = Spent {
            tokens,
            ..Spent::default()
        };
        let accounts = self.accounts.iter();
        accounts.for_each(|account| account.sums.lock().add(spent));
    }

    /// One more subthread, or why not.
    pub fn take_thread(&self) -> Result<(), Failure> {
        let Some(account) = self.of_root() else {
            return Ok(());
        };
        let mut sums = account.sums.lock();
        let limit = account.threads;
        let used = sums.all().threads;
        if used >= limit {
            let text = format!(
                "not made: {limit} subthreads and missions go back to the same event from outside already; \
                 there can be more when something new comes from outside"
            );
            return Err(failure(text, limit, used, "budget.root.threads"));
        }
        sums.add(THREAD);
        Ok(())
    }

    /// Subthreads that were not made after all.
    pub fn give_back_threads(&self, threads: u64) {
        if let Some(account) = self.of_root() {
            account.sums.lock().give_back(Spent::threads(threads));
        }
    }

    /// Something was stored: where it concerns another thread, that one may draw on the same root from now on, anywhere.
    pub fn stored(&self, event: &Event, thread: &ThreadId) {
        if event.thread != *thread
            || matches!(
                event.fact(),
                Fact::Told(Told {
                    news: News::Spawned { .. },
                    ..
                })
            )
        {
            let of_root = self.of_root().into_iter();
            of_root.for_each(|account| account.private.store(false, Ordering::Release));
        }
    }

    fn of_root(&self) -> Option<&Arc<Account>> {
        let mut accounts = self.accounts.iter();
        accounts.find(|account| matches!(account.key.1, Whose::Root(_)))
    }
}

impl fmt::Debug for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Purse")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl Account {
    /// Reads the use in the log. Where only this process appends, the log is read once: later use
    /// went through here.
    async fn read(&self) -> Result<(), StoreError> {
        let known = self.sums.lock().read.is_some();
        if known && (!self.store.is_shared() || self.private.load(Ordering::Acquire)) {
            return Ok(());
        }
        let (space, whose) = &self.key;
        let log = match whose {
            Whose::Space => self.store.spent(space, None).await?,
            Whose::Root(root) | Whose::Mission(root) => {
                self.store.spent(space, Some(*root)).await?
            }
            Whose::Thread(thread) => {
                let row = self.store.thread(space, thread).await?;
                row.map_or_else(Spent::default, |row| Spent {
                    calls: row.model_calls,
                    tokens: row.tokens,
                    threads: 0,
                })
            }
        };
        let mut sums = self.sums.lock();
        // Of what the log has by now some was counted here already.
        let others = log.with(sums.own, u64::saturating_sub);
        sums.read = Some(others.with(sums.read.unwrap_or_default(), u64::max));
        Ok(())
    }

    fn spent(&self, sums: &Sums) -> Option<Failure> {
        let all = sums.all();
        let used = [(all.calls, "model calls"), (all.tokens, "tokens")];
        let mut limits = self.limits.into_iter().zip(used);
        let (limit, used, word, key) = limits.find_map(|((limit, key), (used, word))| {
            let limit = limit.filter(|limit| used >= *limit)?;
            Some((limit, used, word, key))
        })?;
        const ANY_MORE: &str = "any more";
        let (who, also, until) = match &self.key.1 {
            Whose::Space => ("the space".to_owned(), "", ANY_MORE),
            Whose::Mission(_) => ("the mission".to_owned(), ", or its own budget", ANY_MORE),
            Whose::Thread(_) => ("the thread".to_owned(), "", ANY_MORE),
            Whose::Root(root) => (
                format!("all that goes back to event #{root}"),
                "",
                "before something new comes from outside",
            ),
        };
        let text = format!(
            "{who} has used up its {limit} {word} ({key}{also}); no model is asked {until}"
        );
        Some(failure(text, limit, used, key))
    }
}

fn failure(text: String, limit: u64, used: u64, key: &str) -> Failure {
    Failure::new(FailureKind::Budget, text)
        .with(json!({ "limit": limit, "used": used, "key": key }))
}
