import type { TimeMark } from "../../lib/steady-time.ts";

/** How long others count on an instance after it has renewed its lease, in milliseconds. */
export const INSTANCE_LEASE_MS = 10_000;

/** A process of the service. Times are milliseconds of the service's clock. */
export interface Instance {
  readonly id: string;
  /** Release of the program. */
  readonly version: string;
  readonly startedAtMs: number;
  /** Until then its sessions count, whatever became of it. */
  readonly leaseUntilMs: number;
  /** It takes no new devices and streams. */
  readonly isStopping: boolean;
}

export interface NewInstance extends Omit<Instance, "isStopping"> {
  readonly nowMs: number;
}

/** What is known of the service as a whole. */
export interface ServiceState {
  /** When an instance was last known to run, in milliseconds of the service's clock; `undefined`: never. */
  readonly aliveAtMs: number | undefined;
  /** Identity of the database; changes when a copy of it takes its place. `undefined` if that is found out otherwise. */
  readonly identity: string | undefined;
  /** The identity when an instance last joined; `undefined`: none was recorded. */
  readonly knownIdentity: string | undefined;
}

/** The time that all instances share. */
export interface SharedTime {
  /** Time of day of the database, Unix milliseconds. */
  readonly nowMs: number;
  /** By how much the database's clock has jumped while the service ran: the service's clock is behind it by this. */
  readonly shiftMs: number;
  /** Increases with each change of `shiftMs`. */
  readonly version: number;
}

/** The processes that serve this store, each with a lease. */
export interface InstanceStore {
  /** Adds the instance, or takes it up again with a new lease. Records the database's identity. */
  join(instance: NewInstance): Promise<void>;
  /** Extends a lease that has not lapsed. Returns false if it has: then others may have ended what it held. */
  renew(id: string, nowMs: number, untilMs: number): Promise<boolean>;
  /** Records that the instance is about to leave. */
  markStopping(id: string): Promise<void>;
  /**
   * Removes an instance. Its sessions must be over.
   *
   * @param nowMs noted as when the service last ran, unless a later time is; 0 for an instance that was gone before
   */
  leave(id: string, nowMs: number): Promise<void>;
  /** Removes an instance if its lease has lapsed. Returns whether it is gone. */
  removeLapsed(id: string, nowMs: number): Promise<boolean>;
  /** Returns all instances, also those whose lease has lapsed, by id. */
  list(): Promise<readonly Instance[]>;
  findState(): Promise<ServiceState>;
  readTime(): Promise<SharedTime>;
  /** Changes the shift if its version is still this one. Returns whether it was. */
  changeShift(version: number, shiftMs: number): Promise<boolean>;
}

/** A right that one holder has at a time, until a time. Times are milliseconds of the service's clock. */
export interface LeaseStore {
  /**
   * Acquires or renews the lease. Returns its epoch, which increases with each change of the holder; `undefined` if
   * another holder has it, and it has not lapsed.
   */
  acquire(name: string, holder: string, nowMs: number, untilMs: number): Promise<number | undefined>;
  /** Does nothing if another holder has the lease. */
  release(name: string, holder: string): Promise<void>;
}

/** What the service knows of the time, over restarts. */
export interface TimeStore {
  /** Returns the mark that was stored last; `undefined` if none was. */
  readMark(): Promise<TimeMark | undefined>;
  saveMark(mark: TimeMark): Promise<void>;
  /**
   * Brings to now what was put off, or begun, by a time that is over now: the clock was set back. Returns how many records it
   * changed.
   *
   * @param nowMs Unix milliseconds
   */
  setBack(nowMs: number): Promise<number>;
}
