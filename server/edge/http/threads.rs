//! `/threads`: the list of threads, their status, starting and stopping them.

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::cursor::Part;
use super::missions;
use super::needs::{Needs, Read, Speak};
use super::params::{NoParams, Params};
use super::path::Path;
use super::thread::{self, Thread, with_details};
use super::thread_change::{self, TITLE_MAX};
use super::thread_filter::{Filter, listed};
use super::{Answer, MayOnly, Only, Page, bounds, made};
use crate::json::Body;
use crate::limits::Limits;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_event::mission::{BudgetWanted, MISSION_MAX, Plan, Value};
use thinkd_thread::new_thread::{NewContact, NewThread};
use thinkd_thread::settings::{Commit, Kind, Language, Policy, Settings};
use thinkd_tools::contacts::{PARENT, SELF};
use thinkd_words::id::{InvalidId, Label, Name, ThreadId};

/// Most threads of a page with lines: each takes two reads of the log.
const LINES_MAX: u32 = 100;

resource! {
    /// See the module.
    RESOURCE tagged "threads": "What thinks";
    "/threads" => get(list) post(create);
    "/threads/{thread}" => get(one) patch(thread_change::change);
    "/threads/{thread}/title" => post(thread_change::suggest_title);
    "/threads/{thread}/cancel" => post(cancel);
    "/threads/{thread}/end" => post(end);
    bounds: |document| {
        let policy = json!({ "enum": ["enqueue", "interrupt", "reject", null] });
        let submodules = json!({ "maxItems": Limits::default().array_items, "items": { "type": "string", "pattern": bounds::NAME } });
        let members = [
            ("label", bounds::label()),
            ("parent", bounds::thread()),
            ("title", bounds::text(bounds::TEXT)),
            ("prompt", bounds::text(bounds::TEXT)),
            ("policy", policy),
            ("submodules", submodules),
            ("contacts", bounds::list()),
            (
                "mission",
                json!({ "minLength": 1, "maxLength": MISSION_MAX }),
            ),
        ];
        bounds::of_body(document, "CreateThread", members);
        let members = [
            ("name", bounds::name()),
            ("thread", bounds::thread()),
            ("description", bounds::text(bounds::TEXT)),
        ];
        bounds::of_body(document, "CreateContact", members);
        let title = json!({ "minLength": 1, "maxLength": TITLE_MAX, "pattern": bounds::TEXT });
        bounds::of_body(document, "ChangeThread", [("title", title)]);
    };
}

/// The threads by id. One request looks at 2,004 threads at most: where few match, a page has fewer
/// than `limit`, or none, and `next` to go on with. The last page has no `next`.
#[utoipa::path(get, path = "/threads", operation_id = "list_threads", tag = "threads",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("status" = Option<String>, Query, description = "only those that do this: `idle`, `thinking`, `waiting`, `done`, `failed`, `stopped`"),
        ("kind" = Option<thread::Kind>, Query, description = "only of this kind"),
        ("parent" = Option<String>, Query, description = "only subthreads of this thread"),
        ("subtree" = Option<String>, Query, description = "only this thread and all below it"),
        ("forked_from" = Option<String>, Query, description = "only forks of this thread"),
        ("stuck" = Option<bool>, Query, description = "only those that wait because they cannot go on, or only others"),
        ("lines" = Option<bool>, Query, description = "true: each thread has `first` and `last`, the first and the last thing that was said in it; with a `limit` of at most 100"),),
    responses((status = 200, body = Page<Thread>)))]
pub async fn list(session: Needs<Read>, mut params: Params) -> Answer<Page<Thread>> {
    let part = Part::take(&mut params)?;
    let filter = Filter::take(&mut params)?;
    let lines = params.word("lines", "true, false", |word| word.parse::<bool>().ok())?;
    params.end()?;
    let with_lines = lines.unwrap_or(false);
    if with_lines && part.limit > LINES_MAX {
        let detail = format!("with lines a page has at most {LINES_MAX} threads");
        return Err(Problem::parameter("limit", detail));
    }
    let part = part.of(format!("threads {}{}", session.space(), filter.bound()))?;
    let after = part.at.as_deref().map(ThreadId::parse).transpose()?;
    let (rows, next) = listed(&session, after, &filter, part.limit).await?;
    let lines = match with_lines {
        true => {
            let ids = Vec::from_iter(rows.iter().map(|row| row.thread.clone()));
            session.lines(&ids).await?
        }
        false => vec![None; rows.len()],
    };
    let items = rows.into_iter().zip(lines).map(|(row, lines)| {
        let (first, last) = lines.unzip();
        let thread = Thread::new(row, Vec::new(), &[]);
        Thread {
            first,
            last,
            ..thread
        }
    });
    Ok(axum::Json(Page {
        items: items.collect(),
        next: next.map(|last| part.next(last)),
    }))
}

/// One thread.
#[utoipa::path(get, path = "/threads/{thread}", operation_id = "get_thread", tag = "threads", params(("thread" = String, Path, description = "its id")),
    responses((status = 200, body = Thread)))]
pub async fn one(session: Needs<Read>, Path(id): Path<ThreadId>, _: NoParams) -> Answer<Thread> {
    let row = session.thread(&id).await?;
    let row = row.ok_or_else(|| Problem::not_found(format!("there is no thread {id}")))?;
    Ok(axum::Json(with_details(&session, row).await?))
}

/// A thread to be.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateThread {
    /// A suggestion for the last part of its id.
    #[schema(example = "research")]
    pub label: Option<String>,
    /// The thread it is created below.
    pub parent: Option<String>,
    /// A line for people.
    pub title: Option<String>,
    /// The kind of process that it is.
    #[serde(default)]
    pub kind: Kind,
    /// The text that the decision is told besides its own prompt.
    pub prompt: Option<String>,
    /// The voices it hears; all when absent.
    pub submodules: Option<Vec<String>>,
    /// The effect of new input on a running turn; as configured when absent.
    #[schema(value_type = Option<String>, example = "enqueue")]
    pub policy: Option<Policy>,
    /// The model that its decision uses.
    pub tier: Option<TierWord>,
    /// Whom it can send to, besides its parent and itself.
    pub contacts: Option<Vec<CreateContact>>,
    /// When the changes that it wants in other threads and in its contacts take effect; with the
    /// end of its turn when absent.
    pub commit: Option<Commit>,
    /// The way in which its decision says the actions that it wants; when absent, a conversation
    /// by tool calls, a process either way.
    pub language: Option<Language>,
    /// A process that goes in sub-steps, each of which asks for the missing parts.
    pub substeps: Option<bool>,
    /// Of a mission: the result that is wanted, at most 16,000 characters. A mission takes no
    /// members but this, `value`, `plan` and `budget`.
    #[schema(example = "Find a time for five talks without a clash.")]
    pub mission: Option<String>,
    /// Of a mission: the cost that is allowed for it; no task of it is worth more. `medium` when
    /// absent.
    pub value: Option<Value>,
    /// Of a mission: `ask` has a person approve its tasks before any begins (`/approvals`); `go`, also when absent, begins at once.
    pub plan: Option<Plan>,
    /// Of a mission: the resources that it may use up, all its tasks together; as configured
    /// (`[mission]`), which is the most, where absent.
    pub budget: Option<BudgetWanted>,
}

/// A contact of a thread to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateContact {
    /// The name by which the thread calls it.
    #[schema(example = "librarian")]
    pub name: String,
    /// The thread.
    #[schema(example = "main")]
    pub thread: String,
    /// Its work, its wants and its offers; the first 1,000 characters of this text are kept.
    pub description: String,
}

/// The model, by its tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TierWord {
    /// The ordinary one.
    Low,
    /// The better, dearer one.
    High,
}

/// An id, where one is given. None: it is given and wrong.
fn given<T>(
    pointer: &str,
    text: Option<&str>,
    parse: fn(&str) -> Result<T, InvalidId>,
    wrongs: &mut Wrongs,
) -> Option<Option<T>> {
    text.map_or(Some(None), |text| {
        wrongs.note(pointer, parse(text)).map(Some)
    })
}

impl CreateThread {
    /// The thread to be, if nothing is wrong.
    fn parse(&self, wrongs: &mut Wrongs) -> Option<NewThread> {
        let label = given("/label", self.label.as_deref(), Label::parse, wrongs);
        let parent = given("/parent", self.parent.as_deref(), ThreadId::parse, wrongs);
        let names = self.submodules.iter().flatten().enumerate();
        let submodules: Vec<_> = names
            .map(|(index, text)| wrongs.note(format!("/submodules/{index}"), Name::parse(text)))
            .collect();
        let contacts = self.contacts.iter().flatten().enumerate();
        let contacts: Vec<_> = contacts
            .map(|(index, contact)| contact.parse(index, wrongs))
            .collect();
        let substeps = self.substeps.unwrap_or(false);
        if substeps && self.kind != Kind::Process {
            let detail = "only a process goes in sub-steps: set kind to process";
            wrongs.add(Slug::Unprocessable, "/substeps", detail);
        }
        let submodules = submodules.into_iter().collect::<Option<Vec<_>>>()?;
        let settings = Settings {
            title: self.title.clone(),
            kind: self.kind,
            commit: self.commit.unwrap_or_default(),
            language: self.language,
            substeps,
            prompt: self.prompt.clone(),
            submodules: self.submodules.is_some().then_some(submodules),
            policy: self.policy,
            high_tier: self.tier == Some(TierWord::High),
            ..Settings::default()
        };
        let contacts = contacts.into_iter().collect::<Option<_>>()?;
        Some(NewThread {
            label: label?,
            parent: parent?,
            contacts,
            settings,
            ..NewThread::default()
        })
    }
}

impl CreateContact {
    fn parse(&self, index: usize, wrongs: &mut Wrongs) -> Option<NewContact> {
        let name = wrongs.note(format!("/contacts/{index}/name"), Name::parse(&self.name));
        let thread = wrongs.note(
            format!("/contacts/{index}/thread"),
            ThreadId::parse(&self.thread),
        );
        Some(NewContact {
            name: name?,
            thread: thread?,
            description: self.description.clone(),
        })
    }
}

impl CreateThread {
    /// Refuses members that only missions have, of another thread; and the other way round.
    fn check_mission(&self, wrongs: &mut Wrongs) {
        let is_mission = self.kind == Kind::Mission;
        let own = [
            ("/mission", self.mission.is_some()),
            ("/value", self.value.is_some()),
            ("/plan", self.plan.is_some()),
            ("/budget", self.budget.is_some()),
        ];
        let others = [
            ("/label", self.label.is_some()),
            ("/parent", self.parent.is_some()),
            ("/title", self.title.is_some()),
            ("/prompt", self.prompt.is_some()),
            ("/submodules", self.submodules.is_some()),
            ("/policy", self.policy.is_some()),
            ("/tier", self.tier.is_some()),
            ("/contacts", self.contacts.is_some()),
            ("/commit", self.commit.is_some()),
            ("/language", self.language.is_some()),
            ("/substeps", self.substeps.is_some()),
        ];
        let (strange, why) = match is_mission {
            true => (
                &others[..],
                "a mission has no such member: it takes mission, value, plan and budget",
            ),
            false => (
                &own[..],
                "only a mission has this member: set kind to mission",
            ),
        };
        let strange = strange.iter().filter(|(_, is_there)| *is_there);
        strange.for_each(|(pointer, _)| wrongs.add(Slug::Unprocessable, *pointer, why));
        if is_mission {
            missions::check(self.mission.as_deref(), self.budget.as_ref(), wrongs);
        }
    }
}

impl Body for CreateThread {
    fn check(&self, wrongs: &mut Wrongs) {
        self.check_mission(wrongs);
        self.parse(wrongs);
    }
}

/// A name means one thread, and two mean something already.
fn named_once(contacts: &[NewContact]) -> Result<(), Problem> {
    for (index, NewContact { name, .. }) in contacts.iter().enumerate() {
        let taken = [PARENT, SELF].contains(&name.as_str());
        if taken || contacts[..index].iter().any(|before| before.name == *name) {
            let why = match taken {
                true => "every thread calls somebody so already",
                false => "another contact is called so",
            };
            let text = format!("{name} names two threads ({why}); choose another name");
            let pointer = format!("/contacts/{index}/name");
            return Err(Problem::at(Slug::Unprocessable, pointer, text));
        }
    }
    Ok(())
}

/// Creates a thread.
#[utoipa::path(post, path = "/threads", operation_id = "create_thread", tag = "threads", request_body = CreateThread,
    responses((status = 201, body = Thread)))]
pub async fn create(
    session: Needs<Speak>,
    Only(body): Only<CreateThread>,
) -> Result<Response, Problem> {
    let row = match (body.kind, &body.mission) {
        (Kind::Mission, Some(mission)) => {
            let budget = body.budget.unwrap_or_default();
            let value = body.value.unwrap_or_default();
            let plan = body.plan.unwrap_or_default();
            session.start_mission(mission, value, plan, budget).await?
        }
        _ => {
            let mut wrongs = Wrongs::default();
            let new = body.parse(&mut wrongs);
            let new = wrongs.or(new)?;
            named_once(&new.contacts)?;
            session.create_thread(new).await?
        }
    };
    let place = format!("/threads/{}", row.thread);
    let thread = with_details(&session, row).await?;
    Ok(made(StatusCode::CREATED, place, thread))
}

/// The result of a cancellation: there was a turn to cancel, or none.
#[derive(Debug, Serialize, ToSchema)]
pub struct Cancelled {
    /// False: none ran.
    pub cancelled: bool,
    /// The number of threads in which one ran.
    pub threads: u64,
}

/// The extent of a cancellation.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelTurns {
    /// True: this one and all below it, missions among them.
    #[serde(default)]
    pub subtree: bool,
}

impl Body for CancelTurns {}

/// Cancels the turn that runs; with `subtree` those of all threads below, too. The body may be
/// left out.
#[utoipa::path(post, path = "/threads/{thread}/cancel", operation_id = "cancel_turn", tag = "threads", params(("thread" = String, Path, description = "its id")),
    request_body = Option<CancelTurns>,
    responses((status = 200, body = Cancelled)))]
pub async fn cancel(
    session: Needs<Speak>,
    Path(thread): Path<ThreadId>,
    MayOnly(body): MayOnly<CancelTurns>,
) -> Answer<Cancelled> {
    let threads = match body.subtree {
        true => session.cancel_subtree(&thread).await?,
        false => u64::from(session.cancel(&thread).await?),
    };
    let cancelled = threads > 0;
    Ok(axum::Json(Cancelled { cancelled, threads }))
}

/// Ends a thread, and all below it.
#[utoipa::path(post, path = "/threads/{thread}/end", operation_id = "end_thread", tag = "threads", params(("thread" = String, Path, description = "its id"),
        ("subtree" = Option<bool>, Query, description = "false: the threads below live on, and their parent becomes the nearest living thread above; true when absent")),
    responses((status = 200, body = Thread)))]
pub async fn end(
    session: Needs<Speak>,
    Path(thread): Path<ThreadId>,
    mut params: Params,
) -> Answer<Thread> {
    let subtree = params
        .word("subtree", "true, false", |word| word.parse::<bool>().ok())?
        .unwrap_or(true);
    params.end()?;
    let row = session.end_thread(&thread, subtree).await?;
    Ok(axum::Json(with_details(&session, row).await?))
}
