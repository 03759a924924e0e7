// Made by build/systemManifest.ts from what is under .ai/tools/capabilities/: do not edit.
export const shippedModules = [
  {"scope":"place","capabilities":[{"name":"db.query","description":"Read from a database"},{"name":"db.migrate","description":"Change a database's schema"}]},
  {"scope":"path","capabilities":[{"name":"fs.read","description":"Read and list files"},{"name":"fs.write","description":"Create and change files; includes fs.read of the same paths"},{"name":"fs.delete","description":"Delete files"},{"name":"fs.exec","description":"Run a program by its path"},{"name":"fs.absolute","description":"Paths outside of the project","system_only":true}]},
  {"scope":"place","capabilities":[{"name":"git.read","description":"Status, log, diff and show"},{"name":"git.push","description":"Push commits"}]},
  {"scope":"place","capabilities":[{"name":"kiwi.search","description":"Search for items"},{"name":"kiwi.load","description":"Read an item"},{"name":"kiwi.help","description":"Read the help"},{"name":"kiwi.follow","description":"Follow a directive, or act on a knowledge entry"},{"name":"kiwi.output","description":"Read the kept output of a tool"},{"name":"kiwi.execute","description":"Execute items; includes search, load and help"},{"name":"kiwi.sign","description":"Ask a person to sign items"},{"name":"kiwi.write","description":"Write items"},{"name":"kiwi.sync","description":"Ask a person to install packages"},{"name":"kiwi.lock","description":"Change lockfiles"},{"name":"kiwi.all","description":"All of Kiwi's own actions"}]},
  {"scope":"name","capabilities":[{"name":"mcp.*","description":"Call tools of the server with this name"}]},
  {"scope":"host","capabilities":[{"name":"net.http","description":"HTTP requests to a server"},{"name":"net.websocket","description":"WebSocket connections to a server"}]},
  {"scope":"command","capabilities":[{"name":"process.exec","description":"Run a command"}]},
  {"scope":"place","capabilities":[{"name":"registry.read","description":"Read the registry","system_only":true},{"name":"registry.write","description":"Publish to the registry","system_only":true}]},
  {"scope":"name","capabilities":[{"name":"secret.use","description":"Give a secret to a tool"},{"name":"env.read","description":"Read a variable of the environment"},{"name":"python.import","description":"Use a Python module"}]},
  {"scope":"place","capabilities":[{"name":"spawn.thread","description":"Start a directive as a thread of its own"},{"name":"spawn.process","description":"Start a process that outlives the call","system_only":true}]},
  {"scope":"place","capabilities":[{"name":"thread.read","description":"Read the transcript and the state of a thread"},{"name":"thread.control","description":"Pause, resume and cancel a thread"},{"name":"thread.inject","description":"Add a message to a thread","system_only":true}]},
  {"scope":"name","capabilities":[{"name":"tool.*","description":"Run the tool with this id"}]}
] as const
