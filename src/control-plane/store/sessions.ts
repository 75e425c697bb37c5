import type { DisconnectReason } from "../../protocol/assets/connectivity.ts";

/** Identifies a session of a device. A write for a session that has been replaced is refused. */
export interface SessionFence {
  readonly assetUuid: string;
  /** Increases with each session of the device. */
  readonly epoch: number;
}

/** A later session has replaced the one that a write was for, or the asset was removed. Nothing was written. */
export class StaleSessionError extends Error {
  constructor({ assetUuid, epoch }: SessionFence) {
    super(`session ${epoch} of asset ${assetUuid} has been replaced`);
    this.name = "StaleSessionError";
  }
}

export interface NewSession {
  readonly assetUuid: string;
  readonly sessionId: string;
  /** The instance that holds the connection. */
  readonly instanceId: string;
  /** Negotiated protocol version. */
  readonly protocol: number;
  /** Version of the agent; absent: as it was. */
  readonly agentVersion?: string | undefined;
  /** Unix seconds. */
  readonly at: number;
}

export interface OpenedSession {
  readonly epoch: number;
  /** The instance that held the session before; `undefined` if the device was not connected. */
  readonly replacedInstanceId: string | undefined;
  /** Hash of the device's stored report. */
  readonly reportHash: string | undefined;
  /** Start of the device's newest row of health on record, Unix seconds. */
  readonly healthAt: number | undefined;
  /**
   * Whether the device has deployments that are unfinished, not delivered or ended with an uncertain outcome. Without any there
   * is nothing on record that what the device holds has to be compared with.
   */
  readonly hasOpenDeployments: boolean;
}

/** What is stored of a device's connection. */
export interface StoredSession {
  readonly epoch: number;
  /** The instance that holds the session; `undefined` while the device is not connected. */
  readonly instanceId: string | undefined;
  readonly protocol: number | undefined;
  /** When it was last known to be connected, while it is: when it connected. Unix seconds; `undefined` if never. */
  readonly lastSeenAt: number | undefined;
}

/**
 * The device sessions: one row for each device, removed with its asset. After a power cut a session may be missing, but
 * never while a later write of the store is there.
 */
export interface SessionStore {
  /**
   * Makes this the device's session and returns its epoch; `undefined` if there is no such asset. What an earlier session said
   * that it holds back of the device's report is over: the device says it again.
   */
  open(session: NewSession): Promise<OpenedSession | undefined>;
  /** Ends the session. Does nothing if a later one has replaced it. */
  close(fence: SessionFence, at: number, reason: DisconnectReason): Promise<void>;
  find(assetUuid: string): Promise<StoredSession | undefined>;
  /** Returns the sessions that this instance holds, at most `limit`. */
  listHeld(instanceId: string, limit?: number): Promise<readonly SessionFence[]>;
  /**
   * Gives the instance again those of these sessions that no later one has replaced, with their next epoch, whether they were
   * ended meanwhile or not. Returns them with that epoch.
   */
  reopen(instanceId: string, sessions: readonly SessionFence[]): Promise<readonly SessionFence[]>;
  /**
   * Ends these sessions in one transaction, except those that later ones have replaced. The service is the reason.
   *
   * @param at when they were last known to be open, Unix seconds; absent: not later than they were opened
   */
  end(sessions: readonly SessionFence[], at?: number): Promise<void>;
  /** Ends all sessions of this instance; `undefined`: of every instance. @param at as in `end`, and so is the reason */
  closeAll(instanceId: string | undefined, at?: number): Promise<void>;
}
