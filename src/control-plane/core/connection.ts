/** What the record of a deployment knows of the connection to its device. */
export interface Connection {
  /** Number of the device's latest session that counts for the deployment; 0: none. */
  readonly epoch: number;
  /** Whether the loss of that session was reported, and no session has followed. */
  readonly isLost: boolean;
}

export const NO_CONNECTION: Connection = { epoch: 0, isLost: false };

/** Returns the connection in a session. */
export function connectedIn(epoch: number): Connection {
  return { epoch, isLost: false };
}

/** Returns the connection after the loss of a session was reported. */
export function disconnectedIn(epoch: number): Connection {
  return { epoch, isLost: true };
}

/** Whether the connection is this one or a later one: a later session, or the loss of the same one. */
export function hasReached(connection: Connection, other: Connection): boolean {
  if (connection.epoch !== other.epoch) return connection.epoch > other.epoch;
  return connection.isLost || !other.isLost;
}

/** Returns the later one. */
export function laterConnection(a: Connection, b: Connection): Connection {
  return hasReached(a, b) ? a : b;
}
