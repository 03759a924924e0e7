// An `effect/sql` client on `node:sqlite`, and the only file that imports it. Names and options are those of
// `@effect/sql-sqlite-node`, so that one import replaces this file once that package supports Effect 4.1. `node:sqlite`
// is synchronous: one connection behind one permit, and no long-running statements.
import { Context, Duration, Effect, Layer, Semaphore, Stream } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { classifySqliteError, SqlError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"

export const TypeId: TypeId = "~kiwi/layers/sqlite/SqliteNode"
export type TypeId = "~kiwi/layers/sqlite/SqliteNode"

export interface SqliteClient extends SqlClient.SqlClient {
  readonly [TypeId]: TypeId
  readonly config: SqliteClientConfig
  readonly loadExtension: (path: string) => Effect.Effect<void, SqlError>
  /** SQLite has no such statement. */
  readonly updateValues: never
}

export const SqliteClient = Context.Service<SqliteClient>("kiwi/layers/sqlite/SqliteNode/SqliteClient")

export interface SqliteClientConfig {
  /** A path, or `:memory:`. */
  readonly filename: string
  /** Number of prepared statements kept, least recently used evicted first. Default: 256. */
  readonly prepareCacheSize?: number | undefined
  /** Keeps the journal mode of a file as it is. */
  readonly disableWAL?: boolean | undefined
  /**
   * How long a statement waits for another process. Default: 5 s. SQLite's wait blocks every fiber: if waiting is
   * likely, use 0 and retry `LockTimeoutError` by a schedule.
   */
  readonly busyTimeout?: Duration.Input | undefined
}

interface SqliteConnection extends Connection {
  readonly isTransaction: () => boolean
  readonly loadExtension: (path: string) => Effect.Effect<void, SqlError>
}

// SQLITE_CONSTRAINT_PRIMARYKEY and _ROWID, which mean the same to a caller as SQLITE_CONSTRAINT_UNIQUE.
const uniqueViolations: ReadonlySet<number> = new Set([1555, 2579])

/** SQLite's extended result code, if `cause` is an error of `node:sqlite`. */
const resultCode = (cause: unknown): number | undefined =>
  cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number" ? cause.errcode : undefined

const sqlError = (operation: string) => (cause: unknown) => {
  const code = resultCode(cause)
  const reason = code === undefined
    ? cause
    : { cause, errno: uniqueViolations.has(code) ? 2067 : code, message: (cause as Error).message }
  return new SqlError({
    reason: classifySqliteError(reason, {
      operation,
      message: cause instanceof Error ? `Failed to ${operation}: ${cause.message}` : `Failed to ${operation}`
    })
  })
}

/** The result code below a `SqlError`, such as 26 (not a database) or 13 (disk full). Extended bits are dropped. */
export const primaryCode = (error: SqlError): number | undefined => {
  const cause = error.reason.cause
  const errno = typeof cause === "object" && cause !== null && "errno" in cause ? cause.errno : undefined
  return typeof errno === "number" ? errno & 0xff : undefined
}

const bind = (value: unknown): SQLInputValue => {
  switch (typeof value) {
    case "boolean":
      return value ? 1 : 0
    case "undefined":
      return null
    default:
      // Any other type that SQLite cannot store is refused by node:sqlite with ERR_INVALID_ARG_TYPE.
      return value instanceof Date ? value.toISOString() : value as SQLInputValue
  }
}

const bindAll = (params: ReadonlyArray<unknown>): Array<SQLInputValue> => params.map(bind)

const returnsRows = (statement: StatementSync): boolean => statement.columns().length > 0

interface Prepared {
  readonly statement: StatementSync
  readonly rows: boolean
}

type Transform = (<A extends object>(row: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined

const transformed = <E>(effect: Effect.Effect<ReadonlyArray<Record<string, unknown>>, E>, transform: Transform) =>
  transform === undefined ? effect : Effect.map(effect, transform)

const makeConnection = (db: DatabaseSync, capacity: number): SqliteConnection => {
  const prepared = new BoundedMap<string, Prepared>(capacity)
  const prepare = (sql: string): Prepared => {
    const statement = db.prepare(sql)
    return { statement, rows: returnsRows(statement) }
  }
  const cached = (sql: string): Prepared => {
    const known = prepared.get(sql)
    if (known !== undefined) return known
    const entry = prepare(sql)
    prepared.set(sql, entry)
    return entry
  }

  const run = <A>(sql: string, use: (safeIntegers: boolean) => A): Effect.Effect<A, SqlError> =>
    Effect.withFiber((fiber) =>
      Effect.try({
        try: () => use(Context.get(fiber.context, SqlClient.SafeIntegers)),
        catch: sqlError(`run ${sql.slice(0, 60)}`)
      })
    )

  const objects = (entry: Prepared, params: ReadonlyArray<unknown>, safeIntegers: boolean) => {
    entry.statement.setReadBigInts(safeIntegers)
    if (entry.rows) return entry.statement.all(...bindAll(params))
    entry.statement.run(...bindAll(params))
    return []
  }
  const arrays = (entry: Prepared, params: ReadonlyArray<unknown>, safeIntegers: boolean) => {
    entry.statement.setReturnArrays(true)
    try {
      // @types/node types rows as objects, whatever the option.
      return objects(entry, params, safeIntegers) as unknown as ReadonlyArray<ReadonlyArray<unknown>>
    } finally {
      entry.statement.setReturnArrays(false)
    }
  }
  return {
    execute: (sql, params, transform) =>
      transformed(run(sql, (safeIntegers) => objects(cached(sql), params, safeIntegers)), transform),
    executeUnprepared: (sql, params, transform) =>
      transformed(run(sql, (safeIntegers) => objects(prepare(sql), params, safeIntegers)), transform),
    executeRaw: (sql, params) =>
      run(sql, (safeIntegers) => {
        const entry = cached(sql)
        if (entry.rows) return objects(entry, params, safeIntegers)
        entry.statement.setReadBigInts(safeIntegers)
        return entry.statement.run(...bindAll(params))
      }),
    executeValues: (sql, params) => run(sql, (safeIntegers) => arrays(cached(sql), params, safeIntegers)),
    executeValuesUnprepared: (sql, params) => run(sql, (safeIntegers) => arrays(prepare(sql), params, safeIntegers)),
    executeStream: (sql, params, transform) =>
      Stream.fromIterableEffect(
        transformed(run(sql, (safeIntegers) => objects(prepare(sql), params, safeIntegers)), transform)
      ),
    isTransaction: () => db.isTransaction,
    loadExtension: (path) =>
      Effect.try({
        try: () => {
          db.enableLoadExtension(true)
          try {
            db.loadExtension(path)
          } finally {
            db.enableLoadExtension(false)
          }
        },
        catch: sqlError("load an extension")
      })
  }
}

const open = Effect.fnUntraced(function*(options: SqliteClientConfig) {
  const busyTimeout = Duration.toMillis(Duration.fromInputUnsafe(options.busyTimeout ?? Duration.seconds(5)))
  const database = Effect.try({
    try: () => {
      const db = new DatabaseSync(options.filename, {
        timeout: busyTimeout,
        allowExtension: true,
        defensive: true
      })
      try {
        db.enableLoadExtension(false)
        if (options.disableWAL !== true) {
          db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        }
      } catch (cause) {
        db.close()
        throw cause
      }
      return db
    },
    catch: sqlError("open the database")
  })
  return yield* Effect.acquireRelease(database, (db) => Effect.sync(() => db.close()))
})

/** One connection, closed with the scope. */
export const make = Effect.fnUntraced(function*(options: SqliteClientConfig) {
  const db = yield* open(options)
  const connection = makeConnection(db, options.prepareCacheSize ?? 256)
  const semaphore = yield* Semaphore.make(1)
  const acquirers = SqlClient.makeSqliteAcquirers({
    connection: Effect.succeed(connection),
    semaphore,
    isTransaction: (c) => c.isTransaction()
  })
  const client = yield* SqlClient.make({
    ...acquirers,
    compiler: Statement.makeCompilerSqlite(),
    driver: "sqlite-node",
    // A deferred transaction that writes after a read fails if another process wrote in between.
    beginTransaction: "BEGIN IMMEDIATE",
    prepareTransactionControls: true,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "sqlite"]]
  })
  return Object.assign(client as SqliteClient, {
    [TypeId]: TypeId,
    config: options,
    loadExtension: (path: string) => Effect.scoped(Effect.flatMap(acquirers.acquirer, (c) => c.loadExtension(path)))
  })
})

const context = (options: SqliteClientConfig) =>
  Effect.map(
    make(options),
    (client) => Context.make(SqliteClient, client).pipe(Context.add(SqlClient.SqlClient, client))
  )

export const layer = (
  options: SqliteClientConfig
): Layer.Layer<SqliteClient | SqlClient.SqlClient, SqlError> =>
  Layer.effectContext(context(options)).pipe(Layer.provide(Reactivity.layer))
