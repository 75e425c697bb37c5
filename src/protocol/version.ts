/**
 * Version of the protocol between edge-agent and edge-control. Raised with every incompatible change. New optional fields
 * and frame types do not raise it, since unknown ones are ignored.
 *
 * - 1 (2026-11-20): first version.
 * - 2 (2026-11-21): `command`, `query`, `report` and their answers; `options` of `deploy`; the optional fields of an app.
 *   A version 1 device would take an update for a deployment, or a dry run for a real one, so it is sent none of these.
 *   - since 2026-11-22: the query `deployments` for the outcomes of deployments. An older device ends it with
 *     `InvalidRequest`, as every unknown query, and the control plane queries its `report` instead.
 * - 3 (2026-11-22): `environments[].secret`, `pull` and `health_timeout_s` of an app. An older device would refuse them as
 *   unknown fields, so it is sent none of these, nor the fields that came with them: the options of an app's container
 *   (`entrypoint` to `gpus`), `files`, `networks`, `network`, `project`, and `name` and `owner` of a volume. The frame
 *   `apply`, the queries `stats`, `volumes` and `remove_volume`, and `previous` of the query `logs`, which it would ignore.
 *   The frame `report_held`, which an older control plane ignores. Streams: `stream_open` and its kin, and binary messages,
 *   which an older peer counts as faults.
 * - 4 (2026-11-23): `remove`, `fleet` and `keep_images` of an apply, an apply without `apps`, and `environments[].secret_parts`.
 *   An older device would refuse them as unknown fields, so it is sent none of these. `fleet` and `paused` of an app's report,
 *   and `time_zone` and `clock_synced` of a
 *   device's facts, which an older control plane ignores.
 * - 5 (2026-11-28): `aliases`, `group_add`, `pids_limit`, `security_opt`, `pid`, `ipc`, `memory_swap_limit`, `no_healthcheck` and `internal_networks` of an app, `host_address` of a port, `nocopy` and
 *   `shared` of a volume, `exec` of a file system in memory, `content_gzip` of a file, the condition `completed`. An older device would refuse them as unknown fields, so it is
 *   sent none of these.
 */
export const PROTOCOL_VERSION = 5;

/** Header of the handshake with the id of the device's boot, by which devices with one token are told apart. */
export const BOOT_ID_HEADER = "x-boot-id";

/** The oldest version that is still supported. */
export const MIN_PROTOCOL_VERSION = 1;

/** The older of both versions; `undefined` when the peer is older than the oldest supported one. */
export function negotiateVersion(peer: number): number | undefined {
  const version = Math.min(peer, PROTOCOL_VERSION);
  return version >= MIN_PROTOCOL_VERSION ? version : undefined;
}
