// What waits for a person is in files that every process changes: whoever waits for an answer, or shows what waits,
// looks again. While nothing changes, a look costs the stat of a file.
import { Schedule } from "effect"

export const lookAgain = Schedule.spaced("500 millis")
