#!/usr/bin/env node
// Starts Kiwi, whatever Node came first on PATH: checks the version in syntax that old versions can read, and hands over
// to a newer Node of this machine where there is one. Nothing else is here, since every start pays for it.
"use strict"

var needed = 24

if (parseInt(process.versions.node, 10) >= needed) start()
else handOver()

function start() {
  import("../dist/bin/start.js").catch(function(error) {
    var program = require("path").join(__dirname, "..", "dist", "bin", "start.js")
    if (require("fs").existsSync(program)) throw error
    process.stderr.write(
      "kiwi: this copy is not complete: dist/bin/start.js is missing\n" +
        "\nhint: install it again, or run `npm run build` in a checkout\n"
    )
    process.exitCode = 1
  })
}

function handOver() {
  var node = newerNode()
  if (node === undefined) {
    process.stderr.write(
      "kiwi: needs Node " + needed + " or newer; this is Node " + process.versions.node +
        ", and there is no newer one on PATH or in nvm, fnm, asdf, mise, volta or Homebrew\n" +
        "\nhint: install it from https://nodejs.org, or with `nvm install " + needed + "`, `fnm install " + needed +
        "`, `volta install node@" + needed + "` or `brew install node@" + needed + "`\n" +
        "hint: npm can bring it along: `npx -y -p node@" + needed + " -p kiwi-mcp kiwi --help`\n"
    )
    process.exit(1)
  }
  // Counted from the folder that kiwi is started in, it could hold somebody else's code.
  var path = require("path")
  if (!path.isAbsolute(process.env.NODE_COMPILE_CACHE || "/")) delete process.env.NODE_COMPILE_CACHE
  var child = require("child_process").spawn(node.real, [__filename].concat(process.argv.slice(2)), {
    argv0: node.name,
    stdio: "inherit"
  })
  var signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2", "SIGBREAK"]
  var forward = function(signal) {
    child.kill(signal)
  }
  signals.forEach(function(signal) {
    try {
      process.on(signal, forward)
    } catch {
      // This platform does not have the signal.
    }
  })
  child.on("error", function(error) {
    process.stderr.write("kiwi: " + node.name + " does not start (" + error.code + ")\n")
    process.exit(1)
  })
  child.on("exit", function(code, signal) {
    if (signal === null) process.exit(code)
    signals.forEach(function(name) {
      process.removeListener(name, forward)
    })
    process.kill(process.pid, signal)
  })
}

/** Asked as `src/layers/process/ownChild.ts` asks: outside any project, and with nothing of the environment. */
function newerNode() {
  var path = require("path")
  return candidates().find(function(file) {
    var found = require("child_process").spawnSync(file.real, ["--version"], {
      argv0: file.name,
      cwd: path.parse(file.real).root,
      env: process.platform === "win32" ? { SYSTEMROOT: process.env.SYSTEMROOT } : {},
      encoding: "utf8",
      timeout: 5000,
      maxBuffer: 4096,
      killSignal: "SIGKILL"
    })
    var version = /^v(\d+)\./.exec(found.stdout || "")
    return version !== null && Number(version[1]) >= needed
  })
}

/** Empty or relative where HOME is: what lies below is then not looked for. */
function homeFolder() {
  try {
    return require("os").homedir()
  } catch {
    return ""
  }
}

function candidates() {
  var fs = require("fs")
  var path = require("path")
  var home = homeFolder()
  var env = process.env
  var windows = process.platform === "win32"
  var name = windows ? "node.exe" : "node"
  var files = []

  // The `node` package installed with this one or beside it.
  var own = [path.join(__dirname, "..", "node_modules", "node", "bin", name)]
  own.push(path.join(__dirname, "..", "..", "node", "bin", name))
  ;(env.PATH || env.Path || "").split(path.delimiter).forEach(function(folder) {
    files.push(path.join(folder, name))
  })

  // Version managers keep one folder a version; the newest first.
  var managed = [
    [env.NVM_DIR || path.join(home, ".nvm"), "versions/node", "bin"],
    [env.FNM_DIR || path.join(home, ".local/share/fnm"), "node-versions", "installation/bin"],
    [path.join(home, ".fnm"), "node-versions", "installation/bin"],
    [path.join(home, "Library/Application Support/fnm"), "node-versions", "installation/bin"],
    [env.ASDF_DATA_DIR || path.join(home, ".asdf"), "installs/nodejs", "bin"],
    [env.MISE_DATA_DIR || path.join(home, ".local/share/mise"), "installs/node", "bin"],
    [env.VOLTA_HOME || path.join(home, ".volta"), "tools/image/node", "bin"]
  ]
  if (windows) {
    managed.push([env.NVM_HOME || path.join(env.APPDATA || home, "nvm"), "", ""])
    managed.push([path.join(env.APPDATA || home, "fnm"), "node-versions", "installation"])
    managed.push([env.VOLTA_HOME || path.join(env.LOCALAPPDATA || home, "Volta"), "tools/image/node", ""])
  }
  managed.forEach(function(place) {
    if (!path.isAbsolute(place[0])) return
    var folder = path.join(place[0], place[1])
    var versions = []
    try {
      versions = fs.readdirSync(folder)
    } catch {
      return
    }
    versions
      .map(function(version) {
        return { version: version, parts: version.replace(/^v/, "").split(".").map(Number) }
      })
      .filter(function(entry) {
        return entry.parts[0] >= needed
      })
      .sort(function(a, b) {
        return b.parts[0] - a.parts[0] || (b.parts[1] || 0) - (a.parts[1] || 0) || (b.parts[2] || 0) - (a.parts[2] || 0)
      })
      .forEach(function(entry) {
        files.push(path.join(folder, entry.version, place[2], name))
      })
  })
  ;["/opt/homebrew/opt/node", "/usr/local/opt/node", "/home/linuxbrew/.linuxbrew/opt/node"].forEach(function(folder) {
    files.push(folder + "@" + needed + "/bin/node", folder + "/bin/node")
  })

  var project = projectHere()
  return own
    .map(function(file) {
      return { name: file, real: file }
    })
    .concat(files.map(function(file) {
      return { name: file, real: realIfOurs(file, project) }
    }))
    .filter(function(file) {
      return file.real !== undefined && fs.existsSync(file.real)
    })
}

/** The outermost project around the folder that kiwi was started in; `src/layers/process/ownPrograms.ts` says why. */
function projectHere() {
  var fs = require("fs")
  var path = require("path")
  var found
  var home = homeFolder()
  try {
    // A home folder that is named relative to this one would make it no project.
    home = path.isAbsolute(home) && fs.existsSync(home) ? fs.realpathSync(home) : undefined
    for (var at = fs.realpathSync(process.cwd()); path.dirname(at) !== at; at = path.dirname(at)) {
      if (home !== undefined && isIn(home, at)) break
      if (!found || fs.existsSync(path.join(at, ".ai")) || fs.existsSync(path.join(at, ".git"))) found = at
    }
  } catch {
    // The folder is gone: then there is no project either.
  }
  return found
}

function isIn(file, folder) {
  return file === folder || file.indexOf(folder + require("path").sep) === 0
}

/** The file itself, unless a project or a package brings it, or another user can change it. */
function realIfOurs(file, project) {
  var fs = require("fs")
  var path = require("path")
  try {
    if (!path.isAbsolute(file)) return undefined
    var real = fs.realpathSync(file)
    var foreign = [file, real].some(function(place) {
      return /[/\\]node_modules[/\\]\.bin[/\\]/.test(place) || (project !== undefined && isIn(place, project))
    })
    if (foreign) return undefined
    for (var at = real; process.getuid && path.dirname(at) !== at; at = path.dirname(at)) {
      var stat = fs.statSync(at)
      if ([0, process.getuid(), 65534].indexOf(stat.uid) === -1) return undefined
      if ((stat.mode & 2) !== 0 && (stat.mode & 512) === 0) return undefined
    }
    return real
  } catch {
    return undefined
  }
}
