-- Threads that were forked from another, and the event at which they left it.
create table forks (
    space  text collate "C" not null,
    thread text collate "C" not null,
    origin text collate "C" not null,
    at     bigint not null,
    primary key (space, thread)
);
create index forks_of on forks (space, origin, at, thread);
