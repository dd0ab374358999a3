//! Sessions: every act of a client needs a right, and a client without it is refused before
//! anything is read or stored.

use std::sync::Arc;

use bytes::Bytes;
use thinkd::event::draft::{Draft, InputKind, Part};
use thinkd::event::fact::set::Submodule;
use thinkd::event::request::FromClient;
use thinkd::log::blob::Blob;
use thinkd::log::options::Options;
use thinkd::log::query::Query;
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::model::offline::Offline;
use thinkd::model::prompt::Prompts;
use thinkd::recall::finder::Recall;
use thinkd::recall::options;
use thinkd::runtime::fork::NewFork;
use thinkd::runtime::ground::Ground;
use thinkd::runtime::handle::Runtime;
use thinkd::runtime::requests::client::Asked;
use thinkd::runtime::turns::input::InputContent;
use thinkd::session::client_tools::ClientCall;
use thinkd::session::handle::{Error, Session, Sessions};
use thinkd::session::kinds::Kinds;
use thinkd::session::right::{Right, may};
use thinkd::thread::history;
use thinkd::thread::new_thread::NewThread;
use thinkd::tools::catalogue::{self, Chosen};
use thinkd::tools::supplies::Supplies;
use thinkd::tools::toolbox::client::Offer;
use thinkd::words::id::{self, Name, Space, ThreadId};
use thinkd::words::principal::{Credential, Principal, Role};

use kit::*;

/// Everything that can be done, once: the right, its name, and the error if it was refused.
async fn acts(session: &Session) -> Vec<(Right, &'static str, Option<Error>)> {
    let thread = ThreadId::default();
    let name = Name::parse("nobody").unwrap();
    let said = InputContent::Parts(InputKind::Message, vec![Part::Text("hi".to_owned())]);
    let again = said.clone();
    let offer = Offer {
        tools: Vec::new(),
        must: Vec::new(),
        one_at_a_time: false,
        wait_ms: 1,
    };
    let call = ClientCall(Asked {
        request: id::fresh(),
        thread: thread.clone(),
        seq: 1,
        turn: 1,
        is_open: true,
    });
    let results = Draft::cancel(&thread, 1).preview();
    let blob = Blob {
        mime: "image/png".to_owned(),
        bytes: Bytes::from_static(b"bytes"),
    };
    let says_hm = Submodule {
        prompt: "Say hm.".to_owned(),
        follow_up: true,
    };
    let stop = tokio_util::sync::CancellationToken::new();
    let read = Right::Read;
    let speak = Right::Speak;
    let shape = Right::Shape;
    let oversee = Right::Oversee;
    vec![
        (read, "head", session.head().await.err()),
        (
            read,
            "events",
            session.events(&Query::default()).await.err(),
        ),
        (
            read,
            "written",
            session.written(&Query::default()).await.err(),
        ),
        (read, "event", session.event(id::fresh()).await.err()),
        (
            read,
            "prompt_view",
            session.prompt_view(id::fresh()).await.err(),
        ),
        (
            read,
            "follow",
            session.follow(Query::default(), None).await.err(),
        ),
        (
            read,
            "follow_outcome",
            session.follow_outcome(&thread).await.err(),
        ),
        (read, "thread", session.thread(&thread).await.err()),
        (read, "next", session.is_next(&thread, 1).await.err()),
        (read, "mail", session.has_mail(&thread).await.err()),
        (read, "threads", session.threads(None, 1).await.err()),
        (read, "submodules", session.submodules().await.err()),
        (read, "heard", session.heard(&name).err()),
        (read, "entry", session.entry("key").await.err()),
        (read, "entries", session.entries(None, 1).await.err()),
        (
            read,
            "search_entries",
            session.search_entries("words", 1).await.err(),
        ),
        (read, "blob", session.blob("0").await.err()),
        (read, "pipelines", session.pipelines().err()),
        (read, "pipeline", session.pipeline(&name).err()),
        (read, "run", session.run(&name, id::fresh()).await.err()),
        (read, "runs", session.runs(&name, None, 1).await.err()),
        (
            speak,
            "submit",
            session.submit(thread.clone(), None, said, None).await.err(),
        ),
        (
            speak,
            "submit_from",
            session
                .submit_from(thread.clone(), None, again, (None, FromClient::default()))
                .await
                .err(),
        ),
        (
            speak,
            "offer",
            session.offer(&offer, "client".into(), None).await.err(),
        ),
        (
            speak,
            "client_call",
            session.client_call(id::fresh(), "client").await.err(),
        ),
        (
            speak,
            "client_results",
            session.client_results(&call).await.err(),
        ),
        (
            speak,
            "give_results",
            session
                .give_results(&call, &FromClient::default())
                .await
                .err(),
        ),
        (
            speak,
            "give_again",
            session
                .give_again(&results, &FromClient::default())
                .await
                .err(),
        ),
        (
            read,
            "lines",
            session.lines(std::slice::from_ref(&thread)).await.err(),
        ),
        (
            speak,
            "change_thread",
            session.change_thread(&thread, None, Some(true)).await.err(),
        ),
        (
            speak,
            "suggest_title",
            session.suggest_title(&thread, &stop).await.err(),
        ),
        (
            speak,
            "ask_beside",
            session.ask_beside(&thread, "", "hi", &stop).await.err(),
        ),
        (speak, "fork", session.fork(NewFork::default()).await.err()),
        (speak, "cancel", session.cancel(&thread).await.err()),
        (
            speak,
            "cancel_subtree",
            session.cancel_subtree(&thread).await.err(),
        ),
        (speak, "put_blob", session.put_blob(blob).await.err()),
        (
            speak,
            "pipeline_to_start",
            session.pipeline_to_start(&name).err(),
        ),
        (
            speak,
            "cancel_run",
            session.cancel_run(&name, id::fresh()).await.err(),
        ),
        (
            speak,
            "start_run",
            session
                .start_run(name.clone(), serde_json::Value::Null, None)
                .await
                .err(),
        ),
        (
            speak,
            "create_thread",
            session.create_thread(NewThread::default()).await.err(),
        ),
        (
            speak,
            "end_thread",
            session.end_thread(&thread, true).await.err(),
        ),
        (
            shape,
            "create_submodule",
            session.create_submodule(&name, says_hm).await.err(),
        ),
        (
            shape,
            "change_submodule",
            session
                .change_submodule(&name, Some("Say ho."), None)
                .await
                .err(),
        ),
        (
            shape,
            "remove_submodule",
            session.remove_submodule(&name).await.err(),
        ),
        (oversee, "unserved", session.unserved().err()),
        (oversee, "checked", session.checked().err()),
    ]
}

#[tokio::test]
async fn who_does_not_have_the_right_is_refused_every_act_that_needs_it() {
    let medium = Medium::sqlite();
    let store = store::open(medium.url(), Options::default(), ThreadRow::apply)
        .await
        .unwrap();
    let prompts = Arc::new(Prompts::load(None).unwrap());
    let history = history::Options::default();
    let options = thinkd::runtime::options::Options::default();
    let budget = Arc::new(options.budget.clone());
    let supplies = Supplies {
        mission: thinkd::runtime::mission::Options::default().budget(),
        store: store.clone(),
        prompts,
        budget,
        approvals: Arc::default(),
        limits: options.tool_limits,
        recall: Arc::new(Recall::new(store.clone(), options::Options::default(), 1.0)),
        code: Arc::default(),
    };
    let tools = Arc::new(
        catalogue::built_in()
            .tools(&supplies, &Chosen::default())
            .unwrap(),
    );
    let ground = Ground::new(supplies, tools, Arc::new(Offline::new()), history, options);
    let kinds = Kinds::new(&ground);
    let runtime = Runtime::start(ground, kinds.all());
    let sessions = Sessions::new(runtime.clone(), kinds, 1.0);
    let space = Space::default();
    for (role, acts_allowed) in [
        (Role::Viewer, 22),
        (Role::Member, 41),
        (Role::Operator, 44),
        (Role::Admin, 46),
    ] {
        let session = sessions.open(Principal {
            space: space.clone(),
            user: None,
            credential: Credential::Open,
            role,
        });
        let head = store.head(&space).await.unwrap().seq;
        let all = acts(&session).await;
        for (right, act, came) in &all {
            let refused = matches!(came, Some(Error::Forbidden(needed)) if needed == right);
            assert_eq!(refused, !may(role, *right), "{act} by {role:?}: {came:?}");
        }
        assert_eq!(
            all.iter().filter(|(right, ..)| may(role, *right)).count(),
            acts_allowed,
            "{role:?}"
        );
        assert_eq!(
            store.head(&space).await.unwrap().seq > head,
            acts_allowed > 0,
            "{role:?} has left something behind"
        );
    }
    runtime.drain(ms(0)).await;
    store.close().await;
}
