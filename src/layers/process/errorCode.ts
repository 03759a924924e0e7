// The code of an error from the operating system or Node, such as ENOENT; "" if it has none.
export const errorCode = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
