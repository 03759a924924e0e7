// stdout belongs to the protocol. Other output to it – a stray console.log, a library's notice – goes to stderr
// instead.
import { Writable } from "node:stream"

/** Redirects the process's stdout to stderr. Returns the only stream that still writes to the real stdout. */
export const reserveStdout = (streams: Pick<NodeJS.Process, "stdout" | "stderr">): Writable => {
  const { stderr, stdout } = streams
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  // Without a listener, a client that disconnects would end the process before its audit is written.
  stdout.on("error", () => {})
  return new Writable({
    decodeStrings: false,
    write: (chunk: string | Uint8Array, encoding, done) => {
      write(chunk, encoding, done)
    }
  })
}
