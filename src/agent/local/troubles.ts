import { capitalize } from "../core/text.ts";
import { oldEngine } from "../core/deployment/engine-differences.ts";
import type { Trouble } from "../core/doctor/judge-agent.ts";
import type { DeviceStatus, Status } from "./api.ts";

/** Returns the problems; empty if there are none. */
export function troublesOf(status: Status): Trouble[] {
  const { clock, engine_troubles: engine } = status;
  return [
    ...stateTroubles(status),
    ...(clock === null ? [] : [{ kind: "clock" as const, text: clock }]),
    ...linkTroubles(status),
    ...engine.map(({ text, next }) => ({ kind: "engine" as const, text, next })),
    ...deviceTroubles(status.device),
  ];
}

/** Returns the problems that can be found without the daemon. */
export function deviceTroubles({ engine, disk, apps }: DeviceStatus): Trouble[] {
  if (!engine.ok) return [{ kind: "engine", text: `The container engine does not answer: ${engine.reason}.` }];
  const old = oldEngine(engine.kind, engine.version);
  const isFull = disk !== null && disk.free_bytes < disk.reserve_bytes;
  return [
    ...(old ? [{ kind: "engine" as const, ...old }] : []),
    ...(isFull
      ? [{ kind: "disk" as const, text: `Too little disk space at ${disk.path}: nothing can be deployed.` }]
      : []),
    ...apps.flatMap(({ name, trouble }) =>
      trouble === null
        ? []
        : [
            {
              kind: "app" as const,
              text: `${name} does not run as it should: ${trouble.replace(/\.$/, "")}.`,
              next: `edge-agent app ${name}`,
            },
          ],
    ),
  ];
}

function linkTroubles({ link: { state, last_error: error }, network_fault: fault }: Status): Trouble[] {
  // A link that lost its cable counts as online until its next probe gets no answer.
  if (fault !== null) return [{ kind: "link", text: `No link to the control plane. ${fault.text}`, next: fault.next }];
  if (state === "online") return [];
  // The agent has just started: a network that leads nowhere is an error within seconds.
  if (state === "connecting" && error === null) return [];
  return [{ kind: "link", text: `No link to the control plane${error ? `: ${error.reason}` : ""}.` }];
}

function stateTroubles({ state_fault: fault }: Status): Trouble[] {
  return fault === null ? [] : [{ kind: "state", text: capitalize(fault.text), next: fault.next }];
}
