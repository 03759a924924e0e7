/** Kiwi's version. A constant, so that no file is read for it; a test keeps it equal to package.json. */
export const version = "0.1.0"
