// A chain as far as its interpreter goes: what packages are installed for does not depend on the commands and variables
// that the tool asks for besides.
import type { Chain } from "../chain/Chain.ts"
import { isJsonObject } from "../schema/json.ts"

export const interpreterOnly = (chain: Chain): Chain => {
  const interpreter = chain.envConfig?.["interpreter"]
  const envConfig = isJsonObject(interpreter) ? { interpreter } : undefined
  return {
    ...chain,
    config: {},
    envConfig,
    requires: { ...chain.requires, commands: [], environment: [] }
  }
}
