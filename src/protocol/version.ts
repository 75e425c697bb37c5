/**
 * The protocol between edge-agent and edge-control. One integer, raised with every change that the other side
 * must know about; new optional fields and new frame types do not raise it, since unknown ones are ignored.
 *
 * - 1 (2026-11-20): first version.
 * - 2 (2026-11-21): `command`, `query`, `report` and their answers; `options` of `deploy`; fields of an app that are
 *   absent by default. A device that speaks 1 would take an update for a deployment, or a dry run for a real one, so it
 *   is sent none of these.
 *   - since 2026-11-29: the query `deployments`, which asks what became of deployments. A device that does not know it ends
 *     it with `InvalidRequest`, as any kind it does not know, and is asked for its `report` instead.
 */
export const PROTOCOL_VERSION = 2;

/** The oldest version this code still speaks. */
const MIN_PROTOCOL_VERSION = 1;

/** The version two peers speak: the older one's. `undefined` when the peer is older than anything still spoken. */
export function negotiateVersion(peer: number): number | undefined {
  const version = Math.min(peer, PROTOCOL_VERSION);
  return version >= MIN_PROTOCOL_VERSION ? version : undefined;
}
