//! A thousand hostile snippets against the workers alone. Each ends within its limit for a reason
//! that fits, and none is noticed by the next one. None breaks its worker or makes it ask the
//! kernel for a forbidden thing (that would be a crash).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use runner::pool::{Options, Pool};
use runner::request::{Answer, Error, Language, Limits, Request};
use serde_json::{Value, json};
use thinkd::tools::code;

use kit::ms;

const WORKERS: usize = 2;
const LIMITS: Limits = Limits {
    time: Duration::from_millis(25),
    memory_bytes: 16 << 20,
    output_bytes: 16 << 10,
    background: false,
};

/// From the call to its end: the limit, the time until a worker is killed that does not look at the clock, a fresh worker, and a
/// machine that is busy with other tests.
const WITHIN: Duration = Duration::from_millis(6000);

const SECRET: &str = "nobody-may-read-this-8731";

fn pool(limits: Limits) -> Pool {
    Pool::new(Options {
        program: PathBuf::from(kit::program()),
        workers: WORKERS,
        limits,
        ..code::Options::default().pool()
    })
}

fn request(code: &str, input: Value) -> Request {
    Request {
        language: Language::JavaScript,
        code: code.to_owned(),
        input,
    }
}

/// Snippets of one kind, and how they may end: `value`, `error`, or the reason for which they are stopped. At least a third end in
/// the first way.
struct Family {
    name: &'static str,
    count: usize,
    ends: &'static [&'static str],
    code: fn(usize) -> String,
}

fn pick(n: usize, of: &[&str]) -> String {
    of[n % of.len()].replace("§", &(n + 2).to_string())
}

const FAMILIES: [Family; 11] = [
    Family {
        name: "endless loops",
        count: 98,
        ends: &["time", "memory", "error"],
        code: loops,
    },
    Family {
        name: "loops of the engine itself",
        count: 4,
        ends: &["time"],
        code: native_loops,
    },
    Family {
        name: "expressions that explode",
        count: 40,
        ends: &["time"],
        code: expressions,
    },
    Family {
        name: "allocation bombs",
        count: 150,
        ends: &["memory", "time", "error"],
        code: bombs,
    },
    Family {
        name: "long strings",
        count: 90,
        ends: &["memory", "output", "error", "time"],
        code: strings,
    },
    Family {
        name: "output floods",
        count: 120,
        ends: &["output", "time"],
        code: floods,
    },
    Family {
        name: "deep recursion",
        count: 140,
        ends: &["error", "value", "memory", "time"],
        code: recursion,
    },
    Family {
        name: "prototype pollution",
        count: 140,
        ends: &["value", "error"],
        code: pollution,
    },
    Family {
        name: "files, network, processes",
        count: 140,
        ends: &["error", "value"],
        code: attempts,
    },
    Family {
        name: "odd values and errors",
        count: 60,
        ends: &["error", "value", "memory"],
        code: oddities,
    },
    Family {
        name: "catching the end",
        count: 18,
        ends: &["time", "memory", "output"],
        code: catchers,
    },
];

fn loops(n: usize) -> String {
    pick(
        n,
        &[
            "for (;;) {}",
            "while (true) { Math.sqrt(§) }",
            "let i = §; do { i++ } while (i); ",
            "(function f() { for (;;) { f.x = § } })()",
            "const g = (function* () { for (;;) yield § })(); for (const x of g) {}",
            "await (async () => { for (;;) await § })()",
            "const f = () => Promise.resolve(§).then(f); f()",
            "label: for (;;) { for (;;) continue label }",
            "[3, 1, 2].sort(() => { for (;;) {} })",
            "JSON.stringify({ toJSON() { for (;;) {} } })",
            "new Proxy({}, { get() { for (;;) {} } }).x",
            "`${{ toString() { for (;;) {} } }}`",
            "class A { static { for (;;) {} } }",
            "({ get then() { for (;;) {} } }).then",
            "({ toJSON() { for (;;) {} } })",
        ],
    )
}

fn native_loops(n: usize) -> String {
    pick(
        n,
        &[
            "new Array(4294967295).indexOf(§)",
            "Array.prototype.lastIndexOf.call({ length: 2 ** 52 }, §)",
            "Array.prototype.includes.call({ length: 2 ** 52 }, §)",
            "Array.prototype.reverse.call({ length: 2 ** 52 })",
        ],
    )
}

fn expressions(n: usize) -> String {
    pick(
        n,
        &[
            "/^(a+)+$/.test('a'.repeat(40 + §) + '!')",
            "/^(a|aa)+$/.test('a'.repeat(60 + §) + '!')",
            "/(x+x+)+y/.exec('x'.repeat(40 + §))",
            "'a'.repeat(50 + §).replace(/(a*)*b/g, '')",
            "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(50 + §))",
        ],
    )
}

fn bombs(n: usize) -> String {
    pick(
        n,
        &[
            "const a = []; for (;;) a.push(new Array(1000).fill(§))",
            "const a = []; for (;;) a.push('x'.repeat(10000) + a.length)",
            "new Array(1e7 + §).fill(1)",
            "new Uint8Array(1e8 + §)",
            "new ArrayBuffer(2 ** 30 + §)",
            "const m = new Map(); for (let i = §; ; i++) m.set(i, { i })",
            "let o = {}; for (;;) o = { o, a: [1, 2, 3, 4, 5, 6, 7, §] }",
            "Array.from({ length: 1e7 }, (_, i) => ({ i }))",
            "let a = [§]; for (;;) a = a.concat(a)",
            "const s = new Set(); for (let i = 0; ; i++) s.add('k' + i + '§')",
            "const f = []; for (;;) f.push(() => f)",
            "Array.from('x'.repeat(4e6)).map(c => [c, c, c])",
        ],
    )
}

fn strings(n: usize) -> String {
    pick(
        n,
        &[
            "'x'.repeat(1e8 + §)",
            "let s = '§'; for (let i = 0; i < 27; i++) s += s; s",
            "'x'.padStart(1e8 + §)",
            "[...Array(1000)].map(() => 'y'.repeat(1e5)).join('§')",
            "let s = 'é'.repeat(1e6); s.normalize('NFD').replaceAll('e', s)",
            "encodeURIComponent('\\u{10ffff}'.repeat(5e6))",
            "'x'.repeat(2 ** 30 + §)",
            "JSON.stringify('\\u0001'.repeat(1e7))",
            "'abc'.replace(/b/, '$`$&'.repeat(1e7))",
        ],
    )
}

fn floods(n: usize) -> String {
    pick(
        n,
        &[
            "for (;;) print(§)",
            "for (;;) console.log('x'.repeat(1000), §)",
            "for (;;) { try { print('flood') } catch {} }",
            "print('x'.repeat(1e6 + §))",
            "print([...Array(100000)].map((_, i) => i))",
            "'x'.repeat(20000 + §)",
            "[...Array(20000).keys()]",
            "const e = new Error('x'.repeat(1e5)); for (;;) console.error(e)",
            "Promise.resolve().then(() => { for (;;) print('later') }); §",
        ],
    )
}

fn recursion(n: usize) -> String {
    pick(
        n,
        &[
            "(function f() { return f() + § })()",
            "const f = (a) => [f(a)]; f(§)",
            "'['.repeat(1e4 + §) + ']'",
            "JSON.parse('['.repeat(1e5 + §) + ']'.repeat(1e5 + §))",
            "eval('('.repeat(1e4 + §) + ')'.repeat(1e4 + §))",
            "eval('['.repeat(1e5) + '§')",
            "let o = 1; for (let i = 0; i < 1e4 + §; i++) o = [o]; o",
            "let o = 1; for (let i = 0; i < 100 + §; i++) o = { o }; o",
            "const a = []; a[0] = a; a",
            "const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x",
            "({ toString() { return '' + this } }) + §",
            "new RegExp('('.repeat(1e4 + §) + ')'.repeat(1e4 + §))",
            "class A { constructor() { new A() } }; new A()",
            "let f = () => §; for (let i = 0; i < 1e4; i++) f = f.bind(null); f()",
            "let s = ''; for (let i = 0; i < 1e4; i++) s = s + 'x' + s.length; s.length",
        ],
    )
}

fn pollution(n: usize) -> String {
    pick(
        n,
        &[
            "Object.prototype.polluted = §; ({}).polluted",
            "Array.prototype.map = () => '§'; [1].map(x => x)",
            "JSON.parse('{\"__proto__\": {\"admin\": §}}'); ({}).admin",
            "JSON.stringify = () => '§'; ({ a: 1 })",
            "Promise.prototype.then = null; §",
            "Object.defineProperty(Object.prototype, 'value', { get() { return '§' }, set() {} }); 1",
            "Object.freeze(Object.prototype); Object.freeze(globalThis); §",
            "globalThis.input = §; delete globalThis.print; input",
            "Object.setPrototypeOf(globalThis, null); §",
            "String.prototype.toString = Number.prototype.toString = () => { throw § }; 'x'",
            "for (const k of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[k] } catch {} } 1",
            "Object.defineProperty(globalThis, 'console', { get() { throw new Error('§') } }); 1",
            "Error.prepareStackTrace = () => { throw § }; Error.stackTraceLimit = 1e9; throw new Error('x')",
            "BigInt.prototype.toJSON = () => { throw § }; 1n",
        ],
    )
}

fn attempts(n: usize) -> String {
    let at = [
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/1/environ",
        "SECRET_FILE",
    ][n % 4];
    let code = pick(
        n / 4,
        &[
            "require('fs').readFileSync('AT', 'utf8')",
            "(await import('AT')).default",
            "(await import('fs')).readFileSync('AT', 'utf8')",
            "(await import('file://AT')).default",
            "await (await fetch('file://AT')).text()",
            "await (await fetch('http://127.0.0.1:80/')).text()",
            "new WebSocket('ws://127.0.0.1/')",
            "new XMLHttpRequest().open('GET', 'http://127.0.0.1/')",
            "process.env",
            "process.binding('spawn_sync')",
            "Function('return this')().process.mainModule.require('child_process').execSync('cat AT').toString()",
            "std.loadFile('AT')",
            "std.getenv('HOME') + os.exec(['cat', 'AT'])",
            "(await import('std')).loadFile('AT') + (await import('os')).readdir('/')",
            "Deno.readTextFileSync('AT')",
            "(await Bun.file('AT').text())",
            "new Worker('AT')",
            "new SharedArrayBuffer(8); Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 1e9)",
            "eval(`import('AT')`)",
            "(0, eval)('this').constructor.constructor('return process')().env",
            "importScripts('AT')",
            "load('AT')",
            "read('AT')",
            "os.exec(['cat', 'AT'])",
            "std.popen('cat AT', 'r').readAsString()",
            "performance.now()",
            "navigator.sendBeacon('http://127.0.0.1/', '§')",
            "new Function('import(\"AT\")')()",
            "Object.getOwnPropertyNames(globalThis)",
            "Reflect.ownKeys(console).map(k => console[k].constructor('return this')()).length",
            "import.meta.url",
            "(async function* () { yield* import('AT') })().next()",
            "Error('§').stack",
            "new Date().toString() + new Date(§, 0).getTimezoneOffset() + new Date().toLocaleString()",
            "new Intl.DateTimeFormat().format()",
        ],
    );
    code.replace("AT", at)
        .replace("SECRET_FILE", &secret_file())
}

fn oddities(n: usize) -> String {
    pick(
        n,
        &[
            "'\\ud800'",
            "print('\\udc00 §'); ['\\ud83d', '\\ude00', '\\ud83d\\ude00', '\\\\ud800']",
            "2n ** 200n",
            "Symbol('§')",
            "throw Symbol('§')",
            "throw null",
            "throw { toString() { throw § } }",
            "throw new Proxy({}, { get() { throw § } })",
            "new Proxy(function () {}, {})",
            "print(new Proxy([], { get() { throw § } }))",
            "await new Promise(() => {})",
            "await Promise.reject(§)",
            "Promise.reject(§)",
            "undefined",
            "NaN",
            "[,,§]",
            "new Date(NaN)",
            "'use strict'; x = §",
            "return await Promise.resolve(§)",
            "}); (() => {",
            "#!",
            "\\0",
            "-->",
            "throw new (class extends Error { get message() { throw § } get name() { throw § } get stack() { throw § } })",
            "throw Object.assign(new Error('x'), { stack: 'code:99999999999999999999:1' })",
        ],
    )
}

fn catchers(n: usize) -> String {
    pick(
        n,
        &[
            "for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } }",
            "for (;;) { try { await (async () => { for (;;) {} })() } catch {} }",
            "const a = []; for (;;) { try { for (;;) a.push('x'.repeat(1e5) + a.length) } catch {} }",
            "for (;;) { try { (function f() { f() })() } catch {} }",
            "const f = () => { try { print('x'.repeat(1e4)) } finally { f() } }; for (;;) { try { f() } catch {} }",
            "const f = async () => { try { for (;;) {} } catch {} finally { await f() } }; await f()",
        ],
    )
}

fn secret_file() -> String {
    std::env::temp_dir()
        .join(format!("thinkd-secret-{}", std::process::id()))
        .display()
        .to_string()
}

/// Returns the end of a run as one word, and all its output.
fn ended(answer: Result<Answer, Error>) -> (&'static str, String) {
    match answer {
        Ok(Answer {
            outcome: Ok(value),
            printed,
        }) => ("value", format!("{value} {printed}")),
        Ok(Answer {
            outcome: Err(thrown),
            printed,
        }) => ("error", format!("{thrown:?} {printed}")),
        Err(Error::Stopped {
            reason,
            detail,
            printed,
        }) => (reason.as_str(), format!("{detail} {printed}")),
        Err(Error::Unavailable(error)) => ("unavailable", error),
    }
}

/// Runs all snippets, as many at a time as there are workers. Returns the faults, and the number of
/// runs by family and end.
async fn suite(limits: Limits) -> (Vec<String>, BTreeMap<(&'static str, &'static str), usize>) {
    std::fs::write(secret_file(), SECRET).unwrap();
    let pool = pool(limits);
    let snippets: Vec<(&Family, String)> = FAMILIES
        .iter()
        .flat_map(|family| (0..family.count).map(move |n| (family, (family.code)(n))))
        .collect();
    let one_after_the_other = (0..WORKERS).map(async |first| {
        let mut runs = Vec::new();
        for (family, code) in snippets.iter().skip(first).step_by(WORKERS) {
            let begin = Instant::now();
            let run = pool.run("hostile", request(code, json!(null)));
            let end = tokio::time::timeout(WITHIN, run)
                .await
                .map_or(("never", String::new()), ended);
            runs.push((family, code, end, begin.elapsed()));
        }
        runs
    });
    let mut wrong = Vec::new();
    let mut counts = BTreeMap::new();
    for (family, code, (end, said), took) in
        join_all(one_after_the_other).await.into_iter().flatten()
    {
        *counts.entry((family.name, end)).or_insert(0) += 1;
        if !family.ends.contains(&end)
            || said.contains(SECRET)
            || said.contains("root:")
            || took >= WITHIN
        {
            wrong.push(format!(
                "{}: {code}\n  ended by {end} after {took:?}: {:.200}",
                family.name, said
            ));
        }
    }
    for family in &FAMILIES {
        let ended = counts
            .get(&(family.name, family.ends[0]))
            .copied()
            .unwrap_or_default();
        if 3 * ended < family.count {
            wrong.push(format!(
                "only {ended} of {} {} ended by {}",
                family.count, family.name, family.ends[0]
            ));
        }
    }
    // The pool is well: each gets its own.
    let after = (0..20).map(|n| {
        let request = request("[1, 2].map(x => x * input)", json!(n));
        async { ended(pool.run("after", request).await) }
    });
    let after = join_all(after).await.into_iter().enumerate();
    let broken = after.filter(|(n, (_, said))| *said != format!("[{n},{}] ", 2 * n));
    wrong.extend(broken.map(|(n, end)| format!("afterwards {n} came to {end:?}")));
    (wrong, counts)
}

#[tokio::test]
async fn a_thousand_hostile_snippets_end_within_their_limits_and_reach_nothing() {
    let count: usize = FAMILIES.iter().map(|family| family.count).sum();
    assert_eq!(count, 1000);
    let begin = Instant::now();
    let (wrong, counts) = suite(LIMITS).await;
    println!("{count} snippets in {:?}: {counts:#?}", begin.elapsed());
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

// The control: with any one limit switched off, the same check fails for what that limit is about.
#[tokio::test]
async fn a_worker_without_one_of_its_limits_fails_the_suite() {
    let off = [
        (
            "endless loops",
            Limits {
                time: Duration::from_secs(3600),
                ..LIMITS
            },
        ),
        (
            "allocation bombs",
            Limits {
                memory_bytes: 1 << 40,
                ..LIMITS
            },
        ),
        (
            "output floods",
            Limits {
                output_bytes: 1 << 40,
                ..LIMITS
            },
        ),
    ];
    for (name, limits) in off {
        let family = FAMILIES.iter().find(|family| family.name == name).unwrap();
        let pool = pool(limits);
        let code = (family.code)(0);
        let run = pool.run("hostile", request(&code, json!(null)));
        let end = tokio::time::timeout(ms(2000), run)
            .await
            .map_or(("never", String::new()), ended);
        assert!(
            end.0 != family.ends[0],
            "{name} ended by {end:?} all the same"
        );
    }
}

// A hundred calls at once on two workers: each gets its own answer, and a tenant never the worker of another.
#[tokio::test]
async fn many_calls_at_once_share_two_workers_and_no_tenant_gets_anothers_worker() {
    let pool = pool(LIMITS);
    let calls = (0..100).map(async |n| {
        let answer = pool
            .run(
                if n % 2 == 0 { "even" } else { "odd" },
                request("input * 2", json!(n)),
            )
            .await;
        assert_eq!(ended(answer).1, format!("{} ", 2 * n));
    });
    join_all(calls).await;
    assert!(pool.idle() <= WORKERS, "{} workers wait", pool.idle());
    pool.run("third", request("1", json!(null))).await.unwrap();
    assert!(pool.idle() <= WORKERS, "{} workers wait", pool.idle());
}

// What a worker copies beside the engine comes from the program's own allocator, which asks the kernel in its own ways.
#[tokio::test]
async fn a_worker_hands_on_values_that_are_larger_than_what_it_has_mapped() {
    let pool = pool(Limits {
        time: ms(10_000),
        memory_bytes: 256 << 20,
        output_bytes: 64 << 20,
        background: false,
    });
    for size in [1_000, 20_000_000] {
        let (end, said) = ended(
            pool.run("large", request("'x'.repeat(input)", json!(size)))
                .await,
        );
        assert_eq!((end, said.len()), ("value", size + 3), "{said:.200}");
    }
}

// Nobody pays for workers that nobody wants, and the next call starts one.
#[tokio::test]
async fn workers_that_wait_for_long_end() {
    let pool = Pool::new(Options {
        idle: ms(100),
        ..Options {
            program: PathBuf::from(kit::program()),
            ..code::Options::default().pool()
        }
    });
    for _ in 0..2 {
        assert_eq!(
            pool.run("t", request("1", json!(null)))
                .await
                .unwrap()
                .outcome,
            Ok(json!(1))
        );
        assert_eq!(pool.idle(), 1, "the control");
        kit::polled("the end of the idle worker", async || pool.idle() == 0).await;
    }
}
