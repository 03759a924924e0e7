// A path among the words of a command, and what is done with it.
/**
 * `names`: what a file is, or which files a folder has, and where links lead. `names-below`: the same of everything below.
 * `content`: of a file. `tree`: the content of a file, or of all files below a folder, without following links.
 * `repository`: what git keeps of the folder. `tracked`: and the lines of the files in git's index. `existing`: there is
 * such a file or folder, so that git does not take it for a commit. `make`: the file or folder is made.
 */
export type ArgumentUse = "names" | "names-below" | "content" | "tree" | "repository" | "tracked" | "existing" | "make"

export interface ArgumentPath {
  /** As written: relative to the folder in force. */
  readonly path: string
  readonly use: ArgumentUse
  /** It is a pattern of file names: the shell puts any number of files in its place. */
  readonly pattern?: true
}

/** The paths among the words. Undefined if it is not known what the words mean. */
export type ReadArguments = (words: ReadonlyArray<string>) => ReadonlyArray<ArgumentPath> | undefined
