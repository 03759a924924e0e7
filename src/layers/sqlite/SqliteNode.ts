// An `effect/sql` client on `node:sqlite`, and the only file that imports it. Names and options are those of
// `@effect/sql-sqlite-node`, so that this file becomes one import when that package has a release for Effect 4.1.
// `node:sqlite` is synchronous: one connection behind one permit, and no statement that runs for long.
import { Array as Arr, Cause, Config, Context, Duration, Effect, Layer, Semaphore, Stream } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { classifySqliteError, SqlError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import { backup as backupDatabase, DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

export const TypeId: TypeId = "~kiwi/layers/sqlite/SqliteNode"
export type TypeId = "~kiwi/layers/sqlite/SqliteNode"

export interface BackupMetadata {
  readonly totalPages: number
  readonly remainingPages: number
}

export interface SqliteClient extends SqlClient.SqlClient {
  readonly [TypeId]: TypeId
  readonly config: SqliteClientConfig
  /** The whole database as the bytes of a file. */
  readonly export: Effect.Effect<Uint8Array, SqlError>
  readonly backup: (destination: string) => Effect.Effect<BackupMetadata, SqlError>
  readonly loadExtension: (path: string) => Effect.Effect<void, SqlError>
  /** SQLite has no such statement. */
  readonly updateValues: never
}

export const SqliteClient = Context.Service<SqliteClient>("kiwi/layers/sqlite/SqliteNode/SqliteClient")

export interface SqliteClientConfig {
  /** A path, or `:memory:`. */
  readonly filename: string
  readonly readonly?: boolean | undefined
  /** Prepared statements kept, least recently used dropped. Default: 256. */
  readonly prepareCacheSize?: number | undefined
  /** Leaves the journal mode of a file as it is. */
  readonly disableWAL?: boolean | undefined
  /**
   * How long a statement waits for another process. Default: 5 s. The wait is SQLite's own and stops every fiber:
   * where waiting is likely, use 0 and retry `LockTimeoutError` by a schedule.
   */
  readonly busyTimeout?: Duration.Input | undefined
  readonly spanAttributes?: Record<string, unknown> | undefined
  readonly transformResultNames?: ((name: string) => string) | undefined
  readonly transformQueryNames?: ((name: string) => string) | undefined
}

interface SqliteConnection extends Connection {
  readonly isTransaction: () => boolean
  readonly export: Effect.Effect<Uint8Array, SqlError>
  readonly backup: (destination: string) => Effect.Effect<BackupMetadata, SqlError>
  readonly loadExtension: (path: string) => Effect.Effect<void, SqlError>
}

const rowsPerChunk = 256

// SQLITE_CONSTRAINT_PRIMARYKEY and _ROWID, which say the same to a caller as SQLITE_CONSTRAINT_UNIQUE.
const uniqueViolations: ReadonlySet<number> = new Set([1555, 2579])

/** What SQLite answered (an extended result code), where `cause` is an error of `node:sqlite`. */
export const resultCode = (cause: unknown): number | undefined =>
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
      // Anything else that SQLite cannot hold is refused by node:sqlite with ERR_INVALID_ARG_TYPE.
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

const pullChunks = (rows: Iterator<Record<string, unknown>>, sql: string, transform: Transform) =>
  Effect.flatMap(
    Effect.try({
      try: () => {
        const chunk: Array<Record<string, unknown>> = []
        while (chunk.length < rowsPerChunk) {
          const next = rows.next()
          if (next.done === true) break
          chunk.push(next.value)
        }
        return chunk
      },
      catch: sqlError(`run ${sql.slice(0, 60)}`)
    }),
    (chunk) => {
      const values = transform === undefined ? chunk : transform(chunk)
      return Arr.isReadonlyArrayNonEmpty(values) ? Effect.succeed(values) : Cause.done()
    }
  )

const makeConnection = (db: DatabaseSync, capacity: number): SqliteConnection => {
  const prepared = new Map<string, Prepared>()
  const prepare = (sql: string): Prepared => {
    const statement = db.prepare(sql)
    return { statement, rows: returnsRows(statement) }
  }
  const cached = (sql: string): Prepared => {
    const hit = prepared.get(sql)
    if (hit !== undefined) {
      prepared.delete(sql)
      prepared.set(sql, hit)
      return hit
    }
    const entry = prepare(sql)
    if (prepared.size >= capacity) {
      const oldest = prepared.keys().next()
      if (oldest.done !== true) prepared.delete(oldest.value)
    }
    if (capacity > 0) prepared.set(sql, entry)
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
      // Typed as objects by @types/node whatever was set.
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
    executeStream: (sql, params, transform) => {
      const cursor = Effect.acquireRelease(
        // Not from the cache: running a cached statement again would reset an iteration that is under way.
        run(sql, (safeIntegers) => {
          const { statement } = prepare(sql)
          statement.setReadBigInts(safeIntegers)
          return statement.iterate(...bindAll(params))
        }),
        (rows) => Effect.sync(() => rows.return?.())
      )
      return Stream.scoped(Stream.fromPull(Effect.map(cursor, (rows) => pullChunks(rows, sql, transform))))
    },
    isTransaction: () => db.isTransaction,
    export: Effect.try({ try: () => db.serialize(), catch: sqlError("export the database") }),
    backup: (destination) =>
      Effect.suspend(() => {
        let totalPages = 0
        return Effect.tryPromise({
          try: () =>
            backupDatabase(db, destination, {
              progress: (progress) => {
                totalPages = progress.totalPages
              }
            }),
          catch: sqlError("back the database up")
        }).pipe(Effect.map((pages) => ({ totalPages: totalPages === 0 ? pages : totalPages, remainingPages: 0 })))
      }),
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
        readOnly: options.readonly ?? false,
        timeout: busyTimeout,
        allowExtension: true,
        defensive: true
      })
      try {
        db.enableLoadExtension(false)
        if (options.disableWAL !== true && options.readonly !== true) {
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
    compiler: Statement.makeCompilerSqlite(options.transformQueryNames),
    driver: "sqlite-node",
    // A deferred transaction that writes after it has read fails where another process wrote in between.
    beginTransaction: "BEGIN IMMEDIATE",
    prepareTransactionControls: true,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    transformRows: options.transformResultNames === undefined
      ? undefined
      : Statement.defaultTransforms(options.transformResultNames).array,
    spanAttributes: [...Object.entries(options.spanAttributes ?? {}), ["db.system.name", "sqlite"]]
  })
  const use = <A>(f: (c: SqliteConnection) => Effect.Effect<A, SqlError>) =>
    Effect.scoped(Effect.flatMap(acquirers.acquirer, f))
  return Object.assign(client as SqliteClient, {
    [TypeId]: TypeId,
    config: options,
    export: use((c) => c.export),
    backup: (destination: string) => use((c) => c.backup(destination)),
    loadExtension: (path: string) => use((c) => c.loadExtension(path))
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

export const layerConfig = (
  options: Config.Wrap<SqliteClientConfig>
): Layer.Layer<SqliteClient | SqlClient.SqlClient, SqlError | Config.ConfigError> =>
  Layer.effectContext(Effect.flatMap(Config.unwrap(options), context)).pipe(Layer.provide(Reactivity.layer))
