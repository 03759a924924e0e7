// One tier's index: a disposable SQLite file. If it is damaged, has another schema or is not Kiwi's, it is deleted and
// made again. It is only trusted to say where an item may be: the item itself is always read from its file.
import { Effect, Schedule, Scope } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import { mkdirSync, rmSync } from "node:fs"
import { dirname } from "node:path"
import type { ItemType } from "../../services/item/ItemId.ts"
import { type Column, columns, type SearchDocument, squash } from "../../services/search/searchText.ts"
import { createPrivate } from "../files/createPrivate.ts"
import * as SqliteNode from "../sqlite/SqliteNode.ts"

/** "kiwi"; and the schema below together with how `searchText` cuts words: raise it with either. */
const applicationId = 0x6b697769
const schemaVersion = 2

const schema = [
  `CREATE TABLE items (
    rowid INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    category TEXT NOT NULL,
    path TEXT NOT NULL,
    squashed TEXT NOT NULL,
    identity TEXT NOT NULL,
    digest TEXT NOT NULL
  ) STRICT`,
  "CREATE INDEX items_id ON items (id)",
  "CREATE INDEX items_squashed ON items (squashed)",
  "CREATE TABLE tags (tag TEXT NOT NULL, item INTEGER NOT NULL, PRIMARY KEY (tag, item)) STRICT, WITHOUT ROWID",
  "CREATE INDEX tags_item ON tags (item)",
  // No content is kept, and words were cut and folded before: every byte above 127 is part of one.
  `CREATE VIRTUAL TABLE words USING fts5(${
    columns.join(", ")
  }, content='', contentless_delete=1, tokenize='porter ascii')`,
  "CREATE VIRTUAL TABLE grams USING fts5(id, content='', contentless_delete=1, tokenize='trigram', detail='none')",
  `PRAGMA application_id = ${applicationId}`,
  `PRAGMA user_version = ${schemaVersion}`
]

/** The expression that ranks rows of `words`: the lower, the better; 0 where only columns of weight 0 match. */
export const bm25 = (weights: Readonly<Record<Column, number>>): string =>
  `bm25(words, ${columns.map((column) => weights[column]).join(", ")})`

export interface IndexedItem {
  readonly type: ItemType
  readonly id: string
  readonly category: string
  readonly path: string
  /** Compared at the next refresh: if it differs, the file has changed. "": the file is read again. */
  readonly identity: string
  readonly digest: string
  readonly tags: ReadonlyArray<string>
  readonly document: SearchDocument
}

export interface SearchDatabase {
  /** Snapshot reads: never waits for a writer. */
  readonly rows: (
    sql: string,
    params?: ReadonlyArray<unknown>
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, SqlError>
  /** Changes whenever another process, or this one, has written to the file. */
  readonly version: Effect.Effect<number, SqlError>
  /** Writes all that `effect` writes, or nothing. One at a time: the writer holds the tier's lock. */
  readonly transaction: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError>
  readonly remove: (row: number) => Effect.Effect<void, SqlError>
  /** Returns its row id. */
  readonly add: (item: IndexedItem) => Effect.Effect<number, SqlError>
  readonly touch: (row: number, identity: string) => Effect.Effect<void, SqlError>
  /** Does a part of the merging that makes an index fast after many changes; false if nothing is left to merge. */
  readonly merge: Effect.Effect<boolean, SqlError>
}

/** A writer of another process is done within milliseconds, or holds the file for as long as it takes to recover it. */
const patiently = <A, R>(effect: Effect.Effect<A, SqlError, R>) =>
  Effect.retry(effect, {
    while: (error) => error.reason._tag === "LockTimeoutError",
    schedule: Schedule.spaced("5 millis").pipe(Schedule.jittered, Schedule.upTo({ duration: "5 seconds" }))
  })

/** Whether an error says that the file is not one that this module wrote, or was damaged since. */
export const isDamage = (error: SqlError): boolean => {
  const code = SqliteNode.primaryCode(error)
  // Error (a table or column that is not there), corrupt, schema, mismatch, not a database.
  return code === 1 || code === 11 || code === 17 || code === 20 || code === 26
}

const connect = Effect.fnUntraced(function*(filename: string) {
  const client = yield* SqliteNode.make({ filename, busyTimeout: 0 }).pipe(
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make)
  )
  return yield* client.reserve
})

const run = (connection: Connection, sql: string, params: ReadonlyArray<unknown> = []) =>
  connection.executeValues(sql, params)

const number = (rows: ReadonlyArray<ReadonlyArray<unknown>>): number => Number(rows[0]?.[0] ?? 0)

/** Runs an effect in a transaction. The connection must not be shared. */
const atomically = <A, E>(connection: Connection, effect: Effect.Effect<A, E>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.andThen(restore(patiently(run(connection, "BEGIN IMMEDIATE"))), restore(effect)).pipe(
      Effect.tap(() => run(connection, "COMMIT")),
      Effect.onError(() => Effect.ignore(run(connection, "ROLLBACK")))
    )
  )

/** If this fails, SQLite will say why it cannot open the file. */
const prepareFile = (filename: string) =>
  Effect.ignore(Effect.try(() => {
    mkdirSync(dirname(filename), { recursive: true, mode: 0o700 })
    createPrivate(filename)
  }))

/** Deletes a tier's file. Another process that has it open keeps its own until it ends. */
export const discard = (filename: string) =>
  Effect.ignore(Effect.try(() => {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(filename + suffix, { force: true })
  }))

/** Creates the schema in an empty file; `false` when the file holds something else. */
const ensureSchema = Effect.fnUntraced(function*(reader: Connection, writing: Effect.Effect<Connection, SqlError>) {
  const stateOf = Effect.fnUntraced(function*(connection: Connection) {
    const application = number(yield* run(connection, "PRAGMA application_id"))
    const version = number(yield* run(connection, "PRAGMA user_version"))
    if (application === applicationId && version === schemaVersion) return "ready"
    return application === 0 && number(yield* run(connection, "SELECT count(*) FROM sqlite_schema")) === 0
      ? "empty"
      : "foreign"
  })
  const seen = yield* patiently(stateOf(reader))
  if (seen !== "empty") return seen === "ready"
  const writer = yield* writing
  return yield* atomically(
    writer,
    Effect.gen(function*() {
      const again = yield* stateOf(writer)
      if (again === "empty") yield* Effect.forEach(schema, (sql) => run(writer, sql), { discard: true })
      return again !== "foreign"
    })
  )
})

const ftsColumns = columns.join(", ")
const ftsValues = columns.map(() => "?").join(", ")

/** `version`: a statement whose answer changes whenever anybody wrote to the database. */
const makeDatabase = (
  reader: Connection,
  writing: Effect.Effect<Connection, SqlError>,
  version: string
): SearchDatabase => {
  const write = (sql: string, params: ReadonlyArray<unknown>) =>
    Effect.flatMap(writing, (writer) => run(writer, sql, params))
  const remove = Effect.fnUntraced(function*(row: number) {
    yield* write("DELETE FROM words WHERE rowid = ?", [row])
    yield* write("DELETE FROM grams WHERE rowid = ?", [row])
    yield* write("DELETE FROM tags WHERE item = ?", [row])
    yield* write("DELETE FROM items WHERE rowid = ?", [row])
  })
  const add = Effect.fnUntraced(function*(item: IndexedItem) {
    // Not by RETURNING, which takes a savepoint, and for that FTS5 writes a segment of the one item before.
    yield* write(
      "INSERT INTO items (type, id, category, path, squashed, identity, digest) VALUES (?, ?, ?, ?, ?, ?, ?)",
      [item.type, item.id, item.category, item.path, squash(item.id), item.identity, item.digest]
    )
    const row = number(yield* write("SELECT last_insert_rowid()", []))
    yield* write(`INSERT INTO words (rowid, ${ftsColumns}) VALUES (?, ${ftsValues})`, [
      row,
      ...columns.map((column) => item.document[column].join(" "))
    ])
    yield* write("INSERT INTO grams (rowid, id) VALUES (?, ?)", [row, item.id])
    for (const tag of item.tags) yield* write("INSERT OR IGNORE INTO tags (tag, item) VALUES (?, ?)", [tag, row])
    return row
  })
  return {
    rows: (sql, params = []) => patiently(run(reader, sql, params)),
    version: Effect.map(run(reader, version), number),
    transaction: (effect) => Effect.flatMap(writing, (writer) => atomically(writer, effect)),
    remove,
    add,
    touch: (row, identity) => Effect.asVoid(write("UPDATE items SET identity = ? WHERE rowid = ?", [identity, row])),
    merge: Effect.gen(function*() {
      const before = number(yield* write("SELECT total_changes()", []))
      yield* patiently(write("INSERT INTO words (words, rank) VALUES ('merge', 64)", []))
      // The command itself is one change; fewer than two mean that there was nothing left to merge.
      return number(yield* write("SELECT total_changes()", [])) - before >= 2
    })
  }
}

/** Opens or creates a tier's index; `undefined` if the file is not Kiwi's or is damaged: `discard` it. */
export const open = Effect.fnUntraced(function*(filename: string) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  return yield* Effect.gen(function*() {
    yield* prepareFile(filename)
    const reader = yield* patiently(connect(filename))
    // Opened at the first write: most starts have nothing to write. Only one fiber at a time writes to a tier.
    let writer: Connection | undefined
    const writing = Effect.suspend(() =>
      writer !== undefined
        ? Effect.succeed(writer)
        : patiently(connect(filename)).pipe(
          // A build inserts in random order: changed pages should stay in memory until all are written.
          Effect.tap((opened) =>
            Effect.forEach(["PRAGMA cache_size = -16000", "PRAGMA wal_autocheckpoint = 4000"], (sql) =>
              run(opened, sql), { discard: true })
          ),
          Effect.tap((opened) =>
            Effect.sync(() => {
              writer = opened
            })
          ),
          Effect.provideService(Scope.Scope, scope),
          Effect.uninterruptible
        )
    )
    if (!(yield* ensureSchema(reader, writing))) return undefined
    return { database: makeDatabase(reader, writing, "PRAGMA data_version"), scope }
  }).pipe(
    Effect.provideService(Scope.Scope, scope),
    Effect.catchIf(isDamage, () => Effect.undefined),
    Effect.onExit((exit) =>
      exit._tag === "Success" && exit.value !== undefined ? Effect.void : Scope.close(scope, exit)
    )
  )
})

/** An index in memory, which is closed with its scope. */
export const openMemory = Effect.gen(function*() {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const connection = yield* Effect.provideService(connect(":memory:"), Scope.Scope, scope)
  yield* Effect.forEach(schema, (sql) => run(connection, sql), { discard: true })
  return { database: makeDatabase(connection, Effect.succeed(connection), "SELECT total_changes()"), scope }
})
