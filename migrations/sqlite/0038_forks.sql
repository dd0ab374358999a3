-- Threads that were forked from another, and the event at which they left it.
create table forks (
    space  text    not null,
    thread text    not null,
    origin text    not null,
    at     integer not null,
    primary key (space, thread)
) strict, without rowid;
create index forks_of on forks (space, origin, at, thread);
