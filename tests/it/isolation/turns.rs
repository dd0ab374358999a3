//! Places for turns.

use super::*;

fn hanging(request: &Request) -> bool {
    request.is_decision() && request.thread.starts_with("hang")
}

/// Forty threads of A with a model that does not answer; some of them have been asked.
async fn hang(app: &App, stub: &Stub, asked: usize) {
    for number in 0..40 {
        a(app).say(&format!("hang-{number}"), "hello").await;
    }
    stub.some(asked, hanging).await;
}

on_both!(
    a_tenant_is_answered_while_forty_threads_of_another_hang,
    |medium| {
        let stub = Stub::start().await;
        stub.on(hanging, reply("never").never());
        let app = tenants(medium, &stub)
            .env("THINKD_TEST_RUNTIME__WORKERS", 8)
            .start_bare()
            .await;
        hang(&app, &stub, 6).await;
        for round in 0..3 {
            assert_eq!(
                b(&app).chat(&format!("round {round}")).await,
                format!("ok: round {round}")
            );
        }
        assert_eq!(stub.count(hanging), 6, "three quarters of eight");
    }
);

/// Control: without shares, first come, first served, B waits for A.
#[tokio::test]
async fn without_a_share_the_other_tenant_waits() {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(hanging, reply("late").held(&gate));
    let setup = tenants(Medium::sqlite(), &stub).env("THINKD_TEST_RUNTIME__WORKERS", 8);
    let app = setup
        .env("THINKD_TEST_LIMITS__SPACE_SHARE", 1)
        .start_bare()
        .await;
    hang(&app, &stub, 8).await;
    b(&app).say("main", "hello").await;
    // Thirty-two of A's and it stand in line.
    awaited(&app, "turns", 33).await;
    assert_eq!(stub.count(at("main")), 0, "no place is left");
    gate.open();
    stub.request(at("main")).await;
}

// One place is nobody's share: it goes round.
on_both!(one_place_goes_from_space_to_space, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(at("first"), [reply("late").held(&gate)]);
    let app = tenants(medium, &stub)
        .env("THINKD_TEST_RUNTIME__WORKERS", 1)
        .start_bare()
        .await;
    a(&app).say("first", "hello").await;
    stub.request(at("first")).await;
    for number in 0..20 {
        a(&app).say(&format!("more-{number}"), "hello").await;
    }
    b(&app).say("main", "hello").await;
    // All of them stand in line.
    awaited(&app, "turns", 21).await;
    assert_eq!(stub.count(any), 1);
    gate.open();
    let asked = stub.some(22, any).await;
    let place = asked
        .iter()
        .position(|request| request.thread == "main")
        .unwrap();
    assert!(
        place <= 2,
        "after one of A's at most, not after twenty: {place}"
    );
});
