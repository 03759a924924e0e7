// What the operating system, or Node, answered: the code of an error, such as ENOENT; "" where there is none.
export const errorCode = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
