/** Kiwi's version; a test keeps it equal to package.json, so that no file is read to know it. */
export const version = "0.1.0"
