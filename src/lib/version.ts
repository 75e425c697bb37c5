/** Version of this project. A test compares it with package.json. */
export const VERSION = "0.1.0";

/**
 * The oldest version that this one can follow, and that can follow this one: each reads what the other has stored. An update
 * of the agent from or to an older one is refused.
 */
export const OLDEST_NEIGHBOUR = "0.1.0";
