import { assert, describe, it } from "@effect/vitest"
import { Array as Arr, Deferred, Effect, Fiber, Layer, Schema, Stream } from "effect"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Migrator from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as SqlSchema from "effect/sql/SqlSchema"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as SqliteNode from "../../../src/layers/sqlite/SqliteNode.ts"

const memory = SqliteNode.layer({ filename: ":memory:" })

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "kiwi-sqlite-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const withClient = <A, E, R>(config: SqliteNode.SqliteClientConfig, effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.provide(SqliteNode.layer(config)))

const numbered = (count: number) => Arr.makeBy(count, (id): Record<string, unknown> => ({ id }))

const setup = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT UNIQUE, value ANY)`
  return sql
})

describe("SqliteNode", () => {
  it.effect("binds and reads every kind of value", () =>
    Effect.gen(function*() {
      const sql = yield* setup
      yield* sql`INSERT INTO items ${
        sql.insert([
          { id: 1, name: "text", value: "ä" },
          { id: 2, name: "true", value: true },
          { id: 3, name: "false", value: false },
          { id: 4, name: "null", value: null },
          { id: 5, name: "bytes", value: new Uint8Array([1, 2]) },
          { id: 6, name: "date", value: new Date(0) },
          { id: 7, name: "real", value: 1.5 }
        ])
      }`
      const rows = yield* sql<{ value: unknown }>`SELECT value FROM items ORDER BY id`
      assert.deepStrictEqual(rows.map((row) => row.value), [
        "ä",
        1,
        0,
        null,
        new Uint8Array([1, 2]),
        "1970-01-01T00:00:00.000Z",
        1.5
      ])
    }).pipe(Effect.provide(memory)))

  it.effect("rows have no prototype, so that a column named like one of Object's is only a column", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`SELECT 1 AS "__proto__", 2 AS "constructor"`
      assert.isNull(Object.getPrototypeOf(rows[0]))
      assert.deepStrictEqual(Object.entries(rows[0]!), [["__proto__", 1], ["constructor", 2]])
    }).pipe(Effect.provide(memory)))

  it.effect("updates, returns, values and raw results", () =>
    Effect.gen(function*() {
      const sql = yield* setup
      const [inserted] = yield* sql`INSERT INTO items ${sql.insert({ name: "a" })} RETURNING *`
      assert.deepStrictEqual({ ...inserted }, { id: 1, name: "a", value: null })
      yield* sql`UPDATE items SET ${sql.update({ name: "b" })} WHERE id = 1`
      assert.deepStrictEqual(yield* sql`SELECT id, name FROM items`.values, [[1, "b"]])
      assert.deepStrictEqual({ ...(yield* sql`SELECT id, name FROM items`)[0] }, { id: 1, name: "b" })
      assert.deepStrictEqual(yield* sql`INSERT INTO items (name) VALUES ('c')`.raw, { changes: 1, lastInsertRowid: 2 })
      assert.deepStrictEqual(yield* sql`DELETE FROM items`, [])
    }).pipe(Effect.provide(memory)))

  it.effect("reads integers above 2^53 as bigints where SafeIntegers asks for it, and refuses to round them else", () =>
    Effect.gen(function*() {
      const sql = yield* setup
      const large = 9_007_199_254_740_993n
      yield* sql`INSERT INTO items (id, value) VALUES (1, ${large})`
      const query = sql<{ value: bigint }>`SELECT value FROM items`
      const rows = yield* query.pipe(Effect.provideService(SqlClient.SafeIntegers, true))
      assert.strictEqual(rows[0]!.value, large)
      assert.strictEqual((yield* Effect.flip(query))._tag, "SqlError")
    }).pipe(Effect.provide(memory)))

  describe("transactions", () => {
    it.effect("commit, roll back on failure, on a defect and on interruption", () =>
      Effect.gen(function*() {
        const sql = yield* setup
        const insert = (name: string) => sql`INSERT INTO items (name) VALUES (${name})`
        const committed: Array<string> = []
        yield* sql.withTransaction(Effect.gen(function*() {
          yield* insert("kept")
          yield* sql.afterCommit(Effect.sync(() => committed.push("kept")))
          assert.deepStrictEqual(committed, [])
        }))
        const failing = (end: Effect.Effect<never, string>) =>
          sql.withTransaction(Effect.gen(function*() {
            yield* insert("lost")
            yield* sql.afterCommit(Effect.sync(() => committed.push("lost")))
            return yield* end
          })).pipe(Effect.exit)
        yield* failing(Effect.fail("no"))
        yield* failing(Effect.die("no"))
        yield* failing(Effect.interrupt)
        assert.deepStrictEqual(yield* sql`SELECT name FROM items`.values, [["kept"]])
        assert.deepStrictEqual(committed, ["kept"])
      }).pipe(Effect.provide(memory)))

    it.effect("an interrupted waiter does not take the connection with it", () =>
      Effect.gen(function*() {
        const sql = yield* setup
        const inside = yield* Deferred.make<void>()
        const holder = yield* Effect.forkChild(sql.withTransaction(
          Effect.andThen(Deferred.succeed(inside, undefined), Effect.never)
        ))
        yield* Deferred.await(inside)
        const waiter = yield* Effect.forkChild(sql.withTransaction(sql`INSERT INTO items (name) VALUES ('x')`))
        yield* Effect.yieldNow
        yield* Fiber.interrupt(waiter)
        yield* Fiber.interrupt(holder)
        assert.deepStrictEqual(yield* sql`SELECT count(*) FROM items`.values, [[0]])
      }).pipe(Effect.provide(memory)))

    it.effect("nest: an inner failure undoes the inner part only", () =>
      Effect.gen(function*() {
        const sql = yield* setup
        yield* sql.withTransaction(Effect.gen(function*() {
          yield* sql`INSERT INTO items (name) VALUES ('outer')`
          yield* sql.withTransaction(Effect.andThen(
            sql`INSERT INTO items (name) VALUES ('inner')`,
            Effect.fail("undo")
          )).pipe(Effect.flip)
          yield* sql.withTransaction(sql`INSERT INTO items (name) VALUES ('second')`)
        }))
        assert.deepStrictEqual(yield* sql`SELECT name FROM items ORDER BY id`.values, [["outer"], ["second"]])
      }).pipe(Effect.provide(memory)))

    it.effect("fifty concurrent read-modify-writes lose nothing", () =>
      Effect.gen(function*() {
        const sql = yield* setup
        yield* sql`INSERT INTO items (id, value) VALUES (1, 0)`
        const increment = sql.withTransaction(Effect.gen(function*() {
          const [row] = yield* sql<{ value: number }>`SELECT value FROM items WHERE id = 1`
          yield* Effect.yieldNow
          yield* sql`UPDATE items SET value = ${row!.value + 1} WHERE id = 1`
        }))
        yield* Effect.all(Array.from({ length: 50 }, () => increment), { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* sql`SELECT value FROM items`.values, [[50]])
      }).pipe(Effect.provide(memory)))

    it.effect("a COMMIT that fails leaves a usable connection", () =>
      Effect.gen(function*() {
        const sql = yield* setup
        yield* sql`CREATE TABLE child (item INTEGER REFERENCES items(id) DEFERRABLE INITIALLY DEFERRED)`
        const error = yield* Effect.flip(sql.withTransaction(sql`INSERT INTO child VALUES (99)`))
        assert.strictEqual(error.reason._tag, "ConstraintError")
        yield* sql.withTransaction(sql`INSERT INTO items (name) VALUES ('after')`)
        assert.deepStrictEqual(yield* sql`SELECT count(*) FROM child`.values, [[0]])
      }).pipe(Effect.provide(memory)))
  })

  describe("streams", () => {
    it.effect("the same query twice inside one transaction, interleaved", () =>
      Effect.gen(function*() {
        const sql = yield* setup
        yield* sql`INSERT INTO items ${sql.insert(numbered(600))}`
        const ids = sql<{ id: number }>`SELECT id FROM items ORDER BY id`
        const pairs = yield* sql.withTransaction(
          Stream.runCollect(Stream.zip(ids.stream, Stream.mapEffect(ids.stream, (row) => Effect.as(ids, row))))
        )
        assert.strictEqual(pairs.length, 600)
        assert.isTrue(pairs.every(([a, b], i) => a.id === i && b.id === i))
      }).pipe(Effect.provide(memory)))

    it.effect("fail in the error channel when a row cannot be read", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const error = yield* Effect.flip(Stream.runDrain(sql`SELECT abs(-9223372036854775807 - 1)`.stream))
        assert.strictEqual(error._tag, "SqlError")
      }).pipe(Effect.provide(memory)))
  })

  describe("errors", () => {
    it.effect("say what they are", () =>
      Effect.gen(function*() {
        const sql = yield* setup
        yield* sql`INSERT INTO items (id, name) VALUES (1, 'a')`
        const reason = <A>(effect: Effect.Effect<A, SqlError>) =>
          Effect.map(Effect.flip(effect), (error) => error.reason)
        const unique = yield* reason(sql`INSERT INTO items (name) VALUES ('a')`)
        assert.isTrue(unique._tag === "UniqueViolation" && unique.constraint === "items.name")
        const primary = yield* reason(sql`INSERT INTO items (id) VALUES (1)`)
        assert.isTrue(primary._tag === "UniqueViolation" && primary.constraint === "items.id")
        assert.strictEqual((yield* reason(sql`SELEC 1`))._tag, "UnknownError")
        assert.strictEqual((yield* reason(sql`SELECT ${Symbol("x")}`))._tag, "UnknownError")
        yield* sql`CREATE TABLE strictly (a INTEGER NOT NULL CHECK (a > 0)) STRICT`
        assert.strictEqual((yield* reason(sql`INSERT INTO strictly VALUES (0)`))._tag, "ConstraintError")
      }).pipe(Effect.provide(memory)))

    it.effect("a file that cannot be opened, and one that is no database", () =>
      Effect.gen(function*() {
        const path = yield* folder
        const open = (filename: string) => Effect.flip(Effect.scoped(Layer.build(SqliteNode.layer({ filename }))))
        assert.strictEqual((yield* open(join(path, "none", "x.db"))).reason._tag, "ConnectionError")
        writeFileSync(join(path, "text.db"), "this is no database at all, it is only text ".repeat(100))
        assert.strictEqual(SqliteNode.primaryCode(yield* open(join(path, "text.db"))), 26)
      }))
  })

  describe("files", () => {
    it.effect("are in WAL mode, keep their rows and can be read by a second client", () =>
      Effect.gen(function*() {
        const filename = join(yield* folder, "a.db")
        yield* withClient(
          { filename },
          Effect.gen(function*() {
            const sql = yield* setup
            yield* sql`INSERT INTO items (name) VALUES ('kept')`
            assert.deepStrictEqual(yield* sql`PRAGMA journal_mode`.values, [["wal"]])
            assert.deepStrictEqual(yield* sql`PRAGMA foreign_keys`.values, [[1]])
            const read = Effect.flatMap(SqlClient.SqlClient, (other) => other`SELECT name FROM items`.values)
            assert.deepStrictEqual(yield* withClient({ filename }, read), [["kept"]])
          })
        )
        const rows = yield* withClient(
          { filename, disableWAL: true },
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT name FROM items`.values)
        )
        assert.deepStrictEqual(rows, [["kept"]])
      }))

    it.effect("a lock that another client holds is a LockTimeoutError, which can be retried", () =>
      Effect.gen(function*() {
        const filename = join(yield* folder, "a.db")
        yield* withClient(
          { filename },
          Effect.gen(function*() {
            const sql = yield* setup
            const write = Effect.flatMap(SqlClient.SqlClient, (other) => other`INSERT INTO items (name) VALUES ('b')`)
            const error = yield* sql.withTransaction(Effect.andThen(
              sql`INSERT INTO items (name) VALUES ('a')`,
              Effect.flip(withClient({ filename, busyTimeout: 0 }, write))
            ))
            assert.strictEqual(error._tag, "SqlError")
            assert.strictEqual(error.reason._tag, "LockTimeoutError")
            assert.isTrue(error.isRetryable)
            yield* withClient({ filename, busyTimeout: 0 }, write)
          })
        )
      }))

    it.effect("an extension that is not there is an error", () =>
      Effect.gen(function*() {
        const client = yield* SqliteNode.SqliteClient
        const missing = join(yield* folder, "none.so")
        assert.strictEqual((yield* Effect.flip(client.loadExtension(missing)))._tag, "SqlError")
      }).pipe(Effect.provide(memory)))
  })

  it.effect("keeps to its number of prepared statements", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (const n of [1, 2, 3, 1, 3, 2, 1]) {
        assert.deepStrictEqual(yield* sql.unsafe(`SELECT ${n}`).values, [[n]])
      }
      yield* sql`CREATE TABLE t (a)`
      assert.deepStrictEqual(yield* sql`SELECT * FROM t`, [])
      yield* sql`INSERT INTO t VALUES (1)`
      yield* sql`ALTER TABLE t ADD COLUMN b`
      assert.deepStrictEqual((yield* sql`SELECT * FROM t`).map((row) => Object.entries(row)), [[["a", 1], ["b", null]]])
    }).pipe(Effect.provide(SqliteNode.layer({ filename: ":memory:", prepareCacheSize: 2 }))))

  it.effect("carries migrations, SqlSchema and the key-value store", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const migrate = Migrator.make({})({
        loader: Migrator.fromRecord({ "0001_notes": sql`CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)` })
      })
      assert.deepStrictEqual(yield* migrate, [[1, "notes"]])
      assert.deepStrictEqual(yield* migrate, [])
      yield* sql`INSERT INTO notes ${sql.insert({ text: "a" })}`
      const find = SqlSchema.findAll({
        Request: Schema.Int,
        Result: Schema.Struct({ id: Schema.Int, text: Schema.String }),
        execute: (id) => sql`SELECT * FROM notes WHERE id = ${id}`
      })
      assert.deepStrictEqual(yield* find(1), [{ id: 1, text: "a" }])
      yield* Effect.gen(function*() {
        const store = yield* KeyValueStore.KeyValueStore
        yield* store.set("k", "v")
        assert.strictEqual(yield* store.get("k"), "v")
      }).pipe(Effect.provide(KeyValueStore.layerSql()))
    }).pipe(Effect.provide(memory)))

  it("opening a database says nothing on stdout or stderr", () => {
    const module = fileURLToPath(new URL("../../../src/layers/sqlite/SqliteNode.ts", import.meta.url))
    const program = `
      import { Effect, Layer } from "effect"
      import * as SqliteNode from ${JSON.stringify(module)}
      await Effect.runPromise(Effect.scoped(Layer.build(SqliteNode.layer({ filename: ":memory:" }))))`
    const output = execFileSync(
      "/bin/sh",
      ["-c", "exec \"$0\" --input-type=module -e \"$1\" 2>&1", process.execPath, program],
      {
        cwd: fileURLToPath(new URL("../../..", import.meta.url)),
        encoding: "utf8"
      }
    )
    assert.strictEqual(output, "")
  })
})
