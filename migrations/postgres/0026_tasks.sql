-- Tasks of missions: where each stands, what it requires, how it may be done and how its answer is checked.
create table tasks (
    space       text collate "C" not null,
    mission     text collate "C" not null,
    task        bigint not null,
    seq         bigint not null,
    name        text not null,
    description text not null,
    status      text collate "C" not null,
    value       text collate "C" not null,
    parent      bigint not null,
    requires    text not null,
    brought_by  text not null,
    rank        bigint not null,
    began       bigint not null,
    routes      text not null,
    acceptance  text not null,
    answer      text not null,
    reason      text not null,
    updated     bigint not null,
    primary key (space, mission, task)
);
