// Recognizes the exact script that pnpm 8 to 10 write as `node_modules/.bin/node`. pnpm 11 and npm write a link.

const cygwinNow = `    *CYGWIN*|*MINGW*|*MSYS*)
        if command -v cygpath > /dev/null 2>&1; then
            basedir=\`cygpath -w "$basedir"\`
        fi
    ;;
`

const cygwinBefore = `    *CYGWIN*) basedir=\`cygpath -w "$basedir"\`;;
`

const withNodePath = (folders: string): string =>
  `if [ -z "$NODE_PATH" ]; then
  export NODE_PATH="${folders}"
else
  export NODE_PATH="${folders}:$NODE_PATH"
fi
`

const shim = (cygwin: string, nodePath: string, target: string): string =>
  `#!/bin/sh
basedir=$(dirname "$(echo "$0" | sed -e 's,\\\\,/,g')")

case \`uname\` in
${cygwin}esac

${nodePath}"$basedir/${target}"   "$@"
exit $?
`

/** The path that it starts, relative to its own folder. Undefined if the text differs anywhere else. */
export const pnpmShimTarget = (text: string): string | undefined => {
  const target = /\n"\$basedir\/([^"$`\\\n]+)" {3}"\$@"\n/.exec(text)?.[1]
  const folders = /\n {2}export NODE_PATH="([^"$`\\\n]+)"\n/.exec(text)?.[1]
  const nodePath = folders === undefined ? "" : withNodePath(folders)
  return target !== undefined && [cygwinNow, cygwinBefore].some((cygwin) => text === shim(cygwin, nodePath, target))
    ? target
    : undefined
}
