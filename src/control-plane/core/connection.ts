import type { Deployment } from "./deployment.ts";

/*
 * `Deployment.connection` holds two facts in one number that is stored: the number (epoch) of the device's latest session
 * that counts for the deployment, and whether the loss of that session was reported. A higher value is always the later
 * one. 0 stands for no session.
 */

type Connected = Pick<Deployment, "connection">;

/** Returns the value of `connection` in a session. */
export function connectedIn(epoch: number): number {
  return 2 * epoch;
}

/** Returns the value of `connection` after the loss of a session was reported. */
export function disconnectedIn(epoch: number): number {
  return 2 * epoch + 1;
}

/** Whether the loss of the connection was reported, and no session has followed. */
export function isConnectionLost({ connection }: Connected): boolean {
  return connection % 2 === 1;
}
