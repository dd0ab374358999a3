-- What waits for a person: tool calls without a verdict, or granted and without a result, and open questions.
create table requests (
    space  text not null,
    id     text not null,
    thread text not null,
    seq    integer not null,
    state  text not null,
    asked  text not null,
    primary key (space, id)
) strict, without rowid;
create index requests_by_state on requests (space, state, seq);
create index requests_by_thread on requests (space, thread, seq);
