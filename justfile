# Short names for what one does here every day. `.ci/run` is the whole check.

# format, sizes, prose, clippy and rustdoc
check:
    .ci/run fmt sizes prose clippy rustdoc

# everything; finds a Postgres by itself, or says that there is none
test *filter:
    cargo test --workspace {{filter}}

# the tests against a Postgres that runs already, e.g. postgres://postgres@localhost/postgres
test-postgres url:
    TEST_DATABASE_URL={{url}} cargo test --workspace

# writes the contracts and the kinds of events from the types, and the client and the console from those
spec:
    .ci/generate

# what it costs, beside what it could cost
bench:
    cargo bench
