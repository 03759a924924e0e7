// Names a project in commands that a person may paste into a POSIX shell.
import { shellWord } from "./shellWord.ts"

/** A separator of commands, or a command: quoted text in it separates nothing. */
const parts = / && |(?:'[^']*'|"(?:[^"\\]|\\[^])*"|\\[^]|(?! && )[^])+/g

/** `line`: commands with " && " between them. Each gets `--project`. */
export const withProject = (line: string, project: string): string =>
  line.replaceAll(parts, (part) => part === " && " ? part : `${part} --project ${shellWord(project)}`)
