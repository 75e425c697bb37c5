import type { DeviceStatus, LinkResponse, Status } from "../local/api.ts";

/** What is not as it should be, each in one sentence with what to do next; empty when all is well. */
export function troublesOf(status: Status): string[] {
  return [...linkTroubles(status.link), ...deviceTroubles(status.device)];
}

/** The same for what can be seen without the daemon. */
export function deviceTroubles({ engine, disk, apps }: DeviceStatus): string[] {
  if (!engine.ok) return [`The container engine does not answer: ${engine.reason}. See: edge-agent doctor`];
  const isFull = disk !== null && disk.free_bytes < disk.reserve_bytes;
  return [
    ...(isFull ? [`Too little disk space at ${disk.path}: nothing can be deployed.`] : []),
    ...apps.flatMap(({ name, trouble }) =>
      trouble === null ? [] : [`${name} does not run as it should: ${trouble}. See: edge-agent app ${name}`],
    ),
  ];
}

function linkTroubles({ state, last_error: error }: LinkResponse): string[] {
  if (state === "online") return [];
  return [`No link to the control plane${error ? `: ${error.reason}` : ""}. See: edge-agent doctor`];
}
