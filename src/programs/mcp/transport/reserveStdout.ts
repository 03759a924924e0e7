// stdout belongs to the protocol: whatever else writes there – a stray console.log, a library's notice – is sent to
// stderr, where it harms nobody.
import { Writable } from "node:stream"

/** Takes stdout away from the process. Returns the only stream that still reaches it. */
export const reserveStdout = (streams: Pick<NodeJS.Process, "stdout" | "stderr">): Writable => {
  const { stderr, stdout } = streams
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  // Without a listener, a client that went away would end the process before its audit is written.
  stdout.on("error", () => {})
  return new Writable({
    decodeStrings: false,
    write: (chunk: string | Uint8Array, encoding, done) => {
      write(chunk, encoding, done)
    }
  })
}
