import type { SimType } from "../../protocol/assets/sim.ts";

/** The bounds of the service that are counted when they are reached. */
export const BOUNDS = [
  "requests_per_key",
  "requests_per_account",
  "refused_per_address",
  "enrolments_per_address",
  "sign_in_requests_per_address",
  "users_per_account",
  "keys_per_account",
  "sign_ins_per_source",
  "sign_ins_waiting",
  "login_requests",
  "wrong_login_codes",
  "sign_in_pauses_dropped",
  "event_streams_per_account",
  "event_streams_per_deployment",
  "event_stream_not_read",
  "queries_per_device",
  "queries_per_account",
  "app_connections_per_account",
  "app_streams_per_account",
  "app_connection_not_read",
  "registration_conflicts",
  "assets_per_account",
  "storage_per_account",
  "uploads_per_account",
  "unfinished_per_device",
  "connections_per_device",
  "frame_size",
  "bad_frame",
  "device_not_read",
  "release_requests_per_device",
  "release_transfers_per_device",
  "release_transfers",
  "release_transfer_not_read",
  "wakes_of_instances",
  "messages_of_instances",
] as const;

export type Bound = (typeof BOUNDS)[number];

/** What calls of SIM operators end with: an answer, or the reason why there is none. */
export const OPERATOR_OUTCOMES = [
  "ok",
  "unavailable",
  "throttled",
  "credentials",
  "not_found",
  "refused",
  "malformed",
] as const;

export type OperatorOutcome = (typeof OPERATOR_OUTCOMES)[number];

/** A request that has been responded to. */
export interface ObservedRequest {
  readonly method: string;
  /** The route's pattern; `undefined`: there is no such route. */
  readonly route: string | undefined;
  readonly status: number;
  readonly ms: number;
  /** Whether the response was a stream, which lasts as long as its client reads. */
  readonly isStream: boolean;
}

/**
 * Is told what the service does, in order to count it. Calls are cheap and do not throw. Without an observer nothing is
 * measured.
 */
export interface Observer {
  request(request: ObservedRequest): void;
  /** A bound was reached: something was refused or cut off. */
  bounded(bound: Bound): void;
  /** An event stream to a client was opened. Dispose of the result when it is closed. */
  eventStream(): Disposable;
  /** A device was refused at the upgrade, since its token is not valid. */
  deviceRefused(): void;
  sessionOpened(): void;
  /** A connection of a device was closed. @param hadSession whether it had been welcomed */
  connectionClosed(closeCode: number, hadSession: boolean): void;
  /** A message of a device arrived. */
  received(bytes: number): void;
  /** A message was sent to a device. */
  sent(bytes: number): void;
  /** A call of the operator of this type of SIM ended. */
  operatorCalled(type: SimType, outcome: OperatorOutcome): void;
}
