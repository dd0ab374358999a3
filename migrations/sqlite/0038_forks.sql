-- Threads that were forked from another, the event at which they left it, and the one that made them.
create table forks (
    space  text    not null,
    thread text    not null,
    origin text    not null,
    at     integer not null,
    seq    integer not null,
    primary key (space, thread)
) strict, without rowid;
create index forks_of on forks (space, origin, seq);
