// For processes that get an environment of their own: where the tests' Node processes share what V8 compiled.
const folder = process.env["NODE_COMPILE_CACHE"]

export const compiled: Readonly<Record<string, string>> = folder === undefined ? {} : { NODE_COMPILE_CACHE: folder }
