/** How many of so many random cases run: all in `npm run test:long`, in `npm test` a fifth, the same each time. */
export const share = (all: number): number => process.env["KIWI_TEST_CASES"] === "all" ? all : Math.ceil(all / 5)
