-- Whether a voice is asked once more after the decision: all that were there before were.
alter table submodules add column follow_up bigint not null default 1;
