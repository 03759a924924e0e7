/** The version that the programs print. */
export { version } from "../services/workspace/version.ts"
