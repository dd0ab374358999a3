# Short names for the work of a contributor. `.ci/run` is the whole check.

# lists these
default:
    @just --list

# the server, with what `.env` and `thinkd.toml` say
run *arguments:
    cargo run --release -- {{arguments}}

# format, sizes, prose, clippy and rustdoc
check:
    .ci/run fmt sizes prose clippy rustdoc

# all tests, or those of one feature: just test fork; finds a Postgres by itself, or says that there is none
test *filter:
    cargo test --workspace {{ if filter == "" { "" } else { "--test it --test inside" } }} {{filter}}

# tests that meet the program alone, after a change of nothing but them: links no server
retest *filter:
    cargo test --workspace --test it {{filter}}

# the same against a Postgres that runs already, e.g. postgres://postgres@localhost/postgres
test-postgres url *filter:
    TEST_DATABASE_URL={{url}} cargo test --workspace {{filter}}

# writes the contracts and the kinds of events from the types, and the client and the console from those
spec:
    .ci/generate

# all figures, or one part: just bench fork
bench *part:
    cargo bench --features fixed {{ if part == "" { "" } else { "--bench server --" } }} {{part}}
