//! Missions in the terminal: `thinkd mission`, and their plans in `thinkd inbox`. The real program against a real server.

use std::process::Output;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::*;
use kit::command::{self, err, out, thinkd};

/// Returns the output of `thinkd` with these arguments.
async fn says(app: &App, arguments: &[&str]) -> Output {
    command::ended(&mut thinkd(app, arguments), "").await
}

/// Begins a mission with a plan that waits; returns its thread, and its name in `thinkd inbox`.
async fn planned(app: &App, mission: &str) -> (String, String) {
    let begun = out(&says(app, &["mission", "--plan", "ask", "--no-wait", mission]).await);
    let thread = begun.split(':').next().unwrap().to_owned();
    let line = app
        .until_some("the plan in the inbox", async || {
            let listed = out(&says(app, &["inbox"]).await);
            if let Some(line) = listed.lines().find(|line| line.contains(&thread)) {
                return Some(line.to_owned());
            }
            None
        })
        .await;
    assert!(
        line.contains(" s ago, expires in "),
        "how long it waits: {line}"
    );
    (thread, line.split(' ').next().unwrap().to_owned())
}

async fn waits(app: &App) -> Vec<String> {
    let open = app.pages("/approvals?").await;
    open.iter()
        .map(|it| it["thread"].as_str().unwrap().to_owned())
        .collect()
}

// What a short name named once it names for good: of a plan that is gone it approves no other one.
on_sqlite!(
    a_plan_is_approved_by_its_own_name_and_by_no_other,
    |medium| {
        let stub = Stub::start().await;
        otherwise(&stub);
        let app = App::start(medium, &stub).await;
        let (first, gone) = planned(&app, "one thing").await;
        app.post(&format!("/threads/{first}/cancel"), json!({}))
            .await
            .expect(200);
        assert_eq!(ended(&app, &first).await["status"], "stopped");
        let (second, name) = planned(&app, "another thing").await;
        let (third, other) = planned(&app, "a third thing").await;
        assert!(
            name.len() == 8 && other.len() == 8 && name != other && name != gone,
            "{gone}, {name}, {other}"
        );
        let id = app.pages(&format!("/approvals?thread={second}&")).await[0]["approval_id"]
            .as_str()
            .unwrap()
            .to_owned();
        // All such ids end in these letters; as an end they name none.
        for wrong in [gone.as_str(), &id[28..], &id[24..]] {
            let refused = says(&app, &["inbox", "approve", wrong]).await;
            assert_eq!(refused.status.code(), Some(1), "{wrong} was taken");
            assert!(
                err(&refused).contains("inbox"),
                "what to do instead: {}",
                err(&refused)
            );
        }
        assert_eq!(
            waits(&app).await,
            [second.clone(), third.clone()],
            "nothing was settled by that"
        );
        for named in [&name, &name[2..], &id[..13], &id[19..], &id] {
            let shown = out(&says(&app, &["inbox", "show", named]).await);
            assert!(
                shown.contains(&id) && shown.contains(" s ago"),
                "{named}: {shown}"
            );
        }
        out(&says(&app, &["inbox", "approve", &name]).await);
        assert_eq!(ended(&app, &second).await["status"], "done");
        assert_eq!(waits(&app).await, [third]);
    }
);

// A mission that did not come out is a failure of the command, told to a person and not to the model.
#[tokio::test]
async fn a_mission_whose_tasks_failed_ends_the_command_with_1() {
    let stub = Stub::start().await;
    for step in ["decompose", "consider", "solve", "answer"] {
        stub.on(node(step), text("I cannot call tools."));
    }
    let app = App::start(Medium::sqlite(), &stub).await;
    let said = says(&app, &["mission", "one thing"]).await;
    let shown = String::from_utf8_lossy(&said.stdout).into_owned();
    let why = err(&said);
    assert_eq!(said.status.code(), Some(1), "{shown}{why}");
    assert!(
        why.contains("the mission did not come out: its only task failed"),
        "{why}"
    );
    assert!(
        shown.contains("the model did not call") && !shown.contains("you did not"),
        "{shown}"
    );
    let log = app.log().await;
    let refused = with(&log, &["task", "refused"])[0];
    assert!(
        refused["payload"]["text"]
            .as_str()
            .unwrap()
            .starts_with("the mission was refused a plan"),
        "{refused}"
    );
    let routes = with(&log, &["task", "routes"]);
    assert!(
        routes
            .iter()
            .all(|it| !it["payload"]["text"].as_str().unwrap().contains("1 routes")),
        "{routes:?}"
    );
}

#[tokio::test]
async fn a_mission_of_which_a_part_failed_ends_the_command_with_1_and_its_answer() {
    let stub = Stub::start().await;
    stub.on(node("decompose"), tasks(&[("list", &[]), ("order", &[])]));
    stub.on(about("solve", "order"), text("I cannot."));
    otherwise(&stub);
    let app = App::start(Medium::sqlite(), &stub).await;
    let said = says(&app, &["mission", "two things"]).await;
    let shown = String::from_utf8_lossy(&said.stdout).into_owned();
    let why = err(&said);
    assert_eq!(said.status.code(), Some(1), "{shown}{why}");
    assert!(shown.ends_with("\nthe answer to the mission\n"), "{shown}");
    assert!(why.contains("1 of 2 tasks failed"), "{why}");
}

// A restart of the server ends neither the mission nor the command that follows it.
#[tokio::test]
async fn the_terminal_follows_a_mission_over_a_restart() {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(node("solve"), solved("did it").held(&gate));
    otherwise(&stub);
    let mut app = App::start(Medium::sqlite(), &stub).await;
    let address = app.address.clone();
    app.set_env("THINKD_LISTEN", &address);
    let mut child = thinkd(&app, &["mission", "one thing"]).spawn().unwrap();
    let mut beside = BufReader::new(child.stderr.take().unwrap()).lines();
    stub.request(node("solve")).await;
    app.kill();
    let lost = within("the loss", beside.next_line())
        .await
        .unwrap()
        .unwrap_or_default();
    assert!(lost.contains("trying again"), "{lost}");
    app.start_again().await;
    gate.open();
    let said = within("the end of the command", child.wait_with_output())
        .await
        .unwrap();
    assert!(
        out(&said).ends_with("\nthe answer to the mission\n"),
        "{}",
        out(&said)
    );
    let log = app.log().await;
    let resumed = with(&log, &["run", "resumed"])[0];
    assert_eq!(
        resumed["payload"]["text"],
        "mission goes on where it was (taken up again 1 time)"
    );
}
