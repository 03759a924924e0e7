// The Node processes that tests start share what V8 compiled: that is half of the work of a start. Loaded before every
// test file, and not in the environment that the workers are started with: they would write to it when they end.
const folder = process.env["KIWI_TEST_COMPILED"]

/** For a process that gets an environment of its own. */
export const compiled: Readonly<Record<string, string>> = folder === undefined ? {} : { NODE_COMPILE_CACHE: folder }

Object.assign(process.env, compiled)
