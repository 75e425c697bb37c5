export interface UniqueNetwork {
  readonly name: string;
  /** For the engine's default network, of 254 addresses. */
  readonly subnet: string;
  /** For 16 further networks of that size. */
  readonly pool: string;
}

/**
 * Returns a name and address ranges for the networks of one engine of a test. Engines of one machine do not know of each
 * other, and routes to the same addresses would lead into the network that was made first.
 */
export function uniqueNetwork(): UniqueNetwork {
  // Beside the ranges of `createBridge`.
  const second = 128 + Math.floor(Math.random() * 96);
  const third = 32 * Math.floor(Math.random() * 8);
  return {
    name: `eat-${Math.random().toString(36).slice(2, 10)}`,
    subnet: `10.${second}.${third + 16}.0/24`,
    pool: `10.${second}.${third}.0/20`,
  };
}
