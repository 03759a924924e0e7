// Names of variables, and which of them only the machine's owner may set.

export const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

const denied: ReadonlyArray<string> = [
  "PATH",
  "HOME",
  "LD_*",
  "DYLD_*",
  "NODE_OPTIONS",
  "NODE_PATH",
  "NODE_EXTRA_CA_CERTS",
  "NPM_CONFIG_*",
  "PYTHON*",
  "BASH_ENV",
  "BASH_FUNC_*",
  "BASHOPTS",
  "ENV",
  "IFS",
  "PROMPT_COMMAND",
  "PS4",
  "SHELLOPTS",
  "ZDOTDIR",
  "PERL5*",
  "PERLLIB",
  "RUBY*",
  "GEM_*",
  "BUNDLE_*",
  "JAVA_TOOL_OPTIONS",
  "JDK_JAVA_OPTIONS",
  "_JAVA_OPTIONS",
  "CLASSPATH",
  "LUA_*",
  "PHPRC",
  "PHP_INI_SCAN_DIR",
  "DOTNET_STARTUP_HOOKS",
  "CORECLR_*",
  "GCONV_PATH",
  "GLIBC_TUNABLES",
  "OPENSSL_CONF",
  "OPENSSL_MODULES",
  "OPENSSL_ENGINES",
  "RUSTC_WRAPPER",
  "MAKEFLAGS",
  "GIT_*",
  "SSH_*",
  "*_PROXY",
  "SSL_CERT_*",
  "KIWI_*",
  "XDG_*"
]

const matches = (name: string, pattern: string): boolean =>
  pattern.endsWith("*")
    ? name.startsWith(pattern.slice(0, -1))
    : pattern.startsWith("*")
    ? name.endsWith(pattern.slice(1))
    : name === pattern

/**
 * Variables that decide what a program loads, where it searches and whom it trusts. No `.env` file may provide one and
 * only system items may set one, in any case: programs read some of them in lower case.
 */
export const isDeniedVariable = (name: string): boolean => {
  const upper = name.toUpperCase()
  return denied.some((pattern) => matches(upper, pattern))
}

/** Kiwi's own, which include its passphrase and tokens, so they are never passed on. */
export const isKiwiVariable = (name: string): boolean => name.toUpperCase().startsWith("KIWI_")

/** Variables that the kernel itself provides to a config, besides the environment: the verified copy that runs. */
export const kernelVariables: ReadonlySet<string> = new Set(["TOOL_FILE"])
