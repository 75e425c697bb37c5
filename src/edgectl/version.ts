/** Version of edgectl: the package's, kept equal by a test, so that the bundle needs no package.json beside it. */
export const EDGECTL_VERSION = "0.1.0";
