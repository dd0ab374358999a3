//! Copies of the log that cannot be made or restored: the message names the fault and the remedy.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use kit::db::Folder;
use kit::*;

/// Runs a command that has to fail, and has to say all of this and nothing of a database that failed.
async fn refused(database: &str, folder: &Folder, arguments: &[&str], says: &[&str]) {
    let (code, said) = app::ran(folder.path(), &[("DATABASE_URL", database)], arguments).await;
    assert_eq!(code, Some(1), "{arguments:?}: {said}");
    for words in says.iter().chain(&[arguments[1]]) {
        assert!(
            said.contains(words),
            "{arguments:?}: {words:?} is not in {said}"
        );
    }
    assert!(
        !said.contains("the database failed") && !said.contains("unavailable"),
        "{arguments:?}: {said}"
    );
}

async fn done(database: &str, folder: &Folder, arguments: &[&str]) {
    let (code, said) = app::ran(folder.path(), &[("DATABASE_URL", database)], arguments).await;
    assert_eq!(code, Some(0), "{arguments:?}: {said}");
}

on_both!(
    a_backup_that_cannot_be_made_says_what_is_wrong_and_what_to_do,
    |medium| {
        let folder = Folder::new();
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        app.tell("hello").await;
        assert!(app.stop().await.success());
        let database = app.database().to_owned();
        done(&database, &folder, &["backup", "made"]).await;
        let made = std::fs::read(folder.path().join("made")).unwrap();
        refused(
            &database,
            &folder,
            &["backup", "made"],
            &["exists already", "name a new file"],
        )
        .await;
        assert_eq!(
            std::fs::read(folder.path().join("made")).unwrap(),
            made,
            "what is there stays"
        );
        refused(
            &database,
            &folder,
            &["backup", "nowhere/made"],
            &["there is no folder nowhere", "make it"],
        )
        .await;
        refused(
            &database,
            &folder,
            &["backup", "."],
            &["is a folder", "name a file in it"],
        )
        .await;
        // Nobody makes a file there, root neither.
        refused(
            &database,
            &folder,
            &["backup", "/proc/made"],
            &["cannot be made"],
        )
        .await;
        if !app.is_postgres() {
            let file = database.strip_prefix("sqlite://").unwrap();
            refused(
                &database,
                &folder,
                &["backup", file],
                &["is the database itself", "name a new file"],
            )
            .await;
            refused(
                "sqlite://none.db",
                &folder,
                &["backup", "new"],
                &["there is no database none.db", "DATABASE_URL"],
            )
            .await;
            assert!(!folder.path().join("new").exists(), "half a backup is none");
        }
    }
);

on_both!(
    a_restore_that_cannot_be_done_says_what_is_wrong_and_harms_nothing,
    |medium| {
        let folder = Folder::new();
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        app.tell("hello").await;
        let epoch = app.get("/metadata").await.expect(200)["epoch"].clone();
        let log = app.log().await;
        assert!(app.stop().await.success());
        let database = app.database().to_owned();
        done(&database, &folder, &["backup", "made"]).await;
        refused(
            &database,
            &folder,
            &["restore", "made"],
            &["has events already", "an empty one", "DATABASE_URL"],
        )
        .await;
        refused(
            &database,
            &folder,
            &["restore", "none"],
            &["there is no file none"],
        )
        .await;
        refused(&database, &folder, &["restore", "."], &["is a folder"]).await;
        std::fs::write(folder.path().join("words"), "hello").unwrap();
        refused(
            &database,
            &folder,
            &["restore", "words"],
            &["is not a backup of thinkd"],
        )
        .await;
        if !app.is_postgres() {
            let file = database.strip_prefix("sqlite://").unwrap();
            refused(
                &database,
                &folder,
                &["restore", file],
                &["is the database itself"],
            )
            .await;
            let nowhere = "sqlite://nowhere/new.db";
            refused(
                nowhere,
                &folder,
                &["restore", "made"],
                &["there is no folder nowhere", "make it"],
            )
            .await;
            // The other way about: the database that is to be filled is the backup, and would be none any more.
            let made = folder.path().join("made");
            let before = std::fs::read(&made).unwrap();
            refused(
                "sqlite://made",
                &folder,
                &["restore", "made"],
                &["is the database itself"],
            )
            .await;
            assert_eq!(
                std::fs::read(&made).unwrap(),
                before,
                "the backup is as it was"
            );
        }
        app.start_again().await;
        assert_eq!(
            (
                &app.get("/metadata").await.expect(200)["epoch"],
                app.log().await
            ),
            (&epoch, log),
            "nothing is changed"
        );
        for target in Medium::each().await {
            done(target.url(), &folder, &["restore", "made"]).await;
        }
    }
);

/// The name of the damage, the function that damages a backup, and the expected message.
type Damage<'a> = (&'a str, fn(&mut Vec<u8>), &'a str);

// Nothing of a backup is used that is not as it was written.
on_both!(
    a_backup_that_was_damaged_or_cut_is_refused_before_anything_is_restored,
    |medium| {
        let folder = Folder::new();
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        app.tell("a word that may become another one").await;
        let events = app.log().await.len();
        assert!(app.stop().await.success());
        done(app.database(), &folder, &["backup", "made"]).await;
        let made = std::fs::read(folder.path().join("made")).unwrap();
        let damages: [Damage; 11] = [
            (
                "a bit in a message",
                |it| {
                    let at = it.windows(6).position(|bytes| bytes == b"become").unwrap();
                    it[at] ^= 1;
                },
                "checksum",
            ),
            (
                "a bit in the middle",
                |it| {
                    let at = it.len() / 2;
                    it[at] ^= 0x40
                },
                "checksum",
            ),
            ("the head's last bit", |it| it[63] ^= 1, "checksum"),
            (
                "a bit of the seal's beginning",
                |it| {
                    let at = it.len() - 48;
                    it[at] ^= 1
                },
                "checksum",
            ),
            (
                "a bit of the hash",
                |it| {
                    let at = it.len() - 1;
                    it[at] ^= 1
                },
                "checksum",
            ),
            ("one more byte", |it| it.push(0), "checksum"),
            ("half of it", |it| it.truncate(it.len() / 2), "is cut"),
            ("its last byte", |it| it.truncate(it.len() - 1), "is cut"),
            ("its seal", |it| it.truncate(it.len() - 48), "is cut"),
            ("all but a few bytes", |it| it.truncate(20), "is cut"),
            ("everything", |it| it.clear(), "is cut"),
        ];
        for target in Medium::each().await {
            for (what, damage, says) in damages {
                let mut damaged = made.clone();
                damage(&mut damaged);
                std::fs::write(folder.path().join("damaged"), damaged).unwrap();
                let (code, said) = app::ran(
                    folder.path(),
                    &[("DATABASE_URL", target.url())],
                    &["restore", "damaged"],
                )
                .await;
                assert!(code == Some(1) && said.contains(says), "{what}: {said}");
            }
            let (code, said) = app::ran(
                folder.path(),
                &[("DATABASE_URL", target.url())],
                &["restore", "made"],
            )
            .await;
            assert!(
                code == Some(0) && said.contains(&format!("{events} events restored")),
                "control: {said}"
            );
            assert!(!said.contains("checksum"), "{said}");
        }
        // As they were made before there were checksums.
        let mut old = made;
        old.truncate(old.len() - 48);
        old[60..64].fill(0);
        for target in Medium::each().await {
            std::fs::write(folder.path().join("old"), &old).unwrap();
            let (code, said) = app::ran(
                folder.path(),
                &[("DATABASE_URL", target.url())],
                &["restore", "old"],
            )
            .await;
            assert!(
                code == Some(0) && said.contains("old has no checksum"),
                "{said}"
            );
            std::fs::write(folder.path().join("cut"), &old[..old.len() - 1]).unwrap();
            refused(target.url(), &folder, &["restore", "cut"], &["is cut"]).await;
        }
    }
);
