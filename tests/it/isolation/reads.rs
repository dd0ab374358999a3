//! Reads: an endless search holds up only its own space, and has an end.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};

use super::*;

/// While this lives a search of A for the tag `dear` comes to no end. There is always one more row
/// to look at, or another connection has locked the table.
struct Dear(Option<PgConnection>);

impl Dear {
    async fn begin(app: &App) -> Self {
        if app.is_postgres() {
            let mut connection = PgConnection::connect(app.database()).await.unwrap();
            connection
                .execute(sqlx::raw_sql(
                    "begin; lock table marks in access exclusive mode",
                ))
                .await
                .unwrap();
            return Self(Some(connection));
        }
        let mut connection = SqliteConnection::connect(&format!("{}.index", app.database()))
            .await
            .unwrap();
        let text = "alter table marks rename to marks_kept; \
             create view marks as select space, mark, visibility, seq from marks_kept union all \
             select 'a', '#dear', 3, i from (with recursive n (i) as (select 1 union all select i + 1 from n) \
             select i from n where i < 0); \
             create trigger marks_in instead of insert on marks begin \
             insert or ignore into marks_kept values (new.space, new.mark, new.visibility, new.seq); end";
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(text.to_owned())))
            .await
            .unwrap();
        connection.close().await.unwrap();
        Self(None)
    }

    async fn end(self) {
        if let Some(connection) = self.0 {
            connection.close().await.unwrap();
        }
    }
}

type Searching = tokio::task::JoinHandle<Reply>;

/// A searches, many times at once.
fn search(app: &App, times: usize) -> Vec<Searching> {
    let request = || a(app).request("GET", "/events?tags=dear");
    (0..times)
        .map(|_| tokio::spawn(http::send(request())))
        .collect()
}

async fn started(medium: Medium, stub: &Stub, env: &[(&str, &str)]) -> App {
    let setup = env
        .iter()
        .fold(tenants(medium, stub), |setup, (name, value)| {
            setup.env(name, value)
        });
    let app = setup.start_bare().await;
    for tenant in [a(&app), b(&app)] {
        assert_eq!(tenant.chat("hello").await, "ok: hello");
        // The index has come to the end of the log.
        tenant.get("/events?tags=input").await.expect(200);
    }
    app
}

on_both!(a_tenant_reads_while_another_searches_slowly, |medium| {
    let stub = Stub::start().await;
    let app = started(medium, &stub, &[("THINKD_TEST_LIMITS__READ_MS", "60000")]).await;
    let dear = Dear::begin(&app).await;
    let searching = search(&app, 16);
    taken(&app, "readers", 6).await;
    for _ in 0..20 {
        assert_eq!(
            b(&app).get("/threads").await.expect(200)["items"][0]["id"],
            "main"
        );
    }
    // What the server reads for itself does not wait either.
    app.get("/readyz").await.expect(200);
    assert!(
        searching.iter().all(|search| !search.is_finished()) || !app.is_postgres(),
        "they were still at it"
    );
    searching.iter().for_each(Searching::abort);
    dear.end().await;
});

/// Control: without shares, first come, first served, B finds all connections busy.
#[tokio::test]
async fn without_a_share_the_other_tenant_reads_nothing() {
    let stub = Stub::start().await;
    let env = [
        ("THINKD_TEST_LIMITS__READ_MS", "60000"),
        ("THINKD_TEST_LIMITS__SPACE_SHARE", "1"),
    ];
    let app = started(Medium::sqlite(), &stub, &env).await;
    let dear = Dear::begin(&app).await;
    let searching = search(&app, 16);
    // As soon as all of A's have come to the slow part.
    polled("that all connections are busy", async || {
        b(&app).get("/threads").await.status != 200
    })
    .await;
    b(&app)
        .get("/threads")
        .await
        .expect_problem(503, "unavailable");
    searching.iter().for_each(Searching::abort);
    dear.end().await;
}

on_both!(
    a_search_that_is_too_dear_is_a_problem_that_says_so,
    |medium| {
        let stub = Stub::start().await;
        let app = started(medium, &stub, &[("THINKD_TEST_LIMITS__READ_MS", "700")]).await;
        let dear = Dear::begin(&app).await;
        let mut told = 0;
        for _ in 0..3 {
            for reply in search(&app, 8) {
                let problem = reply.await.unwrap().expect_problem(422, "unprocessable");
                assert!(
                    problem["detail"]
                        .as_str()
                        .unwrap()
                        .contains("takes longer than it may"),
                    "{problem}"
                );
                told += 1;
            }
        }
        assert_eq!(told, 24);
        // Their connections serve others, and A itself.
        for tenant in [a(&app), b(&app)] {
            tenant.get("/threads").await.expect(200);
        }
        taken(&app, "readers", 0).await;
        dear.end().await;
        assert_eq!(a(&app).chat("and on").await, "ok: and on");
    }
);

on_both!(
    a_search_that_nobody_waits_for_any_more_is_stopped,
    |medium| {
        let stub = Stub::start().await;
        let app = started(medium, &stub, &[("THINKD_TEST_LIMITS__READ_MS", "60000")]).await;
        let dear = Dear::begin(&app).await;
        let mut dear = Some(dear);
        for round in 0..3 {
            let searching = search(&app, 8);
            if round == 0 || !app.is_postgres() {
                taken(&app, "readers", 6).await;
            }
            searching.iter().for_each(Searching::abort);
            b(&app).get("/threads").await.expect(200);
            if !app.is_postgres() {
                taken(&app, "readers", 0).await;
            }
        }
        // Postgres goes on with it: its space keeps the place until then.
        if app.is_postgres() {
            dear.take().unwrap().end().await;
            taken(&app, "readers", 0).await;
        }
        for tenant in [a(&app), b(&app)] {
            tenant.get("/threads").await.expect(200);
        }
    }
);
