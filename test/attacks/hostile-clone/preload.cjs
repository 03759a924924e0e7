require("node:fs").appendFileSync("@CANARY@", "NODE_OPTIONS\n")
