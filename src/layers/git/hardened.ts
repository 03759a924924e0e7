// What keeps git from starting anything that a repository names, for everything that runs it.

/** Passed with every command: they take precedence over the repository's config files. */
export const options: ReadonlyArray<string> = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.pager=cat",
  "core.sshCommand=false",
  "core.gitProxy=none",
  "core.attributesFile=/dev/null",
  "credential.helper=",
  "diff.external=",
  "protocol.allow=never",
  "safe.bareRepository=explicit",
  "submodule.recurse=false"
].flatMap((option) => ["-c", option])

/** HOME, for the person's own config with `safe.directory`. */
export const environment = (userHome: string) => ({
  HOME: userHome,
  LC_ALL: "C",
  GIT_ALLOW_PROTOCOL: "",
  GIT_NO_LAZY_FETCH: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0"
})
