-- Threads that were forked from another, the event at which they left it, and the one that made them.
create table forks (
    space  text collate "C" not null,
    thread text collate "C" not null,
    origin text collate "C" not null,
    at     bigint not null,
    seq    bigint not null,
    primary key (space, thread)
);
create index forks_of on forks (space, origin, seq);
