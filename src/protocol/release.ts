/** Version of this release, the same as in package.json (a test compares them). All executables show it. */
export const VERSION = "0.1.0";
