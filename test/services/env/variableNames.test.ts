import { assert, it } from "@effect/vitest"
import { isDeniedVariable } from "../../../src/services/env/variableNames.ts"

it("variables that decide what a program loads are denied, in any spelling", () => {
  for (
    const name of [
      "PATH",
      "Path",
      "HOME",
      "LD_PRELOAD",
      "DYLD_INSERT_LIBRARIES",
      "NODE_OPTIONS",
      "NODE_PATH",
      "NODE_EXTRA_CA_CERTS",
      "npm_config_registry",
      "NPM_CONFIG_REGISTRY",
      "PYTHONPATH",
      "PYTHONSTARTUP",
      "BASH_ENV",
      "ENV",
      "IFS",
      "SHELLOPTS",
      "PERL5LIB",
      "RUBYOPT",
      "JAVA_TOOL_OPTIONS",
      "_JAVA_OPTIONS",
      "CLASSPATH",
      "GCONV_PATH",
      "GLIBC_TUNABLES",
      "OPENSSL_CONF",
      "LUA_PATH",
      "PHPRC",
      "DOTNET_STARTUP_HOOKS",
      "BASH_FUNC_ls%%",
      "PROMPT_COMMAND",
      "GEM_PATH",
      "GIT_SSH_COMMAND",
      "SSH_AUTH_SOCK",
      "https_proxy",
      "HTTP_PROXY",
      "SSL_CERT_FILE",
      "KIWI_PASSPHRASE",
      "XDG_CONFIG_HOME"
    ]
  ) assert.isTrue(isDeniedVariable(name), name)
  for (const name of ["API_KEY", "NODE_ENV", "PORT", "MY_PATH", "HOMEPAGE", "ENVIRONMENT", "PROXY", "DEBUG"]) {
    assert.isFalse(isDeniedVariable(name), name)
  }
})
