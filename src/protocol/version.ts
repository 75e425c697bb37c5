/**
 * Version of the protocol between edge-agent and edge-control. Raised when a device may be sent something that an agent of an
 * earlier version would refuse or misunderstand. Optional fields and frame types that the other side may ignore do not raise it.
 *
 * - 1: first version.
 */
export const PROTOCOL_VERSION = 1;

/** The oldest version that is still supported. */
export const MIN_PROTOCOL_VERSION = 1;

/** Header of the handshake with the id of the device's boot, by which devices with one token are told apart. */
export const BOOT_ID_HEADER = "x-boot-id";

/** Versions that a program speaks, and what they have added. A test may make some up. */
export interface ProtocolVersions {
  readonly current: number;
  readonly oldest: number;
  /** The version of each feature that was added after version 1. For the names of features see `link/features.ts`. */
  readonly added: Readonly<Record<string, number>>;
}

export const PROTOCOL_VERSIONS: ProtocolVersions = {
  current: PROTOCOL_VERSION,
  oldest: MIN_PROTOCOL_VERSION,
  added: {},
};

/** The older of both versions; `undefined` when the peer is older than the oldest supported one. */
export function negotiateVersion(
  peer: number,
  { current, oldest }: ProtocolVersions = PROTOCOL_VERSIONS,
): number | undefined {
  const version = Math.min(peer, current);
  return version >= oldest ? version : undefined;
}
